package models

import (
	"picklock/harness/history"
	"picklock/models/spec"
)

// witness makes the violation of a piece by its culprit small. Where two deductions
// contradict each other they are all that it takes, from whatever level they start: a run of
// two. Otherwise the culprit contradicts the level from which it starts.
func (s *stockPiece) witness(culprit, rival *stockOp, kind string, t int64) *Witness {
	unit := func(o *stockOp) []spec.StockOp {
		u := specStock(o)
		u.ID = o.op.ID
		return []spec.StockOp{u}
	}
	switch kind {
	case kindSoldTwice, kindStockRose:
		return stockSuspect(spec.Stock{Free: true}, [][]spec.StockOp{unit(culprit), unit(rival)}).minimise()
	case kindNotUsedUp:
		lowest := s.start
		for i := range s.ops {
			if o := &s.ops[i]; !o.soldOut && o.to <= t && o.from <= t {
				lowest = min(lowest, o.left)
			}
		}
		return stockSuspect(spec.Stock{Start: max(lowest, 1)}, [][]spec.StockOp{unit(culprit)}).minimise()
	case kindSkipped:
		// The gap above the culprit: nobody took the levels between two of those that were
		// left, or between the start and the first.
		above, below := s.gap(culprit, t)
		if above == nil {
			return stockSuspect(spec.Stock{Start: s.start}, [][]spec.StockOp{unit(below)}).minimise()
		}
		return stockSuspect(spec.Stock{Free: true}, [][]spec.StockOp{unit(above), unit(below)}).minimise()
	}
	return stockSuspect(spec.Stock{Start: s.start}, [][]spec.StockOp{unit(culprit)}).minimise()
}

// gap finds the two operations around the first level above the culprit's that nobody had
// left by t; above is nil if the piece begins with the gap.
func (s *stockPiece) gap(culprit *stockOp, t int64) (above, below *stockOp) {
	known := map[int64]*stockOp{}
	for i := range s.ops {
		if o := &s.ops[i]; !o.soldOut && o.from <= t && known[o.left] == nil {
			known[o.left] = o
		}
	}
	below = culprit
	level := culprit.left + 1
	for ; known[level] != nil; level++ {
		below = known[level]
	}
	for ; level < s.start; level++ {
		if known[level] != nil {
			return known[level], below
		}
	}
	return nil, below
}

// specStocks are deductions in the words of the specification, in the same order. They have
// no IDs, since to look one up is to wait for the memory.
func specStocks(ops []stockOp) []spec.StockOp {
	out := make([]spec.StockOp, len(ops))
	for i := range ops {
		out[i] = specStock(&ops[i])
	}
	return out
}

// specStock is a deduction in the words of the specification, without its ID.
func specStock(o *stockOp) spec.StockOp {
	out := spec.StockOp{Step: spec.Take, Qty: 1, Left: o.left, Call: o.from, Return: o.to}
	if o.soldOut {
		out.Step, out.Left = spec.Refuse, 0
	}
	if out.Return == history.Never {
		out.Return = spec.Never
	}
	return out
}
