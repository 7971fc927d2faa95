package fast

import (
	"cmp"
	"slices"

	"picklock/models/spec"
)

// changed makes one to three changes whatever comes of them, or else as many as the history
// needs to be illegal, but not more than eleven.
func (g *lockGen) changed(ops []spec.LockOp) []spec.LockOp {
	blind, fences := g.chance(25), g.l.Fenced && g.chance(40)
	for range 1 + g.upTo(2) + int64(count(!blind))*8 {
		if !fences || !g.swapFences(ops) {
			ops = g.change(ops)
		}
		if !blind && specLock(g.l, ops) == Illegal {
			break
		}
	}
	return ops
}

// swapFences gives the fences of two acquires in succession to each other, or one to both;
// false: there are not so many.
func (g *lockGen) swapFences(ops []spec.LockOp) bool {
	var told []int
	for i := range ops {
		if ops[i].Fence != 0 {
			told = append(told, i)
		}
	}
	slices.SortStableFunc(told, func(a, b int) int { return cmp.Compare(ops[a].Call, ops[b].Call) })
	if len(told) < 2 {
		return false
	}
	i := g.rng.IntN(len(told) - 1)
	a, b := &ops[told[i]].Fence, &ops[told[i+1]].Fence
	*a, *b = *b, *a
	if g.chance(30) {
		*a = *b
	}
	return true
}

// change makes one change.
func (g *lockGen) change(ops []spec.LockOp) []spec.LockOp {
	i := g.rng.IntN(len(ops))
	o := &ops[i]
	switch g.rng.IntN(11) {
	case 0: // earlier or later
		by := g.upTo(2*g.near()) - g.near()
		o.Call += by
		if !o.Step.May() {
			o.Return += by
		}
	case 1: // a shorter time
		if !o.Step.May() {
			o.Call += g.upTo(o.Return - o.Call)
			o.Return = o.Call + g.upTo(o.Return-o.Call)
		}
	case 2: // somebody else
		o.Owner = 1 + g.upTo(g.owners)
	case 3:
		p := &ops[g.rng.IntN(len(ops))]
		o.Owner, p.Owner = p.Owner, o.Owner
	case 4: // a release less, if there is one
		if at := g.find(ops, spec.Release, spec.MayRelease, spec.MayFree); at >= 0 && len(ops) > g.size.min {
			ops = slices.Delete(ops, at, at+1)
		}
	case 5:
		if len(ops) > g.size.min {
			ops = slices.Delete(ops, i, i+1)
		}
	case 6: // twice
		twice := *o
		twice.Call += g.upTo(g.near())
		if !twice.Step.May() {
			twice.Return = max(twice.Call, twice.Return)
		}
		ops = append(ops, twice)
	case 7: // an acquire more
		at := g.upTo(g.span)
		ops = append(ops, spec.LockOp{Step: spec.Acquire, Owner: 1 + g.upTo(g.owners), Call: at, Return: at + g.upTo(g.near()/4)})
	case 8: // another fence, or that of another
		if at := g.find(ops, spec.Acquire); g.l.Fenced && at >= 0 {
			ops[at].Fence = g.upTo(g.fence + 1)
			if other := ops[g.find(ops, spec.Acquire)]; g.chance(50) {
				ops[at].Fence = other.Fence
			}
		}
	case 9: // an answer that the lock is not held
		o.Step, o.Fence = spec.NotHeld, 0
		o.Return = max(o.Call, min(o.Return, o.Call+g.upTo(g.near()/2)))
	case 10: // what may have happened did happen, soon
		if at := g.find(ops, spec.MayAcquire, spec.MayRelease); at >= 0 {
			ops[at].Step -= spec.MayAcquire - spec.Acquire
			ops[at].Return = ops[at].Call + g.upTo(g.near()/2)
		}
	}
	return ops[:min(len(ops), g.size.max)]
}

// find gives the position of one operation with such a step; -1: there is none.
func (g *lockGen) find(ops []spec.LockOp, steps ...spec.Step) int {
	var all []int
	for i := range ops {
		if slices.Contains(steps, ops[i].Step) {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return -1
	}
	return all[g.rng.IntN(len(all))]
}
