package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"picklock/harness/topology"
)

// The words that Planned.Target may be. For nodes all but Sentinels mean lock nodes.
const (
	One          = "one"           // any one, drawn
	RandomSubset = "random-subset" // at least one, how many and which is drawn
	Minority     = "minority"      // fewer than half of them (one, if there are only one or two)
	Majority     = "majority"      // more than half of them
	Primaries    = "primaries"     // nodes whose ROLE is master at that moment
	Replicas     = "replicas"      // nodes whose ROLE is slave at that moment
	Sentinels    = "sentinels"     // all Sentinels
	Holder       = "holder"        // a client that holds a lock at that moment
	Waiter       = "waiter"        // a client that waits for a lock at that moment
	Everyone     = "all"
)

// How often a search for a target looks, and how long a node may take to tell its role.
const (
	lookEvery   = time.Millisecond
	roleTimeout = 300 * time.Millisecond
)

// chooseNodes chooses the nodes that p means among those on which no other fault works in
// a way that contradicts as, and claims them. While there are too few, it waits; none in
// time is ErrNoTarget. A node that is drawn is the one on whose line the trigger was.
func (w World) chooseNodes(ctx context.Context, p Planned, as aspect) ([]topology.Node, error) {
	if names, ok := namesOf(p.Target); ok {
		var list []topology.Node
		for _, name := range names {
			at := slices.IndexFunc(w.Nodes, func(n topology.Node) bool { return n.Name() == name })
			if at < 0 {
				return nil, fmt.Errorf("%w: there is no node %s that faults may touch", ErrNoTarget, name)
			}
			list = append(list, w.Nodes[at])
		}
		return list, w.await(ctx, p, func() bool { return w.claims.take(as, nodeTargets(list)...) })
	}
	var chosen []topology.Node
	err := w.await(ctx, p, func() bool {
		all := w.candidates(ctx, p.Target)
		free := slices.DeleteFunc(slices.Clone(all), func(n topology.Node) bool { return !w.claims.free(as, nodeTarget(n)) })
		if w.Hit != nil && p.Target == One {
			free = slices.DeleteFunc(free, func(n topology.Node) bool { return n.Name() != w.Hit.Node })
		}
		chosen = pick(p, free, len(all))
		return len(chosen) > 0 && w.claims.take(as, nodeTargets(chosen)...)
	})
	return chosen, err
}

// chooseClients is chooseNodes for clients. A single client is the one whose frame was the
// trigger.
func (w World) chooseClients(ctx context.Context, p Planned, as aspect) ([]int, error) {
	if _, named := namesOf(p.Target); w.Hit != nil && (named || p.Target == One || p.Target == Holder || p.Target == Waiter) {
		if !w.claims.take(as, clientTarget(w.Hit.Client)) {
			return nil, fmt.Errorf("%w: another fault works on client %d, which triggered", ErrNoTarget, w.Hit.Client)
		}
		return []int{w.Hit.Client}, nil
	}
	if p.Target == Holder || p.Target == Waiter || w.grantedSince > 0 {
		h, err := w.chooseHolding(ctx, p, as)
		return []int{h.Client}, err
	}
	named, byName := clientsNamed(p.Target)
	var chosen []int
	err := w.await(ctx, p, func() bool {
		if chosen = named; !byName {
			var free []int
			for c := range w.Clients.Count() {
				if w.claims.free(as, clientTarget(c)) {
					free = append(free, c)
				}
			}
			chosen = pick(p, free, w.Clients.Count())
		}
		return len(chosen) > 0 && w.claims.take(as, clientTargets(chosen)...)
	})
	return chosen, err
}

// chooseHolding chooses a worker that is in its section (or waits, if p's target is the
// waiter) and claims its client.
func (w World) chooseHolding(ctx context.Context, p Planned, as aspect) (h Holding, err error) {
	var lookErr error
	err = w.await(ctx, p, func() bool {
		var all []Holding
		if all, lookErr = w.holdings(p); lookErr != nil {
			return true
		}
		all = slices.DeleteFunc(all, func(h Holding) bool { return !w.claims.free(as, clientTarget(h.Client)) })
		if len(all) == 0 {
			return false
		}
		h = all[p.Pick%uint64(len(all))]
		return w.claims.take(as, clientTarget(h.Client))
	})
	if lookErr != nil {
		return Holding{}, lookErr
	}
	return h, err
}

// holdings are the workers that p means: those in a section, or those that wait; of the
// named clients, if p names some; granted since the trigger, if that was a grant.
func (w World) holdings(p Planned) ([]Holding, error) {
	look := w.Clients.Holders
	if p.Target == Waiter {
		look = w.Clients.Waiters
	}
	all, err := look()
	named, byName := clientsNamed(p.Target)
	return slices.DeleteFunc(all, func(h Holding) bool {
		return h.Since < w.grantedSince || byName && !slices.Contains(named, h.Client)
	}), err
}

// await asks until the choice is made, ctx ends or there is no time left.
func (w World) await(ctx context.Context, p Planned, chosen func() bool) error {
	for !chosen() {
		if w.late(ctx) {
			return fmt.Errorf("%w: target %q was not there, or not free, while there was time", ErrNoTarget, p.Target)
		}
		wait(ctx, lookEvery)
	}
	return nil
}

// candidates are the nodes that a word draws from.
func (w World) candidates(ctx context.Context, word string) []topology.Node {
	var all []topology.Node
	for _, n := range w.Nodes {
		switch {
		case (n.Kind() == topology.SentinelNode) != (word == Sentinels):
		case word == Primaries && role(ctx, n) != "master":
		case word == Replicas && role(ctx, n) != "slave":
		default:
			all = append(all, n)
		}
	}
	return all
}

// role is what the node says it is: "master", "slave"; empty: it does not say.
func role(ctx context.Context, n topology.Node) string {
	ctx, cancel := context.WithTimeout(ctx, roleTimeout)
	defer cancel()
	answer, err := ask(ctx, n, "ROLE").Slice()
	if err != nil || len(answer) == 0 {
		return ""
	}
	word, _ := answer[0].(string)
	return word
}

// pick draws what the target word of p means from those that are free; nil if these are
// too few. total is how many there are, free or not.
func pick[T any](p Planned, free []T, total int) []T {
	r := rand.New(rand.NewPCG(p.Pick, 0x746172676574))
	n := total
	switch p.Target {
	case One:
		n = 1
	case RandomSubset:
		n = 1 + r.IntN(max(1, len(free)))
	case Minority:
		n = max(1, (total-1)/2)
	case Majority:
		n = total/2 + 1
	}
	if n == 0 || n > len(free) {
		return nil
	}
	order := r.Perm(len(free))[:n]
	slices.Sort(order)
	chosen := make([]T, n)
	for i, at := range order {
		chosen[i] = free[at]
	}
	return chosen
}

// words are all that Planned.Target may be, beside names.
func words() []string {
	return []string{One, RandomSubset, Minority, Majority, Primaries, Replicas, Sentinels, Holder, Waiter, Everyone}
}

// namesOf reads "lock-2,lock-3"; false: it is one of the words.
func namesOf(target string) ([]string, bool) {
	if target == "" || slices.Contains(words(), target) {
		return nil, false
	}
	return strings.Split(target, ","), true
}

// clientsNamed reads "client-0,client-1"; false: it names no clients.
func clientsNamed(target string) ([]int, bool) {
	names, _ := namesOf(target)
	var all []int
	for _, name := range names {
		digits, ok := strings.CutPrefix(name, "client-")
		n, err := strconv.Atoi(digits)
		if !ok || err != nil || n < 0 {
			return nil, false
		}
		all = append(all, n)
	}
	return all, len(all) > 0
}

// The names of targets in words, which are what is claimed, too.
func clientTarget(c int) string              { return fmt.Sprintf("client %d", c) }
func nodeName(n topology.Node) string        { return n.Name() }
func nodeTarget(n topology.Node) string      { return "node " + n.Name() }
func clientTargets(list []int) []string      { return each(list, clientTarget) }
func nodeTargets(l []topology.Node) []string { return each(l, nodeTarget) }

func each[T any](list []T, name func(T) string) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = name(x)
	}
	return out
}

// nodesTarget describes the nodes as what a fault hit now.
func nodesTarget(list []topology.Node) Target {
	names := each(list, nodeName)
	t := Target{Name: "node " + names[0], Client: -1, Node: names[0], At: now()}
	if len(names) > 1 {
		t.Name = "nodes " + strings.Join(names, ", ")
	}
	return t
}

// clientsTarget describes the clients as what a fault hit now.
func clientsTarget(list []int) Target {
	t := Target{Name: clientTarget(list[0]), Client: list[0], At: now()}
	if len(list) > 1 {
		t.Name = "clients " + strings.Join(each(list, strconv.Itoa), ", ")
	}
	return t
}
