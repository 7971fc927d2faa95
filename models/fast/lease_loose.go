package fast

import (
	"cmp"
	"slices"

	"picklock/models/spec"
)

// loosely decides when there are loose holds, and the tight ones alone fit.
//
// Each tight hold covers the moments from hi to its earliest end wherever it starts. A loose
// hold that is cut to the starts that leave these moments alone loses none that it can have,
// so what it is then can be decided again: mostly it is tight, or a window, and the sweep is
// exact for it. The holds that stay loose are split into clusters: a hold of one cannot meet
// one of another, wherever they start.
func (c *leaseCheck) loosely() Result {
	g := c.gaps()
	loose := c.loose
	c.loose = nil
	for i := range loose {
		h := &loose[i]
		if !c.heed(h) || !g.cut(h) {
			return illegal(c.of(append(g.owners(h), h.owner)...))
		}
		c.placeOpen(*h)
	}
	c.sort()
	if bad := c.sweep(c.holds, nil); bad != nil {
		return illegal(bad)
	}
	if len(c.loose) == 0 || planted&quirkLeaseLongLegal != 0 {
		return Result{}
	}
	return c.clusters()
}

// heed cuts the starts of a loose hold to those that the answers to its owner leave, as far
// as they leave one stretch. Not ok: they leave none.
func (c *leaseCheck) heed(h *leaseHold) bool {
	for _, n := range c.answers(h.owner) {
		early := spec.Plus(h.lo, c.min) <= n.to // it can have run out before the answer
		switch {
		case h.free <= n.to:
		case n.from > h.hi && !early:
			return false
		case n.from > h.hi:
			h.hi = min(h.hi, n.to-c.min)
		case !early:
			h.lo = max(h.lo, n.from)
		}
	}
	return h.lo <= h.hi
}

// leaseGaps are the moments that are covered for certain, and the gaps between them: the
// k-th is before the k-th span, the last behind all.
type leaseGaps struct {
	min    int64
	busy   []leaseSpan // by from, and by to
	behind []int32     // the first gap of the length min, from the k-th on
	before []int32     // the last, up to the k-th
}

func (c *leaseCheck) gaps() *leaseGaps {
	g := &leaseGaps{min: c.min}
	for i := range c.holds {
		h := &c.holds[i]
		g.busy = append(g.busy, leaseSpan{from: h.hi, to: c.end(h, h.lo), owner: h.owner})
	}
	n := len(g.busy)
	g.behind, g.before = make([]int32, n+1), make([]int32, n+1)
	wide := func(k int) bool {
		return k == 0 || k == n || spec.Plus(g.busy[k-1].to, g.min) <= g.busy[k].from
	}
	for k := range n + 1 {
		g.before[k] = int32(k)
		if !wide(k) {
			g.before[k] = g.before[k-1]
		}
	}
	for k := n; k >= 0; k-- {
		g.behind[k] = int32(k)
		if !wide(k) {
			g.behind[k] = g.behind[k+1]
		}
	}
	return g
}

// after gives the first span that ends after a moment.
func (g *leaseGaps) after(moment int64) int {
	k, _ := slices.BinarySearchFunc(g.busy, moment, func(s leaseSpan, m int64) int {
		if s.to <= m {
			return -1
		}
		return 1
	})
	return k
}

// clear says whether no span has a moment from one moment to another.
func (g *leaseGaps) clear(from, to int64) bool {
	k := g.after(from)
	return k == len(g.busy) || g.busy[k].from >= to
}

// owners gives the owner of the span that is the first in the way of h.
func (g *leaseGaps) owners(h *leaseHold) []int32 {
	if k := g.after(h.lo); k < len(g.busy) {
		return []int32{g.busy[k].owner}
	}
	return nil
}

// cut cuts the starts of a loose hold to the first and the last at which it covers nothing
// that is busy. Not ok: there is none.
func (g *leaseGaps) cut(h *leaseHold) bool {
	h.lo = g.first(h.lo, h.free)
	if h.lo > h.hi {
		return false
	}
	var ok bool
	h.hi, ok = g.last(h.lo, h.hi, h.free)
	return ok
}

// first is the first good start from s on.
func (g *leaseGaps) first(s, free int64) int64 {
	if spec.Plus(s, g.min) <= free { // not cut by the free
		if g.clear(s, s+g.min) {
			return s
		}
		s = g.busy[g.behind[g.after(s)+1]-1].to
		if spec.Plus(s, g.min) <= free {
			return s
		}
		s = free - g.min
	}
	if s < free { // cut by it
		k, _ := slices.BinarySearchFunc(g.busy, free, func(b leaseSpan, m int64) int { return cmp.Compare(b.from, m) })
		if k > 0 {
			s = max(s, g.busy[k-1].to)
		}
		return s
	}
	if k := g.after(s); !g.clear(s, s) { // without length, in a span
		s = g.busy[k].to
	}
	return s
}

// last is the last good start up to s, and not before lo. There is one if lo is good.
func (g *leaseGaps) last(lo, s, free int64) (int64, bool) {
	if s >= free { // without length
		if g.clear(s, s) {
			return s, true
		}
		if s = g.busy[g.after(s)].from; s >= free {
			return s, s >= lo
		}
	}
	if spec.Plus(s, g.min) > free { // cut by the free
		if g.clear(s, free) {
			return s, s >= lo
		}
		if spec.Plus(lo, g.min) > free {
			return s, false
		}
		s = free - g.min
	}
	if !g.clear(s, s+g.min) {
		end := g.busy[g.before[g.after(s)]].from
		if spec.Plus(lo, g.min) > end {
			return s, false
		}
		s = end - g.min
	}
	return s, s >= lo
}
