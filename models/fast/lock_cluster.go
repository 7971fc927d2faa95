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

	first, last  int   // the windows in it: the first, and the first behind it
	below, above int64 // the highest fence told before it, and the lowest after it; 0: none
}

// ask has porcupine decide the clusters.
func (c *lockChecker) ask() Result {
	var res Result
	if has(quirkSkipClusters) {
		return res
	}
	if len(c.irregular) == 0 {
		return res
	}
	all := c.clusters()
	if c.lock.Fenced {
		c.fencesBeside(all)
	}
	for i := range all {
		ops, at := c.translate(&all[i])
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

// fencesBeside finds the fences told before and after each cluster, of those by time: by
// irregular owners, cores, whose fences rise, and windows.
func (c *lockChecker) fencesBeside(all []cluster) {
	told := func(cl *cluster, pick func(fence int64)) {
		for _, i := range cl.ops {
			if op := &c.ops[i]; op.Step == spec.Acquire {
				pick(op.Fence)
			}
		}
		for _, w := range c.windows[cl.first:cl.last] {
			pick(w.fence)
		}
	}
	fence, core, window := int64(0), 0, 0
	higher := func(f int64) { fence = max(fence, f) }
	for i := range all {
		cl := &all[i]
		for first, _ := c.beside(cl); core < first; core++ {
			higher(c.cores[core].fence)
		}
		for ; window < cl.first; window++ {
			higher(c.windows[window].fence)
		}
		cl.below = fence
		told(cl, higher)
	}
	fence, core, window = 0, len(c.cores), len(c.windows)
	lower := func(f int64) {
		if f != 0 && (fence == 0 || f < fence) {
			fence = f
		}
	}
	for i := len(all) - 1; i >= 0; i-- {
		cl := &all[i]
		for _, last := c.beside(cl); core > last; core-- {
			lower(c.cores[core-1].fence)
		}
		for ; window > cl.last; window-- {
			lower(c.windows[window-1].fence)
		}
		cl.above = fence
		told(cl, lower)
	}
}

// clusters gives the irregular owners' stretches by time, prolonged to where they end. Those
// that touch are one, and so are those that windows connect: windows that touch each other
// and, the first or the last of them, a stretch. So no window reaches into a cluster without
// being in it, and those in it follow each other.
func (c *lockChecker) clusters() []cluster {
	stretches := c.irregular
	for i := range stretches {
		stretches[i].to = c.rid(stretches[i].to)
	}
	stretches = sortNearly(stretches, func(cl *cluster) int64 { return cl.from }, nil)
	c.windows = sortNearly(c.windows, (*hold).start, byEnd)
	var out []cluster
	window := 0
	for len(stretches) > 0 {
		// Windows that touch each other, from the first that is left, with what they touch.
		cl := cluster{from: stretches[0].from, to: stretches[0].from, first: window}
		if window < len(c.windows) && c.windows[window].from < cl.from {
			cl.from, cl.to = c.windows[window].from, c.windows[window].to
		}
		for {
			if len(stretches) > 0 && stretches[0].from <= cl.to {
				cl.to = max(cl.to, stretches[0].to)
				if cl.ops == nil {
					cl.ops = stretches[0].ops
				} else {
					cl.ops = append(cl.ops, stretches[0].ops...)
				}
				stretches = stretches[1:]
			} else if window < len(c.windows) && c.windows[window].from <= cl.to {
				cl.to = max(cl.to, c.windows[window].to)
				window++
			} else {
				break
			}
		}
		if cl.last = window; cl.ops != nil {
			out = append(out, cl)
		}
	}
	return out
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

// translate gives the operations of a cluster: those of irregular owners as they are,
// cores as operations without length, windows as both in their interval, and the nearest
// fences before and after it. at are the positions of what stands in the history itself.
func (c *lockChecker) translate(cl *cluster) (ops []spec.LockOp, at []int) {
	for _, i := range cl.ops {
		ops, at = append(ops, c.ops[i]), append(at, int(i))
	}
	add := func(step spec.Step, h hold, from, to int64) {
		ops = append(ops, spec.LockOp{Call: from, Return: to, Owner: c.ops[h.op].Owner, Fence: h.fence, Step: step})
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
	for _, h := range c.windows[cl.first:cl.last] {
		at = append(at, int(h.op))
		add(spec.Acquire, h, h.from, h.to)
		add(spec.Release, h, h.from, h.to)
	}
	if c.lock.Fenced {
		ops = between(ops, cl)
	}
	return ops, at
}

// beside finds the cores first to last (exclusive) that reach into a cluster.
func (c *lockChecker) beside(cl *cluster) (first, last int) {
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
// have the highest fence before it and the lowest after it.
func between(ops []spec.LockOp, cl *cluster) []spec.LockOp {
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
	if cl.below > 0 {
		one(start-1, owner+1, cl.below)
	}
	if cl.above != 0 {
		one(end+1, owner+2, cl.above)
	}
	return ops
}
