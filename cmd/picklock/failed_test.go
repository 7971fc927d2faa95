package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picklock/harness/store"
)

// beginPaused begins a test in which the lock's server is paused, and returns in the
// middle of that.
func beginPaused(t *testing.T, runtime string) *background {
	t.Helper()
	dir := t.TempDir()
	b := begin(t, dir, scheduled(t, dir, "faults: [{kind: pause-node, at: 500ms, for: 2s}, {kind: pause-client, at: 1s, for: 1s}]",
		strings.Fields("--lock uuid-lua --ttl 500ms --clients 3 --time-limit 8s --seed 1 --runtime "+runtime)...)...)
	b.awaitRecord(`"fault-start"`, `pause-node`)
	return b
}

// fails demands that a run ends with that status and one line that has the word, and leaves
// nothing.
func (b *background) fails(run string, status int, word string) {
	b.t.Helper()
	if got, said := b.wait(), b.errs.String(); got != status || strings.Count(said, "\n") != 1 || !strings.Contains(said, word) {
		b.t.Errorf("status %d and %q; want %d and a line with %q", got, said, status, word)
	}
	nothingLeftOf(b.t, run)
	nothingLeft(b.t, b.tmp)
}

// TestFaultThatFails: a fault that cannot be healed, since its server is taken away
// meanwhile, is told as a failure of the harness, and nothing is left all the same.
func TestFaultThatFails(t *testing.T) {
	t.Parallel()
	for _, runtime := range []string{"process", "docker"} {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			b := beginPaused(t, runtime)
			run := b.runID()
			if runtime == "process" {
				kill(t, stopped(t, run, "redis-server"))
			} else {
				lock := strings.TrimSpace(dockerSays(t, "ps", "-q", "--filter", "label=picklock.run="+run, "--filter", "label=picklock.node=lock"))
				dockerSays(t, "rm", "-f", "-v", lock)
			}
			b.fails(run, 255, "pause-node") // which was not healed
		})
	}
}

// stopped is the one process of a run with that word in its command line that is in state T.
func stopped(t *testing.T, run, word string) string {
	t.Helper()
	var found []string
	for pid, cmdline := range processesWith("PICKLOCK_RUN=" + run) {
		stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		if err == nil && strings.Contains(cmdline, word) && strings.Contains(string(stat), ") T ") {
			found = append(found, pid)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d stopped processes with %q; want one", len(found), word)
	}
	return found[0]
}

// TestJudgeThatFails: a history that is damaged while the test runs cannot be judged. The
// word on it is clear, and nothing is left all the same.
func TestJudgeThatFails(t *testing.T) {
	t.Parallel()
	for _, runtime := range []string{"process", "docker"} {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			b := beginPaused(t, runtime)
			run := b.runID()
			damage(t, b.latest().Path(store.HistoryFile))
			b.fails(run, 254, "damaged")
			kept, err := os.ReadDir(string(b.latest()))
			if err != nil || !slices.ContainsFunc(kept, func(e os.DirEntry) bool { return e.Name() == store.HistoryFile }) {
				t.Errorf("the history is not kept: %v %v", kept, err)
			}
		})
	}
}

// damage flips a bit in the first line of a file that somebody else writes to.
func damage(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := []byte{0}
	if _, err := f.ReadAt(b, 10); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1
	if _, err := f.WriteAt(b, 10); err != nil {
		t.Fatal(err)
	}
}
