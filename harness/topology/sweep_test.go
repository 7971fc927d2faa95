package topology_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"picklock/harness/topology"
)

func TestSweepTakesTheDeadAndSparesTheLiving(t *testing.T) {
	for _, k := range kinds(t)[:2] { // how a node is reached is nothing to a sweep
		t.Run(k.name, func(t *testing.T) {
			living := start(t, k, topology.Single("own", topology.PersistNone)...)
			t.Setenv("TMPDIR", living.tmp) // for the helper and the sweep
			run := "dead-" + living.run
			got, kill := startHelper(t, strings.Split(k.name, "-")[0], "HELPER_RUN="+run, "HELPER_DIR="+t.TempDir())
			if got.Err != "" {
				t.Fatalf("the helper could not start its cluster: %s", got.Err)
			}

			swept, err := k.make(t).Sweep(t.Context())
			if err != nil || swept != 0 {
				t.Errorf("sweep while all owners live: got %d, %v; want 0", swept, err)
			}
			if k.engine == nil && len(rulesOf(t, run)) != 1 {
				t.Errorf("rules of the helper: got %q, want one: this test could not fail", rulesOf(t, run))
			}
			for _, addr := range got.Addrs[1:] { // the first is paused
				wantNoErr(t, "PING of the helper's node", dial(t, addr).Ping(t.Context()).Err())
			}

			kill()
			if k.engine == nil {
				eventually(t, "the servers end with their harness, also the paused one", func() bool {
					return slices.Equal(processesOf(t, run), []string{sleeper(got.Client)})
				})
				if rules := rulesOf(t, run); len(rules) != 0 {
					t.Errorf("after the guards: got %q, want no rule: they stay until the server's end", rules)
				}
			}
			if before := leftovers(t, run, living.tmp, k.engine); !slices.Contains(before, sleeper(got.Client)) {
				t.Errorf("before the sweep: got %q, want the stopped client among them: this test could not fail", before)
			}
			swept, err = k.make(t).Sweep(t.Context())
			if err != nil || swept < 3 {
				t.Errorf("sweep: got %d, %v; want a client and two nodes at least", swept, err)
			}
			after := leftovers(t, run, living.tmp, k.engine)
			after = slices.DeleteFunc(after, func(s string) bool { return strings.Contains(s, topology.Owner()) })
			if len(after) != 0 {
				t.Errorf("after the sweep: got %q, want nothing of the dead run", after)
			}
			if again, err := k.make(t).Sweep(t.Context()); again != 0 || err != nil {
				t.Errorf("second sweep: got %d, %v; want 0", again, err)
			}
			for _, n := range living.Nodes() {
				wantNoErr(t, "SET on a living node", dial(t, n.Addr()).Set(t.Context(), "key", "1", 0).Err())
			}
			wantNoErr(t, "close", living.Close(t.Context()))
			wantNothingLeft(t, living.run, living.tmp, k.engine)
		})
	}
}

// What the guards could not remove, because they were killed too, is left to a sweep.
func TestSweepRemovesRulesOfTheDead(t *testing.T) {
	k := kinds(t)[0]
	living := startCut(t, k, topology.Redlock(2, "lock", topology.PersistNone)...)
	nodes := living.Nodes()
	wantNoErr(t, "block", nodes[0].Block(t.Context(), nodes[1]))
	t.Setenv("TMPDIR", living.tmp) // for the helper and the sweep
	run := "dead-" + living.run
	got, kill := startHelper(t, "process", "HELPER_RUN="+run, "HELPER_DIR="+t.TempDir())
	if got.Err != "" {
		t.Fatalf("the helper could not start its cluster: %s", got.Err)
	}
	kill()
	eventually(t, "the helper's guards are done", func() bool {
		return slices.Equal(processesOf(t, run), []string{sleeper(got.Client)})
	})
	rule := []string{"INPUT", "-s", "127.0.0.77", "-d", "127.0.0.78", "-m", "comment", "--comment"}
	for _, comment := range []string{"picklock/" + got.Owner + "/" + run, "somebody-else/" + got.Owner + "/" + run} {
		mine := append(slices.Clone(rule), comment, "-j", "DROP")
		must(t, exec.Command("iptables", append([]string{"-w", "10", "-A"}, mine...)...).Run())
		defer func() { _ = exec.Command("iptables", append([]string{"-w", "10", "-D"}, mine...)...).Run() }()
	}
	if rules := rulesOf(t, run); len(rules) != 2 {
		t.Fatalf("rules before the sweep: got %q, want 2", rules)
	}
	_, err := k.make(t).Sweep(t.Context())
	wantNoErr(t, "sweep", err)
	if rules := rulesOf(t, run); len(rules) != 1 || !strings.Contains(rules[0], "somebody-else") {
		t.Errorf("rules after the sweep: got %q, want only that of somebody else", rules)
	}
	wantHears(t, nodes[0], nodes[1], false)
}

func sleeper(pid int) string { return fmt.Sprintf("process %d sleep", pid) }
