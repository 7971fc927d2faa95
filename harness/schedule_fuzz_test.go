package harness_test

import (
	"strings"
	"testing"

	"picklock/harness"
)

// A text on which the YAML library panics is a wrong schedule like any other: one line.
func TestScheduleThatIsNoYAML(t *testing.T) {
	for _, text := range []string{"faults: ! ", "faults:\n  - kind: ! \n    at: 1s\n", "faults: [{kind: flush}]\n---\nfaults: []\n"} {
		_, err := harness.ParseSchedule([]byte(text))
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want an error of one line", text, err)
		}
	}
}

func FuzzParseSchedule(f *testing.F) {
	for _, text := range []string{
		"", "{faults: [{kind: kill-client, at: 1s, for: 500ms}]}",
		"faults:\n  - {kind: clock-node, at: 1.5s, for: 2s, pick: 7, target: lock-1, with: {offset: +10s}}\n" +
			"  - {kind: drop-reply, on: \"acquire:2\", nth: 3, after: 1, recovered: true, until: 1}\n",
		"faults: ! ", "faults: &a [*a]", "faults: [{<<: *a}]", "? faults\n: - kind: |\n    flush\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		faults, err := harness.ParseSchedule(text)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("the error has several lines: %q", err)
		}
		if err == nil && len(faults) == 0 {
			t.Error("neither faults nor an error")
		}
	})
}
