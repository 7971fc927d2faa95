package fast

import (
	"slices"
	"time"

	"picklock/models/spec"
)

// Lease decides whether ops is a history of l. It takes for granted that no operation
// returns before its call. Owners acquire at most once: a history in which one does it
// again, or an l that is not 0 <= Min <= Max, is left to porcupine as a whole.
//
// # Proof
//
// Take an order and moments of the steps. A hold covers the moments strictly between its
// start and its end, and holds do not cover each other's moments; at one moment one hold can
// end, any number of holds without length can come and go, and one can start. The other
// demands on a hold are its owner's own. So a history is legal if every hold can be placed,
// by its own demands, such that no two cover one moment, and none covers the moment of a
// hold without length.
//
// Let [a1,a2] be the acquire of an owner, [r1,r2] its acknowledged release, [n1,n2] one of
// its answers "not held", and f the first call of what may have freed it.
//
// An owner without an acquire holds nothing: its release is illegal, the rest says nothing.
// So is a second acknowledged release. An acquire that may have happened, without an
// acknowledged release, can be left out: that takes demands away and makes none. The same
// is true of one that never returned, as it can come after all others. With a release it
// did happen, with a2 = Never.
//
// Released, the hold is [s,e], s in [a1,a2], e in [r1,r2], s <= e <= s+Max, and each
// answer needs s >= n1 or e <= n2. (Frees say nothing: they can have come to late.)
//   - If a2 < r1 the hold contains [a2,r1], its core, and [a2,r1] is a hold itself: it is
//     the shortest for Max, and meets every answer that any other meets. What it covers
//     is covered by every other, so it harms nobody. Thus it is the only one to look at.
//   - Else there is p = max(s,r1), in the hold, and in [max(a1,r1), min(a2,r2)]. The hold
//     [p,p] meets all demands, and harms nobody. So it is a hold without length, at any
//     moment of that window. If the window is empty there is no hold, and it is illegal.
//
// Not released, the hold starts at s in [a1,a2] and ends at E(s) = max(s, min(s+Min, f)), or
// later, which helps nothing. Each answer needs s >= n1 or E(s) <= n2.
//   - If Min is 0, or f <= a1+Min and f <= a2, every hold contains a moment of the window
//     [max(a1,f), a2], or of [a1,a2], at which it has no length: itself or f.
//   - If f <= a1+Min and f > a2, then E(s) is f, and [a2,f] is the core, as above.
//   - Else it is a hold of the length Min or, if f cuts it, less.
//
// Windows do not hinder each other. The moments of a window lie without a gap, so if holds
// cover all of them then one does alone: of two that cover no common moment, no moment
// leads from one to the other. So a window [w1,w2] needs of each hold that s >= w1 or
// E(s) <= w2. That is what an answer "not held" needs, of the hold of its owner.
//
// So what is left is a set of holds, each with starts in [lo,hi], an end E(s) that does not
// fall if s rises, and starts that are forbidden; of a core lo = hi. Call a hold tight if it
// ends after hi wherever it starts: E(lo) > hi. Cores are. Of two tight holds the one with
// the lower hi comes first: were it second, the other would end after its own hi, so after
// the lower hi. (With the same hi they exclude each other, in either order.) In a given order
// each hold can start as early as it can: that ends earliest, and so leaves most to the next.
// So for tight holds one sweep in the order of hi is exact. If it fails the history is
// illegal, whatever else there is, for more holds and windows only add demands.
//
// A hold that is not tight is loose: its acquire took Min or more. Its starts are first cut
// to those that leave all tight holds the moments that these cover wherever they start,
// which makes most of them tight, see lease_loose.go. For the others, some schedules are
// tried: if one places all holds, it is legal. If none does, porcupine decides, cluster by
// cluster of the holds that can meet, see lease_clusters.go.
//
// # Time and memory
//
// O(n log n) for the sorting, O(n) where nearly all holds were released and ops come by call; O(n) memory: some 30 bytes
// for an operation. Only loose holds that do not fit at once cost more.
func Lease(l spec.Lease, ops []spec.LockOp, lim Limits) Result {
	if lim.Timeout <= 0 {
		lim.Timeout = defaultTimeout
	}
	c := leaseCheck{min: l.Min, max: l.Max, ops: ops, until: time.Now().Add(lim.Timeout), bad: none}
	if l.Min < 0 || l.Max < l.Min || !c.group() {
		return c.all(l)
	}
	if has(quirkLeaseMinIsMax) {
		c.min = c.max
	}
	if bad := c.place(); bad != nil {
		return illegal(bad)
	}
	c.sort()
	if len(c.loose) > 0 && c.fitsLate(c.holds, c.loose, c.windows) {
		return Result{}
	}
	if bad := c.sweep(c.holds, c.more, false); bad != nil {
		return illegal(bad)
	}
	if len(c.loose) == 0 {
		return Result{}
	}
	c.merge()
	return c.loosely()
}

// leaseCheck is a history that is being checked.
type leaseCheck struct {
	min, max int64
	ops      []spec.LockOp
	until    time.Time // when porcupine has to be done
	owners   []leaseOwner
	told     []leaseSpan // answers "not held", by owner and from
	windows  []leaseSpan // by from
	bad      int32       // an owner whose release is illegal; none
	released []int32     // owners whose releases came before their acquires
	holds    []leaseHold // the tight ones, by hi
	more     []leaseHold // tight ones that are not among them yet, by hi
	loose    []leaseHold
	blocks   []leaseBlock // where sweep placed the holds
}

// leaseOwner has the positions of what an owner did, from 1 on; 0: it did not.
type leaseOwner struct {
	acquire, release int32
	free             int32 // the first that may have freed it
	told             int32 // in leaseCheck.told
}

// leaseSpan is a time in which there must be a moment that is not covered: by nobody, if it
// is a window, by the owner, if it is an answer.
type leaseSpan struct {
	from, to int64
	owner    int32
	op       int32 // the position of the answer
}

// leaseHold is a hold with a length.
type leaseHold struct {
	lo, hi int64 // where it can start
	free   int64 // where it ends at the latest; of a core: where it ends
	owner  int32
	core   bool
}

// end of a hold that starts at s.
func (c *leaseCheck) end(h *leaseHold, s int64) int64 {
	if h.core {
		return h.free
	}
	return max(s, min(spec.Plus(s, c.min), h.free))
}

// group puts together what belongs to one owner, and places the holds that were released: in
// the order of the releases, which is that of holds that do not overlap. Not ok: an owner
// acquired again.
func (c *leaseCheck) group() bool {
	if len(c.ops) == 0 {
		return true
	}
	numbers := numberOwners(c.ops)
	c.owners = make([]leaseOwner, numbers.n)
	c.holds = make([]leaseHold, 0, len(c.ops)/2+1)
	reached := 0
	for i := range c.ops {
		o := &c.ops[i]
		at, pos := numbers.of(o.Owner), int32(i+1)
		if int(at) >= reached {
			reached = clearAhead(c.owners, reached, int(at))
		}
		w := &c.owners[at]
		switch o.Step {
		case spec.Acquire, spec.MayAcquire:
			if w.acquire != 0 {
				return false
			}
			w.acquire = pos
		case spec.Release:
			switch {
			case w.release != 0:
				w.free, c.bad = -pos, at // no hold can be released twice
			case w.acquire == 0:
				w.release = pos
				c.released = append(c.released, at)
			default:
				w.release = pos
				if !c.placeReleased(at, &c.ops[w.acquire-1], o) {
					c.bad = at
				}
			}
		case spec.NotHeld:
			c.told = append(c.told, leaseSpan{o.Call, o.Return, at, int32(i)})
		default:
			if w.free == 0 || w.free > 0 && o.Call < c.ops[w.free-1].Call {
				w.free = pos
			}
		}
	}
	if has(quirkLeaseNoNotHeld) {
		c.told = nil
	}
	c.told = sortNearly(c.told, func(n *leaseSpan) int64 { return int64(n.owner) }, byFrom)
	for i := len(c.told) - 1; i >= 0; i-- {
		c.owners[c.told[i].owner].told = int32(i + 1)
	}
	return true
}

// answers gives those of an owner, by from.
func (c *leaseCheck) answers(owner int32) []leaseSpan {
	first := c.owners[owner].told
	if first == 0 {
		return nil
	}
	told := c.told[first-1:]
	for i := range told {
		if told[i].owner != owner {
			return told[:i]
		}
	}
	return told
}

// of gives the positions of what owners did.
func (c *leaseCheck) of(owners ...int32) []int {
	var out []int
	for _, o := range owners {
		w := c.owners[o]
		for _, pos := range []int32{w.acquire, w.release, max(w.free, -w.free)} {
			if pos != 0 {
				out = append(out, int(pos-1))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func illegal(ops []int) Result { return Result{Verdict: Illegal, Ops: ops} }
