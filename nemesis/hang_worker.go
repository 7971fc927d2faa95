package nemesis

import (
	"context"
	"fmt"
	"time"
)

// hangWorker makes a worker stay in its section while its process goes on, and with it
// its watchdog, which keeps the lock for a worker that will never give it back (S1 3.7).
// Without a duration it hangs until the load is over.
func hangWorker() Kind {
	return Kind{
		Name:      "hang-worker",
		Summary:   "a worker hangs in its section, while its process and its watchdog go on; with a duration it comes back",
		Targets:   []string{Holder},
		Triggers:  true,
		Moments:   []string{granted},
		Stays:     true,
		StaysWhen: func(p Planned) bool { return p.For == 0 },
		Lasts:     func(time.Duration, float64) time.Duration { return 0 },
		New:       func(w World, p Planned) Fault { return &workerHang{world: w, plan: p} },
	}
}

type workerHang struct {
	world  World
	plan   Planned
	worker Holding
	told   bool
	proof  string
	healed string
}

func (f *workerHang) Inject(ctx context.Context) (t Target, err error) {
	f.worker, err = f.world.chooseHolding(ctx, f.plan, section)
	if err != nil {
		return Target{Client: -1}, err
	}
	t = clientsTarget([]int{f.worker.Client})
	t.Name = fmt.Sprintf("worker %d of client %d", f.worker.Worker, f.worker.Client)
	if f.world.Sabotage {
		return t, nil
	}
	f.told = true
	f.proof, err = f.world.Clients.Hang(ctx, f.worker.Client, f.worker.Worker)
	return t, err
}

func (f *workerHang) Landed(context.Context) (string, error) { return proven(f.proof) }

func (f *workerHang) Recover(ctx context.Context) (err error) {
	if f.told {
		f.healed, err = f.world.Clients.Unhang(ctx, f.worker.Client, f.worker.Worker)
	}
	return err
}

func (f *workerHang) Recovered(context.Context) (string, error) { return f.healed, nil }
