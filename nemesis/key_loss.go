package nemesis

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"picklock/harness/topology"
)

// momentary is how long a fault counts that is over as soon as it is done.
func momentary(_ time.Duration, draw float64) time.Duration {
	return span(5*time.Millisecond, 50*time.Millisecond, draw)
}

// keyLoss makes nodes lose the keys of a lock, mostly a single one, while a client holds it.
type keyLoss struct {
	world World
	plan  Planned
	// lose makes a node lose the keys, and says what it saw and whether one of them was there
	// before and all were gone then.
	lose func(ctx context.Context, n topology.Node, keys []string) (seen string, lost bool, err error)

	nodes []topology.Node
	done  bool // some key was lost, perhaps nobody's
	proof string
}

// Inject tries one holder after the other: a hold may end between the look at the record
// and the loss of its key, which is then not what was wanted, and proves nothing.
func (f *keyLoss) Inject(ctx context.Context) (Target, error) {
	w, err := f.world.onPrimaries(ctx, f.plan)
	if err == nil {
		f.nodes, err = w.chooseNodes(ctx, f.plan, data)
	}
	if err != nil {
		return Target{Client: -1}, err
	}
	target := Target{Client: -1}
	var failed error
	err = w.await(ctx, f.plan, func() bool {
		h, ok := w.freshHolder()
		if !ok {
			return false
		}
		target = nodesTarget(f.nodes)
		if w.Sabotage {
			return true
		}
		var lost bool
		lost, failed = f.from(ctx, h)
		return failed != nil || lost
	})
	if f.done {
		return target, failed // not even when time is up is this nothing: see Landed
	}
	if err != nil {
		return Target{Client: -1}, err
	}
	return target, failed
}

// from has the nodes lose the key of a hold, and says whether the hold lost it.
func (f *keyLoss) from(ctx context.Context, h Holding) (bool, error) {
	var lost atomic.Int64
	seen, err := together(f.nodes, func(n topology.Node) (string, error) {
		words, gone, err := f.lose(ctx, n, f.world.keysOf(h, n))
		if gone {
			lost.Add(1)
		}
		return words, err
	})
	f.done = f.done || lost.Load() > 0
	if err != nil || lost.Load() == 0 {
		return false, err
	}
	held, err := f.world.holds(h)
	if err != nil || !held {
		return false, err
	}
	f.proof = fmt.Sprintf("%s; %s", seen, h.inWords(f.world))
	return true, nil
}

// Landed tells what was seen in the very step in which the key was lost: soon after, it
// may be there again, with another holder.
func (f *keyLoss) Landed(context.Context) (string, error) {
	if f.proof == "" {
		return "", errors.New("nobody who holds a lock was seen to lose its key")
	}
	return f.proof, nil
}

// Recover has nothing to do: what is lost is lost.
func (f *keyLoss) Recover(context.Context) error { return nil }

func (f *keyLoss) Recovered(ctx context.Context) (string, error) {
	seen, err := together(f.nodes, func(n topology.Node) (string, error) { return answers(ctx, n) })
	return "nothing to undo; " + seen, err
}

// onPrimaries is the world in which the lock nodes are those that are primaries now: the
// others refuse writes.
func (w World) onPrimaries(ctx context.Context, p Planned) (World, error) {
	var primaries []topology.Node
	err := w.await(ctx, p, func() bool {
		primaries = w.candidates(ctx, Primaries)
		return len(primaries) > 0
	})
	w.Nodes = primaries
	return w, err
}
