package nemesis

import (
	"context"
	"fmt"
	"sync"

	"picklock/nemesis/wire"
)

// partitionClient cuts a client off from nodes. As TCP does while a link is down, what
// either side sends is kept, and delivered when the link is up again: that a client has
// given up in between calls nothing back.
func partitionClient() Kind {
	return Kind{
		Name:     "partition-client",
		Summary:  "a client that holds a lock is cut off from the lock nodes (param nodes), for longer than the TTL; what was sent arrives afterwards",
		Needs:    Needs{Wire: true},
		Targets:  clientWords(),
		Triggers: true,
		Params:   []Param{nodesParam()},
		Lasts:    outlivesTTL,
		New: func(w World, p Planned) Fault {
			return &clientPartition{world: w, plan: p, up: make(chan struct{})}
		},
	}
}

type clientPartition struct {
	world World
	plan  Planned
	match wire.Match
	rule  *wire.Active
	up    chan struct{} // closed when the link is up again

	mu    sync.Mutex
	kept  int // frames, by now
	first string
}

func (f *clientPartition) Inject(ctx context.Context) (Target, error) {
	clients, err := f.world.chooseClients(ctx, f.plan, nothing)
	if err != nil {
		return Target{Client: -1}, err
	}
	target := clientsTarget(clients)
	f.match = wire.Match{Clients: clients, Nodes: f.world.lines(f.plan), Both: true}
	f.rule = f.world.Wire.Add(wire.Rule{Match: f.match, Do: f.keep, Fault: f.world.fault})
	if h := f.world.Hit; h != nil && !f.world.Sabotage {
		h.Hold() // it is the first that the cut keeps
		f.count(h.Frame)
	}
	return target, nil
}

// keep holds the frame, and so all behind it, until the link is up.
func (f *clientPartition) keep(ctx context.Context, frame wire.Frame) wire.Verdict {
	if f.world.Sabotage {
		return wire.Verdict{}
	}
	f.count(frame)
	select {
	case <-f.up:
	case <-ctx.Done():
	}
	return wire.Verdict{}
}

func (f *clientPartition) count(frame wire.Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept++; f.kept == 1 {
		f.first = inFrameWords(frame)
	}
}

// Landed waits until something was sent in vain.
func (f *clientPartition) Landed(ctx context.Context) (string, error) {
	err := watch(ctx, func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.kept == 0 {
			return errUnseen
		}
		return nil
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first + " does not get through", err
}

func (f *clientPartition) Recover(context.Context) error {
	if f.rule != nil {
		f.rule.Remove()
		close(f.up)
	}
	return nil
}

func (f *clientPartition) Recovered(ctx context.Context) (string, error) {
	if f.rule == nil {
		return "", nil
	}
	f.mu.Lock()
	kept := f.kept
	f.mu.Unlock()
	return fmt.Sprintf("the link is up; what was kept (%d directions of connections) went on; %s", kept, f.world.flows(ctx, f.match)), nil
}
