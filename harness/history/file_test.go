package history_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"picklock/harness/history"
	"picklock/harness/history/historytest"
)

// sampleFile is a small whole history.
func sampleFile(t *testing.T) []byte {
	t.Helper()
	events := []history.Event{{Time: 100, Type: history.Begin}}
	for i := range int64(20) {
		id := i + 1
		events = append(events,
			history.Event{Time: 200 + 10*i, Type: history.Invoke, Op: history.Acquire, ID: id, Object: "lock:a"},
			history.Event{Time: 205 + 10*i, Type: history.OK, Op: history.Acquire, ID: id, Object: "lock:a", Token: "t"})
	}
	return historytest.Lines(t, append(events, history.Event{Time: 1000, Type: history.End})...)
}

func TestFileCutAnywhere(t *testing.T) {
	whole := sampleFile(t)
	all, broken, err := history.ReadEvents(bytes.NewReader(whole))
	if err != nil || broken != "" || len(all) != 42 {
		t.Fatalf("the whole file: %d events, broken %q, error %v; want 42, none, none", len(all), broken, err)
	}
	for cut := range whole {
		events, broken, err := history.ReadEvents(bytes.NewReader(whole[:cut]))
		if err != nil {
			t.Fatalf("cut after %d bytes: %v; a torn tail is no damage", cut, err)
		}
		lines := bytes.Count(whole[:cut], []byte("\n"))
		torn := cut > 0 && whole[cut-1] != '\n'
		if whole[cut] == '\n' { // only the newline is missing: the line is whole
			lines, torn = lines+1, false
		}
		if len(events) != lines {
			t.Fatalf("cut after %d bytes: %d events, want the %d whole lines", cut, len(events), lines)
		}
		if torn != (broken != "") {
			t.Fatalf("cut after %d bytes: broken is %q, but torn is %v", cut, broken, torn)
		}
	}
}

func TestFileDamaged(t *testing.T) {
	whole := sampleFile(t)
	body := len(whole) - 1 // its last byte is the newline
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		b := bytes.Clone(whole)
		at := r.IntN(body)
		b[at] ^= byte(1 << r.IntN(8))
		if _, _, err := history.ReadEvents(bytes.NewReader(b)); !errors.Is(err, history.ErrDamaged) {
			t.Fatalf("byte %d changed from %q to %q: %v; want ErrDamaged", at, whole[at], b[at], err)
		}
	}
	lines := strings.SplitAfter(string(whole), "\n")
	lines = lines[:len(lines)-1]
	for i := range len(lines) - 1 {
		lost := strings.Join(append(append([]string{}, lines[:i]...), lines[i+1:]...), "")
		if _, _, err := history.ReadEvents(strings.NewReader(lost)); !errors.Is(err, history.ErrDamaged) {
			t.Fatalf("line %d lost: %v; want ErrDamaged", i+1, err)
		}
		twice := strings.Join(append(append([]string{}, lines[:i+1]...), lines[i:]...), "")
		if _, _, err := history.ReadEvents(strings.NewReader(twice)); !errors.Is(err, history.ErrDamaged) {
			t.Fatalf("line %d doubled: %v; want ErrDamaged", i+1, err)
		}
	}
}

func TestFileZeroTail(t *testing.T) {
	whole := sampleFile(t)
	for _, zeros := range []int{1, 4096} {
		b := append(bytes.Clone(whole[:len(whole)/2]), make([]byte, zeros)...)
		if _, broken, err := history.ReadEvents(bytes.NewReader(b)); err != nil || broken == "" {
			t.Errorf("%d zero bytes after a cut: broken %q, error %v; want a torn tail", zeros, broken, err)
		}
	}
}

func FuzzReadEvents(f *testing.F) {
	f.Add([]byte("{\"t\":1,\"type\":\"begin\",\"crc\":\"00000000\"}\n"))
	f.Add([]byte("\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		events, broken, err := history.ReadEvents(bytes.NewReader(b))
		if err != nil && (events != nil || broken != "") {
			t.Fatalf("an error and a result at once: %v, %d events, %q", err, len(events), broken)
		}
		_, _ = history.Assemble(events) // must not panic
	})
}

func TestLoadRefusesContradictions(t *testing.T) {
	for name, events := range map[string][]history.Event{
		"a completion without an invocation": {{Time: 1, Type: history.OK, Op: history.Acquire, ID: 1}},
		"two invocations":                    {{Time: 1, Type: history.Invoke, ID: 1}, {Time: 2, Type: history.Invoke, ID: 1}},
		"two completions": {{Time: 1, Type: history.Invoke, ID: 1}, {Time: 2, Type: history.OK, ID: 1},
			{Time: 3, Type: history.Info, ID: 1}},
		"another operation's completion": {{Time: 1, Type: history.Invoke, Op: history.Acquire, ID: 1},
			{Time: 2, Type: history.OK, Op: history.Release, ID: 1}},
		"a fault that only ends": {{Time: 1, Type: history.FaultEnd, Fault: &history.Fault{N: 1}}},
		"an unknown type":        {{Time: 1, Type: "what"}},
	} {
		if _, err := history.Assemble(events); err == nil {
			t.Errorf("%s was taken for a history", name)
		}
	}
}
