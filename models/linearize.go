package models

import (
	"cmp"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"picklock/harness/history"
	"picklock/models/fast"
	"picklock/models/spec"
)

// This file drives porcupine so that long histories are decided too. Two facts make it
// possible, whatever the model:
//
//   - A history may be cut where the state is certain and nothing is under way. It is
//     linearizable exactly if every piece is, each from the state at its start. The
//     models find the cuts; their comments say why the state is certain there.
//   - Linearizability is closed under prefixes: of a linearization of a history, the part
//     up to the last operation that had returned by t linearizes what was known at t. So a
//     violation is in the first illegal prefix, and all longer ones are illegal as well:
//     prefixes are doubled until one is illegal and the shortest such is found by
//     bisection. An operation that had not returned at t may have happened by then or
//     not; if it had, then with the result that it reported later. The models say how
//     each kind is represented so.
//
// Without them one unknown operation in a thousand makes porcupine search for minutes
// and gigabytes, above all where there is a violation to be found.

// piece is a stretch of one lock's or one SKU's operations that is judged by itself.
type piece struct {
	model porcupine.Model
	size  int // operations
	first int // returns in the first prefix that is tried
	// returns are the times at which operations of the piece returned, ascending.
	returns []int64
	// known gives the operations as they were known at time t; history.Never: all, to the
	// end. Operations that may take effect later return at the far end of the axis.
	known func(t int64) []porcupine.Operation
	// fast decides the piece without porcupine, as far as that goes; nil: it cannot be.
	fast func(fast.Limits) fast.Result
}

// sizes say how finely a history is cut. They decide how long porcupine takes, never what
// it finds.
type sizes struct {
	piece  int // operations from which on a piece ends at the next cut
	prefix int // returns in the first prefix of a piece that is tried
}

// defaultSizes keep porcupine within milliseconds for each piece.
func defaultSizes() sizes { return sizes{piece: 64, prefix: 64} }

// found is the result of a search over pieces.
type found struct {
	result porcupine.CheckResult
	piece  int   // Illegal: the first illegal piece; Unknown: the first undecided one
	cut    int64 // Illegal: the end of its shortest illegal prefix; history.Never: only the whole is illegal
}

// search decides the pieces in order and stops at the first illegal one. The time is
// shared out so that all pieces together take no longer than about twice the timeout: a
// share by size first, and what one piece did not need to those that were not decided.
func search(pieces []piece, timeout time.Duration) found {
	total := 0
	for i := range pieces {
		total += pieces[i].size
	}
	var open []int
	for i := range pieces {
		share := max(time.Duration(float64(timeout)*float64(pieces[i].size)/float64(total)), timeout/1000)
		res, cut := pieces[i].decide(share)
		switch res {
		case porcupine.Illegal:
			return found{res, i, cut}
		case porcupine.Unknown:
			open = append(open, i)
		}
	}
	undecided := found{result: porcupine.Ok, cut: history.Never}
	for _, i := range open {
		res, cut := pieces[i].decide(timeout / time.Duration(len(open)))
		switch {
		case res == porcupine.Illegal:
			return found{res, i, cut}
		case res == porcupine.Unknown && undecided.result == porcupine.Ok:
			undecided = found{res, i, cut}
		}
	}
	return undecided
}

// decide finds whether the piece is linearizable and, if not, its shortest illegal
// prefix. Unknown comes with the end of the longest prefix that was decided.
func (p *piece) decide(timeout time.Duration) (porcupine.CheckResult, int64) {
	check := func(t int64) porcupine.CheckResult {
		return spec.Decide(p.model, p.known(t), max(timeout, time.Millisecond), spec.Memory)
	}
	legal := -1 // position in returns of the longest prefix known to be legal
	for n := p.first; ; n *= 2 {
		at, t := n-1, history.Never
		if at < len(p.returns) {
			t = p.returns[at]
		}
		switch check(t) {
		case porcupine.Unknown:
			if legal < 0 {
				return porcupine.Unknown, 0
			}
			return porcupine.Unknown, p.returns[legal]
		case porcupine.Illegal:
			return porcupine.Illegal, p.shortest(check, legal, min(at, len(p.returns)))
		}
		if t == history.Never {
			return porcupine.Ok, t
		}
		legal = at
	}
}

// shortest bisects between a legal prefix and an illegal one (positions in returns; its
// length stands for the whole). Where porcupine does not finish, the shortest prefix
// known to be illegal has to do.
func (p *piece) shortest(check func(int64) porcupine.CheckResult, legal, illegal int) int64 {
	for illegal-legal > 1 {
		mid := (legal + illegal) / 2
		switch check(p.returns[mid]) {
		case porcupine.Ok:
			legal = mid
		case porcupine.Illegal:
			illegal = mid
		default:
			legal = mid // not decided: look among the longer ones
		}
	}
	if illegal == len(p.returns) {
		return history.Never
	}
	return p.returns[illegal]
}

// lanes gives porcupine's pictures a line for each worker. What returns at the far end
// of the axis has a line of its own, since its worker went on meanwhile.
type lanes struct {
	workers map[[2]int]int
	fresh   int
}

func newLanes(ops []*history.Operation) *lanes {
	var keys [][2]int
	for _, o := range ops {
		keys = append(keys, [2]int{o.Client, o.Worker})
	}
	slices.SortFunc(keys, func(a, b [2]int) int {
		if c := cmp.Compare(a[0], b[0]); c != 0 {
			return c
		}
		return cmp.Compare(a[1], b[1])
	})
	l := &lanes{workers: map[[2]int]int{}}
	for _, k := range slices.Compact(keys) {
		l.workers[k] = len(l.workers)
	}
	l.fresh = len(l.workers)
	return l
}

func (l *lanes) of(o *history.Operation) int { return l.workers[[2]int{o.Client, o.Worker}] }

func (l *lanes) next() int {
	l.fresh++
	return l.fresh - 1
}
