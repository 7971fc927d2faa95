package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// Kind says what the node is for.
func (n *processNode) Kind() Kind { return n.spec.Kind }

// Inside is the address at which everybody knows the node.
func (n *processNode) Inside() string { return n.Addr() }

// Block makes a rule on this machine: it outlives the servers, and the node's close, the
// guards and a sweep remove it.
func (n *processNode) Block(ctx context.Context, from Node) error {
	return n.rule(ctx, "block", from, func(ctx context.Context, r rule) error {
		n.cuts[r] = true // before it is there: what breaks off may have made it
		return n.rules.add(ctx, r)
	})
}

// Unblock removes the rule that Block made.
func (n *processNode) Unblock(ctx context.Context, from Node) error {
	return n.rule(ctx, "unblock", from, func(ctx context.Context, r rule) error {
		if err := n.rules.remove(ctx, r); err != nil {
			return err
		}
		delete(n.cuts, r)
		return nil
	})
}

func (n *processNode) rule(ctx context.Context, verb string, from Node, do func(context.Context, rule) error) error {
	return n.turn.hold(ctx, verb+" "+from.Name()+" at node "+n.Name(), func(ctx context.Context) error {
		if n.rules == nil {
			return fmt.Errorf("%w: the plan did not ask for it", ErrNoCuts)
		}
		r, err := cut(n.run, from, n)
		if err != nil {
			return err
		}
		return do(ctx, r)
	})
}

// heal removes what is left of the node's rules. The caller has the turn.
func (n *processNode) heal(ctx context.Context) error {
	var errs []error
	for r := range n.cuts {
		if err := n.rules.remove(ctx, r); err != nil {
			errs = append(errs, err)
			continue
		}
		delete(n.cuts, r)
	}
	return errors.Join(errs...)
}

// Hears sends a datagram from the other node's address to this one's. On loopback it has
// arrived, or was dropped, when the call that sends it returns.
func (n *processNode) Hears(ctx context.Context, from Node) (heard bool, proof string, err error) {
	err = n.turn.hold(ctx, hearing(n, from), func(ctx context.Context) error {
		r, err := audible(ctx, n.run, from, n)
		if err != nil {
			return err
		}
		before, err := n.dropped(ctx, r)
		if err != nil {
			return err
		}
		after := before
		for began := time.Now(); !heard && after == before && time.Since(began) < hearTimeout; {
			if heard, err = datagram(ctx, r.from, r.to); err != nil {
				return err
			}
			if after, err = n.dropped(ctx, r); err != nil {
				return err
			}
		}
		arrived := int64(0)
		if heard {
			arrived = 1
		}
		proof = heardProof(r, from, n, arrived, after-before)
		return nil
	})
	return heard, proof, err
}

// dropped counts the packets that a rule has dropped.
func (n *processNode) dropped(ctx context.Context, r rule) (packets int64, err error) {
	if n.rules == nil {
		return 0, nil
	}
	rules, err := n.rules.rules(ctx)
	return rules[r], err
}

// arrival is how long a datagram may take over loopback, for the sake of a busy machine.
const arrival = 50 * time.Millisecond

// datagram sends one from an address of this machine to another and says if it arrived.
func datagram(ctx context.Context, from, to string) (bool, error) {
	ear, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(to)})
	if err != nil {
		return false, err
	}
	defer ear.Close()
	mouth := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(from)}}
	conn, err := mouth.DialContext(ctx, "udp4", ear.LocalAddr().String())
	if err != nil {
		return false, err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("picklock")); err != nil {
		return false, err
	}
	if err := ear.SetReadDeadline(time.Now().Add(arrival)); err != nil {
		return false, err
	}
	var buf [16]byte
	for { // anybody may send to the port; only the other node's address counts
		_, sender, err := ear.ReadFromUDP(buf[:])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if sender.String() == conn.LocalAddr().String() {
			return true, nil
		}
	}
}
