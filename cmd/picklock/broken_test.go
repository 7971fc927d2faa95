package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picklock/harness/store"
)

// TestHarnessKilled: after a SIGKILL of the harness in the middle of a fault, its clients
// and processes end by themselves, the history so far can be judged, and the next run
// sweeps what is left.
func TestHarnessKilled(t *testing.T) {
	t.Parallel()
	for runtime, faults := range map[string][]string{
		"process": {"pause-client", "pause-node", "partition-replica --topology failover"}, // whose rules are this machine's
		"docker":  {"pause-client", "pause-node"},
	} {
		for _, nemesis := range faults {
			t.Run(runtime+"/"+nemesis, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				b := begin(t, dir, strings.Fields("run --runtime "+runtime+" --lock uuid-lua --ttl 500ms --time-limit 20s --seed 3 --nemesis "+nemesis)...)
				b.awaitRecord(`"fault-start"`)
				run := b.runID()
				if err := b.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = b.cmd.Wait() // it says "killed"
				await(t, "the end of all clients, stopped ones too", func() bool { return len(processesWith("PICKLOCK_RUN="+run)) == 0 })

				r := picklock(t, dir, nil, "check", "--json", "store/latest")
				res := parse(t, r)
				if res.Broken == "" {
					t.Errorf("the result does not say that the history breaks off: %s", r)
				}
				if res.Measures.Sales < 1 {
					t.Errorf("nothing of what was done before the kill was judged: %+v", res.Measures)
				}
				if p := res.Properties["ownership"]; p == nil || p.Verdict == "violated" {
					t.Errorf("ownership reads %+v: the break in the record was taken for a violation", p)
				}

				// Whatever test is begun next sweeps: this one, if none beside it has.
				next := picklock(t, dir, []string{"TMPDIR=" + b.tmp}, "run", "--runtime", runtime, "--nemesis", "none", "--lock", "uuid-lua", "--time-limit", "2s", "--ttl", "500ms")
				if next.status != 0 {
					t.Errorf("the next run: %s", next)
				}
				nothingLeftOf(t, run)
				nothingLeft(t, b.tmp)
			})
		}
	}
}

// TestCheckAgain: judging a stored history again gives the verdict of the run; a torn
// one is judged up to the tear and says so; a damaged one is refused.
func TestCheckAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	res, _ := judged(t, dir, "--runtime", "process", "--lock", "setex-del", "--ttl", "500ms", "--time-limit", "5s", "--seed", "2")
	latest := store.Dir(filepath.Join(dir, "store", "latest"))
	again := parse(t, picklock(t, dir, nil, "check", "--json", "store/latest"))
	if a, b := asJSON(t, res), asJSON(t, again); a != b {
		t.Errorf("judged again, the result differs:\n%s\n%s", a, b)
	}
	path := latest.Path(store.HistoryFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rewrite := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	rewrite(whole[:len(whole)*2/3])
	torn := picklock(t, dir, nil, "check", "--json", "store/latest")
	if r := parse(t, torn); !strings.Contains(r.Broken, "judged up to") {
		t.Errorf("a torn history: broken is %q; want how far it was judged", r.Broken)
	}
	if r := picklock(t, dir, nil, "check", "store/latest"); !strings.Contains(r.stdout, "judged up to") {
		t.Errorf("a person is not told that the history is torn: %s", r)
	}

	damaged := bytes.Clone(whole)
	damaged[len(damaged)/2] ^= 1
	rewrite(damaged)
	r := picklock(t, dir, nil, "check", "store/latest")
	if r.status != 254 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "line") || !strings.Contains(r.stderr, "damaged") {
		t.Errorf("a damaged history must be refused with its line: %s", r)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestClientThatDiesUnordered: a client that ends without an order is no fault of the
// test, so the run has failed and says so, rather than giving a verdict on fewer clients.
func TestClientThatDiesUnordered(t *testing.T) {
	t.Parallel()
	b := begin(t, t.TempDir(), "run", "--runtime", "process", "--lock", "uuid-lua", "--nemesis", "none", "--time-limit", "4s")
	b.awaitRecord(`"op":"acquire"`)
	killed := false
	for pid, cmdline := range processesWith("PICKLOCK_RUN=" + b.runID()) {
		if strings.Contains(cmdline, "client-process") && !killed {
			killed = true
			kill(t, pid)
		}
	}
	if !killed {
		t.Fatal("no client was found to be killed")
	}
	_ = b.cmd.Wait() // its status is looked at below
	if status := b.cmd.ProcessState.ExitCode(); status != 255 || !strings.Contains(b.errs.String(), "ended by itself") {
		t.Errorf("status %d and %q; want 255 and a word on the client", status, b.errs.String())
	}
}
