package nemesis

import (
	"context"
	"fmt"
	"time"

	"picklock/nemesis/wire"
)

// resetConnection resets connections, as a load balancer or a firewall does that has
// forgotten them: those of a client, or with a trigger the one on which a step is.
func resetConnection() Kind {
	k := frameKind(Kind{
		Name:    "reset-connection",
		Summary: "the connections of a client are reset; with a trigger the one on which a step is, so that it never arrives",
		Params:  []Param{nodesParam()},
		Lasts:   func(time.Duration, float64) time.Duration { return 0 },
	}, wire.Request, func(World, Planned) (wire.Verdict, error) {
		return wire.Verdict{Action: wire.Reset}, nil
	})
	k.Moments = []string{before, after}
	k.Targets = clientWords()
	onFrame := k.New
	k.New = func(w World, p Planned) Fault {
		if p.On != "" {
			return onFrame(w, p)
		}
		return &clientReset{world: w, plan: p}
	}
	return k
}

// clientReset resets all connections of clients at once.
type clientReset struct {
	world World
	plan  Planned
	match wire.Match
	reset int
}

// Inject waits for a client that has a connection.
func (f *clientReset) Inject(ctx context.Context) (Target, error) {
	clients, err := f.world.chooseClients(ctx, f.plan, nothing)
	if err != nil {
		return Target{Client: -1}, err
	}
	f.match = wire.Match{Clients: clients, Nodes: f.world.lines(f.plan)}
	target := clientsTarget(clients)
	if f.world.Sabotage {
		return target, nil
	}
	err = f.world.await(ctx, f.plan, func() bool {
		f.reset = f.world.Wire.ResetAll(f.match)
		return f.reset > 0
	})
	return target, err
}

func (f *clientReset) Landed(context.Context) (string, error) {
	if f.reset == 0 {
		return "", errUnseen
	}
	return fmt.Sprintf("%d connections were reset", f.reset), nil
}

func (f *clientReset) Recover(context.Context) error { return nil }

func (f *clientReset) Recovered(ctx context.Context) (string, error) {
	return "a reset is over at once; " + f.world.flows(ctx, f.match), nil
}
