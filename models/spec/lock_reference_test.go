package spec_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"

	"picklock/models/spec"
)

// A reference without porcupine and without the model: every choice of the steps that may
// have happened, in every order that the times allow, applied to a lock that keeps a list
// of its holds. A step that may happen is here one that certainly did, or is not there.

// naiveLock is a lock that does certain steps only. Nothing of it is shared between copies.
type naiveLock struct {
	spec.Lock
	holds []int64 // owners, one entry for each hold
	told  []int64 // fences
	now   int64   // the fence of the present holds; 0: not told
}

func (n naiveLock) count(owner int64) int {
	c := 0
	for _, o := range n.holds {
		if o == owner {
			c++
		}
	}
	return c
}

// do returns the lock after a step that did happen, and whether it was right.
func (n naiveLock) do(o spec.LockOp) (naiveLock, bool) {
	owner := o.Owner
	if n.Anonymous {
		owner = 1
	}
	own := n.count(owner)
	n.holds, n.told = slices.Clone(n.holds), slices.Clone(n.told)
	switch o.Step {
	case spec.Acquire, spec.MayAcquire:
		if n.Permits == 0 && own < len(n.holds) || n.Permits > 0 && len(n.holds) >= n.Permits || n.Lock.Holds > 0 && own >= n.Lock.Holds {
			return n, false
		}
		n.holds = append(n.holds, owner)
		if n.Fenced && o.Step == spec.Acquire && o.Fence != 0 && o.Fence != n.now {
			if n.now != 0 || o.Fence <= slices.Max(append(n.told, 0)) {
				return n, false
			}
			n.told, n.now = append(n.told, o.Fence), o.Fence
		}
	case spec.Release, spec.MayRelease:
		if own == 0 {
			return n, false
		}
		i := slices.Index(n.holds, owner)
		n.holds = slices.Delete(n.holds, i, i+1)
	case spec.NotHeld:
		return n, own == 0
	case spec.MayFree:
		n.holds = slices.DeleteFunc(n.holds, func(o int64) bool { return o == owner })
	}
	if len(n.holds) == 0 {
		n.now = 0
	}
	return n, true
}

// ordered says whether some order of ops is right, each done.
func (n naiveLock) ordered(ops []spec.LockOp) bool {
	if len(ops) == 0 {
		return true
	}
	for i, o := range ops {
		first := true
		for _, p := range ops {
			first = first && p.End() >= o.Call // else p was over before o was called
		}
		if !first {
			continue
		}
		if next, ok := n.do(o); ok && next.ordered(slices.Delete(slices.Clone(ops), i, i+1)) {
			return true
		}
	}
	return false
}

func naiveLegal(l spec.Lock, ops []spec.LockOp) bool {
	var may []int
	for i := range ops {
		if ops[i].Step.May() {
			may = append(may, i)
		}
	}
	for set := range 1 << len(may) {
		var done []spec.LockOp
		for i, o := range ops {
			if at := slices.Index(may, i); at < 0 || set>>at&1 == 1 {
				done = append(done, o)
			}
		}
		if (naiveLock{Lock: l}).ordered(done) {
			return true
		}
	}
	return false
}

var referenceLocks = []struct {
	name string
	lock spec.Lock
}{
	{"mutex", spec.Mutex()},
	{"owner mutex", spec.OwnerMutex()},
	{"reentrant", spec.ReentrantMutex(2)},
	{"reentrant without end", spec.ReentrantMutex(0)},
	{"fenced", spec.FencedMutex()},
	{"reentrant fenced", spec.ReentrantFencedMutex(2)},
	{"reentrant fenced without end", spec.ReentrantFencedMutex(0)},
	{"one permit", spec.Permits(1)},
	{"two permits", spec.Permits(2)},
	{"three permits, two for each owner", spec.Lock{Permits: 3, Holds: 2}},
	{"anonymous permits", spec.Lock{Permits: 2, Anonymous: true}},
}

// anyLockOps is a small history without much sense in it, at few times.
func anyLockOps(rng *rand.Rand) []spec.LockOp {
	steps := []spec.Step{spec.Acquire, spec.Acquire, spec.Acquire, spec.Release, spec.Release,
		spec.NotHeld, spec.MayAcquire, spec.MayRelease, spec.MayFree}
	owners, times := 1+rng.Int64N(3), 1+rng.Int64N(12)
	ops := make([]spec.LockOp, 1+rng.IntN(6))
	for i := range ops {
		o := &ops[i]
		o.Owner, o.ID = 1+rng.Int64N(owners), int64(i)
		o.Step = steps[rng.IntN(len(steps))]
		o.Call = rng.Int64N(times)
		o.Return = o.Call + rng.Int64N(1+rng.Int64N(times))
		if rng.IntN(40) == 0 {
			o.Return = spec.Never
		}
		if o.Step == spec.Acquire {
			o.Fence = rng.Int64N(4)
		}
		if o.Step.May() && rng.IntN(2) == 0 { // neither is looked at
			o.Return, o.Fence = rng.Int64N(times), rng.Int64N(4)
		}
	}
	return ops
}

// The model makes a step that may happen legal everywhere and lets it take effect where it
// can. That is the same as choosing which of them happened.
func TestModelAgreesWithReference(t *testing.T) {
	const histories = 200_000
	legal := make([]int, len(referenceLocks))
	for i := range histories {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		ops := anyLockOps(rng)
		at := i % len(referenceLocks)
		l := referenceLocks[at].lock
		want := naiveLegal(l, ops)
		if got := checkLock(l, ops); got != want {
			t.Fatalf("history %d, %s: %s\nlegal by the model: %v, by the reference: %v", i, referenceLocks[at].name, formatLockOps(ops), got, want)
		}
		if got := porcupine.CheckEvents(l.Model(), events(ops)); got != want {
			t.Fatalf("history %d, %s: %s\nlegal by events: %v, by the reference: %v", i, referenceLocks[at].name, formatLockOps(ops), got, want)
		}
		if want {
			legal[at]++
		}
	}
	for i, n := range legal {
		if all := histories / len(legal); n < all/8 || n > all*7/8 {
			t.Errorf("%s: %d of %d histories are legal: the others say too little", referenceLocks[i].name, n, all)
		}
	}
}

// events puts the calls and returns into the order that the package comment promises: at
// one moment the calls come first, and a step that may happen returns behind everything.
func events(ops []spec.LockOp) []porcupine.Event {
	type moment struct {
		at    int64
		event porcupine.Event
	}
	var all []moment
	for i := range ops {
		all = append(all, moment{ops[i].Call, porcupine.Event{ClientId: i, Kind: porcupine.CallEvent, Value: ops[i], Id: i}})
	}
	for i := range ops {
		all = append(all, moment{ops[i].End(), porcupine.Event{ClientId: i, Kind: porcupine.ReturnEvent, Id: i}})
	}
	slices.SortStableFunc(all, func(a, b moment) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	out := make([]porcupine.Event, len(all))
	for i := range all {
		out[i] = all[i].event
	}
	return out
}

// One permit is an owner-aware mutex, and one hold of a reentrant mutex is not reentrant.
func TestEqualLocks(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b spec.Lock
	}{
		{"one permit, owner mutex", spec.Permits(1), spec.OwnerMutex()},
		{"one anonymous permit, mutex", spec.Lock{Permits: 1, Anonymous: true}, spec.Mutex()},
		{"one hold, owner mutex", spec.ReentrantMutex(1), spec.OwnerMutex()},
		{"one hold, fenced mutex", spec.ReentrantFencedMutex(1), spec.FencedMutex()},
	} {
		for i := range 5000 {
			ops := anyLockOps(rand.New(rand.NewPCG(uint64(i), 2)))
			if a, b := checkLock(c.a, ops), checkLock(c.b, ops); a != b {
				t.Fatalf("%s: %s: legal %v and %v", c.name, formatLockOps(ops), a, b)
			}
		}
	}
}
