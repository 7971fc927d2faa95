package nemesis

import (
	"context"
	"time"
)

// killClient ends a client that holds a lock, as an out-of-memory kill or a crash of its
// host does, and starts it again after a while under new process ids.
func killClient() Kind {
	return Kind{
		Name:    "kill-client",
		Summary: "SIGKILL to a client that holds a lock, then a restart under new process ids",
		Lasts: func(_ time.Duration, draw float64) time.Duration {
			return span(200*time.Millisecond, 600*time.Millisecond, draw)
		},
		New: func(w World, pick uint64) Fault { return &clientKill{world: w, pick: pick, client: -1} },
	}
}

type clientKill struct {
	world  World
	pick   uint64
	client int
	proof  string
	healed string
}

// Inject stops the holder before it kills it: only so is it certain that it died holding.
func (f *clientKill) Inject(ctx context.Context) (Target, error) {
	h, err := catchHolder(ctx, f.world, f.pick)
	if err != nil {
		return Target{Client: -1}, err
	}
	f.client = h.Client
	died, err := f.world.Clients.Kill(ctx, h.Client, now(), "killed while it held "+h.Object)
	if err != nil {
		return h.target(), err
	}
	f.proof = h.proof + "; then " + died
	return h.target(), nil
}

func (f *clientKill) Landed(context.Context) (string, error) { return f.proof, nil }

func (f *clientKill) Recover(ctx context.Context) (err error) {
	if f.client < 0 {
		return nil
	}
	f.healed, err = f.world.Clients.Restart(ctx, f.client)
	return err
}

func (f *clientKill) Recovered(context.Context) (string, error) { return f.healed, nil }
