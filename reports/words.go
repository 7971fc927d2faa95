package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"picklock/harness/store"
	"picklock/models"
	"picklock/reports/text"
)

// promise says what a property asks for, and breach what it means that it is violated,
// for readers who have never heard of it.
func promise(p models.Property) (promise, breach string) {
	switch p {
	case models.MutualExclusion:
		return "Never two clients at once in the section that the lock guards.",
			"two clients were in the guarded section at once"
	case models.LeaseExclusion:
		return "The lock never vouches for two owners at once.",
			"the lock vouched for two owners at once"
	case models.LinearizableLock:
		return "All acquires and releases fit into one order with one owner at a time.",
			"no order of the acquires and releases has one owner at a time"
	case models.LinearizableStock:
		return "All sales fit into one order in which the stock counts down unit by unit.",
			"no order of the sales explains the stock levels that the clients saw"
	case models.NoLostUpdate:
		return "No write replaces a stock level that its client has not seen.",
			"a client overwrote a stock level that it had not seen: a sale vanished from the books"
	case models.NoOversell:
		return "No more units are sold than there were, and the books balance.",
			"more was sold than the books can explain"
	case models.Ownership:
		return "Nobody releases or renews a lock that belongs to somebody else.",
			"a client released or renewed a lock that belonged to somebody else"
	case models.Liveness:
		return "After the last fault the lock is granted again, within its bound.",
			"the lock was not granted any more although the faults were over"
	case models.Fencing:
		return "Each later owner has a higher token, and the stock takes no write with an older one.",
			"a fencing token did not tell the later owner from the earlier one"
	case models.Reentrancy:
		return "An owner can enter again; the lock is free after as many releases as acquires.",
			"the lock miscounted how often its owner had entered"
	}
	return "", ""
}

// properties lists the judged properties in the order in which DESIGN.md names them.
func properties(r *store.Result) []models.Property {
	ps := make([]models.Property, 0, len(r.Properties))
	for p, j := range r.Properties {
		if j != nil {
			ps = append(ps, p)
		}
	}
	slices.SortFunc(ps, Compare)
	return ps
}

// violated lists the violated properties, in the same order.
func violated(r *store.Result) []models.Property {
	return slices.DeleteFunc(properties(r), func(p models.Property) bool {
		return r.Properties[p].Verdict != models.Violated
	})
}

// told is a violation with the property that it breaks.
type told struct {
	Property models.Property
	N        int // from 1, within its property
	models.Violation
}

// first finds the violation to tell first: the earliest one of a violated property.
// Where another property broke in the same span that comes nearer to the cause, its first
// violation there is told instead: two clients in the section explain the lost update
// between them, and a checker that only knows that no order exists explains nothing.
func first(r *store.Result) (told, bool) {
	best, found := earliest(r, func(told) bool { return true })
	if !found {
		return best, false
	}
	for _, p := range nearTheCause() {
		inSpan := func(v told) bool {
			return v.Property == p && v.StartS <= best.EndS+0.001 && v.EndS >= best.StartS
		}
		if v, ok := earliest(r, inSpan); ok {
			return v, true
		}
	}
	return best, true
}

// nearTheCause lists the properties from the causes to the effects.
func nearTheCause() []models.Property {
	return []models.Property{
		models.MutualExclusion, models.LeaseExclusion, models.Ownership, models.Fencing, models.Reentrancy, models.NoLostUpdate, models.NoOversell,
		models.Liveness, models.LinearizableLock, models.LinearizableStock,
	}
}

func earliest(r *store.Result, wanted func(told) bool) (told, bool) {
	var best told
	found := false
	for _, p := range violated(r) {
		for i, v := range r.Properties[p].Violations {
			if x := (told{p, i + 1, v}); wanted(x) && (!found || v.StartS < best.StartS) {
				best, found = x, true
			}
		}
	}
	return best, found
}

// headline is the verdict in words. A vacuous test never reads as a pass.
func headline(r *store.Result) (word, rest string) {
	switch {
	case r.Verdict == models.Violated:
		return "Violated", join(violated(r))
	case r.Vacuous:
		return "Vacuous", "this test proves nothing"
	case len(r.Properties) == 0:
		return "Unknown", "nothing was judged"
	case r.Verdict == models.Valid:
		return "Valid", fmt.Sprintf("all %s held", plural(len(properties(r)), "property", "properties"))
	}
	var unknown []models.Property
	for _, p := range properties(r) {
		if r.Properties[p].Verdict != models.Valid {
			unknown = append(unknown, p)
		}
	}
	return "Unknown", join(unknown)
}

func join(ps []models.Property) string {
	words := make([]string, len(ps))
	for i, p := range ps {
		words[i] = string(p)
	}
	return strings.Join(words, ", ")
}

// symbol of a verdict: it tells verdicts apart without colour.
func symbol(v models.Verdict) string {
	switch v {
	case models.Valid:
		return "✓"
	case models.Violated:
		return "✗"
	}
	return "?"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// recipe names lock, deduction, topology, nemesis and seed in one line.
func recipe(t *store.Test) string {
	nemesis := "no faults"
	if len(t.Nemesis) > 0 {
		nemesis = strings.Join(t.Nemesis, " + ")
	}
	return fmt.Sprintf("%s + %s, %s, %s, seed %d", t.Lock, t.Deduct, t.Topology, nemesis, t.Seed)
}

// plain makes text from servers and clients fit for a terminal and for XML.
func plain(s string) string { return text.Plain(s) }

// Breach says what it means that a property is violated, in words for readers who have
// never heard of it: "two clients were in the guarded section at once". Promise says what
// the property asks for. Both are empty for a property that is not known.
func Breach(p models.Property) string { _, b := promise(p); return b }

// Promise: see Breach.
func Promise(p models.Property) string { a, _ := promise(p); return a }

// Compare orders properties as DESIGN.md names them, unknown ones last.
func Compare(a, b models.Property) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
}

func rank(p models.Property) int {
	order := append(slices.Clone(models.LockProperties), models.StockProperties...)
	if i := slices.Index(order, p); i >= 0 {
		return i
	}
	return len(order)
}
