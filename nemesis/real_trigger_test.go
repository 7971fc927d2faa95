package nemesis_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/topology"
	"picklock/nemesis"
	"picklock/nemesis/wire"
)

// TestRealTriggers has faults on a server wait for a step of a player on a real wire.
func TestRealTriggers(t *testing.T) {
	t.Parallel()
	nodes := start(t, topology.Plan{Nodes: topology.Single("lock", topology.PersistNone), Shim: true})
	proxy := wire.New(slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	var connections []redis.UniversalClient
	for i := range 2 {
		addr, err := proxy.Listen(i, nodes[0].Name(), nodes[0].Addr)
		if err != nil {
			t.Fatal(err)
		}
		connections = append(connections, redis.NewClient(impatient(addr)))
	}
	w := over(nodes, play(t, time.Second, 30*time.Millisecond, connections...))
	w.Wire = proxy
	w.Steps = func(step string) []wire.Command {
		return map[string][]wire.Command{"acquire": {{Name: "SET"}}, "release": {{Name: "EVAL"}}}[step]
	}
	for _, c := range []struct {
		plan nemesis.Planned
		want string
	}{
		{nemesis.Planned{Kind: "kill-node", On: "after acquire", With: map[string]string{"restart": "at-once"}}, "started again at once"},
		{nemesis.Planned{Kind: "power-loss", On: "before release"}, "ended"},
		{nemesis.Planned{Kind: "clock-node", On: "after acquire"}, "lock moved by"},
		{nemesis.Planned{Kind: "delete-key", On: "granted"}, "answered 1"},
		{nemesis.Planned{Kind: "flush", On: "granted", Nth: 2}, "FLUSHALL at lock left 0"},
		{nemesis.Planned{Kind: "fill-memory", On: "granted"}, "announced that it evicted"},
		{nemesis.Planned{Kind: "script-flush", On: "before release"}, "false after"},
	} {
		t.Run(c.plan.Kind, func(t *testing.T) { land(t, w, c.plan, c.want) })
	}
}
