package fast

import (
	"container/heap"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"picklock/models/spec"
)

// leaseCluster is a set of holds that can meet each other, and no others.
type leaseCluster struct {
	from, to int64       // no hold covers a moment before or behind
	tight    []leaseHold // by hi
	loose    []leaseHold // by lo
}

// clusters decides each cluster that has loose holds: by a schedule that fits, or else by
// porcupine. The tight holds of the others have been placed.
func (c *leaseCheck) clusters() Result {
	var out Result
	decide := func(k *leaseCluster) bool {
		if len(k.loose) > 0 {
			k.tight = sortNearly(k.tight, (*leaseHold).lastStart, nil)
			if !c.fitsSomehow(k) {
				c.ask(k, &out)
			}
		}
		return out.Verdict != Illegal
	}
	tight := inOrder(c.holds)
	loose := c.loose
	k := leaseCluster{from: math.MinInt64, to: math.MinInt64}
	for len(tight) > 0 || len(loose) > 0 {
		isTight := len(loose) == 0 || len(tight) > 0 && c.holds[tight[0]].lo < loose[0].lo
		var h *leaseHold
		if isTight {
			h, tight = &c.holds[tight[0]], tight[1:]
		} else {
			h, loose = &loose[0], loose[1:]
		}
		if h.lo >= k.to {
			if !decide(&k) {
				return out
			}
			k = leaseCluster{from: h.lo, to: h.lo, tight: k.tight[:0], loose: k.loose[:0]}
		}
		k.to = max(k.to, c.end(h, h.hi))
		if isTight {
			k.tight = append(k.tight, *h)
		} else {
			k.loose = append(k.loose, *h)
		}
	}
	decide(&k)
	return out
}

// inOrder gives the positions of tight holds by lo.
func inOrder(holds []leaseHold) []int32 {
	out := make([]int32, len(holds))
	for i := range out {
		out[i] = int32(i)
	}
	return sortNearly(out, func(i *int32) int64 { return holds[*i].lo }, nil)
}

// leaseBlock is the time that a hold covers, once it is placed.
type leaseBlock struct{ from, to int64 }

// fitsSomehow tries some schedules.
func (c *leaseCheck) fitsSomehow(k *leaseCluster) bool {
	windows := c.windows[c.windowsAfter(k.from):c.windowsAfter(k.to)]
	return c.fitsLate(k.tight, k.loose, windows) || c.fitsMoved(k.tight, k.loose, windows) ||
		c.fitsBetween(k.tight, k.loose) || c.fitsByDeadline(k.tight, k.loose)
}

// late is the check of the same holds, but the loose ones start less than Min before their
// last starts, as they do if locks answer soon. So they are tight, or windows. It has them in
// more, and the tight ones are left to the caller.
func (c *leaseCheck) late(loose []leaseHold, windows []leaseSpan) *leaseCheck {
	late := *c
	late.holds, late.loose, late.blocks = nil, nil, nil
	late.more = append(make([]leaseHold, 0, len(c.more)+len(loose)), c.more...)
	late.windows = append(make([]leaseSpan, 0, len(windows)+len(loose)/8), windows...)
	for _, h := range loose {
		h.lo = h.hi - c.min + 1
		late.placeOpen(h)
	}
	late.sort()
	return &late
}

// fitsLate tries to fit all holds if the loose ones start late: the sweep tells for certain
// whether they fit so.
func (c *leaseCheck) fitsLate(tight, loose []leaseHold, windows []leaseSpan) bool {
	late := c.late(loose, windows)
	return late.sweep(tight, late.more, false) == nil
}

// fitsMoved tries to let loose holds start late, but to move those that then are in the way
// to where there is room.
func (c *leaseCheck) fitsMoved(tight, loose []leaseHold, windows []leaseSpan) bool {
	late := c.late(loose, windows)
	late.holds = slices.Clone(tight)
	late.merge()
	movable := make(map[int32]*leaseHold, len(loose))
	for i := range loose {
		movable[loose[i].owner] = &loose[i]
	}
	var moved []leaseHold
	var blocks []leaseBlock
	var owners []int32
	for i := 0; i < len(late.holds); {
		h := &late.holds[i]
		from, last := h.lo, int32(-1)
		if n := len(blocks); n > 0 {
			from, last = max(from, blocks[n-1].to), owners[n-1]
		}
		s, _ := late.start(h, from, late.windowsAfter(from))
		switch {
		case s <= h.hi:
			blocks, owners = append(blocks, leaseBlock{s, late.end(h, s)}), append(owners, h.owner)
			i++
		case movable[h.owner] != nil:
			moved = append(moved, *movable[h.owner])
			i++
		case from > h.lo && movable[last] != nil:
			moved = append(moved, *movable[last])
			blocks, owners = blocks[:len(blocks)-1], owners[:len(owners)-1]
		default:
			return false
		}
	}
	moved = sortNearly(moved, (*leaseHold).firstStart, nil)
	return late.fits(blocks, moved)
}

// fitsBetween tries to fit the loose holds, by lo, between the tight ones, by hi, each of
// which starts as early as it can.
func (c *leaseCheck) fitsBetween(tight, loose []leaseHold) bool {
	return c.sweep(tight, nil, true) == nil && c.fits(c.blocks, loose)
}

// fitsByDeadline tries to fit all holds but cores between these.
func (c *leaseCheck) fitsByDeadline(tight, loose []leaseHold) bool {
	c.blocks = c.blocks[:0]
	others := slices.Clone(loose)
	for i := range tight {
		if h := &tight[i]; h.core {
			c.blocks = append(c.blocks, leaseBlock{h.lo, h.free})
		} else {
			others = append(others, *h)
		}
	}
	others = sortNearly(others, (*leaseHold).firstStart, nil)
	return c.fits(c.blocks, others)
}

// fits makes a schedule of holds, by lo, between blocks: of those that could start the one
// with the lowest hi comes next, as early as it can. If it fails there may be another.
func (c *leaseCheck) fits(blocks []leaseBlock, holds []leaseHold) bool {
	var ready leaseQueue
	now := int64(math.MinInt64)
	for len(holds) > 0 || len(ready) > 0 {
		if len(ready) == 0 {
			now = max(now, holds[0].lo)
		}
		for len(holds) > 0 && holds[0].lo <= now {
			heap.Push(&ready, &holds[0])
			holds = holds[1:]
		}
		for len(blocks) > 0 && blocks[0].to <= now {
			blocks = blocks[1:]
		}
		h := ready[0]
		s, _ := c.start(h, now, c.windowsAfter(now))
		if s > h.hi {
			return false
		}
		e := c.end(h, s)
		if len(blocks) > 0 && blocks[0].from < e {
			now = blocks[0].to // it does not fit before the block
			continue
		}
		now = e
		heap.Pop(&ready)
	}
	return true
}

// leaseQueue is a heap of holds by hi.
type leaseQueue []*leaseHold

func (q leaseQueue) Len() int           { return len(q) }
func (q leaseQueue) Less(i, j int) bool { return q[i].hi < q[j].hi }
func (q leaseQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *leaseQueue) Push(h any)        { *q = append(*q, h.(*leaseHold)) }
func (q *leaseQueue) Pop() any {
	old := *q
	h := old[len(old)-1]
	*q = old[:len(old)-1]
	return h
}

// ask lets porcupine decide a cluster. It gets the holds as they were placed, with the
// windows and answers that they can cover: what was cut off them does not matter, by the
// proof. A core is acquired and released at its two moments; the hold of a window is both
// at any moment of it.
func (c *leaseCheck) ask(k *leaseCluster, out *Result) {
	var ops []spec.LockOp
	var owners []int32
	add := func(owner int32, step spec.Step, call, ret int64) {
		ops = append(ops, spec.LockOp{Call: call, Return: ret, Owner: int64(owner), Step: step})
	}
	for _, holds := range [][]leaseHold{k.tight, k.loose} {
		for i := range holds {
			h := &holds[i]
			owners = append(owners, h.owner)
			add(h.owner, spec.Acquire, h.lo, h.hi)
			switch {
			case h.core:
				add(h.owner, spec.Release, h.free, h.free)
				continue
			case h.free != spec.Never:
				add(h.owner, spec.MayFree, h.free, spec.Never)
			}
			for _, n := range c.answers(h.owner) {
				add(h.owner, spec.NotHeld, n.from, n.to)
			}
		}
	}
	for i := c.windowsAfter(k.from); i < len(c.windows) && c.windows[i].from < k.to; i++ {
		if w := &c.windows[i]; w.to < k.to {
			owners = append(owners, w.owner)
			add(w.owner, spec.Acquire, w.from, w.to)
			add(w.owner, spec.Release, w.from, w.to)
		}
	}
	out.Asked += len(ops)
	if has(quirkLeaseLongIllegal) {
		out.Verdict = Illegal
		return
	}
	switch c.porcupine(spec.Lease{Min: c.min, Max: c.max}, ops) {
	case porcupine.Illegal:
		out.Verdict, out.Ops = Illegal, c.of(owners...)
	case porcupine.Unknown:
		out.Verdict = Undecided
	}
}

// all lets porcupine decide the whole history.
func (c *leaseCheck) all(l spec.Lease) Result {
	out := Result{Asked: len(c.ops)}
	switch c.porcupine(l, c.ops) {
	case porcupine.Illegal:
		out.Verdict = Illegal
		for i := range c.ops {
			out.Ops = append(out.Ops, i)
		}
	case porcupine.Unknown:
		out.Verdict = Undecided
	}
	return out
}

// leaseAskAtMost is how many operations porcupine gets at most: what it keeps grows with
// their square, at least.
const leaseAskAtMost = 20000

// porcupine decides ops, if it can in the time that is left.
func (c *leaseCheck) porcupine(l spec.Lease, ops []spec.LockOp) porcupine.CheckResult {
	left := time.Until(c.until)
	if left <= 0 || len(ops) > leaseAskAtMost {
		return porcupine.Unknown
	}
	return spec.Decide(l.Model(), spec.Operations(ops), left, spec.Memory)
}
