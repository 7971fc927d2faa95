package models

import (
	"cmp"
	"iter"
	"slices"

	"picklock/harness/history"
)

// measureHandovers times how a lock goes from one owner to the next: what a release that
// was lost, an orphan, a split vote or a sleeping waiter costs.
func (r *record) measureHandovers(m *Measures) {
	n := len(r.groups)
	released, regranted, next := make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n)
	longest, total := int64(0), int64(0)
	for _, name := range r.names {
		for x := range r.handovers(name) {
			longest = max(longest, x.idle)
			total += x.idle
			if !x.given {
				continue
			}
			released = append(released, x.waited)
			next = append(next, max(0, x.grant.at-x.release.at))
			if x.release.ok && x.grant.worker != x.release.worker {
				regranted = append(regranted, max(0, x.grant.at-x.release.at))
			}
		}
	}
	m.RegrantP50MS = quantiles(regranted, 0.50)[0]
	q := quantiles(released, 0.50, 1)
	m.ReleaseToGrantP50MS, m.ReleaseToGrantMaxMS = q[0], q[1]
	m.LongestIdleMS, m.IdleS = float64(longest)/1e6, float64(total)/1e9
	if ttl := float64(r.p.TTL) / 1e6; ttl > 0 && !r.p.NoTTL {
		m.ReleaseToGrantP50TTL, m.ReleaseToGrantMaxTTL = m.ReleaseToGrantP50MS/ttl, m.ReleaseToGrantMaxMS/ttl
		m.LongestIdleTTL = m.LongestIdleMS / ttl
		m.NextGrantP50TTL = quantiles(next, 0.50)[0] / ttl
	}
}

// handover is a stretch in which nobody believed to hold a lock and nobody was granted it.
type handover struct {
	idle int64 // ns of it in which somebody waited for the lock
	// given: it lies between release and grant; whatever the reply to the release was, the
	// client takes the lock for given back. waited is then the ns from the return of the one
	// to the return of the other in which somebody waited; 0 where the grant returned first.
	given          bool
	release, grant turn
	waited         int64
}

// turn is the return of a release or of an acquire that the lock acknowledged.
type turn struct {
	at     int64
	worker int32
	ok     bool // as what it returned
}

// handovers gives all of them for one lock, in order.
func (r *record) handovers(name string) iter.Seq[handover] {
	return func(yield func(handover) bool) { r.eachHandover(name, yield) }
}

func (r *record) eachHandover(name string, yield func(handover) bool) {
	grants := make([]turn, 0, len(r.byLock[name])) // that the lock acknowledged
	for _, g := range r.byLock[name] {
		if g.plain() {
			grants = append(grants, turn{g.returned, g.worker, true})
			continue
		}
		for _, a := range g.acquires {
			if a.Outcome == history.OutcomeOK {
				grants = append(grants, turn{a.Return, r.workers.known(a), true})
			}
		}
	}
	sortBy(grants, func(t *turn) int64 { return t.at })
	waits := r.waits(name)
	free, back, given := r.Start, turn{}, false // since when nobody has it, and what freed it, if a release did
	gap := func(to int64, grant turn, granted bool) (more bool) {
		s := span{free, to}
		if s.empty() {
			return true
		}
		x := handover{idle: waits.within(s)}
		if given && granted {
			x.given, x.release, x.grant = true, back, grant
			x.waited = waits.within(span{back.at, s.to})
		}
		return yield(x)
	}
	for _, h := range r.locks[name] {
		// A grant and its hold begin together. The grant comes first: it says how the gap
		// before them ended.
		for len(grants) > 0 && grants[0].at <= h.from {
			if !gap(grants[0].at, grants[0], true) {
				return
			}
			if grants[0].at > free {
				free, given = grants[0].at, false
			}
			grants = grants[1:]
		}
		if !gap(h.from, turn{}, false) {
			return
		}
		if by, freed := r.freed(h); h.to > free || h.to == free && freed {
			free, back, given = h.to, by, freed
		}
	}
	for _, t := range grants {
		if !gap(t.at, t, true) {
			return
		}
		if t.at > free {
			free, given = t.at, false
		}
	}
	gap(r.End, turn{}, false)
}

// freed is the release that ended a hold, if the lock gave it and the return is known.
func (r *record) freed(h *hold) (by turn, freed bool) {
	if !h.real || h.how != endsRelease {
		return turn{}, false
	}
	if h.plain() {
		return turn{h.back, h.worker, true}, h.gave == h.to && h.back != history.Never
	}
	for i := len(h.releases) - 1; i >= 0; i-- {
		if x := h.releases[i]; x.Invoke == h.to && x.Return != history.Never {
			return turn{x.Return, r.workers.known(x), x.Outcome == history.OutcomeOK}, true
		}
	}
	return turn{}, false
}

// waiting is when somebody waited for a lock: spans that do not touch, in order, and the
// time waited before each.
type waiting struct {
	spans  []span
	before []int64
	near   int // where until looked last: the next question is mostly about a time close by
}

// waits gathers the acquires of one lock. One that has no known return waited until its
// client died or the record ends.
func (r *record) waits(name string) waiting {
	all := make([]span, 0, len(r.byLock[name]))
	for _, g := range r.byLock[name] {
		if g.plain() {
			all = append(all, span{g.invoked, g.returned})
			continue
		}
		for _, a := range g.acquires {
			s := span{a.Invoke, a.Return}
			if a.Return == history.Never {
				s.to = min(r.died(a.Client, a.Invoke), r.End)
			}
			all = append(all, s)
		}
	}
	w := waiting{spans: merge(all)}
	w.before = make([]int64, len(w.spans))
	total := int64(0)
	for i, s := range w.spans {
		w.before[i] = total
		total += s.to - s.from
	}
	return w
}

// nearby is how many spans are looked at before they are searched.
const nearby = 8

// within is how much of s (in ns) somebody waited.
func (w *waiting) within(s span) int64 {
	if s.empty() {
		return 0
	}
	return w.until(s.to) - w.until(s.from)
}

func (w *waiting) until(t int64) int64 {
	n := w.near // spans that begin before t
	for step := 0; n < len(w.spans) && w.spans[n].from < t && step < nearby; step++ {
		n++
	}
	for step := 0; n > 0 && w.spans[n-1].from >= t && step < nearby; step++ {
		n--
	}
	if n < len(w.spans) && w.spans[n].from < t || n > 0 && w.spans[n-1].from >= t {
		n, _ = slices.BinarySearchFunc(w.spans, t, func(s span, t int64) int { return cmp.Compare(s.from, t) })
	}
	w.near = n
	if n == 0 {
		return 0
	}
	return w.before[n-1] + min(t, w.spans[n-1].to) - w.spans[n-1].from
}
