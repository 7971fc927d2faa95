package nemesis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"picklock/harness/topology"
)

// How the primary is made to be replaced.
const (
	byOrder = "ordered"
	byDeath = "death"
)

// failover has the primary replaced by one of its replicas.
func failover() Kind {
	return Kind{
		Name:     "failover",
		Summary:  "Sentinels replace the primary by a replica: by order (SENTINEL FAILOVER), or because it was killed",
		Needs:    Needs{Servers: true, Replicas: 1},
		Targets:  []string{Primaries},
		Triggers: true,
		Params: []Param{{
			Name: "how", Default: byOrder, Check: oneOf(byOrder, byDeath),
			Summary: byOrder + ": the primary lives and becomes a replica; " + byDeath +
				": it is killed, Sentinels find out, and it starts again as a replica when the fault's time is over",
		}},
		Lasts: func(_ time.Duration, draw float64) time.Duration {
			return span(100*time.Millisecond, 500*time.Millisecond, draw)
		},
		New: func(w World, p Planned) Fault { return &failoverFault{world: w, plan: p} },
	}
}

type failoverFault struct {
	world World
	plan  Planned
	old   topology.Node // the primary that is replaced
	at    int64         // ns: the order, or directly before its death
}

func (f *failoverFault) Inject(ctx context.Context) (Target, error) {
	old, err := f.world.onePrimary(ctx, f.plan)
	if err != nil {
		return Target{Client: -1}, err
	}
	f.old = old
	target := nodesTarget([]topology.Node{old})
	f.at = target.At
	switch {
	case f.world.Sabotage:
		return target, nil
	case f.plan.With["how"] == byDeath:
		return target, old.Kill(ctx)
	}
	return target, f.world.orderFailover(ctx)
}

// Landed tells how long it took: the recovery time of the topology, as its clients see it.
func (f *failoverFault) Landed(ctx context.Context) (string, error) {
	by, proof, err := f.world.promoted(ctx, f.old)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, %.3f s after the fault began; before it was %s",
		proof, f.world.Seconds(by.at)-f.world.Seconds(f.at), f.old.Name()), nil
}

func (f *failoverFault) Recover(ctx context.Context) error {
	if f.old == nil {
		return nil
	}
	return f.world.startDead(ctx, f.old)
}

func (f *failoverFault) Recovered(ctx context.Context) (string, error) {
	return f.world.whole(ctx)
}

// onePrimary waits until exactly one lock node is primary by its ROLE, and claims it and
// all that a change of the primary needs: nobody may be killed or stopped meanwhile.
func (w World) onePrimary(ctx context.Context, p Planned) (primary topology.Node, err error) {
	err = w.await(ctx, p, func() bool {
		primaries := w.candidates(ctx, Primaries)
		if len(primaries) != 1 {
			return false
		}
		primary = primaries[0]
		return w.claims.take(ending, nodeTargets(w.Nodes)...)
	})
	return primary, err
}

// orderFailover orders a failover at a Sentinel that takes the order. They refuse while
// another one is under way, and while they see no replica that would do.
func (w World) orderFailover(ctx context.Context) error {
	sentinels := w.candidates(ctx, Sentinels)
	if len(sentinels) == 0 {
		return errors.New("there is no Sentinel to order a failover at")
	}
	return watch(ctx, func() error {
		var errs []error
		for _, s := range sentinels {
			err := ask(ctx, s, "SENTINEL", "FAILOVER", topology.SentinelMaster).Err()
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
}

// promotion is what was seen of a change of the primary.
type promotion struct {
	node topology.Node
	at   int64 // ns: it was seen
}

// promoted waits until most Sentinels name one primary that is not the old one, and it
// says so itself.
func (w World) promoted(ctx context.Context, old topology.Node) (promotion, string, error) {
	var seen promotion
	var proof string
	err := watch(ctx, func() error {
		node, votes, of := w.named(ctx)
		if node == nil || node == old {
			return fmt.Errorf("no %d of %d Sentinels name another primary than %s", of/2+1, of, old.Name())
		}
		if r := role(ctx, node); r != "master" {
			return fmt.Errorf("%d of %d Sentinels name %s, whose role is %q", votes, of, node.Name(), r)
		}
		seen = promotion{node, now()}
		proof = fmt.Sprintf("%s is primary by its ROLE and by %d of %d Sentinels", node.Name(), votes, of)
		return nil
	})
	return seen, proof, err
}

// named is the node that more than half of the Sentinels name as primary; nil: none.
func (w World) named(ctx context.Context) (node topology.Node, votes, of int) {
	count := map[topology.Node]int{}
	for _, s := range w.candidates(ctx, Sentinels) {
		of++
		if n, err := topology.SentinelsPrimary(ctx, s, w.Nodes); err == nil {
			count[n]++
		}
	}
	for n, votes := range count {
		if votes > of/2 {
			return n, votes, of
		}
	}
	return nil, 0, of
}

// startDead starts a node that is dead, and leaves others alone.
func (w World) startDead(ctx context.Context, n topology.Node) error {
	if s, _, err := n.State(ctx); err != nil || s != topology.Dead {
		return err
	}
	if err := n.Start(ctx); err != nil {
		return err
	}
	w.Moved(n.Name(), n.Addr())
	return nil
}

// whole waits until all nodes run and answer, exactly one lock node is primary, its
// replicas are online and the Sentinels find all well. Where another fault cuts the network
// meanwhile, that can only be asked after that fault.
func (w World) whole(ctx context.Context) (string, error) {
	if _, err := together(w.Nodes, func(n topology.Node) (string, error) { return answers(ctx, n) }); err != nil {
		return "", err
	}
	for _, n := range w.Nodes {
		if !w.claims.free(link, nodeTarget(n)) {
			return "all nodes run and answer; another fault keeps them from hearing each other", nil
		}
	}
	var primary topology.Node
	err := watch(ctx, func() error {
		primaries := w.candidates(ctx, Primaries)
		if len(primaries) != 1 {
			return fmt.Errorf("%d nodes are primaries: %s", len(primaries), list(primaries))
		}
		primary = primaries[0]
		return nil
	})
	if err != nil {
		return "", err
	}
	replicas := len(w.lockNodes()) - 1
	if err := topology.AwaitReplication(ctx, primary, replicas); err != nil {
		return "", err
	}
	if err := topology.AwaitSentinels(ctx, primary, w.Nodes); err != nil {
		return "", err
	}
	return fmt.Sprintf("all %d nodes run and answer; %s is the one primary by ROLE, %d replicas are online, all Sentinels find all well",
		len(w.Nodes), primary.Name(), replicas), nil
}

// hostPort splits the address by which other nodes know a node.
func hostPort(n topology.Node) (host, port string, err error) {
	return net.SplitHostPort(n.Inside())
}
