package harness

import (
	"slices"
	"time"

	"picklock/harness/store"
	"picklock/harness/topology"
	"picklock/locks"
	"picklock/locks/deduct"
	"picklock/nemesis"
	"picklock/nemesis/wire"
)

// storm is the word for a schedule that mixes everything that the topology can bear.
const storm = "storm"

// drawSchedule lets the seed draw the faults of t.Nemesis.
func drawSchedule(t *store.Test, lock locks.Spec, sale deduct.Spec) error {
	var kinds []nemesis.Kind
	for _, name := range t.Nemesis {
		if name == storm {
			if len(t.Nemesis) > 1 {
				return usage("--nemesis storm is a mixture of everything and cannot stand with other faults")
			}
			return drawStorm(t, lock, sale)
		}
		k, ok := nemesis.Find(name)
		if !ok {
			return unknown("nemesis", name, append(nemesisNames(), storm, "none"))
		}
		if why := bearable(t, k); why != "" {
			return usage("--nemesis %s is not possible: %s", name, why)
		}
		if err := nemesis.Check([]nemesis.Planned{{Kind: name}}, stage(t, lock, sale)); err != nil {
			return usage("--nemesis %s is not possible by itself: %s; a --schedule can say more", name, err)
		}
		kinds = append(kinds, k)
	}
	plan, err := nemesis.Draw(t.Seed, kinds, time.Duration(t.TimeLimit), time.Duration(t.TTL), time.Duration(t.Grace))
	if err != nil {
		return usage("%s", err)
	}
	t.Schedule = stored(plan)
	return nil
}

func drawStorm(t *store.Test, lock locks.Spec, sale deduct.Spec) error {
	var kinds []nemesis.Kind
	for _, k := range nemesis.All() {
		alone := []nemesis.Planned{{Kind: k.Name}}
		if bearable(t, k) == "" && nemesis.Check(alone, stage(t, lock, sale)) == nil {
			kinds = append(kinds, k)
		}
	}
	plan, err := nemesis.DrawStorm(t.Seed, kinds, time.Duration(t.TimeLimit), time.Duration(t.TTL), time.Duration(t.Grace))
	if err != nil {
		return usage("%s", err)
	}
	t.Schedule = stored(plan)
	return nil
}

// checkSchedule checks a given schedule against the test, and names its faults.
func checkSchedule(t *store.Test, lock locks.Spec, sale deduct.Spec) error {
	t.Nemesis = nil
	for i, p := range t.Schedule {
		k, ok := nemesis.Find(p.Kind)
		if !ok {
			return unknown("nemesis", p.Kind, nemesisNames())
		}
		if why := bearable(t, k); why != "" {
			return usage("fault %d of the schedule, %s, is not possible: %s", i+1, p.Kind, why)
		}
		if !slices.Contains(t.Nemesis, p.Kind) {
			t.Nemesis = append(t.Nemesis, p.Kind)
		}
	}
	if err := nemesis.Check(planned(t.Schedule), stage(t, lock, sale)); err != nil {
		return usage("schedule: %s", err)
	}
	tail := nemesis.Tail(time.Duration(t.TTL), time.Duration(t.Grace))
	if need := latest(t.Schedule) + tail; need > time.Duration(t.TimeLimit) {
		return usage("a time limit of %s has no room for the schedule and a quiet tail of %s: it takes at least %s", t.TimeLimit, tail, need)
	}
	return nil
}

// stage is what a schedule is checked against.
func stage(t *store.Test, lock locks.Spec, sale deduct.Spec) nemesis.Stage {
	steps := stepsOf(lock, sale)
	s := nemesis.Stage{Clients: t.Clients, HasStep: func(step string) bool { return len(steps(step)) > 0 }}
	for _, n := range nodes(t) {
		if n.Kind == topology.StockNode {
			s.Stock = n.Name
		}
		s.Nodes = append(s.Nodes, n.Name)
	}
	return s
}

// stepsOf maps the logical steps of lock and deduction to their commands on the wire.
func stepsOf(lock locks.Spec, sale deduct.Spec) func(step string) []wire.Command {
	return func(step string) []wire.Command {
		var all []wire.Command
		for _, c := range slices.Concat(lock.Steps[locks.Step(step)], sale.Steps[locks.Step(step)]) {
			all = append(all, wire.Command{Name: c.Name, Script: c.Script})
		}
		return all
	}
}

// keysOf tells which keys a held lock has on which node; nil: its name on each.
func keysOf(lock locks.Spec, all []topology.Node) func(object, node string) []string {
	if lock.Keys == nil {
		return nil
	}
	var names []string // in the order in which clients have them
	for _, n := range all {
		switch n.Kind() {
		case topology.LockNode:
			names = append(names, n.Name())
		case topology.SentinelNode: // they have but one, which is whichever node is primary
			return func(object, _ string) []string { return lock.Keys(object, 0, 1) }
		}
	}
	return func(object, node string) []string { return lock.Keys(object, slices.Index(names, node), len(names)) }
}

// wanted lists the faults that must have landed: of a given schedule each, of a drawn one
// each kind once. Of a given one that ended early, too: what it planned for later was not
// wanted any more.
func wanted(t *store.Test) []string {
	if !t.Explicit || t.Observed != nil && t.Observed.Early {
		return t.Nemesis
	}
	var all []string
	for _, p := range t.Schedule {
		all = append(all, p.Kind)
	}
	return all
}

// overlaps: the faults begin at their times whatever else works then. Drawn lists are not
// meant so, but follow one another.
func overlaps(t *store.Test) bool {
	return t.Explicit || slices.Contains(t.Nemesis, storm)
}
