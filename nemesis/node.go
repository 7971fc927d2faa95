package nemesis

import (
	"context"
	"fmt"
	"time"

	"picklock/harness/topology"
)

// pauseNode freezes a lock node for longer than the TTL: a frozen virtual machine, a
// long fork, a swap storm. Its clock goes on; commands pile up in its sockets and are
// carried out when it continues.
func pauseNode() Kind {
	return Kind{
		Name:    "pause-node",
		Summary: "freeze a lock node (SIGSTOP, or the container's cgroup) for longer than the TTL, then thaw it",
		Lasts: func(ttl time.Duration, draw float64) time.Duration {
			return ttl + span(max(ttl/4, 150*time.Millisecond), max(ttl/2, 300*time.Millisecond), draw)
		},
		New: func(w World, pick uint64) Fault {
			return &nodeFault{world: w, pick: pick, want: topology.Paused, inject: topology.Node.Pause, recover: topology.Node.Resume}
		},
	}
}

// killNode ends a lock node without warning and starts it again at once with what it had
// on disk: nothing, if it has no persistence.
func killNode() Kind {
	return Kind{
		Name:    "kill-node",
		Summary: "SIGKILL to a lock node, then a restart with what its disk kept",
		Lasts: func(_ time.Duration, draw float64) time.Duration {
			return span(10*time.Millisecond, 100*time.Millisecond, draw)
		},
		New: func(w World, pick uint64) Fault {
			return &nodeFault{world: w, pick: pick, want: topology.Dead, inject: topology.Node.Kill, recover: topology.Node.Start}
		},
	}
}

// nodeFault takes a node out of its running state and puts it back.
type nodeFault struct {
	world   World
	pick    uint64
	node    topology.Node
	want    topology.State // what it is in then
	inject  func(topology.Node, context.Context) error
	recover func(topology.Node, context.Context) error
}

func (f *nodeFault) Inject(ctx context.Context) (Target, error) {
	if len(f.world.Nodes) == 0 {
		return Target{Client: -1}, fmt.Errorf("%w: no node that faults may touch", ErrNoTarget)
	}
	f.node = f.world.Nodes[f.pick%uint64(len(f.world.Nodes))]
	target := Target{Name: "node " + f.node.Name(), Client: -1, Node: f.node.Name(), At: now()}
	return target, f.inject(f.node, ctx)
}

func (f *nodeFault) Landed(ctx context.Context) (string, error) {
	return f.observe(ctx, f.want)
}

func (f *nodeFault) Recover(ctx context.Context) error {
	if f.node == nil {
		return nil
	}
	if s, _, err := f.node.State(ctx); err == nil && s == topology.Running {
		return nil // the injection did not get that far
	}
	if err := f.recover(f.node, ctx); err != nil {
		return err
	}
	f.world.Moved(f.node.Name(), f.node.Addr())
	return nil
}

func (f *nodeFault) Recovered(ctx context.Context) (string, error) {
	if f.node == nil {
		return "", nil
	}
	return f.observe(ctx, topology.Running)
}

func (f *nodeFault) observe(ctx context.Context, want topology.State) (string, error) {
	s, proof, err := f.node.State(ctx)
	if err != nil {
		return "", err
	}
	if s != want {
		return proof, fmt.Errorf("node %s is %s, not %s", f.node.Name(), s, want)
	}
	return proof, nil
}
