// Package spectest is for the tests of specifications and of checkers: it makes small
// random histories, and judges them by nothing but the definition.
package spectest

import (
	"math/rand/v2"

	"picklock/models/spec"
)

// LegalLease says whether ops, at most 64 with whole moments, is legal for l. It goes
// through time moment by moment and tries every step, in every order, and every moment at
// which a hold can run out. That whole moments do is a property of the definition: for one
// order and one choice of what happened, all demands are differences between moments.
func LegalLease(l spec.Lease, ops []spec.LockOp) bool {
	w := walk{l: l, ops: ops, seen: map[place]bool{}}
	for i := range ops {
		o := &ops[i]
		w.from, w.to = min(w.from, o.Call), max(w.to, o.Call)
		if !o.Step.May() {
			w.certain |= 1 << i
			if o.Return != spec.Never {
				w.to = max(w.to, o.Return)
			}
		}
	}
	// Returns without an end can wait for a last hold to run out, and for others.
	for range ops {
		w.to = spec.Plus(w.to, l.Min)
	}
	return w.reach(place{now: w.from})
}

// place is where a walk through time has come to.
type place struct {
	now   int64
	done  uint64
	held  bool
	owner int64
	since int64
}

type walk struct {
	l        spec.Lease
	ops      []spec.LockOp
	from, to int64
	certain  uint64
	seen     map[place]bool
}

// reach says whether all that is certain can still happen.
func (w *walk) reach(p place) bool {
	if p.done&w.certain == w.certain {
		return true
	}
	if w.seen[p] {
		return false
	}
	w.seen[p] = true
	if p.held && p.now >= p.since+w.l.Min && w.reach(p.free()) {
		return true
	}
	for i := range w.ops {
		o := &w.ops[i]
		if p.done&(1<<i) != 0 || p.now < o.Call || p.now > o.End() {
			continue
		}
		next := p
		own := p.held && p.owner == o.Owner
		switch o.Step {
		case spec.Acquire, spec.MayAcquire:
			if p.held {
				continue
			}
			next.held, next.owner, next.since = true, o.Owner, p.now
		case spec.Release, spec.MayRelease, spec.MayFree:
			if !own {
				continue
			}
			next = p.free()
		case spec.NotHeld:
			if own {
				continue
			}
		}
		next.done |= 1 << i
		if w.reach(next) {
			return true
		}
	}
	if p.now >= w.to || p.held && p.now >= spec.Plus(p.since, w.l.Max) {
		return false // the hold has to run out first
	}
	for i := range w.ops {
		if p.done&(1<<i) == 0 && w.ops[i].End() <= p.now {
			return false
		}
	}
	p.now++
	return w.reach(p)
}

func (p place) free() place { return place{now: p.now, done: p.done} }

// A History is a small history of a lease.
type History struct {
	Lease spec.Lease
	Ops   []spec.LockOp
}

// RandomLease makes a small history: often a legal one, of a lock that is simulated; else
// one of those with a few changes, or one of random steps. Owners acquire at most once.
func RandomLease(rng *rand.Rand) History {
	l := spec.Lease{Min: rng.Int64N(7)}
	l.Max = l.Min + rng.Int64N(5)
	if rng.IntN(16) == 0 {
		l.Max = spec.Never
	}
	ops := randomPart(rng, &l)
	if rng.IntN(8) == 0 { // and another part, with other owners, perhaps before the first is over
		later := 3 + rng.Int64N(20)
		other := l
		for _, o := range randomPart(rng, &other) {
			o.Call, o.Return, o.Owner = o.Call+later, o.Return+later, o.Owner+1000
			ops = append(ops, o)
		}
	}
	rng.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
	for i := range ops {
		ops[i].ID = int64(i)
	}
	return History{l, ops}
}

// randomPart may change l, to one for which it is not all too clear what is legal.
func randomPart(rng *rand.Rand, l *spec.Lease) []spec.LockOp {
	switch rng.IntN(4) {
	case 0:
		return randomSteps(rng)
	case 1:
		l.Min, l.Max = 1+rng.Int64N(4), 6
		return crowd(rng, *l)
	}
	ops := simulate(rng, *l)
	if rng.IntN(5) > 0 {
		for range 1 + rng.IntN(4) {
			ops = change(rng, ops)
		}
	}
	return ops
}

// randomSteps are two to seven steps without a plan.
func randomSteps(rng *rand.Rand) []spec.LockOp {
	var ops []spec.LockOp
	span := 4 + rng.Int64N(12)
	acquired := map[int64]bool{}
	for range 2 + rng.IntN(6) {
		o := spec.LockOp{Call: rng.Int64N(span), Owner: rng.Int64N(4), Step: spec.Step(rng.IntN(6))}
		o.Return = o.Call + rng.Int64N(span/2)
		if o.Step == spec.Acquire || o.Step == spec.MayAcquire {
			if acquired[o.Owner] {
				o.Owner = 10 + int64(len(ops))
			}
			acquired[o.Owner] = true
		}
		ops = append(ops, o)
	}
	return ops
}

// crowd are owners that wait long for the lock, mostly longer than they hold it, in hardly
// more time than they need.
func crowd(rng *rand.Rand, l spec.Lease) []spec.LockOp {
	var ops []spec.LockOp
	n := 2 + rng.Int64N(5)
	span := n*l.Min + rng.Int64N(4)
	long := 1 + rng.Int64N(span)
	for owner := range n {
		at := rng.Int64N(span)
		a := spec.LockOp{Call: max(0, at-rng.Int64N(long)), Owner: owner}
		a.Return = min(span-l.Min, a.Call+rng.Int64N(long))
		a.Return = max(a.Return, a.Call)
		ops = append(ops, a)
		o := spec.LockOp{Call: at, Return: at + rng.Int64N(3), Owner: owner}
		switch rng.IntN(6) {
		case 0:
			o.Step = spec.Release
			if o.Return < a.Call {
				continue
			}
		case 1, 3:
			o.Step = spec.MayFree
		case 2:
			o.Step = spec.NotHeld
		default:
			continue
		}
		ops = append(ops, o)
	}
	return ops
}

// simulate makes the history of a lock that is right. Each operation is known to have
// happened, or may have.
func simulate(rng *rand.Rand, l spec.Lease) []spec.LockOp {
	var ops []spec.LockOp
	now := rng.Int64N(3)
	slack := 1 + rng.Int64N(4)
	add := func(owner, at int64, step spec.Step) {
		o := spec.LockOp{Call: at - rng.Int64N(slack), Return: at + rng.Int64N(slack), Owner: owner, Step: step}
		if step <= spec.Acquire && rng.IntN(4) == 0 {
			o.Call -= rng.Int64N(8) // waited
		}
		ops = append(ops, o)
	}
	owners := 1 + rng.Int64N(4)
	if rng.IntN(16) == 0 {
		owners += 4
	}
	for owner := range owners {
		now += rng.Int64N(3)
		since := now
		acquire := spec.Acquire
		if rng.IntN(6) == 0 {
			acquire = spec.MayAcquire
		}
		add(owner, now, acquire)
		if rng.IntN(6) == 0 {
			add(owner, since-rng.Int64N(4), spec.NotHeld)
		}
		if rng.IntN(8) == 0 {
			add(owner+rng.Int64N(2)*7, since, spec.MayFree) // of another, or too early to say
			if ops[len(ops)-1].Owner == owner {
				ops[len(ops)-1].Call = since - rng.Int64N(3)
			}
		}
		switch rng.IntN(4) {
		case 0: // runs out
			now = since + l.Min
			if l.Max != spec.Never {
				now += rng.Int64N(l.Max - l.Min + 1)
			}
		case 1: // released, or freed, and nobody knows
			now = since + rng.Int64N(l.Min+2)
			add(owner, now, spec.MayRelease+spec.Step(rng.IntN(2)))
		default:
			now = since + rng.Int64N(min(l.Max, 10)+1)
			add(owner, now, spec.Release)
			if rng.IntN(6) == 0 {
				add(owner, now+rng.Int64N(3), spec.MayRelease) // late, or repeated
			}
		}
		if rng.IntN(4) == 0 {
			add(owner, now+rng.Int64N(4), spec.NotHeld)
		}
	}
	return ops
}

// change makes one change, after which the history can be illegal.
func change(rng *rand.Rand, ops []spec.LockOp) []spec.LockOp {
	i := rng.IntN(len(ops))
	o := &ops[i]
	switch rng.IntN(6) {
	case 0:
		d := rng.Int64N(9) - 4
		o.Call, o.Return = o.Call+d, o.Return+d
	case 1:
		o.Call = o.Return - rng.Int64N(o.Return-o.Call+1)
	case 2:
		o.Return = o.Call + rng.Int64N(o.Return-o.Call+1)
	case 3:
		if o.Step != spec.Acquire && o.Step != spec.MayAcquire {
			o.Step = []spec.Step{spec.Release, spec.NotHeld, spec.MayRelease, spec.MayFree}[rng.IntN(4)]
		} else {
			o.Step = spec.Acquire + spec.MayAcquire - o.Step
		}
	case 4:
		if o.Step != spec.Acquire && o.Step != spec.MayAcquire {
			again := *o
			d := rng.Int64N(5)
			again.Call, again.Return = again.Call+d, again.Return+d
			return append(ops, again)
		}
		o.Call -= rng.Int64N(8)
	case 5:
		if len(ops) > 1 {
			return append(ops[:i], ops[i+1:]...)
		}
	}
	return ops
}
