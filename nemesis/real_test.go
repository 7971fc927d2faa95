package nemesis_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/history"
	"picklock/harness/topology"
	"picklock/nemesis"
)

func TestMain(m *testing.M) {
	topology.RunGuardIfAsked()
	redis.SetLogger(silent{}) // servers die here by design
	os.Exit(m.Run())
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// start starts a topology in the process runtime, and ends it with the test.
func start(t *testing.T, p topology.Plan) []topology.Node {
	t.Helper()
	r, err := topology.NewProcess()
	if err != nil {
		t.Fatal(err)
	}
	p.Run, p.Dir, p.Log = "nemesis-"+strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")), t.TempDir(), slog.New(slog.DiscardHandler)
	c, err := r.Start(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("close the topology: %v", err)
		}
	})
	return c.Nodes()
}

// over is a world over real servers and players.
func over(nodes []topology.Node, clients nemesis.Clients) nemesis.World {
	return nemesis.World{
		Clients: clients, Nodes: nodes, TTL: 3 * time.Second, StockNode: "stock", Moved: func(string, string) {},
		Seconds: func(ns int64) float64 { return float64(ns) / 1e9 },
	}
}

// land runs one fault and demands that it landed, was healed, and said so in words that
// contain all of want. It returns the record of it.
func land(t *testing.T, w nemesis.World, p nemesis.Planned, want ...string) history.Fault {
	t.Helper()
	last := lead(t, w, p)
	if !last.Landed || last.Healed == "" || last.End == 0 {
		t.Fatalf("%s %v: got %+v, want it landed and healed", p.Kind, p.With, last)
	}
	t.Logf("%s %v\n  took %d ms beside its time; landed: %s\n  healed: %s", p.Kind, p.With, (last.End-last.Start)/1e6-p.For.Milliseconds(), last.Proof, last.Healed)
	for _, words := range want {
		if !strings.Contains(last.Proof, words) {
			t.Errorf("%s %v: the proof is %q, want it to tell %q", p.Kind, p.With, last.Proof, words)
		}
	}
	return last
}

// fizzle runs the fault with sabotage and demands that it is on record as one that did not
// land, and was healed.
func fizzle(t *testing.T, w nemesis.World, p nemesis.Planned) {
	t.Helper()
	w.Sabotage = true
	if last := lead(t, w, p); last.Landed || last.Error == "" || last.End == 0 {
		t.Errorf("%s %v was made ineffective, got %+v; want it not landed, with the reason, and healed", p.Kind, p.With, last)
	}
}

// patience is how long a fault may look for a target and for its effect.
func patience(w nemesis.World) time.Duration {
	if w.Sabotage {
		return 5 * time.Second // there will be no effect
	}
	return 25 * time.Second
}

// lead leads one fault through its life, and returns the last that the record says of it.
func lead(t *testing.T, w nemesis.World, p nemesis.Planned) history.Fault {
	t.Helper()
	r, rec := runner(w, p)
	r.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	_, err := r.Run(t.Context(), history.Now(), history.Now()+int64(p.For+patience(w)))
	for _, side := range []nemesis.Side{nemesis.OnClients, nemesis.OnServers} {
		if err == nil {
			err = r.Heal(t.Context(), side)
		}
	}
	if err != nil {
		t.Fatalf("%s %v: %v", p.Kind, p.With, err)
	}
	if len(rec.faults) < 2 {
		t.Fatalf("%s %v: got the record %+v, want a start and an end", p.Kind, p.With, rec.faults)
	}
	return rec.faults[len(rec.faults)-1]
}

// TestRealSingle does to one server whatever can be done to one.
func TestRealSingle(t *testing.T) {
	t.Parallel()
	nodes := start(t, topology.Plan{Nodes: topology.Single("lock", topology.PersistNone)})
	w := over(nodes, play(t, 5*time.Second, 40*time.Millisecond, redis.NewClient(impatient(nodes[0].Addr())), redis.NewClient(impatient(nodes[0].Addr()))))
	for _, c := range []struct {
		plan nemesis.Planned
		want []string
	}{
		{nemesis.Planned{Kind: "pause-node", For: 50 * time.Millisecond}, []string{"state T"}},
		{nemesis.Planned{Kind: "kill-node", With: map[string]string{"restart": "delayed"}}, []string{"ended"}},
		{nemesis.Planned{Kind: "kill-node", With: map[string]string{"restart": "at-once"}}, []string{"ended", "started again at once"}},
		{nemesis.Planned{Kind: "kill-node", With: map[string]string{"restart": "never"}}, []string{"ended"}},
		{nemesis.Planned{Kind: "delete-key"}, []string{"DEL lock:played at lock answered 1", "no release recorded"}},
		{nemesis.Planned{Kind: "flush"}, []string{"FLUSHALL at lock left 0 of", "no release recorded"}},
		{nemesis.Planned{Kind: "script-flush", For: 30 * time.Millisecond}, []string{"true before SCRIPT FLUSH, false after"}},
		{nemesis.Planned{Kind: "script-flush", With: map[string]string{"every": ""}}, []string{"true before SCRIPT FLUSH, false after"}},
		{nemesis.Planned{Kind: "fill-memory", With: map[string]string{"policy": "allkeys-lru"}}, []string{"announced that it evicted lock:played", "keys were evicted"}},
		{nemesis.Planned{Kind: "fill-memory", With: map[string]string{"policy": "allkeys-random"}}, []string{"announced that it evicted lock:played"}},
		{nemesis.Planned{Kind: "fill-memory", With: map[string]string{"policy": "volatile-lru"}}, []string{"announced that it evicted lock:played"}},
		{nemesis.Planned{Kind: "fill-memory", With: map[string]string{"policy": "volatile-random"}}, []string{"announced that it evicted lock:played"}},
		{nemesis.Planned{Kind: "fill-memory", With: map[string]string{"policy": "volatile-ttl"}}, []string{"announced that it evicted lock:played"}},
		{nemesis.Planned{Kind: "fill-memory", With: map[string]string{"policy": "noeviction"}}, []string{"OOM", "policy noeviction"}},
	} {
		t.Run(c.plan.Kind+fmt.Sprint(c.plan.With), func(t *testing.T) {
			land(t, w, c.plan, c.want...)
			fizzle(t, w, c.plan)
		})
	}
	left, err := redis.NewClient(impatient(nodes[0].Addr())).Keys(t.Context(), "picklock:*").Result()
	if err != nil || len(left) > 0 {
		t.Errorf("the keys %q are left, error %v; faults take their own away", left, err)
	}
}

// TestRealPowerLoss pulls the plug of a server that syncs each second.
func TestRealPowerLoss(t *testing.T) {
	t.Parallel()
	nodes := start(t, topology.Plan{Nodes: topology.Single("lock", topology.PersistEverysec), Shim: true})
	w := over(nodes, play(t, 5*time.Second, 5*time.Millisecond, redis.NewClient(impatient(nodes[0].Addr()))))
	land(t, w, nemesis.Planned{Kind: "power-loss"}, "lost", "bytes")
	fizzle(t, w, nemesis.Planned{Kind: "power-loss"})
}

// TestRealClocks moves the clock of one server of two, in every way.
func TestRealClocks(t *testing.T) {
	t.Parallel()
	nodes := start(t, topology.Plan{Nodes: topology.Redlock(2, "lock", topology.PersistNone), Shim: true})
	w := over(nodes, &players{})
	for _, with := range []map[string]string{
		{"offset": "+10s"}, {"offset": "-60s"}, {"offset": "+ttl"}, {"offset": "-2ttl"}, {"offset": "0", "rate": "2"}, {"offset": "0", "rate": "0"},
		{"offset": "+10s", "strobe": "50ms"},
	} {
		t.Run(fmt.Sprint(with), func(t *testing.T) {
			plan := nemesis.Planned{Kind: "clock-node", Target: "lock-2", With: with}
			land(t, w, plan, "lock-2 moved by", "lock-1 did not move")
			fizzle(t, w, plan)
		})
	}
	both := land(t, w, nemesis.Planned{Kind: "clock-node", Target: nemesis.Everyone, With: map[string]string{"offset": "+10s"}}, "lock-1 moved", "lock-2 moved")
	if both.Target != "nodes lock-1, lock-2" {
		t.Errorf("the target is %q, want both nodes", both.Target)
	}
}
