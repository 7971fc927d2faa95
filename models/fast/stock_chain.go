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
// happened. Where no level is missing there are no slots but the tail's, and the
// quantities do not matter.
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
// (If x in the head was called after the return of y in the tail, y can go to the head.)
// Refusals of more than the lowest start are right at that start, and without a head; if it
// needs a head, such a history is left to porcupine.
type stockChain struct {
	*stockHistory
	order []int32 // links and refusals, the highest first
	gaps  []stockGap
	slots int // in all gaps

	reached int64 // of no meaning: that reach reads is what counts
	// While link goes down:
	level  int64
	above  int32       // the link above
	latest stockMoment // the call that was last of all links so far
	before stockMoment // and without the reads of the present level, if that is what is above
	first  stockMoment // the return that was first since the last gap
	head   stockMoment // the return that was first of all, but for the refusals in high
	high   int         // refusals before the first link of more than its level; 0 if the start is known
}

// stockMoment is a call or return, and whose.
type stockMoment struct {
	time int64
	at   int32 // none: nobody's
}

// stockGap is a stretch of slots, with what bounds it.
type stockGap struct {
	above stockMoment // the latest call above it
	below stockMoment // the earliest return below it
	slots int32
}

var (
	beginning = stockMoment{math.MinInt64, none}
	ending    = stockMoment{spec.Never, none}
)

// chain gives the verdict, and whether there is one.
func (h *stockHistory) chain() (Result, bool) {
	if h.Free && h.named == 0 {
		return Result{}, true
	}
	c := &stockChain{stockHistory: h, order: h.order(), level: h.Start, above: none, latest: beginning, before: beginning, first: ending}
	if at, ok := c.link(); !ok {
		if at == nil {
			return Result{}, false
		}
		return Result{Verdict: Illegal, Ops: at}, true
	}
	below := c.first
	for g := len(c.gaps) - 1; g >= 0; g-- {
		gap := &c.gaps[g]
		gap.below, below = below, sooner(below, gap.below)
	}
	c.head = below
	return c.fill()
}

// link goes down the chain, compares calls and returns, and finds the gaps. Each gap's
// below is for now what returned first between it and the gap before. If operations
// contradict each other it says which; none: the chain cannot tell what fills a gap.
func (c *stockChain) link() (at []int, ok bool) {
	known, run := !c.Free, 0 // run: from where on refusals are not yet placed
	reached := 0
	if len(c.ops) < 1<<16 {
		reached = len(c.ops) // all are in the cache since they were surveyed
	}
	for p, i := range c.order {
		if int(i) >= reached {
			reached = c.reach(reached, int(i))
		}
		o := &c.ops[i]
		if o.Step == spec.Refuse {
			continue
		}
		top := o.Left
		if o.Step == spec.Take {
			top += o.Qty
		}
		if !known {
			c.level, known = top, true
			for c.high < p && c.ops[c.order[c.high]].Qty > top {
				c.high++
			}
			run = c.high
		}
		if run < p {
			if run, at, ok = c.refused(run, p, top); !ok {
				return at, false
			}
		}
		if run == p {
			run++ // this one is no refusal
		}
		if top != c.level {
			if at, ok = c.lead(i, top); !ok {
				return at, false
			}
		}
		// Reads of one level are not ordered among themselves.
		if o.Step != spec.Level || c.above == none || c.ops[c.above].Step != spec.Level || c.ops[c.above].Left != o.Left {
			c.before = c.latest
		} else if has(stockFirstReadOnly) {
			continue
		}
		if !c.returns(i, o.Return, c.before.time) {
			return positions(c.before.at, i), false
		}
		if has(stockBelowZero) && o.Left < 0 {
			return positions(i), false
		}
		if o.Call > c.latest.time {
			c.latest = stockMoment{o.Call, i}
		}
		c.level, c.above = o.Left, i
	}
	if has(stockRefuseNoFill) {
		return nil, true
	}
	_, at, ok = c.refused(run, len(c.order), math.MinInt64)
	return at, ok
}

// reach brings the operations from one position to some way behind another into the cache;
// see clearAhead. It says up to where.
func (c *stockChain) reach(from, at int) (to int) {
	to = min(at+ahead, len(c.ops))
	sum := int64(0)
	for i := from; i < to; i++ {
		sum += c.ops[i].Call
	}
	c.reached = sum
	return to
}

// lead leads from the present level to top, from where i starts.
func (c *stockChain) lead(i int32, top int64) (at []int, ok bool) {
	if top > c.level {
		return positions(c.above, i), false
	}
	if c.unit == 0 && len(c.takes) > 0 {
		return nil, false
	}
	if c.unit == 0 || (c.level-top)%c.unit != 0 || !c.gap((c.level-top)/c.unit) {
		return positions(c.above, i), false
	}
	return nil, true
}

// returns says whether the return of i is no sooner than the call; if so it counts as one
// below the last gap.
func (c *stockChain) returns(i int32, ret, call int64) bool {
	if ret < call || has(stockOpenInterval) && ret == call {
		return false
	}
	if ret < c.first.time {
		c.first = stockMoment{ret, i}
	}
	return true
}

// sooner is that of the two which is first.
func sooner(a, b stockMoment) stockMoment {
	if b.time < a.time {
		return b
	}
	return a
}

// refused places the refusals in order[from:to]: the first ones are right at the present
// level, the next ones in the gap between it and top. It gives the first of those that wait
// for the take in order[to].
func (c *stockChain) refused(from, to int, top int64) (next int, at []int, ok bool) {
	for r := from; r < to; r++ {
		i := c.order[r]
		o := &c.ops[i]
		if o.Step != spec.Refuse || has(stockRefuseIgnored) {
			continue
		}
		if key := stockKey(o); key < c.level {
			if key < top {
				return r, nil, true
			}
			if c.unit == 0 && len(c.takes) > 0 {
				return r, nil, false
			}
			if c.unit == 0 {
				return r, positions(c.above, i), false
			}
			n := (c.level - key + c.unit - 1) / c.unit
			if c.level-n*c.unit < top {
				return r, nil, true // the slots do not meet top; lead will see it
			}
			if !c.gap(n) {
				return r, positions(c.above, i), false
			}
			c.level -= n * c.unit
		}
		if !c.returns(i, o.Return, c.latest.time) {
			return r, positions(c.latest.at, i), false
		}
	}
	return to, nil, true
}

// gap notes slots. It says whether there are takes for all so far.
func (c *stockChain) gap(slots int64) bool {
	if has(stockGapSkipped) {
		return true
	}
	if slots > int64(len(c.takes)-c.slots) {
		return false
	}
	if c.gaps == nil {
		c.gaps = make([]stockGap, 0, len(c.takes)) // each has one at least
	}
	c.slots += int(slots)
	c.gaps = append(c.gaps, stockGap{c.latest, c.first, int32(slots)})
	c.first = ending
	return true
}

// positions makes positions in the history of some, without those that are none.
func positions(some ...int32) []int {
	out := []int{}
	for _, i := range some {
		if i != none {
			out = append(out, int(i))
		}
	}
	return out
}
