package fast

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"picklock/models/spec"
)

// lockLoad is a long history as clients make it that work under a lock without pause:
// most of them wait, and each grant is an owner of its own. Times are nanoseconds.
type lockLoad struct {
	lock       spec.Lock
	operations int // about so many
	clients    int
	unknown    int  // percent of the grants that do not end as they should
	retried    int  // percent of the grants that are released twice, the first time without a reply
	violated   bool // at 80% of the history, one hold more than there can be
}

func (l lockLoad) String() string {
	verdict := "legal"
	if l.violated {
		verdict = "illegal"
	}
	if l.retried > 0 {
		verdict = fmt.Sprintf("%d%%retried/%s", l.retried, verdict)
	}
	return fmt.Sprintf("%d/%d/%d%%/%s", l.operations, l.clients, l.unknown, verdict)
}

// Times of the load: replies take up to latency one way, holds up to hold, breaks of
// clients up to pause, and what died is freed after ttl.
const (
	loadLatency = 200_000
	loadHold    = 2_000_000
	loadPause   = 5_000_000
	loadTTL     = 10_000_000
)

// history makes the operations, by call.
func (l lockLoad) history(seed uint64) []spec.LockOp {
	r := &loadRun{lockLoad: l, rng: rand.New(rand.NewPCG(seed, 7))}
	r.slots = make(timeHeap, max(1, l.lock.Permits))
	for range l.clients {
		heap.Push(&r.ready, r.up(loadPause))
	}
	intruded := !l.violated
	for len(r.ops) < l.operations {
		core := r.grant()
		if !intruded && len(r.ops) >= l.operations*4/5 && core.from+10 < core.to {
			r.intrude(core)
			intruded = true
		}
	}
	slices.SortStableFunc(r.ops, func(a, b spec.LockOp) int { return cmp.Compare(a.Call, b.Call) })
	for i := range r.ops {
		r.ops[i].ID = int64(i)
	}
	return r.ops
}

// loadRun is a load under way.
type loadRun struct {
	lockLoad
	rng   *rand.Rand
	ops   []spec.LockOp
	ready timeHeap // when each client calls next
	slots timeHeap // when each permit is free
	owner int64
	fence int64
}

// up gives a time from 1 to n.
func (r *loadRun) up(n int64) int64 { return 1 + r.rng.Int64N(n) }

func (r *loadRun) add(step spec.Step, call, ret, fence int64) {
	r.ops = append(r.ops, spec.LockOp{Step: step, Owner: r.owner, Call: call, Return: ret, Fence: fence})
}

// grant lets the client that waits longest acquire and release, and gives the time for
// which it held for certain.
func (r *loadRun) grant() (core stretch) {
	r.owner++
	call := heap.Pop(&r.ready).(int64)
	fate := r.rng.IntN(500) // of unknown outcome are those below five times the percentage
	if fate < r.unknown {   // an acquire that never happened, and never returned
		r.add(spec.MayAcquire, call, spec.Never, 0)
		heap.Push(&r.ready, call+loadTTL+r.up(loadPause))
		return stretch{}
	}
	at := max(call, heap.Pop(&r.slots).(int64)) + r.up(loadLatency)
	fence := int64(0)
	if r.lock.Fenced {
		r.fence++
		fence = r.fence
	}
	got := at + r.up(loadLatency)
	if fate < 2*r.unknown { // an acquire without a reply, and its client releases to be sure
		r.add(spec.MayAcquire, call, spec.Never, 0)
		release := got + loadLatency
		done := release + r.up(loadLatency)
		r.add(spec.Release, release, done+r.up(loadLatency), 0)
		r.next(done, done+loadLatency)
		return stretch{}
	}
	r.add(spec.Acquire, call, got, fence)
	now := got
	if r.lock.Permits == 0 && r.lock.Holds != 1 && r.rng.IntN(4) == 0 { // again, and back
		for _, step := range []spec.Step{spec.Acquire, spec.Release} {
			from := now + r.up(loadHold/4)
			now = from + 2*r.up(loadLatency)
			r.add(step, from, now, fence*int64(count(step == spec.Acquire)))
		}
	}
	release := now + r.up(loadHold)
	switch {
	case fate < 3*r.unknown: // a death
		r.add(spec.MayFree, release, spec.Never, 0)
		r.next(release+loadTTL, release+2*loadTTL)
	case fate < 5*r.unknown: // a release without a reply
		r.add(spec.MayRelease, release, spec.Never, 0)
		r.next(release+r.up(loadLatency), release+loadTTL)
	default:
		if r.rng.IntN(100) < r.retried {
			r.add(spec.MayRelease, release, spec.Never, 0)
			release += loadLatency
		}
		done := release + r.up(loadLatency)
		back := done + r.up(loadLatency)
		r.add(spec.Release, release, back, 0)
		r.next(done, back)
	}
	return stretch{got, release}
}

// next frees a permit at one time, and the client goes on after another.
func (r *loadRun) next(freed, back int64) {
	heap.Push(&r.slots, freed)
	heap.Push(&r.ready, back+r.up(loadPause))
}

// intrude has as many others hold the lock in the middle of a core as there are permits.
func (r *loadRun) intrude(core stretch) {
	mid := (core.from + core.to) / 2
	for range max(1, r.lock.Permits) {
		r.owner++
		r.add(spec.Acquire, core.from, mid-1, 0)
		r.add(spec.Release, mid+1, core.to, 0)
	}
}

// timeHeap gives the earliest of times.
type timeHeap []int64

func (h timeHeap) Len() int           { return len(h) }
func (h timeHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h timeHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *timeHeap) Push(x any)        { *h = append(*h, x.(int64)) }
func (h *timeHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// loadLocks are those that are measured.
var loadLocks = []lockModel{
	{"owner mutex", spec.OwnerMutex()},
	{"reentrant", spec.ReentrantMutex(2)},
	{"fenced", spec.FencedMutex()},
	{"reentrant fenced", spec.ReentrantFencedMutex(2)},
	{"three permits", spec.Permits(3)},
}

// The loads are what they are said to be: by the specification where it answers, and by
// the checker, which must not have to ask.
func TestLockLoads(t *testing.T) {
	for _, m := range loadLocks {
		for _, unknown := range []int{0, 1, 20} {
			for _, violated := range []bool{false, true} {
				l := lockLoad{lock: m.lock, operations: 14, clients: 4, unknown: unknown, retried: unknown / 2, violated: violated}
				for seed := range uint64(10) {
					want := Legal
					if violated {
						want = Illegal
					}
					if ops := l.history(seed); specLock(m.lock, ops) == want.other() {
						t.Errorf("%s %v: not %v: %s", m.name, l, want, formatLock(ops))
					}
					l.operations, l.clients = 5000, 1+int(seed)
					if res := Lock(m.lock, l.history(seed), Limits{}); res.Verdict != want || res.Asked != 0 {
						t.Errorf("%s %v: %v, %d operations left to porcupine", m.name, l, res.Verdict, res.Asked)
					}
				}
			}
		}
	}
}

// other is the opposite verdict.
func (v Verdict) other() Verdict {
	if v == Legal {
		return Illegal
	}
	return Legal
}
