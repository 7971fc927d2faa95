package models

import (
	"cmp"
	"slices"

	"picklock/harness/history"
)

// span is a stretch of time, [from, to) in ns. It is empty unless from < to.
type span struct{ from, to int64 }

func (s span) overlap(t span) span { return span{max(s.from, t.from), min(s.to, t.to)} }
func (s span) empty() bool         { return s.from >= s.to }

// merge joins spans that touch or overlap; it sorts all in place.
func merge(all []span) []span {
	sortBy(all, func(s *span) int64 { return s.from })
	merged := all[:0]
	for _, s := range all {
		if n := len(merged); n > 0 && s.from <= merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, s.to)
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}

// ending says how a hold ended.
type ending uint8

const (
	endsOpen     ending = iota // not before the history did
	endsRelease                // the release was invoked
	endsDeath                  // the client died
	endsLoss                   // the client learned that it no longer held the lock
	endsLateNews               // an inner release was answered "not held"
)

// hold is a stretch in which a client believed that it owned a lock: from the return of
// acquire to the first of the invocation of release, the death of the client, and the
// client's own discovery that it lost the lock.
type hold struct {
	*group
	span
	how  ending
	real bool // the lock granted it; otherwise the client believes what no reply said

	// leases are what the lock certainly vouched for, cut to the hold. To be granted at
	// any moment of them a second time breaks the lock's promise.
	leases []span
	// expired is the latest moment at which the lease can have ended; Never: it has no end.
	expired int64
}

// believes says whether the client went into the section after this acquire.
func believes(o *history.Operation) bool {
	if o.Belief == history.BelievesHeld {
		return o.Return != history.Never
	}
	return o.Outcome == history.OutcomeOK && o.Belief != history.BelievesNot
}

// believed gives the hold of a grant; nil if the client never believed to hold it.
func (r *record) believed(g *group, room *holdRoom) *hold {
	if !g.believed {
		return nil
	}
	h := &room.holds.one(hold{group: g, real: g.granted(), span: span{g.returned, history.Never}})[0]
	h.to, h.how = g.released(believes)
	if len(r.deaths) > 0 {
		if t := r.died(g.outer.Client, h.from); t < h.to {
			h.to, h.how = t, endsDeath
		}
	}
	if t := r.lost(g.grant); t < h.to {
		h.to, h.how = t, endsLoss
	}
	if h.to == history.Never {
		h.to = max(r.End, h.from)
	}
	h.expired = r.expired(g)
	for _, l := range g.leases {
		if l = l.overlap(h.span); !l.empty() {
			h.leases = room.stretches.add(h.leases, l)
		}
	}
	return h
}

// released finds when the holder gave the lock back: the invocation of the release that
// brings acquires (those that count) minus releases to none, or the return of an earlier
// release that said that nothing was held any more.
func (g *group) released(counts func(*history.Operation) bool) (int64, ending) {
	if len(g.acquires) == 1 && g.gave >= g.returned { // what follows would come to the same
		if g.gave == history.Never {
			return history.Never, endsOpen
		}
		return g.gave, endsRelease
	}
	// An acquire that has not returned yet, or never does, must not hide one that has.
	acquires := g.acquires
	byReturn := func(a, b *history.Operation) int { return cmp.Compare(a.Return, b.Return) }
	if !slices.IsSortedFunc(acquires, byReturn) {
		acquires = slices.Clone(acquires)
		slices.SortStableFunc(acquires, byReturn)
	}
	depth, next := 0, 0
	for _, x := range g.releases {
		for next < len(acquires) && acquires[next].Return <= x.Invoke {
			if counts(acquires[next]) {
				depth++
			}
			next++
		}
		if x.Invoke < g.outer.Return {
			continue
		}
		if depth--; depth <= 0 {
			return x.Invoke, endsRelease
		}
		if x.Outcome == history.OutcomeFail && x.Code == history.CodeNotHeld {
			return x.Return, endsLateNews
		}
	}
	return history.Never, endsOpen
}

// leases gives the stretches for which the lock certainly vouched for a grant, were it
// not released: from the return of each acquire and extend that succeeded to its attempt
// plus the validity, less the drift. They are joined where they touch; a renewal that
// came after the end of the lease starts a stretch of its own.
func (r *record) leases(g *group, room *holdRoom) []span {
	if !g.granted() {
		return nil
	}
	if g.plain() {
		s := span{g.returned, history.Never}
		if g.validity > 0 {
			s.to = g.asked + g.validity - int64(r.p.Drift)
		}
		if s.empty() {
			return nil
		}
		return room.stretches.one(s)
	}
	var all []span
	for _, ops := range [...][]*history.Operation{g.acquires, g.extends} {
		for _, o := range ops {
			if o.Outcome != history.OutcomeOK {
				continue
			}
			s := span{o.Return, history.Never}
			if v := validity(g, o); v > 0 {
				s.to = from(o) + v - int64(r.p.Drift)
			}
			if !s.empty() {
				all = room.stretches.add(all, s)
			}
		}
	}
	return merge(all)
}

// validity is the lease in ns that an acquire or extend obtained; 0: it has no end.
func validity(g *group, o *history.Operation) int64 {
	if o.Validity == 0 && o != g.outer {
		return g.outer.Validity
	}
	return o.Validity
}

// expired is the latest moment at which the lease of a grant can have ended; an extend
// whose outcome is unknown may have prolonged it.
func (r *record) expired(g *group) int64 {
	if !g.granted() || g.validity == 0 {
		return history.Never
	}
	end := g.returned + g.validity + int64(r.p.Drift)
	for _, ops := range [...][]*history.Operation{g.acquires, g.extends} {
		for _, o := range ops {
			switch {
			case o == g.outer || o.Outcome == history.OutcomeFail:
			case o.Return == history.Never:
				return history.Never
			default:
				end = max(end, o.Return+validity(g, o)+int64(r.p.Drift))
			}
		}
	}
	return end
}

// guaranteed gives the stretches in which the lock certainly owes the grant to its owner.
// It differs from the leases of a hold in that the owner's death does not end it: the
// lock still promises what it promised. It ends with the first release that may have
// worked. They are appended to kept.
func (r *record) guaranteed(g *group, kept []span) []span {
	if !g.granted() {
		return kept
	}
	end, _ := g.released(func(o *history.Operation) bool { return o.Outcome == history.OutcomeOK })
	end = min(end, g.unsure, r.lost(g.grant))
	for _, l := range g.leases {
		if l = l.overlap(span{g.returned, end}); !l.empty() {
			kept = append(kept, l)
		}
	}
	return kept
}

// promised is the end of the lease as the holder could reckon it at t, without drift:
// each acquire and renewal that had succeeded by then, from its attempt plus the validity.
func (g *group) promised(t int64) int64 {
	end := g.outer.Return
	for _, ops := range [...][]*history.Operation{g.acquires, g.extends} {
		for _, o := range ops {
			if o.Outcome == history.OutcomeOK && o.Return <= t {
				end = max(end, from(o)+validity(g, o))
			}
		}
	}
	return end
}
