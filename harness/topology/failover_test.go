package topology_test

import (
	"strings"
	"testing"
	"time"

	"picklock/harness/topology"
)

// role is the first word of a node's ROLE: master, slave or sentinel.
func role(t *testing.T, n topology.Node) string {
	t.Helper()
	reply, err := dial(t, n.Addr()).Do(t.Context(), "ROLE").Slice()
	if err != nil || len(reply) == 0 {
		return "none: " + err.Error()
	}
	return reply[0].(string)
}

// agreed waits until all Sentinels name the same primary, other than not, and that node
// finds itself one.
func (b *bench) agreed(t *testing.T, not topology.Node) topology.Node {
	t.Helper()
	var primary topology.Node
	eventually(t, "the Sentinels agree on a new primary", func() bool {
		primary = nil
		for _, s := range b.Nodes() {
			if s.Kind() != topology.SentinelNode {
				continue
			}
			p, err := topology.SentinelsPrimary(t.Context(), s, b.Nodes())
			if err != nil || p == not || (primary != nil && p != primary) {
				return false
			}
			primary = p
		}
		return primary != nil && role(t, primary) == "master"
	})
	return primary
}

func TestPrimaryDiesAndAReplicaTakesOver(t *testing.T) {
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, k, topology.Failover(2, "own", topology.PersistNone)...)
			old := b.node(t, "lock-1")
			c := dial(t, old.Addr())
			wantNoErr(t, "SET", c.Set(t.Context(), "key", "1", 0).Err())
			if info := c.Info(t.Context(), "replication").Val(); strings.Count(info, "state=online") != 2 {
				t.Errorf("replication right after the start: got %q, want two replicas that are online", info)
			}
			if n, err := c.Wait(t.Context(), 2, 10*time.Second).Result(); n != 2 || err != nil {
				t.Errorf("WAIT 2: got %d, %v; want 2", n, err)
			}
			began := time.Now()
			wantNoErr(t, "kill", old.Kill(t.Context()))
			primary := b.agreed(t, old)
			t.Logf("promoted %s after %v", primary.Name(), time.Since(began))
			c = dial(t, primary.Addr())
			if got := c.Get(t.Context(), "key").Val(); got != "1" {
				t.Errorf("key on the promoted replica: got %q, want 1", got)
			}
			wantNoErr(t, "SET on the promoted replica", c.Set(t.Context(), "key", "2", 0).Err())

			began = time.Now()
			wantNoErr(t, "start of the old primary", old.Start(t.Context()))
			t.Logf("old primary started after %v as %s", time.Since(began), role(t, old))
			wantNoErr(t, "all well again", topology.AwaitSentinels(t.Context(), primary, b.Nodes()))
			wantNoErr(t, "all online again", topology.AwaitReplication(t.Context(), primary, 2))
			t.Logf("all well after %v", time.Since(began))
			if got := role(t, old); got != "slave" {
				t.Errorf("role of the old primary: got %s, want slave", got)
			}
			if got := dial(t, old.Addr()).Get(t.Context(), "key").Val(); got != "2" {
				t.Errorf("key on the old primary: got %q, want 2: it must follow the new one", got)
			}

			// What Sentinel changed is in the nodes' own files.
			wantNoErr(t, "kill the old primary, a replica now", old.Kill(t.Context()))
			wantNoErr(t, "start it", old.Start(t.Context()))
			if got := role(t, old); got != "slave" {
				t.Errorf("role of the old primary after one more start: got %s, want slave: its own file says so", got)
			}
			s := b.node(t, "sentinel-2")
			wantNoErr(t, "kill a Sentinel", s.Kill(t.Context()))
			wantNoErr(t, "start it", s.Start(t.Context()))
			if p, err := topology.SentinelsPrimary(t.Context(), s, b.Nodes()); err != nil || p != primary {
				t.Errorf("primary in the eyes of a restarted Sentinel: got %v, %v; want %s: it must remember", p, err, primary.Name())
			}
			wantNoErr(t, "all well at the end", topology.AwaitSentinels(t.Context(), primary, b.Nodes()))
		})
	}
}

func TestNodesStartWhileTheirPrimaryIsDead(t *testing.T) {
	for _, k := range kinds(t)[:2] {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, k, topology.Failover(1, "lock", topology.PersistEverysec)...)
			// Without a majority of Sentinels nobody is promoted.
			for _, name := range []string{"sentinel-1", "sentinel-2", "sentinel-3", "lock-2", "lock-1"} {
				wantNoErr(t, "kill "+name, b.node(t, name).Kill(t.Context()))
			}
			replica := b.node(t, "lock-2")
			wantNoErr(t, "start of a replica without its primary", replica.Start(t.Context()))
			if got := role(t, replica); got != "slave" {
				t.Errorf("role: got %s, want slave", got)
			}
			if err := dial(t, replica.Addr()).Set(t.Context(), "key", "1", 0).Err(); err == nil || !strings.HasPrefix(err.Error(), "READONLY") {
				t.Errorf("SET on a replica: got %v, want READONLY", err)
			}
			s := b.node(t, "sentinel-1")
			wantNoErr(t, "start of a Sentinel without the others", s.Start(t.Context()))
			if p, err := topology.SentinelsPrimary(t.Context(), s, b.Nodes()); err != nil || p.Name() != "lock-1" {
				t.Errorf("the Sentinel's primary: got %v, %v; want lock-1", p, err)
			}
			// The rest in any order: all is well in the end.
			for _, name := range []string{"sentinel-3", "lock-1", "sentinel-2"} {
				wantNoErr(t, "start "+name, b.node(t, name).Start(t.Context()))
			}
			primary := b.agreed(t, nil)
			wantNoErr(t, "all well", topology.AwaitSentinels(t.Context(), primary, b.Nodes()))
		})
	}
}

func TestRedlockNodesAreIndependent(t *testing.T) {
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, k, topology.Redlock(5, "own", topology.PersistNone)...)
			for _, n := range b.Nodes() {
				if got := role(t, n); got != "master" {
					t.Errorf("role of %s: got %s, want master", n.Name(), got)
				}
				set, err := dial(t, n.Addr()).SetNX(t.Context(), "lock", n.Name(), 0).Result()
				if !set || err != nil {
					t.Errorf("SET NX on %s: got %v, %v; want it set: no other node's key may be here", n.Name(), set, err)
				}
			}
		})
	}
}

// Containers take free addresses as they start: only fixed ones survive this.
func TestAddressesStayWhateverTheOrderOfStarts(t *testing.T) {
	for _, k := range kinds(t) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, k, topology.Redlock(3, "own", topology.PersistAlways)...)
			nodes := b.Nodes()
			var inside []string
			for _, n := range nodes {
				inside = append(inside, n.Inside())
				wantNoErr(t, "SET", dial(t, n.Addr()).Set(t.Context(), "who", n.Name(), 0).Err())
			}
			wantNoErr(t, "kill", nodes[0].Kill(t.Context()))
			wantNoErr(t, "kill", nodes[1].Kill(t.Context()))
			wantNoErr(t, "start the second", nodes[1].Start(t.Context()))
			wantNoErr(t, "start the first", nodes[0].Start(t.Context()))
			for i, n := range nodes {
				if n.Inside() != inside[i] {
					t.Errorf("address of %s among the nodes: got %s, want %s as before", n.Name(), n.Inside(), inside[i])
				}
				at := n.Addr()
				if k.name != "docker-published" {
					at = n.Inside() // it can be reached from here
				}
				if got := dial(t, at).Get(t.Context(), "who").Val(); got != n.Name() {
					t.Errorf("at %s answers %q, want %s", at, got, n.Name())
				}
			}
		})
	}
}

func TestFailedStartOfAFailoverSaysWhyOnce(t *testing.T) {
	for _, k := range kinds(t)[:2] {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			run, tmp, logs := place(t)
			nodes := topology.Failover(2, "own", topology.PersistNone)
			nodes[0].Args = []string{"--no-such-option", "1"}
			c, err := k.make(t).Start(t.Context(), topology.Plan{Run: run, Dir: logs, Data: tmp, Nodes: nodes, Cuts: true})
			if err == nil {
				_ = c.Close(t.Context())
				t.Fatal("a primary with a wrong option started")
			}
			if !strings.Contains(err.Error(), "no-such-option") || strings.Contains(err.Error(), "lock-2") {
				t.Errorf("error: got %q, want the primary's words, and none of those that follow it", err)
			}
			wantNothingLeft(t, run, tmp, k.engine)
			if rules := rulesOf(t, run); len(rules) != 0 {
				t.Errorf("left behind: %q", rules)
			}
		})
	}
}
