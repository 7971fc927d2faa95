package fast

import (
	"math"

	"picklock/models/spec"
)

// stockChain decides histories without restocks. The level only falls, and so the levels
// give the order of nearly all that happened.
//
// # What is exact
//
// A sequence of operations is an order in which they can have happened if and only if, for
// any two of them, the one that comes first was called no later than the other returned:
// then each can happen at the latest call so far (moments may be shared). So the question
// is whether there is a sequence that the counter allows, in which no operation was called
// after the return of one behind it.
//
// Takes and reads are links of a chain: a take covers the levels (Left, Left+Qty], a read
// of v lies behind what leads to v and before the take from v. Two takes that share a
// level, a read within a take and a take from above the start are illegal. Else the order
// of links is forced, except between reads of the same level, which can always be ordered
// among themselves by their returns. So for the links alone: legal if and only if none was
// called after the earliest return of the links below it.
//
// Slots. Between two links levels can be missing: d of them between a link that leaves L
// and the next, that starts from L-d. Only unknown takes lead through; all are of one
// quantity u, so that d must be a multiple of u, and d/u slots lie there, each to be
// filled by one unknown take. Which takes fill which slots does not matter to the counter.
// A slot has the earliest return of the links below it (by) and the latest call of those
// above (after), both rising down the chain. The filler must be called by `by` and return
// no sooner than `after`; one that may happen has no return. Behind the chain is the tail:
// slots without end, that need not be filled, by = never.
//
// Of two fillers that contradict each other, x called after the return of y, but x in a
// higher slot than y, each can take the other's place: y was called before x was, and x
// returns after y does, and `by` and `after` rise. This leaves fewer pairs that are not in
// the order of their calls, so that it comes to an end. Hence fillers only have to suit
// their slots. Each suits those of one stretch of the chain, and all slots must be filled
// and all takes that are certain must be placed. Going down the chain and filling each
// slot with the take of the earliest return, of those that were called in time and are
// left, is exact: if in a solution this slot has y, and x returns no later than y, they
// can be exchanged, x being used further down, where y suits too, or x may not have
// happened at all; then y has no return either and can go to the tail, or have not
// happened.
//
// Refusals. A refusal of q needs a moment at which the level is below q; the first such
// comes behind the link or slot that first leads below q, call it its place. Put it there,
// as a link whose call is not looked at: its return bounds those above it, and that is
// necessary, since it happens behind its place. It is enough: given a sequence of the
// others in which it suits this, insert it in front of the first operation behind its
// place that was called after it returned. All that is above was called by then; all that
// is below returns no earlier than that operation's call, so after the refusal's.
// Several refusals: one that returns earlier is inserted no further down, and can be the
// earlier one of those at the same point. So refusals constrain links and slots above
// their place, and nothing else. If the last link leaves a level that is not below q, slots
// follow, down to the first level below the least q; they must be filled as all others.
//
// An unknown start. If there is no take or read, everything is legal: the start can be
// below all that is refused. Else the first link's level is the lowest start. A higher one
// adds a head: slots above the chain, as many as are wanted; after = the beginning of
// time. Takes that are certain and can be in the head (called by the earliest return in
// the chain) need no other place. By the theorem of Mendelsohn and Dulmage there is a
// matching that fills all slots and places all other certain takes if there is one for
// each of these two wishes alone; so both are decided apart, each by the earliest return.
// Refusals of more than the lowest start are right at that start, and without a head; if it
// needs a head, such a history is left to porcupine.
type stockChain struct {
	*stockHistory
	order []int32 // links and refusals, the highest first
	gaps  []stockGap
	slots int   // in all gaps
	last  int64 // the latest call in the chain
	first int64 // the earliest return in the chain, but for the refusals in high
	high  int   // refusals before the first link of more than its level; 0 if the start is known
}

// stockGap is a stretch of slots, with the links and refusals around it.
type stockGap struct {
	pos   int32 // the slots lie right before order[pos]
	slots int32
	after int64 // the latest call above
	by    int64 // the earliest return below
}

// chain gives the verdict, and whether there is one.
func (h *stockHistory) chain() (Result, bool) {
	if h.Free && h.named == 0 {
		return Result{}, true
	}
	c := &stockChain{stockHistory: h, order: h.order(), last: math.MinInt64}
	if at, ok, stop := c.link(); stop {
		return Result{}, false
	} else if !ok {
		return Result{Verdict: Illegal, Ops: at}, true
	}
	if at, ok := c.checkReturns(); !ok {
		return Result{Verdict: Illegal, Ops: at}, true
	}
	return c.fill()
}

// link goes down the chain and finds its gaps. If the operations contradict each other it
// says which; stop: the chain cannot tell what fills a gap.
func (c *stockChain) link() (at []int, ok, stop bool) {
	level, known := c.Start, !c.Free
	above := -1 // the link above
	run := 0    // where the refusals since the link above begin
	for p := 0; p < len(c.order); p++ {
		i := c.order[p]
		o := &c.ops[i]
		if o.Step == spec.Refuse {
			continue
		}
		top := o.Left - o.Delta()
		if has(stockFirstReadOnly) && o.Step == spec.Read && above >= 0 && c.ops[above].Step == spec.Read && c.ops[above].Left == o.Left {
			continue
		}
		if !known {
			level, known = top, true
			for c.high < p && c.ops[c.order[c.high]].Qty > level {
				c.high++
			}
		}
		if top > level || has(stockBelowZero) && o.Left < 0 {
			return pair(above, int(i)), false, false
		}
		r, level2, enough := c.refused(run, p, level, top)
		if !enough {
			return append(pair(above, int(i)), int(c.order[r])), false, c.open()
		}
		level = level2
		// Refusals from r on wait for this take.
		copy(c.order[r+1:p+1], c.order[r:p])
		c.order[r] = i
		if level != top {
			if c.unit == 0 || (level-top)%c.unit != 0 {
				return pair(above, int(i)), false, c.open()
			}
			if !c.gap(r, (level-top)/c.unit) {
				return pair(above, int(i)), false, false
			}
		}
		level, above, run = o.Left, int(i), r+1
		c.last = max(c.last, o.Call)
	}
	if has(stockRefuseNoFill) {
		return nil, true, false
	}
	if r, _, enough := c.refused(run, len(c.order), level, math.MinInt64); !enough {
		return pair(above, int(c.order[r])), false, c.open()
	}
	return nil, true, false
}

// open says whether slots may be filled in ways that the chain does not know.
func (c *stockChain) open() bool { return c.unit == 0 && c.unknown > 0 }

// refused places the refusals order[from:to], of which the first ones are right at level,
// and the next ones in the gap between level and top. It gives the first of those that
// wait for what follows, and the level that was reached; or the refusal that cannot be
// right.
func (c *stockChain) refused(from, to int, level, top int64) (at int, reached int64, ok bool) {
	for r := from; r < to; r++ {
		if c.ops[c.order[r]].Step != spec.Refuse || has(stockRefuseIgnored) {
			continue
		}
		key := stockKey(&c.ops[c.order[r]])
		if key >= level {
			continue
		}
		if key < top {
			return r, level, true
		}
		if c.unit == 0 {
			return r, level, false
		}
		n := (level - key + c.unit - 1) / c.unit
		if level-n*c.unit < top {
			return r, level, true // the slots do not meet top; the caller sees it
		}
		if !c.gap(r, n) {
			return r, level, false
		}
		level -= n * c.unit
	}
	return to, level, true
}

// gap notes slots before order[pos]. It says whether there are takes for all so far.
func (c *stockChain) gap(pos int, slots int64) bool {
	if has(stockGapSkipped) {
		return true
	}
	if slots > int64(c.unknown-c.slots) {
		return false
	}
	c.slots += int(slots)
	c.gaps = append(c.gaps, stockGap{pos: int32(pos), slots: int32(slots), after: c.last})
	return true
}

// checkReturns goes up the chain with the earliest return so far, gives it to the gaps, and
// compares it with the calls. ok: no link was called after one below it returned.
func (c *stockChain) checkReturns() (at []int, ok bool) {
	earliest, who := spec.Never, -1
	g := len(c.gaps) - 1
	for p := len(c.order) - 1; p >= 0; {
		end := p
		lowest, first := spec.Never, -1
		for ; p >= 0; p-- {
			o := &c.ops[c.order[p]]
			if p < end && (o.Step != spec.Read || o.Left != c.ops[c.order[end]].Left || c.ops[c.order[end]].Step != spec.Read) {
				break
			}
			if o.Step != spec.Refuse && (o.Call > earliest || has(stockOpenInterval) && o.Call == earliest) {
				return pair(int(c.order[p]), who), false
			}
			if p < c.high || has(stockRefuseIgnored) && o.Step == spec.Refuse {
				continue // at the start, before all else
			}
			if o.Return < lowest {
				lowest, first = o.Return, int(c.order[p])
			}
		}
		if lowest < earliest {
			earliest, who = lowest, first
		}
		for ; g >= 0 && int(c.gaps[g].pos) > p; g-- {
			c.gaps[g].by = earliest
			if has(stockDeadlineOff) && earliest != spec.Never {
				c.gaps[g].by++
			}
		}
	}
	c.first = earliest
	return nil, true
}

// pair is the positions that are not negative.
func pair(a, b int) []int {
	var out []int
	for _, i := range []int{a, b} {
		if i >= 0 {
			out = append(out, i)
		}
	}
	return out
}
