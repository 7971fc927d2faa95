package fast

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"picklock/models/spec"
)

// lockModel is a lock whose histories are generated.
type lockModel struct {
	name string
	lock spec.Lock
}

var lockModels = []lockModel{
	{"mutex", spec.Mutex()},
	{"owner mutex", spec.OwnerMutex()},
	{"reentrant", spec.ReentrantMutex(2)},
	{"reentrant without end", spec.ReentrantMutex(0)},
	{"fenced", spec.FencedMutex()},
	{"reentrant fenced", spec.ReentrantFencedMutex(2)},
	{"reentrant fenced without end", spec.ReentrantFencedMutex(0)},
	{"anonymous permits", spec.Lock{Permits: 2, Anonymous: true}},
	{"one permit", spec.Permits(1)},
	{"two permits", spec.Permits(2)},
	{"three permits", spec.Permits(3)},
	{"two permits, one for each owner", spec.Lock{Permits: 2, Holds: 1}},
	{"three permits, two for each owner", spec.Lock{Permits: 3, Holds: 2}},
}

// lockSize says how large histories are.
type lockSize struct {
	name     string
	min, max int     // operations
	spans    []int64 // times are from 0 to one of these
	wide     int64   // at most so long before and after its moment an operation is under way
	unknown  []int   // percent of the operations
}

// In small histories everything overlaps. In sparse ones little does, so that there are
// several clusters of what cannot be decided at sight, with others between them; there are
// more of both in long ones.
var (
	smallLocks  = lockSize{"small", 2, 9, []int64{2, 5, 10, 10, 20, 40}, 20, []int{0, 0, 10, 30, 60}}
	sparseLocks = lockSize{"sparse", 6, 14, []int64{40, 80}, 4, []int{0, 5, 10, 30}}
	longLocks   = lockSize{"long", 16, 40, []int64{60, 120, 300}, 20, []int{0, 3, 10, 20}}
)

// lockHistory is the history of a number: always the same one for the same lock and size.
// Those of even numbers are legal, those of odd numbers were legal before something was
// changed.
func lockHistory(m lockModel, size lockSize, number int) []spec.LockOp {
	seed := uint64(14695981039346656037)
	for _, b := range []byte(m.name + size.name) {
		seed = (seed ^ uint64(b)) * 1099511628211
	}
	g := &lockGen{rng: rand.New(rand.NewPCG(seed, uint64(number))), l: m.lock, size: size}
	ops := g.legal()
	if number%2 == 1 {
		ops = g.changed(ops)
	}
	return g.disguised(ops)
}

// lockGen makes one history by running a real lock.
type lockGen struct {
	rng   *rand.Rand
	l     spec.Lock
	size  lockSize
	span  int64 // times are from 0 to span, at first
	steps []lockPoint

	holds  map[int64]int
	total  int
	fence  int64 // the last that was given
	owners int64 // how many there have been
}

// lockPoint is an operation with the moment at which it took effect.
type lockPoint struct {
	spec.LockOp
	at int64
}

func (g *lockGen) chance(percent int) bool { return g.rng.IntN(100) < percent }

// upTo gives 0 to n.
func (g *lockGen) upTo(n int64) int64 { return g.rng.Int64N(n + 1) }

// near is how far changes reach.
func (g *lockGen) near() int64 { return min(g.span, 2*g.size.wide) }

// Of an anonymous lock all holds are one owner's.
func (g *lockGen) key(owner int64) int64 {
	if g.l.Anonymous {
		return 0
	}
	return owner
}

func (g *lockGen) acquire(owner int64) bool {
	k := g.key(owner)
	own := g.holds[k]
	switch {
	case g.l.Holds > 0 && own == g.l.Holds, g.l.Permits > 0 && g.total == g.l.Permits, g.l.Permits == 0 && g.total > own:
		return false
	case g.total == 0:
		g.fence += 1 + g.upTo(1)
	}
	g.holds[k]++
	g.total++
	return true
}

func (g *lockGen) release(owner int64, n int) {
	g.holds[g.key(owner)] -= n
	g.total -= n
}

// holder is somebody who holds the lock; 0: nobody does.
func (g *lockGen) holder() int64 {
	var all []int64
	for o, n := range g.holds {
		if n > 0 {
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[g.rng.IntN(len(all))]
}

// legal runs the lock with the operations one after the other, and puts calls and returns
// around them.
func (g *lockGen) legal() []spec.LockOp {
	n := g.size.min + g.rng.IntN(g.size.max-g.size.min+1)
	g.span = g.size.spans[g.rng.IntN(len(g.size.spans))]
	g.holds = map[int64]int{}
	grants := 0 // percent of the acquires of a free lock that have an owner of their own
	if !g.l.Anonymous {
		grants = []int{0, 0, 60, 100}[g.rng.IntN(4)]
	}
	g.owners = 1 + g.upTo(2) // if none has, so many acquire again and again
	unknown := g.size.unknown[g.rng.IntN(len(g.size.unknown))]
	untold := []int{0, 20, 60}[g.rng.IntN(3)]
	for len(g.steps) < n {
		g.step(grants, unknown, untold)
	}
	g.times(g.chance(75))
	ops := make([]spec.LockOp, len(g.steps))
	for i := range g.steps {
		ops[i] = g.steps[i].LockOp
	}
	return ops
}

func (g *lockGen) add(step spec.Step, owner, fence int64) {
	g.steps = append(g.steps, lockPoint{LockOp: spec.LockOp{Step: step, Owner: owner, Fence: fence}})
}

// step adds at most one operation.
func (g *lockGen) step(grants, unknown, untold int) {
	owner := 1 + g.rng.Int64N(g.owners)
	if grants > 0 && g.chance(70) {
		owner = g.owners // the latest
	}
	holder := g.holder()
	switch kind := g.rng.IntN(100); {
	case kind < 45: // an acquire
		if g.chance(grants) && (g.l.Holds == 1 || holder == 0 || g.chance(40)) {
			owner = g.owners + 1
		} else if holder != 0 && g.chance(50) {
			owner = holder
		}
		if !g.acquire(owner) {
			return // a busy answer says nothing
		}
		g.owners = max(g.owners, owner)
		switch {
		case g.chance(unknown):
			g.add(spec.MayAcquire, owner, 0)
		case g.l.Fenced && !g.chance(untold):
			g.add(spec.Acquire, owner, g.fence)
		default:
			g.add(spec.Acquire, owner, 0)
		}
	case kind < 85: // a release, mostly of somebody who can
		if holder != 0 && g.chance(85) && !g.l.Anonymous {
			owner = holder
		}
		switch {
		case g.holds[g.key(owner)] == 0 && g.chance(unknown):
			g.add(spec.MayRelease, owner, 0)
		case g.holds[g.key(owner)] == 0 && g.chance(50):
			g.add(spec.NotHeld, owner, 0)
		case g.holds[g.key(owner)] == 0:
		case g.chance(unknown):
			g.release(owner, 1)
			g.add(spec.MayRelease, owner, 0)
		default:
			g.release(owner, 1)
			g.add(spec.Release, owner, 0)
		}
	case !g.chance(unknown + 5):
	case kind < 93: // a death, a loss
		if holder != 0 && g.chance(85) && !g.l.Anonymous {
			owner = holder
		}
		g.release(owner, g.holds[g.key(owner)])
		g.add(spec.MayFree, owner, 0)
	default: // what may happen, and does not
		if grants > 0 && g.chance(40) {
			g.owners++
			owner = g.owners
		}
		g.add(spec.MayAcquire+spec.Step(g.rng.IntN(3)), owner, 0)
	}
}

// times draws the moments at which the operations took effect, in order, and an interval
// around each. One after the other: of one owner none is called before the last returned.
func (g *lockGen) times(oneAfterTheOther bool) {
	at := make([]int64, len(g.steps))
	for i := range at {
		at[i] = g.upTo(g.span)
	}
	slices.Sort(at)
	wide := 1 + g.upTo(g.near()/2)
	latest := map[int64]int{}
	for i := range g.steps {
		s := &g.steps[i]
		s.at, s.Call, s.Return = at[i], at[i]-g.upTo(wide), at[i]+g.upTo(wide)
		if oneAfterTheOther {
			if j, ok := latest[s.Owner]; ok {
				p := &g.steps[j]
				turn := p.at + g.upTo(s.at-p.at)
				p.Return, s.Call = min(p.Return, turn), max(s.Call, turn)
			}
			latest[s.Owner] = i
		}
		if s.Step.May() {
			s.Return = spec.Never
		}
	}
}

// disguised changes what is of no meaning: the order of the slice, mostly by call; the
// return and the fence of what may have happened; now and then, owners and times are far
// from 0. Rarely, a certain operation has no known return.
func (g *lockGen) disguised(ops []spec.LockOp) []spec.LockOp {
	g.rng.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
	if !g.chance(10) {
		slices.SortStableFunc(ops, func(a, b spec.LockOp) int { return cmp.Compare(a.Call, b.Call) })
	}
	junk, endless := g.chance(20), g.chance(1)
	shift, factor := int64(0), int64(1)
	if g.chance(5) {
		shift, factor = -3, 1_000_003
	}
	later := []int64{0, 0, 0, -g.span, 1_000_000_007}[g.rng.IntN(5)]
	for i := range ops {
		o := &ops[i]
		o.ID = int64(i)
		o.Owner = (o.Owner + shift) * factor
		o.Call += later
		if o.Return != spec.Never {
			o.Return += later
		}
		switch {
		case o.Step.May() && junk:
			o.Return, o.Fence = later+g.upTo(g.span), g.upTo(g.fence)
		case !o.Step.May() && endless && g.chance(30):
			o.Return = spec.Never
		}
	}
	return ops
}

// formatLock gives a history in the language of package spec's tests.
func formatLock(ops []spec.LockOp) string {
	signs := [...]string{"+", "-", "!", "?+", "?-", "?0"}
	var words []string
	for i := range ops {
		o := &ops[i]
		w := fmt.Sprintf("(%d)", o.Owner)
		if o.Owner >= 1 && o.Owner <= 26 {
			w = string(rune('a' + o.Owner - 1))
		}
		w += signs[o.Step]
		if o.Fence != 0 {
			w += fmt.Sprint(o.Fence)
		}
		w += fmt.Sprintf("@%d..", o.Call)
		if o.End() != spec.Never {
			w += fmt.Sprint(o.Return)
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// specLock is the verdict of the specification; of a long history, if it is found soon.
func specLock(l spec.Lock, ops []spec.LockOp) Verdict {
	limit := 10 * time.Second
	if len(ops) > sparseLocks.max {
		limit = 50 * time.Millisecond
	}
	switch porcupine.CheckOperationsTimeout(l.Model(), spec.Operations(ops), limit) {
	case porcupine.Ok:
		return Legal
	case porcupine.Illegal:
		return Illegal
	}
	return Undecided
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}
