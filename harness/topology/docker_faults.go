package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// Kind says what the node is for.
func (n *dockerNode) Kind() Kind { return n.spec.Kind }

// Inside is the address on the network of the containers.
func (n *dockerNode) Inside() string { return net.JoinHostPort(n.inside.String(), serverPort) }

// Block makes a rule in the container's own network. It ends with the container's life, so
// that nothing is left behind, and each start makes it anew.
func (n *dockerNode) Block(ctx context.Context, from Node) error {
	return n.rule(ctx, "block", from, func(ctx context.Context, r rule) error {
		n.cuts[r] = true
		return ifAlive(n.firewall().add(ctx, r))
	})
}

// Unblock removes the rule that Block made.
func (n *dockerNode) Unblock(ctx context.Context, from Node) error {
	return n.rule(ctx, "unblock", from, func(ctx context.Context, r rule) error {
		if err := ifAlive(n.firewall().remove(ctx, r)); err != nil {
			return err
		}
		delete(n.cuts, r)
		return nil
	})
}

func (n *dockerNode) rule(ctx context.Context, verb string, from Node, do func(context.Context, rule) error) error {
	return n.turn.hold(ctx, verb+" "+from.Name()+" at node "+n.Name(), func(ctx context.Context) error {
		r, err := cut(n.run, from, n)
		if err != nil {
			return err
		}
		return do(ctx, r)
	})
}

// ifAlive lets a dead node be cut: the rule waits for its start.
func ifAlive(err error) error {
	if errors.Is(err, ErrDead) {
		return nil
	}
	return err
}

// firewall is that of the container's network. An image without iptables is ErrNoCuts.
func (n *dockerNode) firewall() firewall {
	return firewall{run: func(ctx context.Context, args ...string) (string, int, error) {
		out, code, err := n.exec(ctx, append([]string{"iptables"}, args...)...)
		if code == 126 || code == 127 { // cannot be run, is not there
			err = fmt.Errorf("%w: image %s has no iptables", ErrNoCuts, n.image)
		}
		return out, code, err
	}}
}

// Hears lets the other node's container send a datagram and counts those that get past all
// rules here. Both are done beside a frozen server, too.
func (n *dockerNode) Hears(ctx context.Context, from Node) (heard bool, proof string, err error) {
	err = n.turn.hold(ctx, hearing(n, from), func(ctx context.Context) error {
		r, err := audible(ctx, n.run, from, n)
		if err != nil {
			return err
		}
		sender, ok := from.(*dockerNode)
		if !ok {
			return fmt.Errorf("%s is no container", from.Name())
		}
		var dropped, arrived int64
		for began := time.Now(); dropped == 0 && arrived == 0 && time.Since(began) < hearTimeout; {
			if dropped, arrived, err = n.probe(ctx, sender, r); err != nil {
				return err
			}
		}
		heard, proof = arrived > 0, heardProof(r, from, n, arrived, dropped)
		return nil
	})
	return heard, proof, err
}

// probe lets sender send one datagram. It says how many packets the rule r dropped
// meanwhile, and whether the datagram arrived.
func (n *dockerNode) probe(ctx context.Context, sender *dockerNode, r rule) (dropped, arrived int64, err error) {
	list, err := n.shell(ctx, r.count())
	if err != nil {
		return 0, 0, err
	}
	before, _ := r.seen(list)
	_, err = sender.shell(ctx, r.send())
	// The counting rule goes in any case, and what it counted is read on the way.
	ctx, cancel := toEnd(ctx)
	defer cancel()
	list, err2 := n.shell(ctx, r.uncount())
	if err := errors.Join(err, err2); err != nil {
		return 0, 0, err
	}
	dropped, arrived = r.seen(list)
	return dropped - before, arrived, nil
}

// shell runs a line of bash beside the server.
func (n *dockerNode) shell(ctx context.Context, line string) (string, error) {
	out, code, err := n.exec(ctx, "bash", "-c", line)
	if err == nil && code != 0 {
		err = fmt.Errorf("node %s: %s: exit code %d: %s", n.Name(), line, code, out)
	}
	return out, err
}
