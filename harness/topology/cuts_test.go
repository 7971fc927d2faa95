package topology_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"picklock/harness/topology"
)

// startCut starts a cluster whose nodes can be cut.
func startCut(t *testing.T, k kind, nodes ...topology.NodeSpec) *bench {
	t.Helper()
	return startPlan(t, k, topology.Plan{Nodes: nodes, Cuts: true})
}

func wantHears(t *testing.T, at, from topology.Node, want bool) {
	t.Helper()
	got, proof, err := at.Hears(t.Context(), from)
	if err != nil || got != want || proof == "" {
		t.Errorf("%s hears %s: got %t (%s), error %v; want %t", at.Name(), from.Name(), got, proof, err, want)
	}
	if !want && !strings.Contains(proof, "our rule dropped") {
		t.Errorf("proof: got %q, want it to say that our rule dropped packets: silence alone proves little", proof)
	}
}

// rulesOf lists this machine's firewall rules of a run.
func rulesOf(t *testing.T, run string) []string {
	t.Helper()
	out, err := exec.Command("iptables", "-w", "10", "-S", "INPUT").Output()
	must(t, err)
	var rules []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, run) {
			rules = append(rules, "rule "+strings.TrimSpace(line))
		}
	}
	return rules
}

func TestBlockCutsOneDirection(t *testing.T) {
	both := kinds(t)[:2]
	asked := both[1] // containers that nobody can enter but through the engine
	asked.name += ", through the engine"
	for _, k := range append(both, asked) {
		t.Run(k.name, func(t *testing.T) {
			if k.name == asked.name {
				t.Setenv("PATH", t.TempDir()) // there is no nsenter
			}
			b := startCut(t, k, topology.Redlock(3, "own", topology.PersistNone)...)
			n1, n2, n3 := b.node(t, "lock-1"), b.node(t, "lock-2"), b.node(t, "lock-3")
			wantHears(t, n1, n2, true)
			wantNoErr(t, "block", n1.Block(t.Context(), n2))
			wantNoErr(t, "block again", n1.Block(t.Context(), n2))
			wantHears(t, n1, n2, false)
			wantHears(t, n2, n1, true)
			wantHears(t, n1, n3, true)
			wantNoErr(t, "PING of a cut node", dial(t, n1.Addr()).Ping(t.Context()).Err())

			wantNoErr(t, "kill", n1.Kill(t.Context()))
			if _, _, err := n1.Hears(t.Context(), n2); !errors.Is(err, topology.ErrDead) {
				t.Errorf("hearing of a dead node: got %v, want ErrDead", err)
			}
			wantNoErr(t, "block a dead node", n1.Block(t.Context(), n3))
			wantNoErr(t, "start", n1.Start(t.Context()))
			wantHears(t, n1, n2, false)
			wantHears(t, n1, n3, false)

			wantNoErr(t, "pause", n1.Pause(t.Context()))
			wantHears(t, n1, n2, false)
			wantNoErr(t, "unblock a paused node", n1.Unblock(t.Context(), n2))
			wantNoErr(t, "unblock again", n1.Unblock(t.Context(), n2))
			wantHears(t, n1, n2, true)
			wantHears(t, n1, n3, false)
			wantNoErr(t, "resume", n1.Resume(t.Context()))
			wantHears(t, n1, n2, true)

			wantNoErr(t, "kill", n1.Kill(t.Context()))
			wantNoErr(t, "unblock a dead node", n1.Unblock(t.Context(), n3))
			wantNoErr(t, "start", n1.Start(t.Context()))
			wantHears(t, n1, n3, true)
			if k.engine == nil {
				if rules := rulesOf(t, b.run); len(rules) != 0 {
					t.Errorf("after all was unblocked: got %q, want no rule", rules)
				}
			}
		})
	}
}

// A cut must bite connections that stand, and let them go on when it heals.
func TestCutStopsAStandingReplication(t *testing.T) {
	for _, k := range kinds(t)[:2] {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			nodes := topology.Failover(1, "lock", topology.PersistNone)[:2] // no Sentinel meddles
			b := startCut(t, k, nodes...)
			primary, replica := b.node(t, "lock-1"), b.node(t, "lock-2")
			c, r := dial(t, primary.Addr()), dial(t, replica.Addr())
			set := func(value string) { wantNoErr(t, "SET", c.Set(t.Context(), "key", value, 0).Err()) }
			arrived := func(value string) func() bool {
				return func() bool { return r.Get(t.Context(), "key").Val() == value }
			}
			set("1")
			eventually(t, "the replica has the write", arrived("1"))
			wantNoErr(t, "block", replica.Block(t.Context(), primary))
			set("2")
			if n := c.Wait(t.Context(), 1, 250e6).Val(); n != 0 {
				t.Errorf("WAIT over a cut link: got %d replicas, want 0", n)
			}
			if got := r.Get(t.Context(), "key").Val(); got != "1" {
				t.Errorf("key on the cut replica: got %q, want 1: the link was standing", got)
			}
			wantNoErr(t, "unblock", replica.Unblock(t.Context(), primary))
			eventually(t, "the replica catches up", arrived("2"))
		})
	}
}

func TestCutsLeaveNothing(t *testing.T) {
	for _, k := range kinds(t)[:2] {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			b := startCut(t, k, topology.Failover(1, "lock", topology.PersistNone)...)
			for _, n := range b.Nodes()[1:] {
				wantNoErr(t, "block", n.Block(t.Context(), b.Nodes()[0]))
				wantNoErr(t, "block", b.Nodes()[0].Block(t.Context(), n))
			}
			wantNoErr(t, "pause", b.Nodes()[1].Pause(t.Context()))
			wantNoErr(t, "kill", b.Nodes()[2].Kill(t.Context()))
			if k.engine == nil {
				if rules := rulesOf(t, b.run); len(rules) != 8 {
					t.Errorf("rules: got %q, want 8: this test could not fail", rules)
				}
			}
			cancelled, cancel := context.WithCancel(t.Context())
			cancel()
			wantNoErr(t, "close", b.Close(cancelled))
			wantNothingLeft(t, b.run, b.tmp, b.engine)
			if rules := rulesOf(t, b.run); len(rules) != 0 {
				t.Errorf("after close: got %q, want no rule", rules)
			}
			if err := b.Nodes()[0].Block(t.Context(), b.Nodes()[1]); !errors.Is(err, topology.ErrClosed) {
				t.Errorf("block after close: got %v, want ErrClosed", err)
			}
		})
	}
}

func TestProcessesWithoutIptablesCannotBeCut(t *testing.T) {
	redis, err := exec.LookPath("redis-server")
	must(t, err)
	t.Setenv("PATH", filepath.Dir(redis))
	if path, err := exec.LookPath("iptables"); err == nil {
		t.Fatalf("there is %s beside redis-server", path)
	}
	r, err := topology.NewProcess()
	must(t, err)
	plan := topology.Plan{Run: "test-no-cuts", Dir: t.TempDir(), Nodes: topology.Redlock(2, "lock", topology.PersistNone), Cuts: true}
	_, err = r.Start(t.Context(), plan)
	if !errors.Is(err, topology.ErrNoCuts) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "--runtime docker") {
		t.Errorf("start with cuts: got %v, want ErrNoCuts in one line with the cure", err)
	}
	plan.Cuts = false
	c, err := r.Start(t.Context(), plan)
	must(t, err)
	defer c.Close(context.Background())
	n := c.Nodes()
	if err := n[0].Block(t.Context(), n[1]); !errors.Is(err, topology.ErrNoCuts) {
		t.Errorf("block in a cluster without cuts: got %v, want ErrNoCuts", err)
	}
	if heard, proof, err := n[0].Hears(t.Context(), n[1]); !heard || err != nil {
		t.Errorf("hears: got %t (%s), %v; want true: to listen takes no privilege", heard, proof, err)
	}
}
