package fast

import (
	"slices"
	"sort"

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
		if was := *h; !c.heed(h) || !g.cut(h) {
			return illegal(c.of(append(g.owners(&was), h.owner)...))
		}
		c.placeOpen(*h)
	}
	c.sort()
	c.merge()
	if bad := c.sweep(c.holds, nil, false); bad != nil {
		return illegal(bad)
	}
	if len(c.loose) == 0 || has(quirkLeaseLongLegal) {
		return Result{}
	}
	c.loose = sortNearly(c.loose, (*leaseHold).firstStart, nil)
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

// leaseGaps are the gaps between the moments that tight holds, by hi, cover for certain: the
// k-th is before the k-th hold, the last behind all.
type leaseGaps struct {
	c    *leaseCheck
	min  int64
	busy []leaseHold
	wide []int32 // the gaps of the length min: the first, the last, and others
}

func (c *leaseCheck) gaps() *leaseGaps {
	g := &leaseGaps{c: c, min: c.min, busy: c.holds}
	for k := range len(g.busy) + 1 {
		if k == 0 || k == len(g.busy) || spec.Plus(g.to(k-1), g.min) <= g.from(k) {
			g.wide = append(g.wide, int32(k))
		}
	}
	return g
}

// from and to bound what the k-th hold covers for certain.
func (g *leaseGaps) from(k int) int64 { return g.busy[k].hi }
func (g *leaseGaps) to(k int) int64   { return g.c.end(&g.busy[k], g.busy[k].lo) }

// after gives the first hold that covers something after a moment.
func (g *leaseGaps) after(moment int64) int {
	return sort.Search(len(g.busy), func(k int) bool { return g.to(k) > moment })
}

// clear says whether nothing is covered from one moment to another.
func (g *leaseGaps) clear(from, to int64) bool {
	k := g.after(from)
	return k == len(g.busy) || g.from(k) >= to
}

// owners gives the owner of the hold that is the first in the way of h.
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
		wide, _ := slices.BinarySearch(g.wide, int32(g.after(s)+1))
		s = g.to(int(g.wide[wide]) - 1)
		if spec.Plus(s, g.min) <= free {
			return s
		}
		s = free - g.min
	}
	if s < free { // cut by it
		k := sort.Search(len(g.busy), func(k int) bool { return g.from(k) >= free })
		if k > 0 {
			s = max(s, g.to(k-1))
		}
		return s
	}
	if k := g.after(s); !g.clear(s, s) { // without length, in a span
		s = g.to(k)
	}
	return s
}

// last is the last good start up to s, and not before lo. There is one if lo is good.
func (g *leaseGaps) last(lo, s, free int64) (int64, bool) {
	if s >= free { // without length
		if g.clear(s, s) {
			return s, true
		}
		if s = g.from(g.after(s)); s >= free {
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
		k := g.after(s)
		wide, found := slices.BinarySearch(g.wide, int32(k))
		if !found {
			k = int(g.wide[wide-1])
		}
		end := g.from(k)
		if spec.Plus(lo, g.min) > end {
			return s, false
		}
		s = end - g.min
	}
	return s, s >= lo
}
