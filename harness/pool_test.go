package harness_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"picklock/harness"
	"picklock/harness/client"
	"picklock/harness/store"
	"picklock/harness/topology"
	"picklock/models"
)

// TestMain lets this binary play the clients and the guards of the tests that it runs.
func TestMain(m *testing.M) {
	topology.RunGuardIfAsked()
	if client.Asked() {
		if err := client.Run(os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestTestsShareServers: one test after the other on the same servers, each as if they were
// its own: its verdict, its part of the logs, its count of commands. One whose faults lay
// hands on servers gets new ones, and they are not used again.
func TestTestsShareServers(t *testing.T) {
	inner, err := topology.NewProcess()
	if err != nil {
		t.Fatal(err)
	}
	pool, err := topology.NewPool(inner, topology.PoolOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := pool.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	for i, c := range []struct {
		lock, nemesis string
		limit         time.Duration
		servers       string
		violated      models.Property
	}{
		{"setex-del", "pause-client", 30 * time.Second, "new", models.MutualExclusion}, // it ends early
		{"uuid-lua", "", 2 * time.Second, "reused", ""},
		{"uuid-lua", "kill-node", 5 * time.Second, "", ""}, // new, and closed after it
		{"none", "", 2 * time.Second, "reused", models.NoLostUpdate},
		{"uuid-lua", "", 2 * time.Second, "reused", ""},
	} {
		o := harness.Defaults()
		o.Root, o.Lock, o.Runtime, o.Seed = t.TempDir(), c.lock, "process", 3
		o.UntilVerdict = c.violated == models.MutualExclusion
		o.TimeLimit, o.TTL, o.Grace = store.Duration(c.limit), store.Duration(300*time.Millisecond), store.Duration(300*time.Millisecond)
		if o.Nemesis = nil; c.nemesis != "" {
			o.Nemesis = []string{c.nemesis}
		}
		o, err := harness.Plan(o)
		if err != nil {
			t.Fatal(err)
		}
		out, err := harness.Run(t.Context(), o, harness.Env{Runtime: pool, NoSweep: true})
		if err != nil {
			t.Fatalf("test %d, %+v: %v", i, c, err)
		}
		res := out.Result
		if got := res.Test.About["servers"]; got != c.servers {
			t.Errorf("test %d, %s under %q, says of its servers %q, want %q", i, c.lock, c.nemesis, got, c.servers)
		}
		if res.Test.Runtime != "process" || res.Vacuous {
			t.Errorf("test %d: runtime %q, vacuous %q", i, res.Test.Runtime, res.VacuousWhy)
		}
		if res.Test.Observed.Early != o.UntilVerdict {
			t.Errorf("test %d ended early: %t, want %t", i, res.Test.Observed.Early, o.UntilVerdict)
		}
		if c.violated != "" && res.Properties[c.violated].Verdict != models.Violated {
			t.Errorf("test %d: %s is %v, want violated", i, c.violated, res.Properties[c.violated])
		}
		for _, e := range res.Expected {
			if !e.Met {
				t.Errorf("test %d: %s is %s, expected %s", i, e.Property, res.Properties[models.Property(e.Property)].Verdict, e.Expected)
			}
		}
		// Each grant takes its lock with one command at least and gives it back with another.
		if n := res.Test.Observed.Commands; c.lock != "none" && (n < int64(2*res.Measures.Grants) || n > int64(200*res.Measures.Grants)) {
			t.Errorf("test %d counted %d commands for %d grants: those of this test alone are some few for each", i, n, res.Measures.Grants)
		}
		log, err := os.ReadFile(filepath.Join(string(out.Dir), store.NodeLogs, "lock.log"))
		if err != nil {
			t.Errorf("test %d has no log of its node: %v", i, err)
		}
		if started := strings.Contains(string(log), "Ready to accept connections"); started == (c.servers == "reused") {
			t.Errorf("test %d: the start of the server in its log: %t, want it in the log of the test that it was started for", i, started)
		}
	}
}
