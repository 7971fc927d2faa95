package fast

import (
	"math"

	"picklock/models/spec"
)

// owners finds the holds of all regular owners, and the irregular ones. If operations of
// one owner contradict each other, it returns their positions.
func (c *lockChecker) owners() (bad []int) {
	c.cores = make([]hold, 0, len(c.ops)/2+1)
	if guessed := guessOwners(c.ops); guessed != nil {
		if head, next, ok := chains(c.ops, guessed); ok {
			return c.follow(head, next)
		}
	}
	numbers := numberOwners(c.ops)
	if len(c.ops) < manyOps*numbers.n {
		head, next, _ := chains(c.ops, numbers)
		return c.follow(head, next)
	}
	o := owner{c: c}
	gathered, ends := gather(c.ops, numbers)
	from := int32(0)
	for _, end := range ends {
		if o.judge(gathered[from:end]); o.bad != nil {
			return o.bad
		}
		from = end
	}
	return nil
}

// follow judges the owners whose operations are linked; see chains.
func (c *lockChecker) follow(head, next []int32) (bad []int) {
	o := owner{c: c}
	var own []ownOp
	for _, first := range head {
		if first < 0 {
			continue
		}
		if second := next[first]; second >= 0 && next[second] < 0 { // as nearly all are
			if o.pair(first, second) {
				if o.bad != nil {
					return o.bad
				}
				continue
			}
		}
		own = own[:0]
		for i := first; i >= 0; i = next[i] {
			own = append(own, ownOpOf(&c.ops[i], i))
		}
		if o.judge(own); o.bad != nil {
			return o.bad
		}
	}
	return nil
}

// owner judges one owner's operations after the other's.
type owner struct {
	c   *lockChecker
	bad []int

	open    []hold // holds that are not released, in the order of their acquires
	refused int64  // earliest return of a "not held" while there are open ones; Never: none
	at      int32  // position of that
}

// judge adds the cores, the window or the cluster of an owner with these operations.
func (o *owner) judge(own []ownOp) {
	if !needed(own) || len(own) == 2 && o.pair(own[0].at, own[1].at) {
		return
	}
	sortByCall(own)
	if !o.walk(own) {
		o.c.irregular = append(o.c.irregular, clusterOf(own))
	}
}

// needed says whether the owner has an operation that constrains anybody: a certain
// acquire or release.
func needed(own []ownOp) bool {
	for i := range own {
		if s := own[i].step; s == spec.Acquire || s == spec.Release {
			return true
		}
	}
	return false
}

// pair handles an owner with one acquire and one acknowledged release, and nothing else.
func (o *owner) pair(first, second int32) bool {
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
		o.bad = positions(first, second)
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

// walk follows the operations of an owner, by call, and adds its cores; false: it is
// irregular, and nothing was added.
func (o *owner) walk(own []ownOp) bool {
	c, last, unknown := o.c, int64(math.MinInt64), false
	before := len(c.cores)
	o.open, o.refused = o.open[:0], spec.Never
	irregular := func() bool {
		c.cores = c.cores[:before]
		o.bad = nil
		return false
	}
	certain := 0 // operations
	settled := settled(own)
	for i := range own {
		op := &own[i]
		if op.step.May() {
			if settled || has(quirkNeedless) && op.step == spec.MayAcquire {
				continue
			}
			if op.call < last || op.call == last && (certain > 1 || op.step == spec.MayAcquire) {
				return irregular()
			}
			unknown = true
			if op.step != spec.MayAcquire && !has(quirkDeafRelease) {
				o.mayEnd(op)
			}
			continue
		}
		if certain > 0 && op.call <= last || unknown && op.step != spec.NotHeld || op.end == spec.Never {
			return irregular()
		}
		certain, last = certain+1, op.end
		switch op.step {
		case spec.Acquire:
			o.acquired(op)
		case spec.Release:
			o.released(op)
		case spec.NotHeld:
			if len(o.open) > 0 && op.end < o.refused && !has(quirkNotHeld) {
				o.refused, o.at = op.end, op.at
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
func settled(own []ownOp) bool {
	holds := 0
	for i := range own {
		switch own[i].step {
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
func (o *owner) acquired(op *ownOp) {
	n := len(o.open)
	h := hold{op.call, op.end, op.fence, op.at}
	switch {
	case n > 0 && o.refused != spec.Never:
		o.contradiction(int(o.open[0].op), int(o.at))
	case o.c.lock.Holds > 0 && n >= o.c.lock.Holds:
		o.contradiction(int(o.open[0].op), int(op.at))
	case n > 0 && o.c.lock.Fenced && op.fence != 0:
		if told := o.open[0].fence; told != 0 && told != op.fence {
			o.contradiction(int(o.open[0].op), int(op.at))
		}
		o.open[0].fence = op.fence
	}
	o.open = append(o.open, h)
}

// released ends the last hold; of a mutex the whole ends with the first one.
func (o *owner) released(op *ownOp) {
	n := len(o.open)
	if n == 0 {
		if !has(quirkReleaseOfNobody) {
			o.contradiction(int(op.at))
		}
		return
	}
	if o.refused != spec.Never {
		o.contradiction(int(o.open[0].op), int(o.at))
	}
	o.end(op.call, op.end)
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
func (o *owner) mayEnd(op *ownOp) {
	n := len(o.open)
	if n == 0 {
		return
	}
	if op.step == spec.MayRelease || has(quirkFreeOne) {
		n = 1
	}
	for range n {
		o.end(op.call, op.call)
	}
	if len(o.open) == 0 && o.refused != spec.Never {
		if op.call > o.refused {
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

// clusterOf is the stretch of an irregular owner, from its first call to its last call or
// certain return.
func clusterOf(own []ownOp) cluster {
	cl := cluster{from: own[0].call, to: own[0].call, ops: make([]int32, 0, len(own))}
	for i := range own {
		op := &own[i]
		cl.ops = append(cl.ops, op.at)
		cl.to = max(cl.to, op.call)
		if !op.step.May() {
			cl.to = max(cl.to, op.end)
		}
	}
	return cl
}
