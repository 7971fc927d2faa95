package spec

import (
	"fmt"
	"math"

	"github.com/anishathalye/porcupine"
)

// StockStep is what an operation on the stock of one article does.
type StockStep uint8

// The steps. A level may be below zero: a decrement that is undone or refused afterwards
// is a step of the counter too.
const (
	Take          StockStep = iota // takes Qty and leaves Left
	TookSome                       // took Qty for certain, the level was not told
	MayTake                        // a take of Qty of unknown outcome
	Refuse                         // fewer than Qty were there; changes nothing
	Read                           // Left were there; changes nothing
	Restock                        // adds Qty, and Left are there
	RestockedSome                  // added Qty for certain, the level was not told
	MayRestock                     // a restock of Qty of unknown outcome
)

var stockStepNames = [...]string{
	"takes", "took", "may take", "is refused", "reads", "adds", "added", "may add",
}

// String gives the step in words.
func (s StockStep) String() string { return stockStepNames[s] }

// May says whether the step is one that may not have happened.
func (s StockStep) May() bool { return s == MayTake || s == MayRestock }

// Named says whether the step tells the level that it leaves.
func (s StockStep) Named() bool { return s == Take || s == Read || s == Restock }

// StockOp is one operation on the stock of one article.
type StockOp struct {
	Call, Return int64
	Qty          int64 // at least 1; not looked at in a Read
	Left         int64 // of a Named step: the level after it
	ID           int64 // the caller's own; checkers do not look at it
	Step         StockStep
}

// End is the return that counts: that of a step that may happen is Never.
func (o *StockOp) End() int64 {
	if o.Step.May() {
		return Never
	}
	return o.Return
}

// Delta is what the step adds to the level, if it happens.
func (o *StockOp) Delta() int64 {
	switch o.Step {
	case Take, TookSome, MayTake:
		return -o.Qty
	case Restock, RestockedSome, MayRestock:
		return o.Qty
	}
	return 0
}

// Stock says where the counter begins.
type Stock struct {
	Start int64
	Free  bool // Start is not known: a history is legal if it is from any start
}

// stockState is the level. Before the level is known, it is counted from the start, and
// most is the highest start that the refusals so far allow.
type stockState struct {
	level int64
	most  int64
	free  bool
}

// Model is the specification for porcupine. Its operations come from StockOperations.
func (s Stock) Model() porcupine.Model {
	return porcupine.Model{
		Init: func() any {
			if s.Free {
				return stockState{free: true, most: math.MaxInt64}
			}
			return stockState{level: s.Start}
		},
		Step: func(state, input, _ any) (bool, any) {
			next, ok := state.(stockState).step(input.(StockOp))
			return ok, next
		},
		Hash: func(state any) uint64 {
			s := state.(stockState)
			return uint64(s.level)*0x9e3779b97f4a7c15 ^ uint64(s.most)*0xff51afd7ed558ccd
		},
		DescribeOperation: func(input, _ any) string { return input.(StockOp).String() },
		DescribeState: func(state any) string {
			if s := state.(stockState); s.free {
				return fmt.Sprintf("%+d since the start", s.level)
			}
			return fmt.Sprintf("%d left", state.(stockState).level)
		},
	}
}

// String gives the operation in words, without its times.
func (o StockOp) String() string {
	switch {
	case o.Step == Read:
		return fmt.Sprintf("reads %d", o.Left)
	case o.Step.Named():
		return fmt.Sprintf("%s %d, %d left", o.Step, o.Qty, o.Left)
	}
	return fmt.Sprintf("%s %d", o.Step, o.Qty)
}

// StockOperations makes porcupine's operations of ops. A step that may happen is legal in
// every state and open to the end: one that never happened comes after all others.
func StockOperations(ops []StockOp) []porcupine.Operation {
	end := far(func(i int) int64 { return ops[i].Call }, func(i int) int64 { return ops[i].End() }, len(ops))
	out := make([]porcupine.Operation, len(ops))
	for i := range ops {
		out[i] = operation(i, ops[i], ops[i].Call, min(ops[i].End(), end))
	}
	return out
}

func (s stockState) step(in StockOp) (stockState, bool) {
	switch {
	case in.Step == Refuse && s.free:
		s.most = min(s.most, in.Qty-1-s.level)
		return s, true
	case in.Step == Refuse:
		return s, s.level < in.Qty
	case !in.Step.Named():
		s.level += in.Delta()
		return s, true
	}
	before := in.Left - in.Delta()
	if s.free {
		return stockState{level: in.Left}, before-s.level <= s.most
	}
	return stockState{level: in.Left}, s.level == before
}
