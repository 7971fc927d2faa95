package nemesis

import (
	"context"
	"errors"
	"strings"
	"time"
)

// killClient ends a client that holds a lock, as an out-of-memory kill or a crash of its
// host does, and starts it again after a while under new process ids. A frame that
// triggered it is lost with the connection: its bytes were never sent.
func killClient() Kind {
	return Kind{
		Name:     "kill-client",
		Summary:  "SIGKILL to a client that holds a lock, then a restart under new process ids",
		Targets:  clientWords(),
		Triggers: true,
		Lasts: func(_ time.Duration, draw float64) time.Duration {
			return span(200*time.Millisecond, 600*time.Millisecond, draw)
		},
		New: func(w World, p Planned) Fault { return &clientKill{world: w, plan: p, stopped: newStandstill(w)} },
	}
}

type clientKill struct {
	world   World
	plan    Planned
	stopped *standstill
	dead    int // so many of those that were stopped
	proof   string
	healed  string
}

// Inject stops the clients before it kills them: only so is it certain that a holder died
// holding.
func (f *clientKill) Inject(ctx context.Context) (t Target, err error) {
	err = f.stopped.bring(ctx, f.plan, ending)
	if err != nil || f.world.Sabotage {
		return f.stopped.target, err
	}
	proofs := []string{f.stopped.proof + "; then"}
	for _, c := range f.stopped.clients {
		f.dead++
		died, err := f.world.Clients.Kill(ctx, c, now(), f.stopped.why)
		if err != nil {
			return f.stopped.target, err
		}
		proofs = append(proofs, died)
	}
	f.world.Hit.Reset()
	f.proof = strings.Join(proofs, " ")
	return f.stopped.target, nil
}

func (f *clientKill) Landed(context.Context) (string, error) { return proven(f.proof) }

func (f *clientKill) Recover(ctx context.Context) error {
	var proofs []string
	var errs []error
	for _, c := range f.stopped.clients[:f.dead] {
		proof, err := f.world.Clients.Restart(ctx, c)
		proofs, errs = append(proofs, proof), append(errs, err)
	}
	f.healed = strings.Join(proofs, "; ")
	f.stopped.clients = f.stopped.clients[f.dead:]
	_, err := f.stopped.resume(ctx) // those whose turn never came
	return errors.Join(append(errs, err)...)
}

func (f *clientKill) Recovered(context.Context) (string, error) { return f.healed, nil }
