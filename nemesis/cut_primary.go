package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"picklock/harness/topology"
)

// On which side of a partition clients are.
const (
	clientsStay = "stay"
	clientsWith = "with"
)

// partitionPrimary cuts a primary off from its replicas and from the Sentinels, who
// promote another, while the old one goes on serving those who reach it.
func partitionPrimary() Kind {
	return Kind{
		Name:     "partition-primary",
		Summary:  "cut the primary off from replicas and Sentinels; it goes on serving its clients, so there are two primaries after a while",
		Needs:    Needs{Wire: true, Servers: true, Cuts: true, Replicas: 1},
		Targets:  []string{Primaries},
		Triggers: true,
		Params: []Param{
			{
				Name: "clients", Default: clientsStay, Check: oneOf(clientsStay, clientsWith),
				Summary: clientsStay + ": clients reach every node; " + clientsWith +
					": some, a present holder among them, reach the old primary only, and the others everything else",
			},
			{
				Name: "count", Default: half, Check: isShare,
				Summary: "how many clients are on the primary's side with clients=" + clientsWith + ": a number, or " + half,
			},
		},
		Lasts: cutLasts,
		New: func(w World, p Planned) Fault {
			return &cutFault{world: w, plan: p, choose: func(ctx context.Context) (split, bool) {
				primaries := w.candidates(ctx, Primaries)
				if len(primaries) != 1 {
					return split{}, false
				}
				rest := w.others(primaries)
				s := split{hit: primaries, cuts: apart(primaries, rest)}
				if p.With["clients"] == clientsWith {
					near, far := w.sides(p)
					s.clients = sideLanes(near, far, primaries[0], rest)
					s.words = fmt.Sprintf("node %s with clients %v", primaries[0].Name(), near)
				}
				return s, true
			}}
		},
	}
}

// half is the word for every second client, rounded down, but at least one.
const half = "half"

func isShare(value string) error {
	if n, err := strconv.Atoi(value); value != half && (err != nil || n < 1) {
		return fmt.Errorf("%q is neither %s nor a number above zero", value, half)
	}
	return nil
}

// sides draws which clients are near the primary. One that holds a lock now comes first.
func (w World) sides(p Planned) (near, far []int) {
	n, err := strconv.Atoi(p.With["count"])
	if err != nil {
		n = max(1, w.Clients.Count()/2)
	}
	order := rand.New(rand.NewPCG(p.Pick, 0x7369646573)).Perm(w.Clients.Count())
	if holders, err := w.Clients.Holders(); err == nil && len(holders) > 0 { // without a look it is left to the draw
		first := holders[0].Client
		if w.Hit != nil {
			first = w.Hit.Client
		}
		order = slices.Insert(slices.DeleteFunc(order, func(c int) bool { return c == first }), 0, first)
	}
	n = min(n, len(order))
	near, far = order[:n:n], order[n:]
	slices.Sort(near)
	slices.Sort(far)
	return near, far
}

// sideLanes are the ways that end when clients are parted with the nodes: those near the
// primary lose the rest, the others lose the primary.
func sideLanes(near, far []int, primary topology.Node, rest []topology.Node) []lane {
	var lanes []lane
	if len(near) > 0 && len(rest) > 0 {
		lanes = append(lanes, lane{clients: near, nodes: each(rest, topology.Node.Name)})
	}
	if len(far) > 0 {
		lanes = append(lanes, lane{clients: far, nodes: []string{primary.Name()}, busy: true})
	}
	return lanes
}
