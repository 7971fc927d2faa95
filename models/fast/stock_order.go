package fast

import (
	"cmp"
	"math/bits"
	"slices"

	"picklock/models/spec"
)

// stockKey is the highest level at which a take, read or refusal can be the last thing
// that happened. Refusals need less than Qty.
func stockKey(o *spec.StockOp) int64 {
	if o.Step == spec.Refuse {
		if has(stockRefuseLow) {
			return o.Qty - 2
		}
		return o.Qty - 1
	}
	return o.Left
}

// stockRank orders what has the same key: the take that leads to a level is before the
// rest.
func stockRank(o *spec.StockOp) int {
	switch o.Step {
	case spec.Take:
		if has(stockTieWrong) {
			return 3
		}
		return 0
	case spec.Refuse:
		return 1
	}
	return 2
}

// compareStock orders two operations of the chain: by key from the highest down, then by
// rank.
func compareStock(a, b *spec.StockOp) int {
	if c := cmp.Compare(stockKey(b), stockKey(a)); c != 0 {
		return c
	}
	return cmp.Compare(stockRank(a), stockRank(b))
}

// order gives the positions of takes, reads and refusals by compareStock. It is a bucket
// sort: there are as many buckets as operations, to two for each, and counters write levels
// that are evenly spread. Buckets of more than a few are sorted by comparing.
func (h *stockHistory) order() []int32 {
	n := h.named + h.refuses
	if n == 0 {
		return nil
	}
	shift := 0
	spread := uint64(h.high - h.low)
	if spread >= 2*uint64(n) {
		shift = bits.Len64(spread / (2 * uint64(n)))
	}
	ends := make([]int32, int(spread>>shift)+2)
	bucket := func(o *spec.StockOp) int { return int(uint64(h.high-stockKey(o)) >> shift) }
	for i := range h.ops {
		if o := &h.ops[i]; inChain(o) {
			ends[bucket(o)+1]++
		}
	}
	for b := 1; b < len(ends); b++ {
		ends[b] += ends[b-1]
	}
	order := make([]int32, n)
	for i := range h.ops {
		if o := &h.ops[i]; inChain(o) {
			b := bucket(o)
			order[ends[b]] = int32(i)
			ends[b]++
		}
	}
	// Now ends[b] is the end of bucket b.
	begin := 0
	for _, end := range ends {
		if size := int(end) - begin; size > 1 {
			h.sortBucket(order[begin:end])
		}
		begin = int(end)
	}
	return order
}

func (h *stockHistory) sortBucket(order []int32) {
	if len(order) > 16 {
		slices.SortStableFunc(order, func(a, b int32) int { return compareStock(&h.ops[a], &h.ops[b]) })
		return
	}
	for i := 1; i < len(order); i++ {
		x := order[i]
		j := i
		for ; j > 0 && compareStock(&h.ops[x], &h.ops[order[j-1]]) < 0; j-- {
			order[j] = order[j-1]
		}
		order[j] = x
	}
}

// inChain says whether the operation's place in the chain is known from its level.
func inChain(o *spec.StockOp) bool {
	return o.Step == spec.Take || o.Step == spec.Read || o.Step == spec.Refuse
}

// unknownByCall gives the positions of the unknown takes by call.
func (h *stockHistory) unknownByCall() []int32 {
	out := make([]int32, 0, h.unknown)
	sorted := true
	for i := range h.ops {
		if o := &h.ops[i]; o.Step == spec.TookSome || o.Step == spec.MayTake {
			sorted = sorted && (len(out) == 0 || h.ops[out[len(out)-1]].Call <= o.Call)
			out = append(out, int32(i))
		}
	}
	if !sorted {
		slices.SortStableFunc(out, func(a, b int32) int { return cmp.Compare(h.ops[a].Call, h.ops[b].Call) })
	}
	return out
}
