package models

import (
	"cmp"
	"slices"

	"picklock/harness/history"
)

// record is a history with the cross references that the checkers share.
type record struct {
	*history.History
	p Params

	byID     map[int64]*history.Operation
	groups   map[int64]*group   // by grant
	locks    map[string][]*hold // believed holds of each lock, by start
	names    []string           // all locks, sorted
	byLock   map[string][]*group
	deducts  []*history.Operation
	sold     map[int64][]*history.Operation // deductions by grant
	ledgerOf map[int64][]int                // positions in Ledger by operation
	deaths   map[int][]int64                // by client, ascending
	losses   map[int64]int64                // by grant: the first

	sizes         sizes
	disagreements []string // of checkers
}

// group is all that was done with one grant: the acquire that the grant is named after,
// nested acquires, extends and releases, each by Invoke.
type group struct {
	grant    int64
	object   string
	outer    *history.Operation // nil if the history does not have it
	acquires []*history.Operation
	extends  []*history.Operation
	releases []*history.Operation
}

func newRecord(h *history.History, p Params) *record {
	r := &record{
		History: h, p: p,
		byID:     make(map[int64]*history.Operation, len(h.Operations)),
		groups:   map[int64]*group{},
		locks:    map[string][]*hold{},
		byLock:   map[string][]*group{},
		sold:     map[int64][]*history.Operation{},
		ledgerOf: make(map[int64][]int, len(h.Ledger)),
		deaths:   map[int][]int64{},
		losses:   map[int64]int64{},
		sizes:    defaultSizes(),
	}
	for i := range h.Ledger {
		r.ledgerOf[h.Ledger[i].Op] = append(r.ledgerOf[h.Ledger[i].Op], i)
	}
	for _, d := range h.Deaths {
		r.deaths[d.Client] = append(r.deaths[d.Client], d.Time)
	}
	for _, l := range h.Losses {
		if _, known := r.losses[l.Grant]; !known {
			r.losses[l.Grant] = l.Time
		}
	}
	for i := range h.Operations {
		o := &h.Operations[i]
		r.byID[o.ID] = o
		if o.Op == history.Deduct {
			r.deducts = append(r.deducts, o)
			if o.Grant != 0 {
				r.sold[o.Grant] = append(r.sold[o.Grant], o)
			}
			continue
		}
		g := r.group(o)
		switch o.Op {
		case history.Acquire:
			g.acquires = append(g.acquires, o)
			if o.ID == g.grant {
				g.outer = o
			}
		case history.Extend:
			g.extends = append(g.extends, o)
		case history.Release:
			g.releases = append(g.releases, o)
		}
	}
	for name, groups := range r.byLock {
		r.names = append(r.names, name)
		for _, g := range groups {
			if hd := r.believed(g); hd != nil {
				r.locks[name] = append(r.locks[name], hd)
			}
		}
		slices.SortStableFunc(r.locks[name], func(a, b *hold) int { return cmp.Compare(a.from, b.from) })
	}
	slices.Sort(r.names)
	return r
}

// group finds the group of an operation on a lock. An operation of somebody who never
// acquired is a group of its own: its key is negative so that no grant can have it.
func (r *record) group(o *history.Operation) *group {
	key := o.Grant
	if key == 0 {
		key = -o.ID
		if o.Op == history.Acquire {
			key = o.ID
		}
	}
	g, ok := r.groups[key]
	if !ok {
		g = &group{grant: key, object: o.Object}
		r.groups[key] = g
		r.byLock[o.Object] = append(r.byLock[o.Object], g)
	}
	return g
}

// granted says whether the lock acknowledged the grant.
func (g *group) granted() bool {
	return g.outer != nil && g.outer.Outcome == history.OutcomeOK
}

// died is the first proven death of the client at or after t; Never: none.
func (r *record) died(client int, t int64) int64 {
	d := r.deaths[client]
	if i, _ := slices.BinarySearch(d, t); i < len(d) {
		return d[i]
	}
	return history.Never
}

// lost is when the client learned that the grant was gone; Never: it did not.
func (r *record) lost(grant int64) int64 {
	if t, ok := r.losses[grant]; ok {
		return t
	}
	return history.Never
}

// from is where the leases of an acquire or extend count from.
func from(o *history.Operation) int64 {
	if o.From > o.Invoke && o.From <= o.Return {
		return o.From
	}
	return o.Invoke
}

// clip gives Never a place on the time axis: the end of the history.
func (r *record) clip(t int64) int64 {
	if t == history.Never {
		return r.End
	}
	return t
}
