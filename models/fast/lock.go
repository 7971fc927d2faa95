package fast

import (
	"cmp"
	"slices"

	"picklock/models/spec"
)

// Lock decides whether ops linearize as the lock l. It takes O(n) time beside sorting
// what is neither nearly in order nor evenly spread (holds by start), and some 20 bytes an
// operation, 40 with fences or permits; 80 if owners have many operations each, or numbers far apart.
//
// The idea: the operations of one owner follow each other, so its holds are known but for
// where exactly they start and end. Every hold can be made as short as its operations
// allow, since a shorter hold stands in nobody's way: of a linearization with longer holds,
// moving an acquire later or a release earlier within its interval, while the owner's own
// operations keep their order, gives another linearization. What is left is a geometric
// question about intervals.
//
// Take an owner whose certain operations follow each other (each called after the one
// before returned), and whose steps that may happen come behind them all; a "regular" owner.
// Its count of holds after each operation is known.
//
//   - A hold lasts at least from the return of its acquire to the call of its release, its
//     core; and it can be made to last no longer. If nobody certainly released it, it ends
//     with the call of the step that may have freed it, the earliest possible; or never. A
//     MayFree frees all holds of the owner; of a reentrant lock with k holds, it takes k
//     times a MayRelease. Nothing certain of the owner comes afterwards, so to have these
//     steps happen at their calls harms nobody.
//   - "Not held" while the count is above zero is legal only if steps that may happen can
//     have freed the owner by its return.
//   - A release at count zero, an acquire beyond Holds, and different fences in one hold are
//     illegal whatever others do.
//
// An owner with one acquire, certain or not, and one acknowledged release that was called
// before the acquire returned held the lock at some moment of both intervals, perhaps no
// longer: its window, from the later call to the earlier return. It can be a hold of no
// length, of which any number have room at one moment. An unknown acquire that no
// certain operation of its owner needs is left out: it could only stand in the way. So is one
// that was called after all certain acquires and releases of its owner had returned. In a
// linearization these come before it, so that of the owner's only steps come after it that
// may happen, which are legal in every state, and "not held", for which one hold less is no
// harm. And without it the owner has at each moment as many holds as with it or fewer.
//
// Then the history is legal if and only if
//
//   - at no moment inside cores there are more of them than permits (one, of a mutex). Cores
//     that touch at a moment do not overlap there, and one without length is inside another
//     only strictly between its ends. Necessary: a core is held for certain. Sufficient:
//     cores as holds are a linearization, at each moment the releases before the holds of no
//     length before the acquires.
//   - each window has a moment that is not strictly inside as many cores as there are permits.
//   - fences rise in the order of the holds that told them. The order of cores is that of
//     time; windows that told one (rare) go in the order of their fences, each as early as
//     it can, which leaves the most room for the next.
//
// All other owners are irregular: their operations overlap, or certain ones follow unknown
// ones. They are left to porcupine, in clusters: all that overlaps from an irregular owner's
// first call to the first core that begins after all its calls and returns. There the owner
// does not hold the lock, and what may happen to it afterwards need not happen. In a cluster
// the regular owners' cores stand as operations without length. Cores before it matter only
// by their fences. With several permits a core does not show that others are rid of theirs:
// there a cluster lasts to the end.
//
// A Mutex without owners is porcupine's alone, in pieces between moments at which nothing
// is under way.
func Lock(l spec.Lock, ops []spec.LockOp, lim Limits) Result {
	if len(ops) == 0 {
		return Result{}
	}
	c := &lockChecker{lock: l, ops: ops, permits: 1, lim: lim.started()}
	if l.Permits > 0 {
		c.permits = l.Permits
	}
	if has(quirkOneMore) && l.Permits > 0 {
		c.permits++
	}
	if l.Anonymous {
		return c.anonymous()
	}
	if bad := c.owners(); bad != nil {
		return Result{Verdict: Illegal, Ops: bad}
	}
	return c.decide()
}

// lockChecker is one check under way.
type lockChecker struct {
	lock    spec.Lock
	ops     []spec.LockOp
	permits int
	lim     limits

	cores     []hold
	windows   []hold
	irregular []cluster
	full      []stretch // in which all permits are taken, by time, of several permits
}

// hold is a core or a window: an interval in which an owner held the lock for certain,
// or at one moment of which it did.
type hold struct {
	from, to int64 // inclusive; to is spec.Never for a core without end
	fence    int64 // 0: not told
	op       int32 // its acquire's position
}

func (h *hold) start() int64 { return h.from }

// byEnd orders holds of the same start.
func byEnd(a, b *hold) int {
	if c := cmp.Compare(a.to, b.to); c != 0 {
		return c
	}
	return cmp.Compare(a.fence, b.fence)
}

// decide judges the holds and then what is left to porcupine.
func (c *lockChecker) decide() Result {
	c.cores = sortNearly(c.cores, (*hold).start, byEnd)
	bad := c.sweep()
	if bad == nil {
		bad = c.placeWindows()
	}
	if bad == nil && c.lock.Fenced {
		bad = c.fences()
	}
	if bad != nil {
		return Result{Verdict: Illegal, Ops: bad}
	}
	return c.ask()
}

// sortedByCall gives the order of the operations by their calls; nil: they are in order.
func sortedByCall(ops []spec.LockOp) []int32 {
	sorted := true
	for i := 1; i < len(ops) && sorted; i++ {
		sorted = ops[i-1].Call <= ops[i].Call
	}
	if sorted {
		return nil
	}
	order := make([]int32, len(ops))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(ops[a].Call, ops[b].Call) })
	return order
}
