package fast

import "picklock/models/spec"

// fill decides whether the unknown takes can fill the gaps; see stockChain.
func (c *stockChain) fill() (Result, bool) {
	if len(c.takes) == 0 {
		return Result{}, true // link found no slots
	}
	c.sortTakes()
	at, ok := c.match(c.takes, true, true)
	if ok {
		return Result{}, true
	}
	if !c.Free || has(stockHeadClosed) {
		return Result{Verdict: Illegal, Ops: at}, true
	}
	if at, ok = c.match(c.takes, true, false); !ok {
		return Result{Verdict: Illegal, Ops: at}, true
	}
	var placed []stockTake
	for _, t := range c.takes {
		if t.end != spec.Never && t.call > c.head.time {
			placed = append(placed, t)
		}
	}
	if at, ok = c.match(placed, false, true); !ok {
		return Result{Verdict: Illegal, Ops: at}, true
	}
	return Result{}, c.high == 0
}

// match goes down the gaps and fills each slot with the take of the earliest return. all:
// every slot must be filled. certain: every take that returns must be placed. If it does
// not succeed it gives operations that contradict each other.
func (c *stockChain) match(takes []stockTake, all, certain bool) (at []int, ok bool) {
	var open stockHeap // those that return
	may, next := 0, 0  // how many need not; the next of takes
	for g := range c.gaps {
		gap := &c.gaps[g]
		by := gap.below.time
		if has(stockDeadlineOff) && by != spec.Never {
			by++
		}
		for ; next < len(takes) && takes[next].call <= by; next++ {
			if t := &takes[next]; t.end != spec.Never {
				open.push(stockMoment{t.end, t.at})
			} else if !has(stockUnknownIgnored) {
				may++
			}
		}
		for slots := int(gap.slots); slots > 0; {
			if len(open) > 0 {
				t := open.pop()
				if t.time >= gap.above.time || has(stockTookAnytime) {
					slots--
				} else if certain {
					return positions(t.at, gap.above.at), false
				}
				continue
			}
			n := min(may, slots)
			may, slots = may-n, slots-n
			if n == 0 {
				if all {
					return c.missing(gap), false
				}
				break
			}
		}
	}
	if !certain || has(stockTookOptional) {
		return nil, true
	}
	for _, t := range takes[next:] {
		if t.end < c.latest.time {
			return positions(t.at, c.latest.at), false
		}
	}
	for _, t := range open {
		if t.time < c.latest.time {
			return positions(t.at, c.latest.at), false
		}
	}
	return nil, true
}

// missing gives the operations around a gap that cannot be filled. If nothing bounds it,
// that is all links: they leave no take for it.
func (c *stockChain) missing(gap *stockGap) []int {
	if at := positions(gap.above.at, gap.below.at); len(at) > 0 {
		return at
	}
	return positions(c.order...)
}

// stockHeap is a heap of returns, the earliest first.
type stockHeap []stockMoment

func (h *stockHeap) push(t stockMoment) {
	heap := append(*h, t)
	for at := len(heap) - 1; at > 0; {
		up := (at - 1) / 2
		if heap[at].time >= heap[up].time {
			break
		}
		heap[at], heap[up] = heap[up], heap[at]
		at = up
	}
	*h = heap
}

func (h *stockHeap) pop() stockMoment {
	heap := *h
	top, n := heap[0], len(heap)-1
	heap[0], heap = heap[n], heap[:n]
	for at := 0; ; {
		least := at
		for child := 2*at + 1; child <= 2*at+2 && child < n; child++ {
			if heap[child].time < heap[least].time {
				least = child
			}
		}
		if least == at {
			*h = heap
			return top
		}
		heap[at], heap[least] = heap[least], heap[at]
		at = least
	}
}
