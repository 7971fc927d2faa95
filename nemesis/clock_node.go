package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"picklock/harness/topology"
)

const (
	// clockRight is how near to the true time a clock is that was set right: what the
	// observation of a busy machine's clock may be wrong by.
	clockRight = 50 * time.Millisecond
	// rateShows is how far a clock must have drifted before its rate is judged.
	rateShows = 100 * time.Millisecond
	// strobeShows is how long a strobe is watched for its steps, beyond ten of them.
	strobeShows = time.Second
)

// clockNode moves the clocks of servers: a step of NTP, a virtual machine that was moved,
// a bad quartz. Redis ends a key's TTL by the wall clock. The clocks are set right after
// the judging: to set them right before would be a second step.
func clockNode() Kind {
	return Kind{
		Name:     "clock-node",
		Summary:  "the clocks of nodes step, run at another rate, or step to and fro, for the rest of the test",
		Needs:    Needs{Servers: true, Shim: true},
		Targets:  []string{One, RandomSubset, Minority, Majority, Primaries, Replicas, Everyone},
		Triggers: true,
		Params: []Param{
			{Name: "offset", Default: "+ttl", Check: isSpan, Summary: "how far they step: +10s, -60s, +ttl, -2ttl, 0"},
			{Name: "rate", Default: "1", Check: isRate, Summary: "at which they run from then on; 2: twice as fast"},
			{Name: "strobe", Default: "", Check: optional(isPause), Summary: "after how long they step back, and to again, and so on (100ms); empty: they do not"},
		},
		Stays: true,
		New:   func(w World, p Planned) Fault { return &nodeClock{world: w, plan: p} },
	}
}

// nodeClock moves the clocks of nodes.
type nodeClock struct {
	world  World
	plan   Planned
	offset time.Duration
	rate   float64
	strobe time.Duration // 0: no strobe

	nodes  []topology.Node
	others []topology.Node
	before map[string]sight // by name of the node: its clock before the fault
	begun  int64            // ns: directly before the clocks were set
	done   int64            // ns: directly after
	stop   context.CancelFunc
	ended  chan struct{} // closed when the strobe has ended; nil: there is none
	failed error         // of the strobe
}

// sight is a look at a clock.
type sight struct {
	at    int64 // ns
	ahead time.Duration
	words string
}

func (f *nodeClock) Inject(ctx context.Context) (Target, error) {
	nodes, err := f.world.chooseNodes(ctx, f.plan, clock)
	if err != nil {
		return Target{Client: -1}, err
	}
	f.nodes = nodes
	target := nodesTarget(nodes)
	if err := f.read(); err != nil {
		return target, err
	}
	f.others = f.world.others(nodes)
	if f.before, err = clocks(ctx, slices.Concat(nodes, f.others)); err != nil {
		return target, err
	}
	f.begun, f.done = now(), now()
	if f.world.Sabotage {
		return target, nil
	}
	err = f.move(ctx, f.offset, f.rate)
	f.done = now()
	if err == nil && f.strobe > 0 {
		f.flicker()
	}
	return target, err
}

func (f *nodeClock) read() (err error) {
	if f.offset, err = readSpan(f.plan.With["offset"], f.world.TTL); err != nil {
		return err
	}
	if f.rate, err = strconv.ParseFloat(f.plan.With["rate"], 64); err != nil {
		return err
	}
	if f.offset == 0 && f.rate == 1 {
		return errors.New("a clock with the offset 0 and the rate 1 is right")
	}
	if s := f.plan.With["strobe"]; s != "" {
		f.strobe, err = readSpan(s, f.world.TTL)
	}
	return err
}

// move sets the clocks, side by side.
func (f *nodeClock) move(ctx context.Context, offset time.Duration, rate float64) error {
	_, err := together(f.nodes, func(n topology.Node) (string, error) { return "", n.SetClock(ctx, offset, rate) })
	return err
}

// flicker sets the clocks right and wrong in turn, until stop. The first step was made.
func (f *nodeClock) flicker() {
	ctx, stop := context.WithCancel(context.Background()) // it outlives the injection
	f.stop, f.ended = stop, make(chan struct{})
	go func() {
		defer close(f.ended)
		for wrong := false; ; wrong = !wrong {
			if wait(ctx, f.strobe); ctx.Err() != nil {
				return
			}
			offset, rate := time.Duration(0), 1.0
			if wrong {
				offset, rate = f.offset, f.rate
			}
			if err := f.move(ctx, offset, rate); err != nil && ctx.Err() == nil {
				f.failed = err
				return
			}
		}
	}()
}

// Landed looks at the clocks themselves, and at those of all other nodes, which must go on
// as they did.
func (f *nodeClock) Landed(ctx context.Context) (string, error) {
	moved, err := together(f.nodes, func(n topology.Node) (string, error) {
		seen, err := f.moved(ctx, n)
		if err == nil && f.strobe > 0 {
			var back string
			back, err = f.right(ctx, n)
			seen += ", and then back: " + back
		}
		return seen, err
	})
	if err != nil {
		return moved, err
	}
	unmoved, err := f.unmoved(ctx)
	return inWords([]string{moved, unmoved}), err
}

// moved waits until the node's clock shows its step and its rate, and judges where it is
// then: it must have come at least half as far as an ideal clock, and at most twice.
func (f *nodeClock) moved(ctx context.Context, n topology.Node) (words string, err error) {
	for {
		seen, err := look(ctx, n)
		if err != nil {
			return "", err
		}
		did := seen.ahead - f.before[n.Name()].ahead
		words = fmt.Sprintf("%s moved by %s: %s", n.Name(), did.Round(time.Millisecond), seen.words)
		least, most := f.ideal(n, seen.at-f.done), f.ideal(n, seen.at-f.begun)
		right := between(did, least/2, least*2) || between(did, most/2, most*2) || between(did, least, most)
		drifted := f.rate == 1 || time.Duration(seen.at-f.done) >= rateTime(f.rate)
		switch {
		case drifted && right:
			return words, nil
		case drifted && (f.strobe == 0 || time.Duration(seen.at-f.done) > strobeShows+10*f.strobe):
			return words, fmt.Errorf("%s, and not by %s", words, least.Round(time.Millisecond))
		case ctx.Err() != nil:
			return words, errors.Join(errors.New(words), context.Cause(ctx))
		}
		wait(ctx, watchEvery)
	}
}

// ideal is how far the node's clock should have come, in ns after it was set.
func (f *nodeClock) ideal(n topology.Node, after int64) time.Duration {
	return f.offset + time.Duration((f.rate-1)*float64(after)) - f.before[n.Name()].ahead
}

// rateTime is how long a rate must work before it shows.
func rateTime(rate float64) time.Duration {
	off := rate - 1
	if off < 0 {
		off = -off
	}
	return time.Duration(float64(rateShows) / off)
}

// between says whether d is from one bound to the other, whichever is greater.
func between(d, a, b time.Duration) bool { return min(a, b) <= d && d <= max(a, b) }

// unmoved proves that the clocks of the other nodes did not make the step.
func (f *nodeClock) unmoved(ctx context.Context) (string, error) {
	seen, err := clocks(ctx, f.others)
	if err != nil {
		return "", err
	}
	var proofs []string
	for _, n := range f.others {
		after, ok := seen[n.Name()]
		before, was := f.before[n.Name()]
		if !ok || !was {
			continue // it is dead: it has no clock
		}
		if step := after.ahead - before.ahead; step.Abs() > max(f.offset.Abs()/2, clockRight) {
			return "", fmt.Errorf("%s moved by %s, too: %s", n.Name(), step, after.words)
		}
		proofs = append(proofs, fmt.Sprintf("%s did not move: %s", n.Name(), after.words))
	}
	return strings.Join(proofs, "; "), nil
}

// Recover sets the clocks right. A node that is dead by now starts again with the true
// time.
func (f *nodeClock) Recover(ctx context.Context) error {
	if f.ended != nil {
		f.stop()
		<-f.ended
	}
	_, err := together(f.nodes, func(n topology.Node) (string, error) {
		if s, _, err := n.State(ctx); err == nil && s == topology.Dead {
			return "", nil
		}
		return "", n.SetClock(ctx, 0, 1)
	})
	return errors.Join(err, f.failed)
}

func (f *nodeClock) Recovered(ctx context.Context) (string, error) {
	return together(f.nodes, func(n topology.Node) (string, error) {
		if s, proof, err := n.State(ctx); err == nil && s == topology.Dead {
			return fmt.Sprintf("%s is dead and will start with the true time: %s", n.Name(), proof), nil
		}
		return f.right(ctx, n)
	})
}

// right waits until the node's clock shows the true time.
func (f *nodeClock) right(ctx context.Context, n topology.Node) (words string, err error) {
	err = watch(ctx, func() error {
		seen, err := look(ctx, n)
		words = fmt.Sprintf("%s is right: %s", n.Name(), seen.words)
		if err == nil && seen.ahead.Abs() > clockRight {
			err = fmt.Errorf("the clock of %s is not right: %s", n.Name(), seen.words)
		}
		return err
	})
	return words, err
}

func look(ctx context.Context, n topology.Node) (sight, error) {
	ahead, words, err := n.Clock(ctx)
	return sight{now(), ahead, words}, err
}

// clocks looks at the clocks of those nodes that run.
func clocks(ctx context.Context, nodes []topology.Node) (map[string]sight, error) {
	seen := map[string]sight{}
	var mu sync.Mutex
	_, err := together(nodes, func(n topology.Node) (string, error) {
		if s, _, err := n.State(ctx); err != nil || s != topology.Running {
			return "", err
		}
		s, err := look(ctx, n)
		mu.Lock()
		defer mu.Unlock()
		seen[n.Name()] = s
		return "", err
	})
	return seen, err
}
