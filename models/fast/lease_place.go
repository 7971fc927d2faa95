package fast

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"picklock/models/spec"
)

// place makes a window or a hold of the operations of each owner for which group did not, or
// finds that some contradict each other: then it gives their positions.
func (c *leaseCheck) place() []int {
	for _, owner := range c.released {
		w := &c.owners[owner]
		if w.acquire == 0 || !c.placeReleased(owner, &c.ops[w.acquire-1], &c.ops[w.release-1]) {
			c.bad = owner
		}
	}
	if c.bad != none {
		return c.of(c.bad)
	}
	for i := range c.owners {
		w := &c.owners[i]
		if w.acquire == 0 || w.release != 0 {
			continue
		}
		a := &c.ops[w.acquire-1]
		if a.End() == spec.Never && !has(quirkLeaseUnknownHeld) {
			continue
		}
		free := spec.Never
		if w.free != 0 && !has(quirkLeaseNoFrees) {
			free = c.ops[w.free-1].Call
		}
		c.placeOpen(leaseHold{lo: a.Call, hi: a.Return, free: free, owner: int32(i)})
	}
	return nil
}

// placeReleased is for a hold that was released for certain. Not ok: there is none.
func (c *leaseCheck) placeReleased(owner int32, a, r *spec.LockOp) bool {
	if a.End() < r.Call {
		if r.Call > spec.Plus(a.End(), c.max) && !has(quirkLeaseNoMax) {
			return false
		}
		h := leaseHold{lo: a.End(), hi: a.End(), free: r.Call, owner: owner, core: true}
		if has(quirkLeaseCoreAtCall) {
			h.lo, h.hi = a.Call, a.Call
		}
		c.holds = append(c.holds, h)
		return true
	}
	from, to := max(a.Call, r.Call), min(a.End(), r.End())
	c.window(from, to, owner)
	return from <= to
}

// placeOpen is for a hold that was not, or perhaps not, released: lo to hi is its acquire.
func (c *leaseCheck) placeOpen(h leaseHold) {
	first := spec.Plus(h.lo, c.min)
	switch {
	case c.min == 0:
		c.window(h.lo, h.hi, h.owner)
	case h.free <= first && h.free <= h.hi:
		c.window(max(h.lo, h.free), h.hi, h.owner)
	case h.free <= first:
		h.lo, h.core = h.hi, true
		c.more = append(c.more, h)
	case first > h.hi:
		c.more = append(c.more, h)
	default:
		c.loose = append(c.loose, h)
	}
}

func (c *leaseCheck) window(from, to int64, owner int32) {
	if !has(quirkLeaseNoWindows) {
		c.windows = append(c.windows, leaseSpan{from: from, to: to, owner: owner, op: -1})
	}
}

func (n *leaseSpan) start() int64      { return n.from }
func (h *leaseHold) firstStart() int64 { return h.lo }
func (h *leaseHold) lastStart() int64  { return h.hi }

func byFrom(a, b *leaseSpan) int { return cmp.Compare(a.from, b.from) }

// holdOrder is the key by which tight holds are in order.
func holdOrder() func(*leaseHold) int64 {
	if has(quirkLeaseOrder) {
		return (*leaseHold).firstStart
	}
	return (*leaseHold).lastStart
}

// sort puts windows and holds in the order in which sweep needs them.
func (c *leaseCheck) sort() {
	c.windows = sortNearly(c.windows, (*leaseSpan).start, nil)
	c.holds = sortNearly(c.holds, holdOrder(), nil)
	c.more = sortNearly(c.more, holdOrder(), nil)
}

// merge puts more among the holds.
func (c *leaseCheck) merge() {
	key := holdOrder()
	i, j := len(c.holds)-1, len(c.more)-1 // from behind, in the place of both
	c.holds = slices.Grow(c.holds, len(c.more))[:len(c.holds)+len(c.more)]
	for k := len(c.holds) - 1; j >= 0; k-- {
		if i >= 0 && key(&c.holds[i]) > key(&c.more[j]) {
			c.holds[k] = c.holds[i]
			i--
		} else {
			c.holds[k] = c.more[j]
			j--
		}
	}
	c.more = nil
}

// sweep places tight holds, those of two lists that are each ordered by hi, each hold as
// early as it can be, and keeps where, if it is told to. If one cannot be placed it gives the
// positions of operations that are in its way, and its own.
func (c *leaseCheck) sweep(holds, more []leaseHold, keep bool) []int {
	if keep {
		c.blocks = slices.Grow(c.blocks[:0], len(holds)+len(more))
	}
	free, last, w := int64(math.MinInt64), int32(none), -1
	key := holdOrder()
	for len(holds) > 0 || len(more) > 0 {
		var h *leaseHold
		if len(more) == 0 || len(holds) > 0 && key(&holds[0]) <= key(&more[0]) {
			h, holds = &holds[0], holds[1:]
		} else {
			h, more = &more[0], more[1:]
		}
		if w < 0 {
			w = c.windowsAfter(h.lo)
		}
		from := max(h.lo, free)
		if has(quirkLeaseTouch) && free >= h.lo && last >= 0 {
			from = free + 1
		}
		for w < len(c.windows) && c.windows[w].from <= from {
			w++
		}
		s, by := c.start(h, from, w)
		if s > h.hi {
			return c.contradiction(h, from, last, by)
		}
		free, last = c.end(h, s), h.owner
		if keep {
			c.blocks = append(c.blocks, leaseBlock{s, free})
		}
	}
	return nil
}

// start is the first start of h, from a moment on, with which it covers neither a window
// nor an answer to its owner. Windows from the w-th on start after from. If it is later
// than from, by is the last that made it so. A start after h.hi is none.
//
// A span that the hold covers is covered by all starts until the span begins: the end of the
// hold does not fall. And spans that begin before the start are not covered by it. So it is
// enough to go through the spans once, in the order in which they begin.
func (c *leaseCheck) start(h *leaseHold, from int64, w int) (s int64, by *leaseSpan) {
	s = from
	e := c.end(h, s)
	told := c.answers(h.owner)
	for s <= h.hi {
		var next *leaseSpan
		if w < len(c.windows) {
			next = &c.windows[w]
		}
		if len(told) > 0 && (next == nil || told[0].from < next.from) {
			next = &told[0]
			told = told[1:]
		} else {
			w++
		}
		if next == nil || next.from >= e {
			break
		}
		if next.from > s && next.to < e || has(quirkLeaseWindowOpen) && next.from >= s && next.to <= e {
			s, by = next.from, next
			e = c.end(h, s)
		}
	}
	return s, by
}

// windowsAfter gives the first window that starts after a moment.
func (c *leaseCheck) windowsAfter(moment int64) int {
	return sort.Search(len(c.windows), func(k int) bool { return c.windows[k].from > moment })
}

// contradiction tells who is in the way of h, which could not start from a moment on: the
// hold before it, and a window or an answer.
func (c *leaseCheck) contradiction(h *leaseHold, from int64, last int32, by *leaseSpan) []int {
	owners := []int32{h.owner}
	if from > h.lo {
		owners = append(owners, last)
	}
	if by != nil && by.op < 0 {
		owners = append(owners, by.owner)
	}
	ops := c.of(owners...)
	if by != nil && by.op >= 0 {
		ops = append(ops, int(by.op))
		slices.Sort(ops)
	}
	return ops
}
