package fast

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"

	"picklock/models/spec"
)

// cluster is a stretch of a history that is left to porcupine, with the positions of the
// operations of its irregular owners.
type cluster struct {
	from, to int64
	ops      []int32

	below, above int64 // fences that were told in clusters before and after it; 0: none
}

// ask has porcupine decide the clusters.
func (c *lockChecker) ask() Result {
	var res Result
	if has(quirkSkipClusters) {
		return res
	}
	all := c.clusters()
	c.fencesBeside(all)
	for _, cl := range all {
		ops, at := c.translate(cl)
		res.Asked += len(ops)
		switch spec.Decide(c.lock.Model(), spec.Operations(ops), c.lim.left(), spec.Memory) {
		case porcupine.Illegal:
			res.Verdict, res.Ops = Illegal, at
			return res
		case porcupine.Unknown:
			res.Verdict = Undecided
		}
	}
	return res
}

// fencesBeside finds the fences told in the clusters before and after each, by time.
func (c *lockChecker) fencesBeside(all []cluster) {
	if !c.lock.Fenced {
		return
	}
	told := func(cl *cluster, pick func(fence int64)) {
		for _, i := range cl.ops {
			if op := &c.ops[i]; op.Step == spec.Acquire && op.Fence != 0 {
				pick(op.Fence)
			}
		}
	}
	below, above := int64(0), int64(0)
	for i := range all {
		all[i].below = below
		told(&all[i], func(fence int64) { below = max(below, fence) })
	}
	for i := len(all) - 1; i >= 0; i-- {
		all[i].above = above
		told(&all[i], func(fence int64) {
			if above == 0 || fence < above {
				above = fence
			}
		})
	}
}

// clusters gives the irregular owners' stretches, prolonged to where they end and merged
// where they overlap, by time.
func (c *lockChecker) clusters() []cluster {
	all := c.irregular
	for i := range all {
		all[i].to = c.rid(all[i].to)
	}
	for grown := true; grown && len(all) > 0; {
		all, grown = c.withWindows(merge(all))
	}
	return all
}

// rid is the first moment at which an irregular owner without calls or returns after t is
// rid of the lock: another's core begins.
func (c *lockChecker) rid(t int64) int64 {
	i, _ := slices.BinarySearchFunc(c.cores, t, func(h hold, t int64) int {
		if h.from <= t {
			return -1
		}
		return 1
	})
	if c.permits > 1 || c.lock.Permits > 0 || i == len(c.cores) {
		return spec.Never
	}
	return c.cores[i].from
}

func merge(all []cluster) []cluster {
	slices.SortFunc(all, func(a, b cluster) int { return cmp.Compare(a.from, b.from) })
	out := all[:1]
	for _, cl := range all[1:] {
		last := &out[len(out)-1]
		if cl.from > last.to {
			out = append(out, cl)
			continue
		}
		last.to = max(last.to, cl.to)
		last.ops = append(last.ops, cl.ops...)
	}
	return out
}

// withWindows makes clusters, by time, hold all of the windows that they touch.
func (c *lockChecker) withWindows(all []cluster) (out []cluster, grown bool) {
	for _, w := range c.windows {
		i, _ := slices.BinarySearchFunc(all, w.from, func(cl cluster, t int64) int { return cmp.Compare(cl.to, t) })
		if i == len(all) || w.to < all[i].from {
			continue
		}
		if cl := &all[i]; w.from < cl.from || w.to > cl.to {
			cl.from, cl.to, grown = min(cl.from, w.from), max(cl.to, w.to), true
			if i+1 < len(all) && all[i+1].from <= cl.to {
				return all, true // they are no longer apart
			}
		}
	}
	return all, grown
}

// translate gives the operations of a cluster: those of irregular owners as they are,
// cores as operations without length, windows as both in their interval, and the nearest
// fences before and after it. at are the positions of what stands in the history itself.
func (c *lockChecker) translate(cl cluster) (ops []spec.LockOp, at []int) {
	for _, i := range cl.ops {
		ops, at = append(ops, c.ops[i]), append(at, int(i))
	}
	add := func(step spec.Step, h hold, from, to int64) {
		ops = append(ops, spec.LockOp{Call: from, Return: to, Owner: c.ops[h.op].Owner, Fence: h.fence, Step: step})
	}
	below, above := cl.below, spec.Never // fences
	if cl.above != 0 {
		above = cl.above
	}
	first, last := c.beside(cl)
	for _, h := range c.cores[first:last] {
		if h.to < cl.from { // of several permits, some ended before
			continue
		}
		at = append(at, int(h.op))
		add(spec.Acquire, h, h.from, h.from)
		if h.to != spec.Never {
			add(spec.Release, h, h.to, h.to)
		}
	}
	for _, h := range c.windows {
		switch {
		case h.to < cl.from:
			below = max(below, h.fence)
		case h.from > cl.to:
			if h.fence != 0 {
				above = min(above, h.fence)
			}
		default:
			at = append(at, int(h.op))
			add(spec.Acquire, h, h.from, h.to)
			add(spec.Release, h, h.from, h.to)
		}
	}
	if c.lock.Fenced {
		ops = c.between(ops, cl, first, last, below, above)
	}
	return ops, at
}

// beside finds the cores first to last (exclusive) that reach into a cluster.
func (c *lockChecker) beside(cl cluster) (first, last int) {
	last, _ = slices.BinarySearchFunc(c.cores, cl.to, func(h hold, t int64) int {
		if h.from <= t {
			return -1
		}
		return 1
	})
	if c.permits > 1 {
		return 0, last
	}
	// Cores of a mutex do not overlap, so their ends are in order too.
	first, _ = slices.BinarySearchFunc(c.cores[:last], cl.from, func(h hold, t int64) int { return cmp.Compare(h.to, t) })
	return first, last
}

// between puts holds without length in front of and behind a cluster's operations, that
// have the highest fence before it and the lowest after it: of cores, whose fences rise, and
// those of windows.
func (c *lockChecker) between(ops []spec.LockOp, cl cluster, first, last int, below, above int64) []spec.LockOp {
	for i := first - 1; i >= 0; i-- {
		if f := c.cores[i].fence; f != 0 {
			below = max(below, f)
			break
		}
	}
	for i := last; i < len(c.cores); i++ {
		if f := c.cores[i].fence; f != 0 {
			above = min(above, f)
			break
		}
	}
	start, end, owner := cl.from, cl.from, int64(0)
	for _, o := range ops {
		start, end, owner = min(start, o.Call), max(end, o.Call), max(owner, o.Owner)
		if o.End() != spec.Never {
			end = max(end, o.Return)
		}
	}
	one := func(at, owner, fence int64) {
		ops = append(ops, spec.LockOp{Call: at, Return: at, Owner: owner, Fence: fence, Step: spec.Acquire},
			spec.LockOp{Call: at, Return: at, Owner: owner, Step: spec.Release})
	}
	if below > 0 {
		one(start-1, owner+1, below)
	}
	if above < spec.Never {
		one(end+1, owner+2, above)
	}
	return ops
}
