package fast

import (
	"cmp"
	"iter"
	"math"
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
// that are evenly spread. Buckets of more than a few are sorted by comparing. The
// operations themselves are large, so that they are not read again for it.
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
	base := uint32(h.high) // so that base less a key is right though both lost their upper half
	if spread > math.MaxUint32 {
		for i := range h.ops {
			h.keys[i] = uint32(uint64(h.high-stockKey(&h.ops[i])) >> shift)
		}
	} else {
		for i, key := range h.keys {
			h.keys[i] = (base - key) >> shift
		}
	}
	ends := make([]int32, int(spread>>shift)+2)
	for from, to := range h.chained() {
		for _, b := range h.keys[from:to] {
			ends[b+1]++
		}
	}
	for b := 1; b < len(ends); b++ {
		ends[b] += ends[b-1]
	}
	order := make([]int32, n)
	for from, to := range h.chained() {
		for i := from; i < to; i++ {
			b := h.keys[i]
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

// chained gives the stretches of the history that have no unknown takes.
func (h *stockHistory) chained() iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		from := 0
		for i := range h.takes {
			at := int(h.takes[i].at)
			if !yield(from, at) {
				return
			}
			from = at + 1
		}
		yield(from, len(h.ops))
	}
}

// sortTakes brings the unknown takes in the order of their calls.
func (h *stockHistory) sortTakes() {
	if !h.sorted {
		slices.SortStableFunc(h.takes, func(a, b stockTake) int { return cmp.Compare(a.call, b.call) })
		h.sorted = true
	}
}
