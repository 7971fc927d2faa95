package fast

import (
	"cmp"
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
	unknown    int   // percent of the grants that do not end as they should
	retried    int   // percent of the grants that are released twice, the first time without a reply
	processes  bool  // an owner is a client, until an outcome is unknown: then the client goes on as another
	spread     int64 // owners' numbers are so far apart; 0: they follow each other
	violated   bool  // at 80% of the history, one hold more than there can be
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
	r.slots = make(stockHeap, max(1, l.lock.Permits))
	for range l.clients {
		r.owners++
		r.owner = r.owners
		r.back(r.up(loadPause))
	}
	intruded := !l.violated
	r.ops = make([]spec.LockOp, 0, l.operations+8)
	for len(r.ops) < l.operations {
		core := r.grant()
		if !intruded && len(r.ops) >= l.operations*4/5 && core.from+10 < core.to {
			r.intrude(core)
			intruded = true
		}
	}
	ops := byCall(r.ops)
	for i := range ops {
		ops[i].ID = int64(i)
		ops[i].Owner *= max(1, l.spread)
	}
	return ops
}

// loadRun is a load under way.
type loadRun struct {
	lockLoad
	rng    *rand.Rand
	ops    []spec.LockOp
	ready  stockHeap // when each client calls next, and which owner it is then
	slots  stockHeap // when each permit is free
	owner  int64     // who acquires now
	owners int64     // how many there have been
	fence  int64
}

// up gives a time from 1 to n.
func (r *loadRun) up(n int64) int64 { return 1 + r.rng.Int64N(n) }

func (r *loadRun) add(step spec.Step, call, ret, fence int64) {
	r.ops = append(r.ops, spec.LockOp{Step: step, Owner: r.owner, Call: call, Return: ret, Fence: fence})
}

// grant lets the client that waits longest acquire and release, and gives the time for
// which it held for certain.
func (r *loadRun) grant() (core stretch) {
	next := r.ready.pop()
	call := next.time
	if r.owner = int64(next.at); !r.processes {
		r.fresh()
	}
	fate := r.rng.IntN(500) // of unknown outcome are those below five times the percentage
	if fate < r.unknown {   // an acquire that never happened, and never returned
		r.add(spec.MayAcquire, call, spec.Never, 0)
		r.fresh()
		r.back(call + loadTTL + r.up(loadPause))
		return stretch{}
	}
	at := max(call, r.slots.pop().time) + r.up(loadLatency)
	fence := int64(0)
	if r.lock.Fenced {
		r.fence++
		fence = r.fence
	}
	got := at + r.up(loadLatency)
	if fate < 2*r.unknown { // an acquire without a reply, and its client releases to be sure
		r.add(spec.MayAcquire, call, spec.Never, 0)
		if r.processes { // which cannot release, so a TTL does
			r.fresh()
			r.next(at+loadTTL, got+loadTTL)
			return stretch{}
		}
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
		r.fresh()
		r.next(release+loadTTL, release+2*loadTTL)
	case fate < 5*r.unknown: // a release without a reply
		r.add(spec.MayRelease, release, spec.Never, 0)
		r.fresh()
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

// fresh makes the next owner.
func (r *loadRun) fresh() {
	r.owners++
	r.owner = r.owners
}

// next frees a permit at one time, and the client goes on after another.
func (r *loadRun) next(freed, back int64) {
	r.slots.push(stockMoment{time: freed})
	r.back(back + r.up(loadPause))
}

// back has the client call again at a time, as the owner that it is.
func (r *loadRun) back(at int64) { r.ready.push(stockMoment{at, int32(r.owner)}) }

// intrude has as many others hold the lock in the middle of a core as there are permits.
func (r *loadRun) intrude(core stretch) {
	mid := (core.from + core.to) / 2
	for range max(1, r.lock.Permits) {
		r.fresh()
		r.add(spec.Acquire, core.from, mid-1, 0)
		r.add(spec.Release, mid+1, core.to, 0)
	}
}

// byCall gives ops in the order of their calls.
func byCall(ops []spec.LockOp) []spec.LockOp {
	order := make([]stockMoment, len(ops))
	for i := range ops {
		order[i] = stockMoment{ops[i].Call, int32(i)}
	}
	slices.SortFunc(order, func(a, b stockMoment) int {
		if a.time != b.time {
			return cmp.Compare(a.time, b.time)
		}
		return cmp.Compare(a.at, b.at)
	})
	sorted := make([]spec.LockOp, len(ops))
	for i := range order {
		sorted[i] = ops[order[i].at]
	}
	return sorted
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
				l := lockLoad{lock: m.lock, unknown: unknown, violated: violated}
				testLoad(t, m.name+" of processes", lockLoad{lock: m.lock, unknown: unknown, violated: violated, processes: true})
				l.retried = unknown / 2
				testLoad(t, m.name, l)
				l.spread = 1_000_003
				testLoad(t, m.name+", owners far apart", l)
			}
		}
	}
}

func testLoad(t *testing.T, name string, l lockLoad) {
	want := Legal
	if l.violated {
		want = Illegal
	}
	for seed := range uint64(10) {
		l.operations, l.clients = 14, 4
		if ops := l.history(seed); specLock(l.lock, ops) == want.other() {
			t.Errorf("%s %v: not %v: %s", name, l, want, formatLock(ops))
		}
		l.operations, l.clients = 5000, 1+int(seed)
		if res := Lock(l.lock, l.history(seed), Limits{}); res.Verdict != want || res.Asked != 0 {
			t.Errorf("%s %v: %v, %d operations left to porcupine", name, l, res.Verdict, res.Asked)
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
