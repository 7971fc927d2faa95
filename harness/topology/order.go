package topology

import (
	"context"
	"errors"
	"fmt"
)

// errFollows ends the start of a node whose predecessor did not become ready: the
// predecessor's own error says why.
var errFollows = errors.New("the node that it follows is not ready")

// inOrder starts all nodes side by side, each as soon as the one that it follows is ready,
// and waits for all. Nodes follow no circle: the plan was checked.
func inOrder[N Node](ctx context.Context, p Plan, nodes []N, start func(N) error) error {
	type outcome struct {
		done chan struct{}
		err  error // to be read when done is closed
	}
	outcomes := map[string]*outcome{}
	for _, n := range nodes {
		outcomes[n.Name()] = &outcome{done: make(chan struct{})}
	}
	err := each(nodes, func(n N) error {
		mine := outcomes[n.Name()]
		defer close(mine.done)
		spec, _ := p.spec(n.Name())
		if before := outcomes[spec.follows()]; before != nil {
			select {
			case <-before.done:
			case <-ctx.Done():
				mine.err = context.Cause(ctx)
				return mine.err
			}
			if before.err != nil {
				mine.err = errFollows
				return nil
			}
		}
		mine.err = start(n)
		return mine.err
	})
	if err != nil {
		return err
	}
	return settled(ctx, p, nodes)
}

// settled waits until replication is online and the Sentinels find all well.
func settled[N Node](ctx context.Context, p Plan, nodes []N) error {
	var all []Node
	for _, n := range nodes {
		all = append(all, n)
	}
	return each(all, func(n Node) error {
		if replicas := len(p.replicasOf(n.Name())); replicas > 0 {
			if err := AwaitReplication(ctx, n, replicas); err != nil {
				return fmt.Errorf("start: %w", err)
			}
		}
		if len(p.sentinelsOf(n.Name())) > 0 {
			if err := AwaitSentinels(ctx, n, p.group(n, all)); err != nil {
				return fmt.Errorf("start: %w", err)
			}
		}
		return nil
	})
}

// group is a primary with its replicas and Sentinels.
func (p Plan) group(primary Node, all []Node) []Node {
	var group []Node
	for _, n := range all {
		spec, _ := p.spec(n.Name())
		if n == primary || spec.follows() == primary.Name() {
			group = append(group, n)
		}
	}
	return group
}

// ready is what a node must answer before Start returns.
func (p Plan) ready(n NodeSpec) readiness {
	switch n.Kind {
	case SentinelNode:
		return sentinelReady(len(p.replicasOf(n.Watches)), len(p.sentinelsOf(n.Watches))-1)
	case StockNode:
		return writable
	}
	return serving
}
