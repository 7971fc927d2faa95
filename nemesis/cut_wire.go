package nemesis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"picklock/nemesis/wire"
)

// lane is the way of some clients to some nodes.
type lane struct {
	clients []int
	nodes   []string
	// busy: something is always on this way, so that a cut of it shows soon.
	busy bool
}

func (l lane) match() wire.Match { return wire.Match{Clients: l.clients, Nodes: l.nodes, Both: true} }

func (l lane) String() string {
	return fmt.Sprintf("%s and %s", strings.Join(each(l.clients, clientTarget), ", "), strings.Join(l.nodes, ", "))
}

// wireCut is a cut between clients and nodes. A nil one cuts nothing.
type wireCut struct {
	lanes []lane
	rules []*wire.Active // one for each lane
	up    chan struct{}  // closed when the lanes are open again
}

// cutWire keeps back everything on these ways from now on, until they are open again: then
// it goes on, as packets do that TCP sends again. The fault is the number of the one that cuts.
func cutWire(p *wire.Proxy, fault int, lanes []lane) *wireCut {
	c := &wireCut{lanes: lanes, up: make(chan struct{})}
	for _, l := range lanes {
		c.rules = append(c.rules, p.Add(wire.Rule{Match: l.match(), Fault: fault, Do: func(ctx context.Context, _ wire.Frame) wire.Verdict {
			select {
			case <-c.up:
			case <-ctx.Done():
			}
			return wire.Verdict{}
		}}))
	}
	return c
}

// bites waits until a frame was kept back on each busy way.
func (c *wireCut) bites(ctx context.Context) (proof string, err error) {
	if c == nil {
		return "", errors.New("nothing on the wire was cut")
	}
	err = watch(ctx, func() error {
		var proofs []string
		for i, l := range c.lanes {
			n := c.rules[i].Hits()
			if n == 0 && l.busy {
				return fmt.Errorf("no frame between %s was kept back", l)
			}
			proofs = append(proofs, fmt.Sprintf("%d frames between %s were kept back", n, l))
		}
		proof = inWords(proofs)
		return nil
	})
	return proof, err
}

// mend opens the ways again.
func (c *wireCut) mend() {
	if c == nil {
		return
	}
	for _, r := range c.rules {
		r.Remove()
	}
	close(c.up)
}
