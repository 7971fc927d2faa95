package nemesis

import (
	"context"
	"fmt"
	"sync"
	"time"

	"picklock/nemesis/wire"
)

// slowWire delays everything between a client and its nodes, each way: a client in another
// region, a congested link.
func slowWire() Kind {
	return slowKind(Kind{
		Name:    "slow-wire",
		Summary: "everything between a client and the nodes takes longer, each way",
		Targets: clientWords(),
		Params:  []Param{nodesParam()},
	}, func(ctx context.Context, w World, p Planned) (wire.Match, Target, error) {
		clients, err := w.chooseClients(ctx, p, nothing)
		if err != nil {
			return wire.Match{}, Target{Client: -1}, err
		}
		return wire.Match{Clients: clients, Nodes: w.lines(p), Both: true}, clientsTarget(clients), nil
	})
}

// slowNode delays everything between nodes and all clients, each way: a node behind a bad
// switch, or one that swaps.
func slowNode() Kind {
	return slowKind(Kind{
		Name:    "slow-node",
		Summary: "everything between a node and all clients takes longer, each way",
		Targets: []string{One, RandomSubset, Minority, Majority, Primaries, Replicas, Everyone},
	}, func(ctx context.Context, w World, p Planned) (wire.Match, Target, error) {
		nodes, err := w.chooseNodes(ctx, p, nothing)
		if err != nil {
			return wire.Match{}, Target{Client: -1}, err
		}
		return wire.Match{Nodes: each(nodes, nodeName), Both: true}, nodesTarget(nodes), nil
	})
}

func slowKind(k Kind, choose func(context.Context, World, Planned) (wire.Match, Target, error)) Kind {
	k.Needs.Wire, k.Triggers = true, true
	k.Params = append(k.Params, Param{Name: "delay", Default: "0.2ttl", Summary: "how much longer: 20ms, 0.5ttl", Check: isPause})
	k.Lasts = outlivesTTL
	k.New = func(w World, p Planned) Fault { return &slowLine{world: w, plan: p, choose: choose} }
	return k
}

type slowLine struct {
	world  World
	plan   Planned
	choose func(context.Context, World, Planned) (wire.Match, Target, error)
	delay  time.Duration
	match  wire.Match
	rule   *wire.Active

	mu    sync.Mutex
	count int    // frames that were delayed
	first string // of them, in words
	due   int64  // ns: the last of them goes on
}

func (f *slowLine) Inject(ctx context.Context) (t Target, err error) {
	if f.match, t, err = f.choose(ctx, f.world, f.plan); err != nil {
		return t, err
	}
	if f.delay, err = readSpan(f.plan.With["delay"], f.world.TTL); err != nil {
		return t, err
	}
	f.rule = f.world.Wire.Add(wire.Rule{Match: f.match, Do: f.do, Fault: f.world.fault})
	return t, nil
}

func (f *slowLine) do(_ context.Context, frame wire.Frame) wire.Verdict {
	if f.world.Sabotage {
		return wire.Verdict{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count++; f.count == 1 {
		f.first = inFrameWords(frame)
	}
	f.due = frame.At + int64(f.delay)
	return wire.Verdict{Delay: f.delay}
}

// Landed waits for the first frame that is delayed.
func (f *slowLine) Landed(ctx context.Context) (string, error) {
	err := watch(ctx, func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.count == 0 {
			return errUnseen
		}
		return nil
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("%s was delayed by %s", f.first, f.delay), err
}

func (f *slowLine) Recover(context.Context) error {
	if f.rule != nil {
		f.rule.Remove()
	}
	return nil
}

func (f *slowLine) Recovered(ctx context.Context) (string, error) {
	if f.rule == nil {
		return "", nil
	}
	f.mu.Lock()
	due, n := f.due, f.count
	f.mu.Unlock()
	wait(ctx, until(due))
	return fmt.Sprintf("the rule is gone; %d frames were delayed in all; %s", n, f.world.flows(ctx, f.match)), ctx.Err()
}

// flowTime bounds the wait for a frame that shows that a line is well again. Lines on
// which nothing is said are well, too.
const flowTime = 300 * time.Millisecond

// flows looks whether a frame passes on lines from which a rule was taken.
func (w World) flows(ctx context.Context, m wire.Match) string {
	seen := make(chan string, 1)
	rule := w.Wire.Add(wire.Rule{Match: m, Do: func(_ context.Context, f wire.Frame) wire.Verdict {
		select {
		case seen <- inFrameWords(f):
		default:
		}
		return wire.Verdict{}
	}})
	defer rule.Remove()
	ctx, cancel := context.WithTimeout(ctx, flowTime)
	defer cancel()
	select {
	case frame := <-seen:
		return frame + " has passed since"
	case <-ctx.Done():
		return "nothing was sent since"
	}
}
