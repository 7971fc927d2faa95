package fast

import (
	"math"

	"picklock/models/spec"
)

// owners finds the holds of all regular owners, and the irregular ones. If operations of
// one owner contradict each other, it returns their positions.
func (c *lockChecker) owners() (bad []int) {
	head, next := chains(c.ops)
	c.cores = make([]hold, 0, len(c.ops)/2+1)
	o := owner{c: c, next: next}
	for _, first := range head {
		if first < 0 || !o.needed(first) || o.pair(first) {
			if o.bad != nil {
				return o.bad
			}
			continue
		}
		if !o.walk(first) {
			c.irregular = append(c.irregular, o.cluster(first))
		}
		if o.bad != nil {
			return o.bad
		}
	}
	return nil
}

// owner walks through one owner's operations after the other's.
type owner struct {
	c    *lockChecker
	next []int32
	bad  []int

	open    []hold // holds that are not released, in the order of their acquires
	refused int64  // earliest return of a "not held" while there are open ones; Never: none
	at      int32  // position of that
}

// needed says whether the owner has an operation that constrains anybody: a certain
// acquire or release.
func (o *owner) needed(first int32) bool {
	for i := first; i >= 0; i = o.next[i] {
		if s := o.c.ops[i].Step; s == spec.Acquire || s == spec.Release {
			return true
		}
	}
	return false
}

// pair handles an owner with one acquire and one acknowledged release, and nothing else.
func (o *owner) pair(first int32) bool {
	second := o.next[first]
	if second < 0 || o.next[second] >= 0 {
		return false
	}
	if o.c.ops[first].Step == spec.Release {
		first, second = second, first
	}
	a, r := &o.c.ops[first], &o.c.ops[second]
	if r.Step != spec.Release || a.Step != spec.Acquire && a.Step != spec.MayAcquire {
		return false
	}
	if r.Return == spec.Never || a.Step == spec.Acquire && a.Return == spec.Never {
		return false
	}
	if has(quirkProofless) && a.Step == spec.MayAcquire {
		return true
	}
	h := hold{max(a.Call, r.Call), min(a.End(), r.Return), a.Fence, first}
	if a.Step.May() {
		h.fence = 0 // nobody was told it
	}
	switch {
	case a.End() <= r.Call:
		o.core(a.End(), r.Call, r.Return, h, a.Call)
	case h.from > h.to:
		o.bad = []int{int(first), int(second)}
	default:
		o.c.windows = append(o.c.windows, h)
	}
	return true
}

// core adds a core.
func (o *owner) core(from, to, ret int64, h hold, call int64) {
	if has(quirkFromCall) {
		from = call
	}
	if has(quirkToReturn) {
		to = ret
	}
	h.from, h.to = from, to
	o.c.cores = append(o.c.cores, h)
}

// walk follows the operations of an owner and adds its cores; false: it is irregular, and
// nothing was added.
func (o *owner) walk(first int32) bool {
	c, last, unknown := o.c, int64(math.MinInt64), false
	before := len(c.cores)
	o.open, o.refused = o.open[:0], spec.Never
	irregular := func() bool {
		c.cores = c.cores[:before]
		o.bad = nil
		return false
	}
	certain := 0 // operations
	settled := o.settled(first)
	for i := first; i >= 0; i = o.next[i] {
		op := &c.ops[i]
		if op.Step.May() {
			if settled {
				continue
			}
			if op.Step == spec.MayAcquire || op.Call < last || op.Call == last && certain > 1 {
				return irregular()
			}
			unknown = true
			if !has(quirkDeafRelease) {
				o.mayEnd(op)
			}
			continue
		}
		if certain > 0 && op.Call <= last || unknown && op.Step != spec.NotHeld || op.Return == spec.Never {
			return irregular()
		}
		certain, last = certain+1, op.Return
		switch op.Step {
		case spec.Acquire:
			o.acquired(op, i)
		case spec.Release:
			o.released(op, i)
		case spec.NotHeld:
			if len(o.open) > 0 && op.Return < o.refused && !has(quirkNotHeld) {
				o.refused, o.at = op.Return, i
			}
		}
	}
	// A contradiction counts only if the rest of the owner's operations are regular as well.
	o.leave()
	return true
}

// settled says whether the owner certainly released as often as it acquired, and can have
// acquired no more. Then its steps that may have happened did not take effect: each one
// that did would have left a hold less than there were releases. Such is a release that
// had no answer and was tried again.
func (o *owner) settled(first int32) bool {
	holds := 0
	for i := first; i >= 0; i = o.next[i] {
		switch o.c.ops[i].Step {
		case spec.MayAcquire:
			return false
		case spec.Acquire:
			holds++
		case spec.Release:
			holds--
		}
	}
	return holds == 0
}

// acquired begins a hold.
func (o *owner) acquired(op *spec.LockOp, i int32) {
	n := len(o.open)
	h := hold{op.Call, op.Return, op.Fence, i}
	switch {
	case n > 0 && o.refused != spec.Never:
		o.contradiction(int(o.open[0].op), int(o.at))
	case o.c.lock.Holds > 0 && n >= o.c.lock.Holds:
		o.contradiction(int(o.open[0].op), int(i))
	case n > 0 && o.c.lock.Fenced && op.Fence != 0:
		if told := o.open[0].fence; told != 0 && told != op.Fence {
			o.contradiction(int(o.open[0].op), int(i))
		}
		o.open[0].fence = op.Fence
	}
	o.open = append(o.open, h)
}

// released ends the last hold; of a mutex the whole ends with the first one.
func (o *owner) released(op *spec.LockOp, i int32) {
	n := len(o.open)
	if n == 0 {
		if !has(quirkReleaseOfNobody) {
			o.contradiction(int(i))
		}
		return
	}
	if o.refused != spec.Never {
		o.contradiction(int(o.open[0].op), int(o.at))
	}
	o.end(op.Call, op.Return)
}

// end ends the latest of the open holds.
func (o *owner) end(at, ret int64) {
	n := len(o.open) - 1
	h := o.open[n]
	o.open = o.open[:n]
	if n == 0 || o.c.lock.Permits > 0 {
		o.core(h.to, at, ret, h, h.from)
	}
}

// mayEnd ends what a step that may have happened can end: nothing certain follows it.
func (o *owner) mayEnd(op *spec.LockOp) {
	n := len(o.open)
	if n == 0 {
		return
	}
	if op.Step == spec.MayRelease || has(quirkFreeOne) {
		n = 1
	}
	for range n {
		o.end(op.Call, op.Call)
	}
	if len(o.open) == 0 && o.refused != spec.Never {
		if op.Call > o.refused {
			o.contradiction(int(o.at))
		}
		o.refused = spec.Never
	}
}

// leave ends the walk: what is open then is held for ever.
func (o *owner) leave() {
	if len(o.open) > 0 && o.refused != spec.Never {
		o.contradiction(int(o.open[0].op), int(o.at))
	}
	for len(o.open) > 0 {
		o.end(spec.Never, spec.Never)
	}
}

func (o *owner) contradiction(ops ...int) {
	if o.bad == nil {
		o.bad = ops
	}
}

// cluster is the stretch of an irregular owner, from its first call to its last call or
// certain return.
func (o *owner) cluster(first int32) cluster {
	cl := cluster{from: o.c.ops[first].Call, to: o.c.ops[first].Call}
	for i := first; i >= 0; i = o.next[i] {
		op := &o.c.ops[i]
		cl.ops = append(cl.ops, i)
		cl.to = max(cl.to, op.Call)
		if !op.Step.May() {
			cl.to = max(cl.to, op.Return)
		}
	}
	return cl
}
