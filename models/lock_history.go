package models

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"

	"picklock/harness/history"
	"picklock/models/fast"
	"picklock/models/spec"
)

// lockOp is one operation of the sequential specification with the interval in which it
// took effect.
type lockOp struct {
	step  lockStep
	grant int64
	span  // inclusive; to Never: at any time, or never
	op    *history.Operation
	what  string // what it does, after the worker's name
}

func (o *lockOp) optional() bool { return o.step >= mayAcquire }

// lockOps translates what was done with one lock.
//
//   - An acknowledged acquire counts from its deciding attempt: earlier ones were definite.
//   - A refused acquire says nothing that the mutex forbids. An acquire of unknown outcome
//     can only stand in the way of others, so it is left out, unless an acknowledged
//     release proves that it happened, by the time that this release returned.
//   - A release answered "not held", after an acquire that was acknowledged, needs a moment
//     at which the grant did not hold the lock.
//   - A release of unknown outcome may happen at any time from its invocation on. So may the
//     end of the hold after its owner's death, a loss, a release that certainly had no
//     effect and after which the client went away, and an acquire whose client went away:
//     nobody will release that lock any more, and its TTL may.
//   - An acknowledged release of somebody who never acquired is illegal.
//
// They come grant by grant, in the order of their invocations.
func (r *record) lockOps(name string) []lockOp {
	groups := r.byLock[name]
	all := make([]lockOp, 0, 2*len(groups)+len(groups)/8)
	for _, g := range groups {
		all = r.grantOps(all, g)
	}
	return all
}

// wholeLock is lockOps in the words of the specification, for a verdict on the whole alone:
// there an owner is the place of its grant, since grants lie too far apart to be counted.
func (r *record) wholeLock(name string) []spec.LockOp {
	groups := r.byLock[name]
	all := make([]spec.LockOp, 0, 2*len(groups)+len(groups)/8)
	var own []lockOp
	gone := len(r.deaths) > 0 || len(r.losses) > 0
	for place, g := range groups {
		if g.plain() && !gone && g.asked <= g.gave {
			all = append(all, spec.LockOp{Call: g.asked, Return: max(g.asked, g.returned), Owner: int64(place), Step: spec.Acquire})
			if g.gave != history.Never {
				all = append(all, spec.LockOp{Call: g.gave, Return: max(g.gave, g.back), Owner: int64(place), Step: spec.Release})
			}
			continue
		}
		own = r.grantOps(own[:0], g)
		first := len(all)
		all = specOps(all, own)
		for i := first; i < len(all); i++ {
			all[i].Owner = int64(place)
		}
	}
	return all
}

// ordered gives lock operations by invocation, for porcupine: those that may happen with
// the end that they have.
func ordered(all []lockOp) []lockOp {
	all = bounded(slices.Clone(all))
	slices.SortStableFunc(all, func(a, b lockOp) int {
		if c := cmp.Compare(a.from, b.from); c != 0 {
			return c
		}
		return cmp.Compare(a.to, b.to)
	})
	return all
}

// grantOps adds what was done with one grant.
func (r *record) grantOps(all []lockOp, g *group) []lockOp {
	first := len(all)
	add := func(step lockStep, o *history.Operation, inv, ret int64, what string) {
		all = append(all, lockOp{step, g.grant, span{inv, max(inv, ret)}, o, what})
	}
	proof := history.Never // the first return of an acknowledged release
	for _, x := range g.releases {
		if x.Outcome == history.OutcomeOK {
			proof = min(proof, x.Return)
		}
	}
	nested := false
	for _, a := range g.acquires {
		nested = nested || a != g.outer && a.Outcome == history.OutcomeOK
	}
	for _, a := range g.acquires {
		switch {
		case a.Outcome == history.OutcomeOK:
			add(stepAcquire, a, from(a), a.Return, "acquires")
		case a.Outcome == history.OutcomeFail:
		case a != g.outer || nested:
			add(mayAcquire, a, a.Invoke, history.Never, "may acquire")
		case proof != history.Never:
			add(stepAcquire, a, a.Invoke, proof, "acquires, as its release proves")
		}
	}
	var free []int64 // nobody will release the grant from each of them on
	abandon := func(t int64) {
		if t != history.Never {
			free = append(free, t)
		}
	}
	for _, x := range g.releases {
		switch {
		case x.Outcome == history.OutcomeOK:
			add(stepRelease, x, x.Invoke, x.Return, "releases")
		case x.Outcome == history.OutcomeInfo && r.p.Reentrant:
			add(mayReleaseOne, x, x.Invoke, history.Never, "may release")
		case x.Outcome == history.OutcomeInfo:
			abandon(x.Invoke)
		case x.Code == history.CodeNotHeld && g.granted():
			add(stepNotHeld, x, x.Invoke, x.Return, "is told that it does not hold the lock")
		default:
			abandon(x.Invoke)
		}
	}
	if g.granted() {
		if g.outer.Belief == history.BelievesNot {
			abandon(g.outer.Return)
		}
		abandon(r.died(g.outer.Client, g.outer.Return))
		abandon(r.lost(g.grant))
		slices.Sort(free)
		if len(g.acquires) == 1 {
			free = free[:min(1, len(free))] // it can come free only once
		}
		for _, t := range free {
			add(mayReleaseFull, g.outer, t, history.Never, "may be rid of the lock")
		}
	}
	sortBy(all[first:], func(o *lockOp) int64 { return o.from })
	return all
}

// bounded gives the optional operations of a grant an end where there is one, so that
// they do not stay open for the rest of the history. Once another grant B was asked for
// after the last acquire of G had returned, and was obtained, G's lock is gone and does
// not come back. In any linearization G's optional operations then either come before B,
// or have no effect wherever they stand after it. So they return when B does, and those
// invoked only afterwards have no effect at all and are left out. An optional acquire
// could bring G back: such a grant keeps its operations open.
func bounded(all []lockOp) []lockOp {
	type grant struct {
		last     int64 // return of its last acquire
		acquires int
		open     bool // has an optional acquire
	}
	grants := map[int64]*grant{}
	var obtained []lockOp
	for _, o := range all {
		g := grants[o.grant]
		if g == nil {
			g = &grant{}
			grants[o.grant] = g
		}
		switch o.step {
		case stepAcquire:
			g.last, g.acquires = max(g.last, o.to), g.acquires+1
			obtained = append(obtained, o)
		case mayAcquire:
			g.open = true
		}
	}
	slices.SortFunc(obtained, func(a, b lockOp) int { return cmp.Compare(a.from, b.from) })
	next := make([]int64, len(obtained)+1)
	next[len(obtained)] = history.Never
	for i := len(obtained) - 1; i >= 0; i-- {
		next[i] = min(next[i+1], obtained[i].to)
	}
	kept := all[:0]
	for _, o := range all {
		if g := grants[o.grant]; o.optional() && !g.open {
			if g.acquires == 0 {
				continue // it never held the lock
			}
			i, _ := slices.BinarySearchFunc(obtained, g.last+1, func(x lockOp, t int64) int { return cmp.Compare(x.from, t) })
			if next[i] < o.from {
				continue
			}
			o.to = next[i]
		}
		kept = append(kept, o)
	}
	return kept
}

// cut is a place in a lock's operations where nothing is under way and the state is
// certain, provided that everything before it was legal.
type cut struct {
	at    int // index of the first operation after it
	state lockState
}

// cuts finds them. Nothing is under way where every operation so far returned before the
// next is invoked. The state there does not depend on the order: it is the grant with
// more acquires than releases. Grants that an optional release may have ended have been
// followed by another grant by then (see bounded) and do not hold the lock.
func cuts(ops []lockOp) []cut {
	places := []cut{{}}
	holds := map[int64]int{}
	gone := map[int64]bool{}
	latest := int64(0)
	for i, o := range ops {
		if i > 0 && latest < o.from {
			if len(holds) == 0 {
				places = append(places, cut{at: i})
			} else if len(holds) == 1 {
				for g, n := range holds {
					if n > 0 {
						places = append(places, cut{i, lockState{g, n}})
					}
				}
			}
		}
		latest = max(latest, o.to)
		switch {
		case o.optional():
			gone[o.grant] = true
			delete(holds, o.grant)
		case gone[o.grant]:
		case o.step == stepAcquire:
			holds[o.grant]++
		case o.step == stepRelease:
			holds[o.grant]--
		}
		if holds[o.grant] == 0 {
			delete(holds, o.grant)
		}
	}
	return places
}

// lockPiece is a piece of a lock's history, with the places where a picture may begin.
type lockPiece struct {
	ops []lockOp
	cut []cut // the first is the start of the piece; positions count from there
}

// lockPieces splits operations (by invocation) at cuts, into pieces of at least size.
func lockPieces(ops []lockOp, size int) []lockPiece {
	var pieces []lockPiece
	start := 0
	var here []cut
	for _, c := range cuts(ops) {
		if c.at-start >= size {
			pieces = append(pieces, lockPiece{ops[start:c.at], here})
			start, here = c.at, nil
		}
		here = append(here, cut{c.at - start, c.state})
	}
	return append(pieces, lockPiece{ops[start:], here})
}

// piece makes it ready for porcupine, from one of its cuts on.
func (l *lockPiece) piece(from cut, r *record) piece {
	ops := l.ops[from.at:]
	p := piece{model: lockModel(from.state, r.p.Reentrant), size: len(ops), first: r.sizes.prefix}
	var by []*history.Operation
	far := int64(0)
	for i := range ops {
		o := &ops[i]
		by = append(by, o.op)
		far = max(far, o.from)
		if o.to != history.Never {
			far = max(far, o.to)
			if !o.optional() {
				p.returns = append(p.returns, o.to)
			}
		}
	}
	slices.Sort(p.returns)
	p.returns = slices.Compact(p.returns)
	p.known = func(t int64) []porcupine.Operation { return knownLock(ops, by, t, far+1) }
	p.fast = func(lim fast.Limits) fast.Result {
		held := make([]spec.LockOp, from.state.holds, from.state.holds+len(ops))
		for i := range held {
			at := ops[0].from - int64(len(held)) + int64(i)
			held[i] = spec.LockOp{Call: at, Return: at, Owner: from.state.grant, Step: spec.Acquire}
		}
		return fast.Lock(r.lockKind(), specOps(held, ops), lim)
	}
	return p
}

// lockKind is the specification that the lock is judged by.
func (r *record) lockKind() spec.Lock {
	if r.p.Reentrant {
		return spec.ReentrantMutex(0)
	}
	return spec.OwnerMutex()
}

// specOps appends lock operations in the words of the specification. Each is known by its
// position there: they have no IDs, since to look one up is to wait for the memory.
func specOps(to []spec.LockOp, ops []lockOp) []spec.LockOp {
	steps := [...]spec.Step{
		stepAcquire: spec.Acquire, stepRelease: spec.Release, stepNotHeld: spec.NotHeld,
		mayAcquire: spec.MayAcquire, mayReleaseOne: spec.MayRelease, mayReleaseFull: spec.MayFree,
	}
	for i := range ops {
		o := &ops[i]
		to = append(to, spec.LockOp{Call: o.from, Return: o.to, Owner: o.grant, Step: steps[o.step]})
	}
	return to
}

// knownSpec gives operations as known at t, in the words of the specification and with their
// IDs: see knownLock.
func knownSpec(ops []lockOp, t int64) []spec.LockOp {
	var known []spec.LockOp
	for i, o := range specOps(nil, ops) {
		switch {
		case o.Call > t:
			continue
		case o.End() <= t && o.End() != spec.Never || ops[i].optional():
		case o.Step == spec.Release:
			o.Step = spec.MayRelease
		default:
			continue
		}
		o.ID = ops[i].op.ID
		known = append(known, o)
	}
	return known
}

// knownLock gives the operations as known at t. Of those under way, a release may have
// happened; an acquire can only stand in the way, and an answer that has not come yet
// says nothing.
func knownLock(ops []lockOp, by []*history.Operation, t, far int64) []porcupine.Operation {
	lines := newLanes(by)
	out := make([]porcupine.Operation, 0, len(ops))
	for _, o := range ops {
		if o.from > t {
			break
		}
		in := lockInput{o.step, o.grant, who(o.op) + " " + o.what}
		if o.to > t || o.to == history.Never {
			switch {
			case o.step == stepRelease:
				in.step = mayReleaseOne
			case !o.optional():
				continue
			}
			o.to = far
		}
		lane := 0
		if o.optional() || in.step == mayReleaseOne || o.op.Outcome != history.OutcomeOK {
			lane = lines.next()
		} else {
			lane = lines.of(o.op)
		}
		out = append(out, porcupine.Operation{ClientId: lane, Input: in, Call: o.from, Return: o.to, Metadata: o.op.ID})
	}
	return out
}
