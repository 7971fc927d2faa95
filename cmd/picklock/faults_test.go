package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picklock/harness/store"
	"picklock/models"
)

// TestNodeFaults: the lock's server is killed and frozen, alone and together with client
// faults, in both runtimes and by both ways to reach a container.
func TestNodeFaults(t *testing.T) {
	t.Parallel()
	// The lists of four have time for each kind to land once even where restarts are slow:
	// a kind that never landed makes the test vacuous.
	for _, c := range []struct {
		name string
		args string
	}{
		{"process/kill-node", "--runtime process --nemesis kill-node --persistence always"},
		{"process/pause-node", "--runtime process --nemesis pause-node"},
		{"process/all", "--runtime process --nemesis pause-client,kill-client,pause-node,kill-node --persistence always --time-limit 14s"},
		{"container/kill-node", "--runtime docker --reach container --nemesis kill-node --persistence always"},
		{"published/kill-node", "--runtime docker --reach published --nemesis kill-node --persistence always"},
		{"published/pause-node", "--runtime docker --reach published --nemesis pause-node"},
		{"published/all", "--runtime docker --reach published --nemesis pause-client,kill-client,pause-node,kill-node --persistence always --time-limit 14s"},
		{"process/stock-on-lock", "--runtime process --nemesis kill-node --persistence always --stock-on lock"},
		{"process/many-skus", "--runtime process --nemesis kill-client --skus 20 --min-contention 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--lock", "uuid-lua", "--deduct", "lua", "--ttl", "500ms", "--redis-timeout", "200ms", "--grace", "1500ms",
				"--time-limit", "6s", "--seed", "5"}, strings.Fields(c.args)...)
			r, ran := judged(t, t.TempDir(), args...)
			if len(r.Faults) == 0 || r.Vacuous {
				t.Errorf("no fault landed, or the test is vacuous: %v\n%s", r.VacuousWhy, summary(r, ran))
			}
			for _, f := range r.Faults {
				if !f.Landed || f.Proof == "" || f.Healed == "" || f.EndS <= f.StartS {
					t.Errorf("fault without proof of landing or recovery: %+v", f)
				}
			}
			// The seeds' lock loses nothing to a server that loses nothing, and its Lua
			// deduction nothing to anything.
			for _, id := range []models.Property{models.Ownership, models.LeaseExclusion, models.LinearizableStock, models.NoLostUpdate, models.NoOversell, models.Liveness} {
				if p := r.Properties[id]; p == nil || p.Verdict != models.Valid {
					t.Errorf("%s is %+v\n%s", id, p, summary(r, ran))
				}
			}
		})
	}
}

// TestRestartEmpty: a server that forgets gives the lock away while somebody holds it.
func TestRestartEmpty(t *testing.T) {
	t.Parallel()
	r, ran := judged(t, t.TempDir(), "--runtime", "process", "--lock", "uuid-lua", "--nemesis", "kill-node", "--persistence", "none",
		"--ttl", "1s", "--think", "400ms", "--time-limit", "8s", "--seed", "1", "--redis-timeout", "200ms", "--min-sales", "5")
	for _, id := range []models.Property{models.MutualExclusion, models.LeaseExclusion} {
		if r.Properties[id].Verdict != models.Violated {
			t.Errorf("%s is %s\n%s", id, r.Properties[id].Verdict, summary(r, ran))
		}
	}
	if v := r.Properties[models.Ownership].Verdict; v != models.Valid {
		t.Errorf("ownership is %s: the Lua release never frees another's lock\n%s", v, summary(r, ran))
	}
}

// TestOutOfStock: few units on many SKUs. The atomic deduction sells each unit once and
// stops; the seed's check-then-decrement under a broken lock sells too many.
func TestOutOfStock(t *testing.T) {
	t.Parallel()
	r, ran := judged(t, t.TempDir(), "--runtime", "process", "--lock", "none", "--deduct", "hincrby", "--nemesis", "none",
		"--stock", "5", "--skus", "6", "--think", "5ms", "--time-limit", "3s")
	if r.Verdict != models.Valid || r.Measures.Sales != 30 {
		t.Errorf("verdict %s with %d sales, want valid with each of 30 units sold once\n%s", r.Verdict, r.Measures.Sales, summary(r, ran))
	}
	r, ran = judged(t, t.TempDir(), "--runtime", "process", "--lock", "none", "--deduct", "hash-check-decr", "--nemesis", "none",
		"--stock", "5", "--skus", "6", "--think", "20ms", "--time-limit", "3s")
	if r.Properties[models.NoOversell].Verdict != models.Violated {
		t.Errorf("no-oversell is %s, but units were sold that were not there\n%s", r.Properties[models.NoOversell].Verdict, summary(r, ran))
	}
}

// TestVacuous: a test that proves nothing is never a pass, and says what is missing.
func TestVacuous(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ args, why string }{
		"one worker alone": {"--clients 1 --workers 1", "conten"},
		"hardly a sale":    {"--min-sales 100000", "sales"},
		"nothing in stock": {"--stock 0", "sales"},
		"hardly contended": {"--min-contention 1000000000", "conten"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, ran := judged(t, t.TempDir(), append(strings.Fields("--runtime process --lock uuid-lua --nemesis none --time-limit 4s --ttl 500ms --think 10ms"), strings.Fields(c.args)...)...)
			if ran.status != 2 || !r.Vacuous || !strings.Contains(strings.Join(r.VacuousWhy, ";"), c.why) {
				t.Errorf("status %d, vacuous %v because of %q; want 2, true, and a word on %s", ran.status, r.Vacuous, r.VacuousWhy, c.why)
			}
		})
	}
}

// TestLocalMutexWithOneClient: the same lock is broken with two clients and right with one.
func TestLocalMutexWithOneClient(t *testing.T) {
	t.Parallel()
	for clients, want := range map[string]models.Verdict{"1": models.Valid, "2": models.Violated} {
		r, ran := judged(t, t.TempDir(), "--runtime", "process", "--lock", "local-mutex", "--nemesis", "none", "--clients", clients, "--workers", "4", "--time-limit", "3s")
		if r.Verdict != want {
			t.Errorf("with %s clients: %s, want %s\n%s", clients, r.Verdict, want, summary(r, ran))
		}
	}
}

// TestWhatARunLeaves: the store's contract, as a person and as a program see it.
func TestWhatARunLeaves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := picklock(t, dir, nil, "run", "--runtime", "process", "--lock", "setex-del", "--ttl", "500ms", "--time-limit", "6s", "--seed", "4")
	if r.status != 1 || r.stderr != "" {
		t.Fatalf("%s", r)
	}
	for _, want := range []string{"VIOLATED", "mutual-exclusion", "What broke first", "report.html", "seed 4"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("the output does not say %q:\n%s", want, r.stdout)
		}
	}
	latest := store.Dir(filepath.Join(dir, "store", "latest"))
	for _, name := range []string{store.TestFile, store.HistoryFile, store.ResultFile, store.ReportFile, store.JUnitFile, store.LogFile,
		"nodes/lock.log", "nodes/stock.log", "clients/client-0.log", "charts/throughput.svg", "charts/latency.svg"} {
		if _, err := os.Stat(latest.Path(name)); err != nil {
			t.Errorf("the store lacks %s: %v", name, err)
		}
	}
	if _, err := os.Stat(latest.Path(store.Journals)); err == nil {
		t.Error("the journals are still there although the history is whole")
	}
	pictures, err := filepath.Glob(latest.Path("porcupine-*.html"))
	if err != nil || len(pictures) == 0 {
		t.Errorf("no picture by porcupine: %v", err)
	}
	html, err := os.ReadFile(latest.Path(store.ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, banned := range []string{"http://", "https://"} {
		for line := range strings.Lines(string(html)) {
			if strings.Contains(line, banned) && !strings.Contains(line, "www.w3.org") {
				t.Errorf("the report refers to the network: %.200s", line)
			}
		}
	}
}
