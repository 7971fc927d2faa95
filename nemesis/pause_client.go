package nemesis

import (
	"context"
	"time"
)

// pauseClient stops a client that holds a lock for longer than the lock's TTL: a garbage
// collection, a page fault, a laptop lid (Kleppmann). Its lease ends while it believes
// that it holds. A frame that triggered it goes on when the client does.
func pauseClient() Kind {
	return Kind{
		Name:     "pause-client",
		Summary:  "SIGSTOP to a client that holds a lock, for longer than the TTL, then SIGCONT",
		Targets:  clientWords(),
		Triggers: true,
		Lasts:    outlivesTTL,
		New:      func(w World, p Planned) Fault { return &clientPause{plan: p, stopped: newStandstill(w)} },
	}
}

// clientWords are the targets of faults on clients that hold a lock, if nothing else is said.
func clientWords() []string {
	return []string{Holder, Waiter, One, RandomSubset, Minority, Majority, Everyone}
}

// outlivesTTL is a time in which every lease ends.
func outlivesTTL(ttl time.Duration, draw float64) time.Duration {
	return ttl + span(max(ttl/4, 150*time.Millisecond), max(ttl/2, 300*time.Millisecond), draw)
}

type clientPause struct {
	plan    Planned
	stopped *standstill
	healed  string
}

func (f *clientPause) Inject(ctx context.Context) (t Target, err error) {
	f.stopped.world.Hit.Hold()
	err = f.stopped.bring(ctx, f.plan, running)
	return f.stopped.target, err
}

func (f *clientPause) Landed(context.Context) (string, error) { return f.stopped.landed() }

func (f *clientPause) Recover(ctx context.Context) (err error) {
	f.healed, err = f.stopped.resume(ctx)
	return err
}

func (f *clientPause) Recovered(context.Context) (string, error) { return f.healed, nil }
