package nemesis_test

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/history"
	"picklock/harness/topology"
	"picklock/nemesis"
	"picklock/nemesis/wire"
)

// following is a player's connection that follows the primary as the Sentinels tell it.
func following(nodes []topology.Node) redis.UniversalClient {
	o := &redis.FailoverOptions{
		MasterName: topology.SentinelMaster, MaxRetries: -1, Protocol: 2, ContextTimeoutEnabled: true, DisableIdentity: true,
		DialTimeout: 200 * time.Millisecond, ReadTimeout: 200 * time.Millisecond, WriteTimeout: 200 * time.Millisecond,
	}
	for _, n := range nodes {
		if n.Kind() == topology.SentinelNode {
			o.SentinelAddrs = append(o.SentinelAddrs, n.Addr())
		}
	}
	return redis.NewFailoverClient(o)
}

// TestRealFailover does one thing after the other to the same servers, so that each finds
// what the one before left: a topology that works.
func TestRealFailover(t *testing.T) {
	t.Parallel()
	nodes := start(t, topology.Plan{Nodes: topology.Failover(2, "lock", topology.PersistNone), Cuts: true})
	p := play(t, 5*time.Second, 4*time.Second, following(nodes), following(nodes))
	w := over(nodes, p)
	for _, c := range []struct {
		plan nemesis.Planned
		want []string
	}{
		{nemesis.Planned{Kind: "failover"}, []string{"is primary by its ROLE and by ", " of 3 Sentinels", "s after the fault began"}},
		{nemesis.Planned{Kind: "failover", With: map[string]string{"how": "death"}}, []string{"is primary by its ROLE", "s after the fault began"}},
		{nemesis.Planned{Kind: "stale-promotion"}, []string{"does not hear", "EXISTS lock:played answered 0 at all replicas", "no release recorded"}},
		{nemesis.Planned{Kind: "stale-promotion", With: map[string]string{"by": "sentinel"}}, []string{"EXISTS lock:played answered 0 at all replicas", "no release recorded"}},
		{nemesis.Planned{Kind: "failover", With: map[string]string{"how": "death"}}, []string{"is primary by its ROLE"}},
		{nemesis.Planned{Kind: "partition-replica", For: 50 * time.Millisecond}, []string{"does not hear"}},
		{nemesis.Planned{Kind: "partition-replica", Target: nemesis.One, For: 50 * time.Millisecond}, []string{"does not hear"}},
		{nemesis.Planned{Kind: "cut-one-way", For: 50 * time.Millisecond}, []string{"does not hear", " hears "}},
		{nemesis.Planned{Kind: "isolate-node", Target: nemesis.Sentinels, For: 50 * time.Millisecond}, []string{"does not hear"}},
		{nemesis.Planned{Kind: "kill-node", Target: nemesis.Replicas}, []string{"ended"}},
		{nemesis.Planned{Kind: "partition-primary", For: 3 * time.Second}, []string{"does not hear"}},
	} {
		t.Run(c.plan.Kind, func(t *testing.T) {
			land(t, w, c.plan, c.want...)
			if c.plan.With["by"] == "" { // both promotions come to nothing in the same way
				fizzle(t, w, c.plan)
			}
		})
	}
	nobodyHolds(t, nodes)
	before := p.granted()
	for end := time.Now().Add(30 * time.Second); p.granted() == before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody was granted the lock any more; the topology must work after all faults")
		}
	}
}

// nobodyHolds looks for a grant that nothing is known of while there is none. No fault is
// what that comes to, and then not even its cut may stay.
func nobodyHolds(t *testing.T, nodes []topology.Node) {
	t.Helper()
	r, rec := runner(over(nodes, &players{}), nemesis.Planned{Kind: "stale-promotion"})
	if _, err := r.Run(t.Context(), history.Now(), history.Now()+int64(2*time.Second)); err != nil || len(rec.faults) > 0 {
		t.Errorf("stale-promotion without a holder: error %v, record %+v; want no fault", err, rec.faults)
	}
	for _, a := range nodes[:3] {
		for _, b := range nodes[:3] {
			if a == b {
				continue
			}
			if heard, proof, err := a.Hears(t.Context(), b); err != nil || !heard {
				t.Errorf("stale-promotion without a holder left a cut: %s, error %v", proof, err)
			}
		}
	}
}

// TestRealSplit cuts clients off with a primary and away from it, over a real wire.
func TestRealSplit(t *testing.T) {
	t.Parallel()
	nodes := start(t, topology.Plan{Nodes: topology.Failover(1, "lock", topology.PersistNone), Cuts: true})
	proxy := wire.New(slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	primary := nodes[slices.IndexFunc(nodes, func(n topology.Node) bool { return n.Name() == "lock-1" })]
	var connections []redis.UniversalClient
	for i := range 4 {
		addr, err := proxy.Listen(i, primary.Name(), primary.Addr)
		if err != nil {
			t.Fatal(err)
		}
		connections = append(connections, redis.NewClient(impatient(addr)))
	}
	w := over(nodes, play(t, time.Second, 5*time.Millisecond, connections...))
	w.Wire = proxy
	split := nemesis.Planned{Kind: "partition-primary", With: map[string]string{"clients": "with", "count": "half"}, For: 50 * time.Millisecond}
	got := land(t, w, split, "does not hear", "and lock-1 were kept back")
	t.Log(got.Target)
	fizzle(t, w, split)
	alone := nemesis.Planned{Kind: "isolate-node", Target: "lock-1", For: 50 * time.Millisecond}
	land(t, w, alone, "does not hear", "client 0, client 1, client 2, client 3 and lock-1 were kept back")
	fizzle(t, w, alone)
}
