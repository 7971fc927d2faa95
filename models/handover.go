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
			if x.release == nil {
				continue
			}
			released = append(released, x.waited)
			next = append(next, max(0, x.grant.Return-x.release.Return))
			if g := x.grant; x.release.Outcome == history.OutcomeOK && (g.Client != x.release.Client || g.Worker != x.release.Worker) {
				regranted = append(regranted, max(0, g.Return-x.release.Return))
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
	// release and grant are set if it lies between the two; whatever the reply to the
	// release was, the client takes the lock for given back. waited is then the ns from the
	// return of the one to the return of the other in which somebody waited; 0 where the
	// grant returned first.
	release, grant *history.Operation
	waited         int64
}

// handovers gives all of them for one lock, in order.
func (r *record) handovers(name string) iter.Seq[handover] {
	return func(yield func(handover) bool) { r.eachHandover(name, yield) }
}

func (r *record) eachHandover(name string, yield func(handover) bool) {
	type taken struct {
		span
		grant   *history.Operation // that the lock acknowledged; nil: it is only believed
		release *history.Operation // that ended it, if it is believed
	}
	all := make([]taken, 0, len(r.byLock[name])+len(r.locks[name]))
	for _, g := range r.byLock[name] {
		for _, a := range g.acquires {
			if a.Outcome == history.OutcomeOK {
				all = append(all, taken{span{a.Return, a.Return}, a, nil})
			}
		}
	}
	for _, h := range r.locks[name] {
		t := taken{h.span, nil, nil}
		for _, x := range h.releases {
			if h.real && h.how == endsRelease && x.Invoke == h.to && x.Return != history.Never {
				t.release = x
			}
		}
		all = append(all, t)
	}
	// A grant and its hold begin together. The grants stand first and stay so: they say how
	// the gap before them ended.
	sortBy(all, func(t *taken) int64 { return t.from })
	waits := r.waits(name)
	gap := func(s span, back, grant *history.Operation) (more bool) {
		if s.empty() {
			return true
		}
		x := handover{idle: waits.within(s)}
		if back != nil && grant != nil {
			x.release, x.grant = back, grant
			x.waited = waits.within(span{back.Return, s.to})
		}
		return yield(x)
	}
	free, back := r.Start, (*history.Operation)(nil) // since when nobody has it, and what freed it
	for _, t := range all {
		if !gap(span{free, t.from}, back, t.grant) {
			return
		}
		if t.to > free || t.to == free && t.release != nil {
			free, back = t.to, t.release
		}
	}
	gap(span{free, r.End}, back, nil)
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
		for _, a := range g.acquires {
			s := span{a.Invoke, a.Return}
			if a.Return == history.Never {
				s.to = min(r.died(a.Client, a.Invoke), r.End)
			}
			all = append(all, s)
		}
	}
	var w waiting
	total := int64(0)
	for _, s := range merge(all) {
		w.spans, w.before = append(w.spans, s), append(w.before, total)
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
