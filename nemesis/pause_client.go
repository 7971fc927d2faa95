package nemesis

import (
	"context"
	"time"
)

// pauseClient stops a client that holds a lock for longer than the lock's TTL: a garbage
// collection, a page fault, a laptop lid (Kleppmann). Its lease ends while it believes
// that it holds.
func pauseClient() Kind {
	return Kind{
		Name:    "pause-client",
		Summary: "SIGSTOP to a client that holds a lock, for longer than the TTL, then SIGCONT",
		Lasts: func(ttl time.Duration, draw float64) time.Duration {
			return ttl + span(max(ttl/4, 150*time.Millisecond), max(ttl/2, 300*time.Millisecond), draw)
		},
		New: func(w World, pick uint64) Fault { return &clientPause{world: w, pick: pick, client: -1} },
	}
}

type clientPause struct {
	world  World
	pick   uint64
	client int
	proof  string
	healed string
}

func (f *clientPause) Inject(ctx context.Context) (Target, error) {
	h, err := catchHolder(ctx, f.world, f.pick)
	if err != nil {
		return Target{Client: -1}, err
	}
	f.client, f.proof = h.Client, h.proof
	return h.target(), nil
}

// Landed repeats what catchHolder saw: it does not return a holder that it has not seen
// stopped.
func (f *clientPause) Landed(context.Context) (string, error) { return f.proof, nil }

func (f *clientPause) Recover(ctx context.Context) (err error) {
	if f.client < 0 {
		return nil
	}
	f.healed, err = f.world.Clients.Resume(ctx, f.client)
	return err
}

func (f *clientPause) Recovered(context.Context) (string, error) { return f.healed, nil }
