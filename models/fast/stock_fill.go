package fast

import (
	"math"

	"picklock/models/spec"
)

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
	var placed []int32
	for _, i := range c.takes {
		if o := &c.ops[i]; o.Step == spec.TookSome && c.head != none && o.Call > c.ops[c.head].Return {
			placed = append(placed, i)
		}
	}
	if at, ok = c.match(placed, false, true); !ok {
		return Result{Verdict: Illegal, Ops: at}, true
	}
	return Result{}, c.high == 0
}

// match goes down the gaps and fills each slot with the take of the earliest return. all:
// every slot must be filled. certain: every TookSome must be placed. If it does not succeed
// it gives operations that contradict each other.
func (c *stockChain) match(takes []int32, all, certain bool) (at []int, ok bool) {
	open := stockHeap{ops: c.ops} // TookSome
	may, next := 0, 0             // MayTake; of takes
	for _, gap := range c.gaps {
		by, after := spec.Never, int64(math.MinInt64)
		if gap.below != none {
			by = c.ops[gap.below].Return
		}
		if gap.above != none {
			after = c.ops[gap.above].Call
		}
		if has(stockDeadlineOff) && by != spec.Never {
			by++
		}
		for ; next < len(takes) && c.ops[takes[next]].Call <= by; next++ {
			if c.ops[takes[next]].Step == spec.TookSome {
				open.push(takes[next])
			} else if !has(stockUnknownIgnored) {
				may++
			}
		}
		for slots := int(gap.slots); slots > 0; {
			if len(open.heap) > 0 {
				i := open.pop()
				if c.ops[i].Return >= after || has(stockTookAnytime) {
					slots--
				} else if certain {
					return positions(i, gap.above), false
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
	if !certain || has(stockTookOptional) || c.latest == none {
		return nil, true
	}
	for _, i := range append(open.heap, takes[next:]...) {
		if o := &c.ops[i]; o.Step == spec.TookSome && o.Return < c.ops[c.latest].Call {
			return positions(i, c.latest), false
		}
	}
	return nil, true
}

// missing gives the operations around a gap that cannot be filled. If nothing bounds it,
// that is all links: they leave no take for it.
func (c *stockChain) missing(gap stockGap) []int {
	if at := positions(gap.above, gap.below); len(at) > 0 {
		return at
	}
	return positions(c.order...)
}

// stockHeap is a heap of positions by return, the earliest first.
type stockHeap struct {
	ops  []spec.StockOp
	heap []int32
}

func (h *stockHeap) less(a, b int) bool { return h.ops[h.heap[a]].Return < h.ops[h.heap[b]].Return }

func (h *stockHeap) push(i int32) {
	h.heap = append(h.heap, i)
	for at := len(h.heap) - 1; at > 0; {
		up := (at - 1) / 2
		if !h.less(at, up) {
			break
		}
		h.heap[at], h.heap[up] = h.heap[up], h.heap[at]
		at = up
	}
}

func (h *stockHeap) pop() int32 {
	top := h.heap[0]
	n := len(h.heap) - 1
	h.heap[0], h.heap = h.heap[n], h.heap[:n]
	for at := 0; ; {
		least := at
		for child := 2*at + 1; child <= 2*at+2 && child < n; child++ {
			if h.less(child, least) {
				least = child
			}
		}
		if least == at {
			return top
		}
		h.heap[at], h.heap[least] = h.heap[least], h.heap[at]
		at = least
	}
}
