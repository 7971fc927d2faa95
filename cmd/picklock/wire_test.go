package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"picklock/harness/store"
	"picklock/nemesis/wire/record"
)

// TestMessagesOnTheWire: a test with a wire keeps its messages, with the steps of lock and
// deduction and what the fault did to which of them, and its report shows them; one without
// has none.
func TestMessagesOnTheWire(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if r := picklock(t, dir, nil, "scenario", "run", "late-grant", "--runtime", "process"); r.status != 0 {
		t.Fatalf("the scenario was not reproduced: %s", r)
	}
	tests, err := filepath.Glob(filepath.Join(dir, "store", "uuid-lua+*", "2*"))
	if err != nil || len(tests) != 1 {
		t.Fatalf("%v are stored (%v), want one test of the guilty lock", tests, err)
	}
	d := store.Dir(tests[0])
	log, err := d.Messages(0, math.MaxInt64)
	if err != nil || log == nil || !log.Whole || log.Left != 0 {
		t.Fatalf("the record of the wire is %+v (%v), want all of it", log, err)
	}
	steps := map[string]int{}
	var met []record.Message
	for _, m := range log.Messages {
		steps[m.Node+" "+m.Step+" "+m.Side.String()]++
		if m.Fate != record.Passed {
			met = append(met, m)
		}
		if m.Fate == record.Passed && m.Out == 0 {
			t.Errorf("%+v passed and never went on", m)
		}
	}
	for _, want := range []string{"lock acquire", "lock release", "stock stock-read", "stock stock-write"} {
		if q, r := steps[want+" request"], steps[want+" reply"]; q < 5 || r != q {
			t.Errorf("%s: %d requests and %d replies, want five or more, and as many", want, q, r)
		}
	}
	if len(met) != 1 || met[0].Fate != record.Delayed || met[0].Fault != 1 || met[0].Step != "acquire" || met[0].Reply != "+OK" || met[0].Out-met[0].At < 1e9 {
		t.Errorf("faults met %+v, want the one grant, delayed by a second by fault 1", met)
	}
	report := read(t, d.Path(store.ReportFile))
	for _, want := range []string{`<svg class="lamport"`, "acquire: OK – delayed 1.00 s by F1 delay-reply", `href="wire.jsonl"`} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	before := read(t, d.Path(store.WireFile))
	if r := picklock(t, dir, nil, "check", string(d)); r.status != 1 {
		t.Errorf("judged again: %s", r)
	}
	if read(t, d.Path(store.WireFile)) != before {
		t.Error("judging a test again changes its messages")
	}
}
