package fast

import (
	"math"
	"slices"

	"github.com/anishathalye/porcupine"

	"picklock/models/spec"
)

// Stock decides whether ops are a legal history of a stock counter: exactly as porcupine
// does by s.Model(), if it is given the time.
//
// Three ways lead to the verdict, each exact where it gives one (the proofs are with
// stockChain and stockSearch):
//
//   - The chain. Without restocks the level only falls, so that the levels give the order.
//     This decides every history of takes, reads, refusals, and unknown takes, if the
//     latter are all of one quantity or no level is missing. Its time is that of a bucket
//     sort by level, near-linear for what counters write (n log n at worst, for levels that
//     lie in a few dense clusters far apart), plus log k for each unknown take, k of them
//     being open at once. It needs 12 to 16 bytes for each operation, and up to 64 more for
//     each unknown take.
//   - The search. With restocks, or unknown takes of several quantities where levels are
//     missing, it follows the returns through all states that the counter can be in. Its
//     time is linear in the operations, in those under way at once, and in the number of
//     states, which is small as long as levels are named; it stops where that does not
//     hold.
//   - porcupine, for what is left where the search stopped: the operations behind the last
//     moment at which only one state was possible. If that is too much, the history stays
//     Undecided.
//
// It takes for granted that no operation that is certain returns before its call, and that
// there are fewer than 2^31 operations. Histories with quantities below one, or with
// quantities or levels so large that sums could overflow, go to porcupine as they are.
func Stock(s spec.Stock, ops []spec.StockOp, lim Limits) Result {
	h := surveyStock(s, ops)
	if h.odd {
		return askStock(s, ops, nil, lim)
	}
	if h.restocks == 0 {
		if res, ok := h.chain(); ok {
			return res
		}
	}
	if s.Free && h.refuses > 0 {
		return askStock(s, ops, nil, lim)
	}
	return h.search(usualStock, lim)
}

// stockHistory is a history with what one look at it shows.
type stockHistory struct {
	spec.Stock
	ops      []spec.StockOp
	named    int // takes and reads
	refuses  int
	restocks int
	takes    []stockTake // the unknown ones: TookSome and MayTake
	sorted   bool        // they are in the order of their calls
	unit     int64       // the quantity of all unknown takes; 0: there are none, or it differs
	low      int64       // the lowest and highest key of takes, reads and refusals
	high     int64
	keys     []uint32 // the lower half of each one's key
	odd      bool     // not for the fast checkers
}

// stockTake is an unknown take. For one that need not return it is the same whether it may
// have happened or did: it can have happened after all else.
type stockTake struct {
	call, end int64
	at        int32 // its position
}

// largest is the largest level or quantity, and largest sum of quantities, that is surely
// safe from overflow.
const largest = 1 << 60

func surveyStock(s spec.Stock, ops []spec.StockOp) *stockHistory {
	h := &stockHistory{Stock: s, ops: ops, sorted: true, low: math.MaxInt64, high: math.MinInt64}
	h.odd = len(ops) > math.MaxInt32/2 || tooLarge(s.Start)
	keys := make([]uint32, len(ops))
	low, high := h.low, h.high
	last := int64(math.MinInt64)
	var sum, unit int64
	mixed := false
	for i := range ops {
		o := &ops[i]
		if o.Step != spec.Level {
			if sum += o.Qty; o.Qty < 1 || o.Qty > largest || sum > largest {
				h.odd, sum = true, 0
			}
		}
		if tooLarge(o.Left) {
			h.odd = true
		}
		switch o.Step {
		case spec.Take, spec.Level, spec.Refuse:
			key := stockKey(o)
			keys[i] = uint32(key)
			low, high = min(low, key), max(high, key)
			if o.Step == spec.Refuse {
				h.refuses++
			}
		case spec.TookSome, spec.MayTake:
			mixed = mixed || unit != 0 && unit != o.Qty
			unit = o.Qty
			h.sorted = h.sorted && o.Call >= last
			last = o.Call
			if n := len(h.takes); n == cap(h.takes) {
				h.takes = slices.Grow(h.takes, 16+n*(len(ops)-i)/(i+1)) // as many as so far
			}
			h.takes = append(h.takes, stockTake{o.Call, o.End(), int32(i)})
		default:
			h.restocks++
		}
	}
	h.named = len(ops) - len(h.takes) - h.refuses - h.restocks
	h.low, h.high, h.keys = low, high, keys
	if !mixed {
		h.unit = unit
	}
	return h
}

func tooLarge(level int64) bool { return level > largest || level < -largest }

// askStock leaves ops to porcupine. at gives their positions in the whole history; nil:
// they are the whole.
func askStock(s spec.Stock, ops []spec.StockOp, at []int, lim Limits) Result {
	timeout := lim.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	res := Result{Asked: len(ops)}
	switch spec.Decide(s.Model(), spec.StockOperations(ops), timeout, spec.Memory) {
	case porcupine.Ok:
		res.Verdict = Legal
	case porcupine.Unknown:
		res.Verdict = Undecided
	default:
		res.Verdict, res.Ops = Illegal, at
		if at == nil {
			for i := range ops {
				res.Ops = append(res.Ops, i)
			}
		}
	}
	return res
}
