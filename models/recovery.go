package models

import (
	"cmp"
	"slices"

	"picklock/harness/history"
)

// Recovery is how service went on after one fault: grants of any lock to anybody.
type Recovery struct {
	Fault  int    `json:"fault"` // number of the fault in the test
	Kind   string `json:"kind"`
	Target string `json:"target"`
	// FromStartS is the time in s from the start of the fault to the return of the first
	// grant that was asked for after it; absent: none came.
	FromStartS *float64 `json:"from_start_s,omitempty"`
	// FromHealS is the time in s from the end of the fault to the return of the next grant;
	// absent: none came, or the fault has no end that is known.
	FromHealS *float64 `json:"from_heal_s,omitempty"`
	// Availability is that of the time from the fault's start to its end, as far as the
	// load went on.
	Availability float64 `json:"availability"`
}

// window is the length in ns of the windows in which availability is counted.
const window = 100_000_000

// measureRecovery tells how much of the time the locks were to be had, and how long it took
// after each fault.
func (r *record) measureRecovery(m *Measures) {
	busy := make([]span, 0, len(r.groups))
	for _, name := range r.names {
		for _, g := range r.byLock[name] {
			if g.granted() {
				busy = append(busy, span{g.returned, g.returned + 1})
			}
			if g.hold == nil || g.hold.empty() {
				continue
			}
			if g.granted() { // the hold begins with the grant, and so is all of it
				busy[len(busy)-1] = g.hold.span
			} else {
				busy = append(busy, g.hold.span)
			}
		}
	}
	busy = merge(busy)
	load := span{r.Start, r.loadEnd}
	m.Availability = available(busy, load)
	m.Promotions = len(r.promotions(span{r.Start, r.End}))

	if len(r.Faults) == 0 {
		return
	}
	grants := make([]*history.Operation, 0, len(r.groups)) // by the start of the deciding attempt
	for _, name := range r.names {
		for _, g := range r.byLock[name] {
			if g.granted() {
				grants = append(grants, g.outer)
			}
		}
	}
	byFrom := func(o *history.Operation, t int64) int { return cmp.Compare(from(o), t) }
	byReturn := func(o *history.Operation, t int64) int { return cmp.Compare(o.Return, t) }
	sortBy(grants, func(o **history.Operation) int64 { return from(*o) })
	first := make([]int64, len(grants)+1) // the earliest return among each and those after it
	first[len(grants)] = history.Never
	for i := len(grants) - 1; i >= 0; i-- {
		first[i] = min(first[i+1], grants[i].Return)
	}
	returned := slices.Clone(grants)
	sortBy(returned, func(o **history.Operation) int64 { return (*o).Return })

	for i := range r.Faults {
		f := &r.Faults[i]
		x := Recovery{Fault: f.N, Kind: f.Kind, Target: f.Target}
		if k, _ := slices.BinarySearchFunc(grants, f.Start, byFrom); first[k] != history.Never {
			x.FromStartS = secondsOf(first[k] - f.Start)
		}
		end := load.to
		if f.End != 0 {
			end = min(end, f.End)
			if k, _ := slices.BinarySearchFunc(returned, f.End, byReturn); k < len(returned) {
				x.FromHealS = secondsOf(returned[k].Return - f.End)
			}
		}
		x.Availability = available(busy, span{f.Start, end})
		m.Recovery = append(m.Recovery, x)
	}
}

func secondsOf(ns int64) *float64 {
	s := float64(ns) / 1e9
	return &s
}

// available is the share of the windows of s, of which the last may be shorter, that have
// something of busy in them; 0 if s is empty. The spans of busy do not touch and are in
// order.
func available(busy []span, s span) float64 {
	if s.empty() {
		return 0
	}
	i, _ := slices.BinarySearchFunc(busy, s.from, func(x span, t int64) int { return cmp.Compare(x.to, t+1) })
	next, n := int64(0), int64(0) // the first window that is not counted yet
	for ; i < len(busy) && busy[i].from < s.to; i++ {
		b := busy[i].overlap(s)
		if b.empty() {
			continue
		}
		from, to := max(next, (b.from-s.from)/window), (b.to-1-s.from)/window
		if from <= to {
			n += to - from + 1
			next = to + 1
		}
	}
	return float64(n) / float64((s.to-s.from+window-1)/window)
}
