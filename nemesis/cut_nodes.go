package nemesis

import (
	"context"
	"slices"
	"strings"
	"time"

	"picklock/harness/topology"
)

// cutLasts draws how long a cut lasts: longer than the TTL.
func cutLasts(ttl time.Duration, draw float64) time.Duration {
	return ttl + span(max(ttl/4, 150*time.Millisecond), max(ttl, 600*time.Millisecond), draw)
}

// partitionReplica keeps replicas from hearing of what their primary grants. Everybody
// else reaches all of them, so that nobody notices.
func partitionReplica() Kind {
	return Kind{
		Name:     "partition-replica",
		Summary:  "cut replicas off from their primary, in both directions; Sentinels and clients still reach everybody",
		Needs:    Needs{Servers: true, Cuts: true, Replicas: 1},
		Targets:  []string{Replicas, One, RandomSubset, Minority, Majority},
		Triggers: true,
		Lasts:    cutLasts,
		New: func(w World, p Planned) Fault {
			return &cutFault{world: w, plan: p, choose: func(ctx context.Context) (split, bool) {
				primaries := w.candidates(ctx, Primaries)
				replicas := drawn(p, w.candidates(ctx, Replicas))
				if len(primaries) != 1 || len(replicas) == 0 {
					return split{}, false
				}
				return split{
					hit: replicas, cuts: apart(replicas, primaries),
					words: list(replicas) + " apart from " + list(primaries),
				}, true
			}}
		},
	}
}

// isolateNode takes nodes out of the network: no node and no client reaches them.
func isolateNode() Kind {
	return Kind{
		Name:     "isolate-node",
		Summary:  "cut nodes off from all other nodes, and from all clients if the wire is in their path",
		Needs:    Needs{Servers: true, Cuts: true, Nodes: 2},
		Targets:  nodeWords(),
		Triggers: true,
		Lasts:    cutLasts,
		New: func(w World, p Planned) Fault {
			return &cutFault{world: w, plan: p, choose: func(ctx context.Context) (split, bool) {
				alone := drawn(p, w.onHitNode(p, w.among(ctx, p.Target)))
				if len(alone) == 0 {
					return split{}, false
				}
				s := split{hit: alone}
				for _, n := range alone {
					for _, c := range apart([]topology.Node{n}, w.Nodes) {
						if !slices.Contains(s.cuts, c) {
							s.cuts = append(s.cuts, c)
						}
					}
					if w.Wire != nil {
						// Replicas and Sentinels may be left in peace for a long time.
						busy := n.Kind() == topology.LockNode && role(ctx, n) == "master"
						s.clients = append(s.clients, lane{clients: w.allClients(), nodes: []string{n.Name()}, busy: busy})
					}
				}
				return s, true
			}}
		},
	}
}

// cutOneWay makes nodes deaf to others that still hear them.
func cutOneWay() Kind {
	return Kind{
		Name:     "cut-one-way",
		Summary:  "make nodes deaf to others, who still hear them: a cut in one direction only",
		Needs:    Needs{Servers: true, Cuts: true, Nodes: 2},
		Targets:  []string{Replicas, Primaries, Sentinels, One, RandomSubset, Minority, Majority, Everyone},
		Triggers: true,
		Params: []Param{{
			Name: "from", Default: Primaries,
			Summary: "whom they do not hear: " + strings.Join([]string{Primaries, Replicas, Sentinels, Everyone}, ", ") + ", or names of nodes",
		}},
		Lasts: cutLasts,
		New: func(w World, p Planned) Fault {
			return &cutFault{world: w, plan: p, choose: func(ctx context.Context) (split, bool) {
				unheard := Planned{Target: p.With["from"], Pick: p.Pick}
				deaf, mute := drawn(p, w.among(ctx, p.Target)), drawn(unheard, w.among(ctx, unheard.Target))
				var s split
				for _, c := range apart(deaf, mute) {
					if slices.Contains(deaf, c.at) && slices.Contains(mute, c.from) {
						s.cuts = append(s.cuts, c)
					} else {
						s.open = append(s.open, c)
					}
				}
				s.hit, s.words = deaf, list(deaf)+" deaf to "+list(mute)
				return s, len(s.cuts) > 0
			}}
		},
	}
}

// among are the nodes that a target draws from: those of its word, or any if it names them.
func (w World) among(ctx context.Context, target string) []topology.Node {
	if _, byName := namesOf(target); byName {
		return w.Nodes
	}
	return w.candidates(ctx, target)
}

// drawn are those of the candidates that p names or that its word draws; nil: not all of
// them are there.
func drawn(p Planned, from []topology.Node) []topology.Node {
	names, byName := namesOf(p.Target)
	if !byName {
		return pick(p, from, len(from))
	}
	var all []topology.Node
	for _, n := range from {
		if slices.Contains(names, n.Name()) {
			all = append(all, n)
		}
	}
	if len(all) < len(names) {
		return nil
	}
	return all
}

// onHitNode leaves only the node on whose line the trigger was, if p draws one.
func (w World) onHitNode(p Planned, from []topology.Node) []topology.Node {
	if w.Hit == nil || p.Target != One {
		return from
	}
	return slices.DeleteFunc(from, func(n topology.Node) bool { return n.Name() != w.Hit.Node })
}

// allClients are the numbers of all clients.
func (w World) allClients() []int {
	all := make([]int, w.Clients.Count())
	for i := range all {
		all[i] = i
	}
	return all
}

// list names nodes in words.
func list(nodes []topology.Node) string {
	return strings.Join(each(nodes, topology.Node.Name), ", ")
}
