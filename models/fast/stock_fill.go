package fast

import "picklock/models/spec"

// fill decides whether the unknown takes can fill the gaps; see stockChain.
func (c *stockChain) fill() (Result, bool) {
	if c.unknown == 0 {
		return Result{}, true // link found no slots
	}
	takes := c.unknownByCall()
	at, ok := c.match(takes, true, true)
	if ok {
		return Result{}, true
	}
	if !c.Free || has(stockHeadClosed) {
		return Result{Verdict: Illegal, Ops: at}, true
	}
	if at, ok = c.match(takes, true, false); !ok {
		return Result{Verdict: Illegal, Ops: at}, true
	}
	placed := takes[:0]
	for _, i := range takes {
		if o := &c.ops[i]; o.Step == spec.TookSome && o.Call > c.first {
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
	for g := range c.gaps {
		gap := &c.gaps[g]
		for ; next < len(takes) && c.ops[takes[next]].Call <= gap.by; next++ {
			if c.ops[takes[next]].Step == spec.TookSome {
				open.push(takes[next])
			} else if !has(stockUnknownIgnored) {
				may++
			}
		}
		for slots := int(gap.slots); slots > 0; {
			if len(open.heap) > 0 {
				i := open.pop()
				if c.ops[i].Return < gap.after && !has(stockTookAnytime) {
					if certain {
						return c.around(gap, int(i)), false
					}
					continue
				}
				slots--
				continue
			}
			n := min(may, slots)
			may, slots = may-n, slots-n
			if n == 0 {
				if all {
					return c.around(gap, -1), false
				}
				break
			}
		}
	}
	if !certain || has(stockTookOptional) {
		return nil, true
	}
	tail := stockGap{pos: int32(len(c.order)), after: c.last}
	for _, i := range append(open.heap, takes[next:]...) {
		if o := &c.ops[i]; o.Step == spec.TookSome && o.Return < tail.after {
			return c.around(&tail, int(i)), false
		}
	}
	return nil, true
}

// around gives what bounds a gap: the take, if there is one, what was called last above
// the gap, and what returned first below it.
func (c *stockChain) around(gap *stockGap, take int) []int {
	above, below := -1, -1
	for p, i := range c.order {
		o := &c.ops[i]
		switch {
		case p < int(gap.pos) && o.Step != spec.Refuse && (above < 0 || o.Call > c.ops[above].Call):
			above = int(i)
		case p >= int(gap.pos) && (below < 0 || o.Return < c.ops[below].Return):
			below = int(i)
		}
	}
	return append(pair(take, above), pair(below, -1)...)
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
