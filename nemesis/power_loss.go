package nemesis

import (
	"context"
	"time"

	"picklock/harness/topology"
)

// powerLoss pulls the plug of nodes: they die, and their disks lose what was not synced.
// With an append-only file that is synced each second that is up to two seconds of grants.
func powerLoss() Kind {
	return Kind{
		Name:     "power-loss",
		Summary:  "SIGKILL to nodes whose disks lose what was not synced (the append-only file is cut at its last fsync), then a restart",
		Needs:    Needs{Servers: true, Shim: true},
		Targets:  []string{One, RandomSubset, Minority, Majority, Primaries, Replicas, Everyone},
		Triggers: true,
		Lasts: func(_ time.Duration, draw float64) time.Duration {
			return span(10*time.Millisecond, 100*time.Millisecond, draw)
		},
		New: func(w World, p Planned) Fault {
			return &nodeFault{
				world: w, plan: p, as: ending, want: topology.Dead,
				inject: func(n topology.Node, ctx context.Context) (string, error) {
					lost, err := n.LosePower(ctx)
					return "node " + n.Name() + ": " + lost, err
				},
				recover: topology.Node.Start,
			}
		},
	}
}
