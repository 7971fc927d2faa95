package nemesis

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Stage is what Check knows of the test that a schedule is for.
type Stage struct {
	Clients int
	Nodes   []string // their names
	Stock   string   // of them, the one that no fault touches; empty: none
	// HasStep tells whether the lock or the deduction under test has a logical step; nil:
	// steps are not checked.
	HasStep func(step string) bool
}

// Check checks a schedule that somebody wrote. An error says in one line which fault is
// wrong, how, and what would be right.
func Check(plan []Planned, s Stage) error {
	for i, p := range plan {
		if err := checkOne(plan, p, s); err != nil {
			return fmt.Errorf("fault %d (%s): %w", i+1, p.Kind, err)
		}
	}
	return checkOrder(plan)
}

func checkOne(plan []Planned, p Planned, s Stage) error {
	k, ok := Find(p.Kind)
	if !ok {
		return fmt.Errorf("there is no such kind; there are: %s", strings.Join(each(All(), func(k Kind) string { return k.Name }), ", "))
	}
	switch {
	case p.At < 0 || p.For < 0 || p.Nth < 0:
		return errors.New("a time or a number is negative")
	case p.Nth > 0 && k.complete(p).On == "":
		return errors.New("it counts occurrences (nth), but has no trigger (on)")
	case p.Recovered && p.After == 0:
		return errors.New("it waits for a recovery (recovered), but does not say of which fault (after)")
	case p.After < 0 || p.After > len(plan):
		return fmt.Errorf("there is no fault %d for it to wait for (after)", p.After)
	case p.Until < 0 || p.Until > len(plan):
		return fmt.Errorf("there is no fault %d until which it could last (until)", p.Until)
	case p.Until > 0 && k.stays(k.complete(p)):
		return errors.New("it stays until the load is over, and has an until")
	}
	if p.Recovered {
		if other, ok := Find(plan[p.After-1].Kind); ok && other.stays(other.complete(plan[p.After-1])) {
			return fmt.Errorf("fault %d, for whose recovery it waits, stays until the load is over", p.After)
		}
	}
	return cmp.Or(k.checkTarget(p, s), k.checkTrigger(p, s), k.checkParams(p))
}

func (k Kind) checkTarget(p Planned, s Stage) error {
	names, named := namesOf(p.Target)
	if !named {
		if p.Target != "" && !slices.Contains(k.Targets, p.Target) {
			return fmt.Errorf("its target cannot be %q; it can be: %s, or names", p.Target, strings.Join(k.Targets, ", "))
		}
		return nil
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			return fmt.Errorf("its target names %s twice", name)
		}
		seen[name] = true
	}
	clients, ofClients := clientsNamed(p.Target)
	for _, c := range clients {
		if c >= s.Clients {
			return fmt.Errorf("its target names client-%d; there are client-0 to client-%d", c, s.Clients-1)
		}
	}
	switch {
	case ofClients && k.onNodes():
		return fmt.Errorf("its target %q names clients, but it is done to nodes: %s", p.Target, strings.Join(s.nodes(), ", "))
	case ofClients:
		return nil
	case !k.onNodes() && !k.Rule:
		return fmt.Errorf("its target %q is none of %s, and no name such as client-0", p.Target, strings.Join(k.Targets, ", "))
	}
	for _, name := range names {
		if !slices.Contains(s.nodes(), name) {
			return fmt.Errorf("its target %q is none of %s, and no node that faults may touch: %s",
				name, strings.Join(k.Targets, ", "), strings.Join(s.nodes(), ", "))
		}
	}
	return nil
}

// onNodes says whether the kind is done to nodes, and not to clients.
func (k Kind) onNodes() bool { return k.Needs.Servers || slices.Contains(k.Targets, Primaries) }

// nodes are those that faults may touch.
func (s Stage) nodes() []string {
	return slices.DeleteFunc(slices.Clone(s.Nodes), func(n string) bool { return n == s.Stock })
}

func (k Kind) checkTrigger(p Planned, s Stage) error {
	if p.On != "" && !k.Triggers {
		return errors.New("it cannot be triggered, so it has no on")
	}
	m, err := readMoment(k.complete(p).On)
	switch {
	case err != nil:
		return err
	case m.when == "":
		return nil
	case len(k.Moments) > 0 && !slices.Contains(k.Moments, m.when):
		return fmt.Errorf("its trigger cannot be %q, but only: %s", m.when, strings.Join(k.Moments, ", "))
	case m.step != "" && s.HasStep != nil && !s.HasStep(string(m.step)):
		return fmt.Errorf("neither the lock nor the deduction has a step %q", m.step)
	}
	return nil
}

func (k Kind) checkParams(p Planned) error {
	known := each(k.Params, func(p Param) string { return p.Name })
	for _, name := range slices.Sorted(maps.Keys(p.With)) {
		if !slices.Contains(known, name) {
			if len(known) == 0 {
				return fmt.Errorf("it has no parameter %q, nor any other", name)
			}
			return fmt.Errorf("it has no parameter %q; it has: %s", name, strings.Join(known, ", "))
		}
	}
	with := k.complete(p).With
	for _, param := range k.Params {
		if param.Check == nil {
			continue
		}
		if err := param.Check(with[param.Name]); err != nil {
			if _, given := p.With[param.Name]; !given {
				return fmt.Errorf("its parameter %s is missing: %s", param.Name, param.Summary)
			}
			return fmt.Errorf("its parameter %s: %w", param.Name, err)
		}
	}
	return nil
}

// event is a moment in the life of a fault of a schedule: it landed, or was healed.
type event struct {
	fault  int // from 0
	healed bool
}

// before lists what must have happened before it.
func (e event) before(plan []Planned) []event {
	p := plan[e.fault]
	var list []event
	switch {
	case e.healed && p.Until > 0:
		list = append(list, event{p.Until - 1, false})
		fallthrough
	case e.healed:
		list = append(list, event{e.fault, false})
	case p.After > 0:
		list = append(list, event{p.After - 1, p.Recovered})
	}
	return list
}

// checkOrder refuses faults that wait for each other in a circle.
func checkOrder(plan []Planned) error {
	for i := range plan {
		for _, end := range []event{{i, false}, {i, true}} {
			seen := map[event]bool{}
			for todo := end.before(plan); len(todo) > 0; todo = todo[1:] {
				if e := todo[0]; !seen[e] {
					seen[e] = true
					todo = append(todo, e.before(plan)...)
				}
			}
			if seen[end] {
				return fmt.Errorf("fault %d (%s) waits for itself (after, until)", i+1, plan[i].Kind)
			}
		}
	}
	return nil
}
