package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"picklock/harness/history"
	"picklock/models/fast"
)

// Checker says who decides whether a history is linearizable.
type Checker string

// The checkers.
const (
	// Fast is package fast, with porcupine's second opinion on each violation.
	Fast Checker = "fast"
	// Porcupine decides everything in pieces.
	Porcupine Checker = "porcupine"
	// Both decide everything, and must agree.
	Both Checker = "both"
)

// Checkers are all of them.
var Checkers = []Checker{Fast, Porcupine, Both}

// question is whether the operations on one lock or one SKU linearize.
type question struct {
	object string
	fast   func(fast.Limits) fast.Result // on the whole
	pieces func() []piece                // the same, for porcupine
}

// answer to a question.
type answer struct {
	found
	pieces []piece // nil: there was no need to cut
}

// settle decides a question by the checkers that were asked for. Where they contradict
// each other, the record remembers it and the answer is unknown: one of them is wrong, and
// no verdict of this program can be trusted.
func (r *record) settle(f *findings, q question) answer {
	if r.p.Checker == Porcupine {
		pieces := q.pieces()
		return answer{search(pieces, r.p.PorcupineTimeout), pieces}
	}
	lim := fast.Limits{Timeout: r.p.PorcupineTimeout}
	whole := q.fast(lim)
	if whole.Verdict == fast.Legal && r.p.Checker != Both {
		return answer{found: found{result: porcupine.Ok}}
	}
	a := answer{pieces: q.pieces()}
	a.found = first(a.pieces, whole, lim)
	disagree := func(format string, args ...any) answer {
		r.disagree("%s: %s", q.object, fmt.Sprintf(format, args...))
		f.unknown("the checkers disagree on %s", q.object)
		a.found = found{result: porcupine.Unknown, cut: history.Never}
		return a
	}
	if a.piece < 0 {
		return disagree("the fast checker finds it %s as a whole, and none of its %d pieces", whole.Verdict, len(a.pieces))
	}
	if r.p.Checker == Both {
		other := search(a.pieces, r.p.PorcupineTimeout)
		switch {
		case other.result == porcupine.Unknown:
			f.note("porcupine did not decide %s within %s: the verdict is the fast checker's", q.object, r.p.PorcupineTimeout)
			return a
		case a.result == porcupine.Unknown:
			a.found = other
			return a
		case other.result != a.result || other.result == porcupine.Illegal && other.piece != a.piece:
			return disagree("the fast checker finds it %s (piece %d), porcupine %s (piece %d of %d)", whole.Verdict, a.piece, other.result, other.piece, len(a.pieces))
		}
		a.found = other
		return a
	}
	if a.result != porcupine.Illegal {
		return a
	}
	// The second opinion, on the piece that is illegal.
	res, cut := a.pieces[a.piece].decide(r.p.PorcupineTimeout)
	a.cut = cut
	switch res {
	case porcupine.Ok:
		return disagree("the fast checker finds piece %d of %d illegal, porcupine finds it legal", a.piece, len(a.pieces))
	case porcupine.Unknown:
		f.note("porcupine gave no second opinion on %s within %s", q.object, r.p.PorcupineTimeout)
		a.cut = history.Never
	}
	return a
}

// disagree remembers that two checkers contradict each other.
func (r *record) disagree(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.disagreements = append(r.disagreements, fmt.Sprintf(format, args...))
}

// first finds the first piece that is to blame for the verdict on the whole; -1: none is.
func first(pieces []piece, whole fast.Result, lim fast.Limits) found {
	if whole.Verdict == fast.Legal {
		return found{result: porcupine.Ok, cut: history.Never}
	}
	open := -1
	for i := range pieces {
		switch pieces[i].fast(lim).Verdict {
		case fast.Illegal:
			return found{porcupine.Illegal, i, history.Never}
		case fast.Undecided:
			if open < 0 {
				open = i
			}
		}
	}
	if whole.Verdict == fast.Undecided && open < 0 {
		return found{result: porcupine.Ok, cut: history.Never} // each piece by itself was decided
	}
	if whole.Verdict == fast.Illegal {
		open = -1
	}
	return found{porcupine.Unknown, open, 0}
}
