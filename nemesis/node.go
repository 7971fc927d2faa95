package nemesis

import (
	"context"
	"fmt"
	"time"

	"picklock/harness/topology"
)

// nodeWords are the targets of faults that can be done to any nodes.
func nodeWords() []string {
	return []string{One, RandomSubset, Minority, Majority, Primaries, Replicas, Sentinels, Everyone}
}

// pauseNode freezes nodes for longer than the TTL: a frozen virtual machine, a long fork,
// a swap storm. Their clocks go on; commands pile up in their sockets and are carried out
// when they continue.
func pauseNode() Kind {
	return Kind{
		Name:     "pause-node",
		Summary:  "freeze nodes (SIGSTOP, or the container's cgroup) for longer than the TTL, then thaw them",
		Needs:    Needs{Servers: true},
		Targets:  nodeWords(),
		Triggers: true,
		Lasts: func(ttl time.Duration, draw float64) time.Duration {
			return ttl + span(max(ttl/4, 150*time.Millisecond), max(ttl/2, 300*time.Millisecond), draw)
		},
		New: func(w World, p Planned) Fault {
			return &nodeFault{world: w, plan: p, as: running, want: topology.Paused, inject: silently(topology.Node.Pause), recover: topology.Node.Resume}
		},
	}
}

// What becomes of a node that was killed.
const (
	restartAtOnce = "at-once"
	restartLater  = "delayed"
	restartNever  = "never"
)

// killNode ends nodes without warning. They come back with what they had on disk:
// nothing, if they have no persistence.
func killNode() Kind {
	return Kind{
		Name:     "kill-node",
		Summary:  "SIGKILL to nodes; they start again with what their disks kept, which is nothing without persistence",
		Needs:    Needs{Servers: true},
		Targets:  nodeWords(),
		Triggers: true,
		Params: []Param{{
			Name:    "restart",
			Default: restartLater,
			Summary: restartAtOnce + ": as soon as its death was seen; " + restartLater + ": when the fault's time is over; " +
				restartNever + ": only after the load, so that the test ends without the node",
			Check: oneOf(restartAtOnce, restartLater, restartNever),
		}},
		Stays:     true,
		StaysWhen: func(p Planned) bool { return p.With["restart"] == restartNever },
		Lasts: func(_ time.Duration, draw float64) time.Duration {
			return span(10*time.Millisecond, 100*time.Millisecond, draw)
		},
		New: func(w World, p Planned) Fault {
			return &nodeFault{
				world: w, plan: p, as: ending, want: topology.Dead, inject: silently(topology.Node.Kill), recover: topology.Node.Start,
				atOnce: p.With["restart"] == restartAtOnce,
			}
		},
	}
}

// silently makes an injection of one that has nothing to say of its own.
func silently(do func(topology.Node, context.Context) error) func(topology.Node, context.Context) (string, error) {
	return func(n topology.Node, ctx context.Context) (string, error) { return "", do(n, ctx) }
}

// nodeFault takes nodes out of their running state and puts them back.
type nodeFault struct {
	world   World
	plan    Planned
	as      aspect
	want    topology.State // what they are in then
	inject  func(topology.Node, context.Context) (said string, err error)
	recover func(topology.Node, context.Context) error
	atOnce  bool // recover as soon as the state was seen, however long the fault lasts

	nodes []topology.Node
	said  string
}

func (f *nodeFault) Inject(ctx context.Context) (Target, error) {
	nodes, err := f.world.chooseNodes(ctx, f.plan, f.as)
	if err != nil {
		return Target{Client: -1}, err
	}
	f.nodes = nodes
	target := nodesTarget(nodes)
	if f.world.Sabotage {
		return target, nil
	}
	f.said, err = together(nodes, func(n topology.Node) (string, error) { return f.inject(n, ctx) })
	return target, err
}

func (f *nodeFault) Landed(ctx context.Context) (string, error) {
	proof, err := together(f.nodes, func(n topology.Node) (string, error) {
		s, proof, err := n.State(ctx)
		if err == nil && s != f.want {
			err = fmt.Errorf("node %s is %s, not %s: %s", n.Name(), s, f.want, proof)
		}
		return fmt.Sprintf("node %s: %s", n.Name(), proof), err
	})
	if err != nil || !f.atOnce {
		return inWords([]string{f.said, proof}), err
	}
	if err := f.Recover(ctx); err != nil {
		return proof, err
	}
	return proof + "; started again at once", nil
}

func (f *nodeFault) Recover(ctx context.Context) error {
	_, err := together(f.nodes, func(n topology.Node) (string, error) {
		if s, _, err := n.State(ctx); err == nil && s == topology.Running {
			return "", nil // it is there already, or the injection did not get that far
		}
		if err := f.recover(n, ctx); err != nil {
			return "", err
		}
		f.world.Moved(n.Name(), n.Addr())
		return "", nil
	})
	return err
}

// Recovered demands that the nodes run and answer, and no more: whether replicas follow
// again is for Sentinel, not for this fault.
func (f *nodeFault) Recovered(ctx context.Context) (string, error) {
	return together(f.nodes, func(n topology.Node) (string, error) { return answers(ctx, n) })
}
