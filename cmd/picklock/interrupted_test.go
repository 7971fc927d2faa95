package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"picklock/harness/store"
)

// disturbed are the arguments of a test on each topology, and faults that together pause,
// kill, cut and skew.
func disturbed() map[string]struct{ args, faults string } {
	return map[string]struct{ args, faults string }{
		"single": {"--lock uuid-lua", `faults:
- {kind: pause-client, at: 300ms, for: 2s}
- {kind: clock-node, at: 400ms, with: {rate: "2"}}
- {kind: partition-client, at: 1s, for: 3s}
- {kind: kill-node, at: 2s, for: 1s, with: {restart: delayed}}
- {kind: fill-memory, at: 4s, for: 1s}
- {kind: pause-node, at: 6s, for: 3s}`},
		"failover": {"--lock uuid-lua", `faults:
- {kind: partition-replica, target: one, at: 300ms, for: 3s}
- {kind: pause-client, at: 500ms, for: 2s}
- {kind: clock-node, target: one, at: 600ms, with: {offset: +10s}}
- {kind: pause-node, target: replicas, at: 3500ms, for: 1s}
- {kind: stale-promotion, at: 5s, for: 2s}`},
		"redlock": {"--lock redlock", `faults:
- {kind: isolate-node, target: lock-1, at: 300ms, for: 4s}
- {kind: kill-node, target: lock-2, at: 400ms, for: 3s, with: {restart: delayed}}
- {kind: pause-node, target: lock-3, at: 500ms, for: 4s}
- {kind: clock-node, target: lock-4, at: 600ms, with: {offset: -60s}}
- {kind: kill-client, at: 1s, for: 1s}
- {kind: hang-worker, at: 2s}`},
	}
}

// interruptedAt runs a disturbed test, interrupts it some time after it began, and
// demands that nothing is left.
func interruptedAt(t *testing.T, runtime, topology string, after time.Duration) {
	t.Helper()
	before := machineNow(t)
	c, dir := disturbed()[topology], t.TempDir()
	args := scheduled(t, dir, c.faults, append(strings.Fields(c.args), "--topology", topology, "--runtime", runtime,
		"--ttl", "500ms", "--clients", "3", "--time-limit", "20s", "--seed", "1")...)
	b := begin(t, dir, args...)
	b.awaitOutput()
	<-time.After(after)
	var volumes []string
	if runtime == "docker" {
		for _, run := range runsIn(t, dir) {
			volumes = append(volumes, volumesOf(t, run)...)
		}
	}
	status := b.end(os.Interrupt)
	if said := b.errs.String(); status != 130 || !strings.Contains(said, "interrupted") || strings.Count(said, "\n") != 1 {
		t.Errorf("status %d and %q; want 130 and a line on the interruption", status, said)
	}
	for _, run := range runsIn(t, dir) {
		nothingLeftOf(t, run, volumes...)
	}
	nothingLeft(t, b.tmp)
	before.untouched(t)
}

// moments are random times between the first word of a test and the end of its faults.
func moments(n int) []time.Duration {
	r := rand.New(rand.NewPCG(7, 0x6d6f6d656e74))
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = time.Duration(r.Int64N(int64(9 * time.Second))).Round(time.Millisecond)
	}
	return all
}

// TestInterruptedAtAnyMoment: after Ctrl-C, whatever goes on, everything is healed and
// ended. TestSoakInterrupted takes ten moments on each topology.
func TestInterruptedAtAnyMoment(t *testing.T) {
	t.Parallel()
	topologies := []string{"single", "failover", "redlock"}
	for _, runtime := range []string{"process", "docker"} {
		for i, after := range moments(10) {
			topology := topologies[i%len(topologies)]
			t.Run(fmt.Sprintf("%s/%s/%s", runtime, topology, after), func(t *testing.T) {
				t.Parallel()
				interruptedAt(t, runtime, topology, after)
			})
		}
	}
}

// TestInterrupted: Ctrl-C and SIGTERM in the middle of a fault heal it, end everything,
// and say so.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, runtime := range []string{"process", "docker"} {
		for i, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			nemesis := []string{"pause-client", "pause-node"}[i]
			t.Run(fmt.Sprintf("%s/%s/%s", runtime, sig, nemesis), func(t *testing.T) {
				t.Parallel()
				b := begin(t, t.TempDir(), "run", "--runtime", runtime, "--nemesis", nemesis, "--ttl", "500ms", "--time-limit", "30s", "--seed", "3")
				b.awaitRecord(`"fault-start"`)
				run := b.runID()
				if status := b.end(sig); status != 130 || !strings.Contains(b.errs.String(), "interrupted") {
					t.Errorf("status %d and %q; want 130 and a word on the interruption", status, b.errs.String())
				}
				nothingLeftOf(t, run)
				nothingLeft(t, b.tmp)
				h, err := os.ReadFile(b.latest().Path(store.HistoryFile))
				if err != nil {
					t.Fatal(err)
				}
				for _, want := range []string{`"fault-end"`, `"type":"end"`} {
					if !bytes.Contains(h, []byte(want)) {
						t.Errorf("the history has no %s: the fault was not healed, or the record not closed", want)
					}
				}
				if r := parse(t, picklock(t, b.dir, nil, "check", "--json", "store/latest")); !strings.Contains(r.Broken, "interrupted") {
					t.Errorf("the result of what was recorded says %q, not that the test was interrupted", r.Broken)
				}
			})
		}
	}
}
