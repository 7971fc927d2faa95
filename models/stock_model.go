package models

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"picklock/harness/history"
	"picklock/models/fast"
	"picklock/models/spec"
)

// stockInput is the input of porcupine's operations on the stock of one SKU.
type stockInput struct {
	soldOut bool  // nothing was written: the stock must be used up
	left    int64 // else: takes one unit and leaves this level
	text    string
}

// stockModel is a counter that goes down by one. A deduction that leaves less than zero
// was refused and is no sale, but it is a step of the counter all the same.
func stockModel(start int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return start },
		Step: func(state, input, _ any) (bool, any) {
			level, in := state.(int64), input.(stockInput)
			if in.soldOut {
				return level <= 0, level
			}
			return level == in.left+1, in.left
		},
		Hash:              func(state any) uint64 { return uint64(state.(int64)) * 0x9e3779b97f4a7c15 },
		DescribeOperation: func(input, _ any) string { return input.(stockInput).text },
		DescribeState:     func(state any) string { return fmt.Sprintf("%d left", state) },
	}
}

// stockOp is one deduction with the interval in which it took effect. All that is in a
// list of them did happen.
type stockOp struct {
	span    // inclusive
	op      *history.Operation
	soldOut bool
	left    int64
	settled bool // the client does not know its result; the ledger or the levels do
}

// stockOps translates the deductions of one SKU.
//
//   - An acknowledged deduction names the level that it left; if its reply did not, the
//     ledger does. If it wrote nothing, the stock must have been used up.
//   - A refused deduction did not happen, unless the ledger has it.
//   - One of unknown outcome happened if the ledger has it. If it has not, and the history
//     is whole, it did not.
//   - If the history breaks off, the ledger may be missing. Then unknown deductions fill the
//     levels between the highest and the lowest that are known to have been reached and
//     that nobody names, those invoked first the highest ones. That decides it exactly: of
//     two unknown deductions that fill two levels, the one invoked earlier can always be
//     the one that fills the higher level, because both may happen as late as one likes.
//
// lies are the operations that the ledger contradicts.
func (r *record) stockOps(sku string, initial int64) (all []stockOp, lies []int64) {
	var unknown []*history.Operation
	deducts := r.deductsOf()[sku]
	all = make([]stockOp, 0, len(deducts)+1)
	for _, o := range deducts {
		level := r.level(o)
		switch {
		case o.Outcome == history.OutcomeOK && level == nil && !o.Sold:
			all = append(all, stockOp{span{o.Invoke, o.Return}, o, true, 0, false})
		case o.Outcome == history.OutcomeOK && level == nil:
			// Sold, but nobody says what was left: it may have taken any level.
			unknown = append(unknown, o)
		case o.Outcome == history.OutcomeOK:
			all = append(all, stockOp{span{o.Invoke, o.Return}, o, false, *level, false})
		case r.entry(o.ID) != nil:
			all = append(all, stockOp{span{o.Invoke, history.Never}, o, false, r.entry(o.ID).Left, true})
			if o.Outcome == history.OutcomeFail {
				lies = append(lies, o.ID)
			}
		case o.Outcome == history.OutcomeInfo && !r.Complete:
			unknown = append(unknown, o)
		}
	}
	all = fill(all, unknown, initial)
	bindReturns(all)
	sortBy(all, func(o *stockOp) int64 { return o.from })
	return all, lies
}

// fill lets unknown deductions (by invocation) take the levels that somebody must have
// taken, from the highest down.
func fill(all []stockOp, unknown []*history.Operation, initial int64) []stockOp {
	if len(unknown) == 0 {
		return all
	}
	named, lowest := map[int64]bool{}, initial
	for _, o := range all {
		if o.soldOut {
			lowest = min(lowest, 0)
		} else {
			named[o.left] = true
			lowest = min(lowest, o.left)
		}
	}
	for level := initial - 1; level >= lowest && len(unknown) > 0; level-- {
		if !named[level] {
			u := unknown[0]
			all, unknown = append(all, stockOp{span{u.Invoke, history.Never}, u, false, level, true}), unknown[1:]
		}
	}
	return all
}

// bindReturns gives deductions whose end is not known the latest one that they can have.
// The level only falls, so the deduction that left a level comes before all that left
// less, and nobody else can have left the same: it has happened by the time that the
// first of those returns. The same holds for answers that the stock was used up.
func bindReturns(all []stockOp) {
	if !slices.ContainsFunc(all, func(o stockOp) bool { return o.settled }) {
		return
	}
	byLevel := make([]*stockOp, len(all))
	for i := range all {
		byLevel[i] = &all[i]
	}
	// They come nearly in order from the highest level down.
	sortBy(byLevel, func(o **stockOp) int64 { return -(*o).rank() })
	earliest := history.Never
	for i := len(byLevel) - 1; i >= 0; {
		j := i
		for ; j >= 0 && byLevel[j].rank() == byLevel[i].rank(); j-- {
			earliest = min(earliest, byLevel[j].to)
		}
		for ; i > j; i-- {
			if o := byLevel[i]; o.settled {
				o.to = max(o.from, min(o.to, earliest))
			}
		}
	}
}

// rank orders the operations as every linearization must, higher ranks first; the answer
// that the stock is used up comes after all that leave zero or more, and nothing else.
func (o *stockOp) rank() int64 {
	if o.soldOut {
		return -1
	}
	return 2 * o.left
}

// stockPiece is a stretch of levels: the operations that took them, by invocation.
type stockPiece struct {
	start int64 // the level before the first of them
	ops   []stockOp
}

// stockPieces splits the history between two levels wherever no operation below was over
// before one above was invoked. All operations above come before all below in any
// linearization, since the level only falls; so the history is linearizable exactly if
// both parts are, the lower one from the level between them. At zero it ends: answers
// that the stock was used up and refused deductions are judged together. Pieces have at
// least size operations.
func stockPieces(all []stockOp, initial int64, size int) []stockPiece {
	byLevel := slices.Clone(all)
	slices.SortStableFunc(byLevel, func(a, b stockOp) int { return cmp.Compare(b.rank(), a.rank()) })
	n := len(byLevel)
	returns := make([]int64, n+1) // earliest return from here on down
	returns[n] = history.Never
	for i := n - 1; i >= 0; i-- {
		returns[i] = min(returns[i+1], byLevel[i].to)
	}
	var pieces []stockPiece
	begin, level, invoked := 0, initial, int64(0)
	flush := func(end int) {
		ops := slices.Clone(byLevel[begin:end])
		slices.SortStableFunc(ops, func(a, b stockOp) int { return cmp.Compare(a.from, b.from) })
		pieces = append(pieces, stockPiece{level, ops})
		begin = end
	}
	for i := range byLevel {
		o, above := byLevel[i], byLevel[max(i-1, 0)]
		if i-begin >= size && o.rank() < above.rank() && !above.soldOut && above.left >= 0 && returns[i] >= invoked {
			flush(i)
			level = above.left
		}
		invoked = max(invoked, o.from)
	}
	if begin < n {
		flush(n)
	}
	return pieces
}

// piece makes it ready for porcupine.
func (s *stockPiece) piece(first int) piece {
	p := piece{model: stockModel(s.start), size: len(s.ops), first: first}
	far := int64(0)
	var who []*history.Operation
	for i := range s.ops {
		o := &s.ops[i]
		who = append(who, o.op)
		far = max(far, o.from)
		if o.to != history.Never {
			far = max(far, o.to)
			p.returns = append(p.returns, o.to)
		}
	}
	slices.Sort(p.returns)
	p.returns = slices.Compact(p.returns)
	p.known = func(t int64) []porcupine.Operation { return knownStock(s.ops, s.start, who, t, far+1) }
	p.fast = func(lim fast.Limits) fast.Result {
		return fast.Stock(spec.Stock{Start: s.start}, specStocks(s.ops), lim)
	}
	return p
}

// knownStock gives the operations as known at t. A deduction that was under way then has
// happened by then exactly if a lower level had been reached: its level is known with
// hindsight. Of several that name the same level the one invoked first is the best
// candidate.
func knownStock(ops []stockOp, start int64, who []*history.Operation, t, far int64) []porcupine.Operation {
	lines := newLanes(who)
	var out []porcupine.Operation
	add := func(o stockOp) {
		in := stockInput{soldOut: o.soldOut, left: o.left}
		lane := 0
		if o.to == history.Never || o.to > t || o.settled {
			lane = lines.next()
			o.to = min(o.to, far)
		} else {
			lane = lines.of(o.op)
		}
		in.text = fmt.Sprintf("client %d worker %d takes a unit, %d left", o.op.Client, o.op.Worker, o.left)
		if o.soldOut {
			in.text = fmt.Sprintf("client %d worker %d is told that nothing is left", o.op.Client, o.op.Worker)
		}
		out = append(out, porcupine.Operation{ClientId: lane, Input: in, Call: o.from, Return: o.to, Metadata: o.op.ID})
	}
	named, lowest := map[int64]bool{}, start
	for _, o := range ops {
		if o.from > t {
			break
		}
		if t != history.Never && o.to > t {
			continue
		}
		add(o)
		if o.soldOut {
			lowest = min(lowest, 0)
		} else {
			named[o.left] = true
			lowest = min(lowest, o.left)
		}
	}
	for _, o := range ops {
		if o.from > t || t == history.Never {
			break
		}
		if o.to > t && !o.soldOut && !named[o.left] && o.left >= lowest {
			named[o.left] = true
			o.to = far
			add(o)
		}
	}
	return out
}
