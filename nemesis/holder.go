package nemesis

import (
	"context"
	"fmt"
	"time"
)

// caught is a client that is stopped while it holds.
type caught struct {
	Holding
	at    int64 // ns: directly before it was stopped
	proof string
}

func (c caught) target() Target {
	return Target{Name: fmt.Sprintf("client %d", c.Client), Client: c.Client, At: c.at}
}

// catchHolder stops a client that holds a lock: it picks one that holds by the record,
// stops it, and looks again at what it had recorded until it stood still. One that
// released in between is let go, and the search goes on. What it returns is certain: the
// client is stopped and its last recorded event is a grant without a release.
func catchHolder(ctx context.Context, w World, pick uint64) (caught, error) {
	for ctx.Err() == nil && now() < w.Until {
		all, err := w.Clients.Holders()
		if err != nil {
			return caught{}, err
		}
		if len(all) == 0 {
			wait(ctx, time.Millisecond)
			continue
		}
		h := all[pick%uint64(len(all))]
		at := now()
		proof, err := w.Clients.Pause(ctx, h.Client)
		if err != nil {
			return caught{}, err
		}
		still, err := w.Clients.Holders()
		if err != nil {
			return caught{}, letGo(ctx, w, h.Client, err)
		}
		for _, s := range still {
			if s.Client == h.Client {
				return caught{s, at, fmt.Sprintf("%s; worker %d holds %s since %.3f s, no release recorded",
					proof, s.Worker, s.Object, w.Seconds(s.Since))}, nil
			}
		}
		if err := letGo(ctx, w, h.Client, nil); err != nil {
			return caught{}, err
		}
	}
	return caught{}, fmt.Errorf("%w: no client held a lock while there was time", ErrNoTarget)
}

// letGo resumes a client that was stopped in vain.
func letGo(ctx context.Context, w World, client int, err error) error {
	if _, rerr := w.Clients.Resume(context.WithoutCancel(ctx), client); rerr != nil {
		return fmt.Errorf("let client %d go on: %w", client, rerr)
	}
	return err
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
