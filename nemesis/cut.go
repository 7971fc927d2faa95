package nemesis

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"picklock/harness/topology"
)

// cut is one direction in which packets between two nodes are dropped: those of from, on
// their arrival at the node at.
type cut struct{ at, from topology.Node }

// apart cuts both directions between each node of a and each of b.
func apart(a, b []topology.Node) []cut {
	var cuts []cut
	for _, x := range a {
		for _, y := range b {
			if x != y {
				cuts = append(cuts, cut{x, y}, cut{y, x})
			}
		}
	}
	return cuts
}

// ends are the nodes at which cuts begin or end.
func ends(cuts []cut) []topology.Node {
	var nodes []topology.Node
	for _, c := range cuts {
		for _, n := range []topology.Node{c.at, c.from} {
			if !slices.Contains(nodes, n) {
				nodes = append(nodes, n)
			}
		}
	}
	return nodes
}

// others are the nodes of the world that are not in list.
func (w World) others(list []topology.Node) []topology.Node {
	return slices.DeleteFunc(slices.Clone(w.Nodes), func(n topology.Node) bool { return slices.Contains(list, n) })
}

// lockNodes are the nodes of the world that keep locks.
func (w World) lockNodes() []topology.Node {
	return slices.DeleteFunc(slices.Clone(w.Nodes), func(n topology.Node) bool { return n.Kind() != topology.LockNode })
}

// split is what a fault cuts: between nodes, and between clients and nodes.
type split struct {
	hit     []topology.Node // what the fault is said to hit
	cuts    []cut
	open    []cut // directions that must stay open, for the proof that the cut is not wider
	clients []lane
	words   string // what is apart from what, for the name of the target; empty: the nodes hit
}

// cutFault cuts the network and joins it again.
type cutFault struct {
	world World
	plan  Planned
	// choose says what to cut; false: not now.
	choose func(ctx context.Context) (split, bool)

	split split
	wire  *wireCut
}

// Inject waits for something to cut that no other cut shares: where two cuts overlap, the
// end of the first would end the second.
func (f *cutFault) Inject(ctx context.Context) (Target, error) {
	var s split
	err := f.world.await(ctx, f.plan, func() bool {
		var ok bool
		s, ok = f.choose(ctx)
		return ok && f.world.claims.take(link, nodeTargets(ends(s.cuts))...)
	})
	if err != nil {
		return Target{Client: -1}, err
	}
	f.split = s
	target := nodesTarget(s.hit)
	if s.words != "" {
		target.Name = s.words
	}
	if f.world.Sabotage {
		return target, nil
	}
	if len(s.clients) > 0 {
		f.wire = cutWire(f.world.Wire, f.world.fault, s.clients)
	}
	return target, block(ctx, s.cuts)
}

func (f *cutFault) Landed(ctx context.Context) (string, error) {
	deaf, err := hearing(ctx, f.split.cuts, false)
	if err != nil {
		return deaf, err
	}
	open, err := hearing(ctx, f.split.open, true)
	if err != nil {
		return inWords([]string{deaf, open}), err
	}
	var clients string
	if len(f.split.clients) > 0 {
		clients, err = f.wire.bites(ctx)
	}
	return inWords([]string{deaf, open, clients}), err
}

// Recover unblocks all that was to be blocked: an injection may have failed halfway.
func (f *cutFault) Recover(ctx context.Context) error {
	f.wire.mend()
	return unblock(ctx, f.split.cuts)
}

func (f *cutFault) Recovered(ctx context.Context) (string, error) {
	return joined(ctx, f.split.cuts)
}

// joined waits until packets arrive again in all directions that were cut. From and to
// nodes that are down for another reason none can, so nothing is asked of them.
func joined(ctx context.Context, cuts []cut) (proof string, err error) {
	err = watch(ctx, func() error {
		proof, err = hearing(ctx, cuts, true)
		return err
	})
	return proof, err
}

// block cuts, side by side.
func block(ctx context.Context, cuts []cut) error {
	_, err := together(cuts, func(c cut) (string, error) { return "", c.at.Block(ctx, c.from) })
	return err
}

func unblock(ctx context.Context, cuts []cut) error {
	_, err := together(cuts, func(c cut) (string, error) { return "", c.at.Unblock(ctx, c.from) })
	return err
}

// hearing proves that packets arrive in all these directions, or in none. What was seen in
// detail is told of the first only.
func hearing(ctx context.Context, cuts []cut, want bool) (string, error) {
	var mu sync.Mutex
	details := map[cut]string{}
	proof, err := together(cuts, func(c cut) (string, error) {
		for _, n := range []topology.Node{c.at, c.from} {
			if s, _, err := n.State(ctx); want && err == nil && s == topology.Dead {
				return fmt.Sprintf("node %s is dead, so nothing is cut there", n.Name()), nil
			}
		}
		heard, seen, err := c.at.Hears(ctx, c.from)
		words := c.at.Name() + " does not hear " + c.from.Name()
		if heard {
			words = c.at.Name() + " hears " + c.from.Name()
		}
		mu.Lock()
		defer mu.Unlock()
		details[c] = seen
		if err == nil && heard != want {
			err = fmt.Errorf("%s (%s)", words, seen)
		}
		return words, err
	})
	if len(cuts) > 0 && details[cuts[0]] != "" {
		proof += fmt.Sprintf(" (the first: %s)", details[cuts[0]])
	}
	return proof, err
}
