package nemesis

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"picklock/harness/topology"
)

// marker is a script of the nemesis's own: whether the server knows it tells whether it
// has forgotten its scripts.
const marker = "return 'picklock: is this script still there?'"

// scriptFlush makes servers forget their scripts, so that EVALSHA answers NOSCRIPT: SCRIPT
// FLUSH, or a restart or failover as far as scripts go.
func scriptFlush() Kind {
	return Kind{
		Name:     "script-flush",
		Summary:  "SCRIPT FLUSH, again and again: clients that send EVAL load their scripts anew",
		Needs:    Needs{Servers: true},
		Targets:  []string{Primaries, One, RandomSubset, Minority, Majority, Everyone},
		Triggers: true,
		Params: []Param{{
			Name: "every", Default: "5ms", Check: optional(isPause),
			Summary: "the pause between two flushes; empty: only one",
		}},
		Lasts: func(ttl time.Duration, draw float64) time.Duration {
			return span(ttl, 2*ttl, draw)
		},
		New: func(w World, p Planned) Fault { return &scriptLoss{world: w, plan: p} },
	}
}

type scriptLoss struct {
	world World
	plan  Planned
	nodes []topology.Node

	proof   string
	flushes atomic.Int64 // after the first, on all nodes together
	stop    context.CancelFunc
	ended   chan struct{} // closed when no further flush will come; nil: there is only one
}

func (f *scriptLoss) Inject(ctx context.Context) (Target, error) {
	nodes, err := f.world.chooseNodes(ctx, f.plan, data)
	if err != nil {
		return Target{Client: -1}, err
	}
	f.nodes = nodes
	target := nodesTarget(nodes)
	var every time.Duration
	if s := f.plan.With["every"]; s != "" {
		if every, err = readSpan(s, f.world.TTL); err != nil {
			return target, err
		}
	}
	f.proof, err = together(nodes, func(n topology.Node) (string, error) { return f.first(ctx, n) })
	if err == nil && every > 0 && !f.world.Sabotage {
		f.repeat(every)
	}
	return target, err
}

// first flushes a node that certainly knows a script, and looks whether it forgot it.
func (f *scriptLoss) first(ctx context.Context, n topology.Node) (string, error) {
	c := dial(n)
	defer func() { _ = c.Close() }() // the answers are there
	sha, err := c.ScriptLoad(ctx, marker).Result()
	if err != nil {
		return "", fmt.Errorf("load a script at %s: %w", n.Name(), err)
	}
	before, err := c.ScriptExists(ctx, sha).Result()
	if err == nil && !f.world.Sabotage {
		err = c.ScriptFlush(ctx).Err()
	}
	if err != nil {
		return "", fmt.Errorf("SCRIPT FLUSH at %s: %w", n.Name(), err)
	}
	after, err := c.ScriptExists(ctx, sha).Result()
	if err != nil {
		return "", err
	}
	seen := fmt.Sprintf("%s knew the script %s: %t before SCRIPT FLUSH, %t after", n.Name(), sha, before[0], after[0])
	if !before[0] || after[0] {
		return "", errors.New(seen)
	}
	return seen, nil
}

// repeat flushes all nodes again and again, until stop. A node that does not answer is
// left out of a round: it may be dead, and then it has no scripts either.
func (f *scriptLoss) repeat(every time.Duration) {
	ctx, stop := context.WithCancel(context.Background()) // it outlives the injection
	f.stop, f.ended = stop, make(chan struct{})
	go func() {
		defer close(f.ended)
		for {
			if wait(ctx, every); ctx.Err() != nil {
				return
			}
			for _, n := range f.nodes {
				if ask(ctx, n, "SCRIPT", "FLUSH").Err() == nil {
					f.flushes.Add(1)
				}
			}
		}
	}()
}

// Landed tells what the first flush did: the clients may have loaded scripts since then.
func (f *scriptLoss) Landed(context.Context) (string, error) {
	if f.proof == "" {
		return "", errors.New("no node was seen to forget its scripts")
	}
	return f.proof, nil
}

// Recover ends the flushes. Scripts come back with the next EVAL or SCRIPT LOAD.
func (f *scriptLoss) Recover(context.Context) error {
	if f.ended != nil {
		f.stop()
		<-f.ended
	}
	return nil
}

// Recovered observes that a script stays.
func (f *scriptLoss) Recovered(ctx context.Context) (string, error) {
	seen, err := together(f.nodes, func(n topology.Node) (string, error) {
		c := dial(n)
		defer func() { _ = c.Close() }() // the answers are there
		sha, err := c.ScriptLoad(ctx, marker).Result()
		if err != nil {
			return "", fmt.Errorf("load a script at %s: %w", n.Name(), err)
		}
		there, err := c.ScriptExists(ctx, sha).Result()
		if err == nil && !there[0] {
			err = fmt.Errorf("%s forgot a script that was loaded a moment ago", n.Name())
		}
		return n.Name() + " keeps a script that is loaded", err
	})
	return fmt.Sprintf("flushed %d times more; %s", f.flushes.Load(), seen), err
}
