package fast

import (
	"math"
	"sort"

	"picklock/models/spec"
)

// stretch is a time in which all permits are taken: its inside, without its ends.
type stretch struct{ from, to int64 }

// sweep looks for moments at which there are more cores than permits, and finds the
// stretches in which there are just as many, by time. Of a single permit these are the cores.
func (c *lockChecker) sweep() (bad []int) {
	if c.permits == 1 {
		return c.sweepOne()
	}
	c.full, bad = c.sweepMany()
	return bad
}

// sweepOne is sweep for a single permit.
func (c *lockChecker) sweepOne() (bad []int) {
	if len(c.cores) == 0 {
		return nil
	}
	last, end := 0, c.cores[0].to // the core that ends last
	for i := range c.cores[1:] {
		h := &c.cores[i+1]
		if h.from < end || has(quirkTouching) && h.from == end {
			return []int{int(c.cores[last].op), int(h.op)}
		}
		if h.to >= end {
			last, end = i+1, h.to
		}
	}
	return nil
}

// sweepMany goes through starts and ends together. At one moment the ends come first,
// then the cores without length, which leave again at once, then the starts.
func (c *lockChecker) sweepMany() (full []stretch, bad []int) {
	ends := make([]int64, 0, len(c.cores))
	for _, h := range c.cores {
		if h.from < h.to {
			ends = append(ends, h.to)
		}
	}
	ends = sortNearly(ends, func(t *int64) int64 { return *t }, nil)
	wanted := len(c.windows) > 0
	if wanted {
		full = make([]stretch, 0, len(c.cores)/c.permits+1)
	}
	var taken []int32 // acquires of the cores that began and may not have ended, for the report
	active, ended := 0, 0
	for i := range c.cores {
		h := &c.cores[i]
		for ended < len(ends) && (ends[ended] < h.from || ends[ended] == h.from && !has(quirkTouching)) {
			if active == c.permits && wanted {
				full[len(full)-1].to = ends[ended]
			}
			ended++
			active--
		}
		if active == c.permits {
			for k := i - 1; k >= 0 && len(taken) < c.permits; k-- {
				if c.cores[k].to > h.from {
					taken = append(taken, c.cores[k].op)
				}
			}
			return nil, positions(append(taken, h.op)...)
		}
		if h.from == h.to {
			continue
		}
		if active++; active == c.permits && wanted {
			full = append(full, stretch{h.from, spec.Never})
		}
	}
	if active == c.permits && wanted && ended < len(ends) {
		full[len(full)-1].to = ends[ended]
	}
	return full, nil
}

// placeWindows looks whether each window has a moment that is not inside a full stretch.
func (c *lockChecker) placeWindows() (bad []int) {
	if has(quirkNoWindow) {
		return nil
	}
	for _, w := range c.windows {
		if at := c.free(w.from); at > w.to {
			return append([]int{int(w.op)}, c.around(w)...)
		}
	}
	return nil
}

// around gives acquires of cores that a window lies inside of.
func (c *lockChecker) around(w hold) (ops []int) {
	n := begunBefore(c.cores, (*hold).start, w.from)
	for i := n - 1; i >= 0 && len(ops) < c.permits; i-- {
		if c.cores[i].to > w.to {
			ops = append(ops, int(c.cores[i].op))
		}
	}
	return ops
}

// free is the first moment from t on that is not inside a stretch in which all permits are
// taken.
func (c *lockChecker) free(t int64) int64 {
	end := int64(math.MinInt64) // of the last stretch that began before t: it ends last of these
	if c.permits == 1 {
		if i := begunBefore(c.cores, (*hold).start, t); i > 0 {
			end = c.cores[i-1].to
		}
	} else if i := begunBefore(c.full, func(s *stretch) int64 { return s.from }, t); i > 0 {
		end = c.full[i-1].to
	}
	return max(t, end)
}

// begunBefore is how many of the intervals, which are in order, have their start before t.
func begunBefore[T any](all []T, start func(*T) int64, t int64) int {
	return sort.Search(len(all), func(i int) bool {
		s := start(&all[i])
		return s > t || s == t && !has(quirkWindowEnds)
	})
}

// fences looks whether the fences rise. Windows with a fence are placed as early as they
// can be, each after all holds of a lower one.
func (c *lockChecker) fences() (bad []int) {
	told := make([]hold, 0, len(c.cores))
	for _, h := range c.cores {
		if h.fence != 0 {
			told = append(told, h)
		}
	}
	cores := len(told)
	for _, w := range c.windows {
		if w.fence != 0 {
			told = append(told, w)
		}
	}
	if len(told) > cores {
		return c.placeByFence(told, cores)
	}
	for i := 1; i < len(told); i++ {
		if f := told[i].fence; f < told[i-1].fence || f == told[i-1].fence && !has(quirkFenceTwice) {
			return []int{int(told[i-1].op), int(told[i].op)}
		}
	}
	return nil
}

// placeByFence places holds, of which the first cores are cores, in the order of their fences.
func (c *lockChecker) placeByFence(told []hold, cores int) (bad []int) {
	order := make([]int32, len(told))
	for i := range order {
		order[i] = int32(i)
	}
	order = sortNearly(order, func(i *int32) int64 { return told[*i].fence }, nil)
	now := told[order[0]].from
	for k, i := range order {
		h := told[i]
		if k > 0 {
			if before := told[order[k-1]]; before.fence == h.fence {
				return []int{int(before.op), int(h.op)}
			}
			now = max(now, h.from)
		}
		if int(i) < cores {
			if now > h.from {
				return []int{int(told[order[k-1]].op), int(h.op)}
			}
			now = h.to
		} else if now = c.free(now); now > h.to {
			return []int{int(told[order[max(k-1, 0)]].op), int(h.op)}
		}
	}
	return nil
}
