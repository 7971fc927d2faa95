package models_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picklock/harness/history"
	"picklock/models"
)

// An atom is something that took effect at one moment of [from, to], or may have done so.
type atom struct {
	from, to int64
	may      bool
	apply    func(state) (state, bool)
}

// state of the reference: a lock (owner, holds) or a level.
type state struct {
	owner, holds, level int64
}

// linearizable tries every order of the atoms that real time allows, with and without
// those that may not have happened. It is the definition, with no cleverness at all.
func linearizable(atoms []atom, s state) bool {
	done := make([]bool, len(atoms))
	left := 0
	for _, a := range atoms {
		if !a.may {
			left++
		}
	}
	var try func(s state, left int) bool
	try = func(s state, left int) bool {
		if left == 0 {
			return true
		}
		bound := history.Never // nothing invoked later can be next
		for i, a := range atoms {
			if !done[i] && !a.may {
				bound = min(bound, a.to)
			}
		}
		for i, a := range atoms {
			if done[i] || a.from > bound {
				continue
			}
			next, ok := a.apply(s)
			if !ok {
				continue
			}
			done[i] = true
			rest := left
			if !a.may {
				rest--
			}
			if try(next, rest) {
				return true
			}
			done[i] = false
		}
		return false
	}
	return try(s, left)
}

// lockAtoms spells out the definition of the lock models. Unknown acquires are here,
// which the checker leaves out or bounds.
func lockAtoms(h *history.History, reentrant bool) []atom {
	var atoms []atom
	byID := map[int64]*history.Operation{}
	for i := range h.Operations {
		byID[h.Operations[i].ID] = &h.Operations[i]
	}
	add := func(from, to int64, may bool, f func(state) (state, bool)) {
		atoms = append(atoms, atom{from, to, may, f})
	}
	for _, o := range h.Operations {
		g := o.Grant
		if g == 0 {
			g = o.ID
		}
		acquire := func(s state) (state, bool) {
			if s.holds == 0 || reentrant && s.owner == g {
				return state{g, s.holds + 1, 0}, true
			}
			return s, false
		}
		release := func(s state) (state, bool) {
			if s.holds == 0 || s.owner != g {
				return s, false
			}
			return state{g, s.holds - 1, 0}, true
		}
		free := func(s state) (state, bool) {
			if s.holds == 0 || s.owner != g {
				return s, false
			}
			return state{}, true
		}
		outer := byID[g]
		granted := outer != nil && outer.Outcome == history.OutcomeOK
		switch {
		case o.Op == history.Acquire && o.Outcome == history.OutcomeOK:
			from := o.Invoke
			if o.From != 0 {
				from = o.From
			}
			add(from, o.Return, false, acquire)
			if o.ID != g {
				break
			}
			if o.Belief == history.BelievesNot {
				add(o.Return, history.Never, true, free)
			}
			for _, d := range h.Deaths {
				if d.Client == o.Client && d.Time >= o.Return {
					add(d.Time, history.Never, true, free)
					break
				}
			}
			for _, l := range h.Losses {
				if l.Grant == g {
					add(l.Time, history.Never, true, free)
				}
			}
		case o.Op == history.Acquire && o.Outcome == history.OutcomeInfo:
			add(o.Invoke, history.Never, true, acquire)
		case o.Op == history.Release && o.Outcome == history.OutcomeOK:
			add(o.Invoke, o.Return, false, release)
		case o.Op == history.Release && o.Outcome == history.OutcomeInfo:
			add(o.Invoke, history.Never, true, release)
		case o.Op == history.Release && o.Code == history.CodeNotHeld && granted:
			add(o.Invoke, o.Return, false, func(s state) (state, bool) { return s, s.holds == 0 || s.owner != g })
		case o.Op == history.Release && granted:
			add(o.Invoke, history.Never, true, free)
		}
	}
	return atoms
}

// stockAtoms spells out the definition of the counter.
func stockAtoms(h *history.History) []atom {
	written := map[int64]int64{}
	for _, e := range h.Ledger {
		if _, twice := written[e.Op]; !twice {
			written[e.Op] = e.Left
		}
	}
	var atoms []atom
	for _, o := range h.Operations {
		take := func(left int64) func(state) (state, bool) {
			return func(s state) (state, bool) { return state{level: left}, s.level == left+1 }
		}
		settled, known := written[o.ID]
		switch {
		case o.Outcome == history.OutcomeOK && o.Left != nil:
			atoms = append(atoms, atom{o.Invoke, o.Return, false, take(*o.Left)})
		case o.Outcome == history.OutcomeOK:
			atoms = append(atoms, atom{o.Invoke, o.Return, false, func(s state) (state, bool) { return s, s.level <= 0 }})
		case known:
			atoms = append(atoms, atom{o.Invoke, history.Never, false, take(settled)})
		case o.Outcome == history.OutcomeInfo && !h.Complete:
			atoms = append(atoms, atom{o.Invoke, history.Never, true, func(s state) (state, bool) { return state{level: s.level - 1}, true }})
		}
	}
	return atoms
}

// dump shows a history in a failure.
func dump(h *history.History) string {
	var b strings.Builder
	for _, o := range h.Operations {
		to := fmt.Sprint(o.Return)
		if o.Return == history.Never {
			to = "never"
		}
		fmt.Fprintf(&b, "  %d..%s c%dw%d #%d %s of #%d %s %s %s from %d", o.Invoke, to, o.Client, o.Worker, o.ID, o.Op, o.Grant, o.Outcome, o.Code, o.Belief, o.From)
		if o.Left != nil {
			fmt.Fprintf(&b, " left %d", *o.Left)
		}
		b.WriteString("\n")
	}
	for _, e := range h.Ledger {
		fmt.Fprintf(&b, "  ledger #%d left %d\n", e.Op, e.Left)
	}
	fmt.Fprintf(&b, "  deaths %v losses %v complete %v\n", h.Deaths, h.Losses, h.Complete)
	return b.String()
}

// randomLock makes a small history of one lock. Times are small numbers, so that ties
// are common; about half of the histories are linearizable.
func randomLock(rng *rand.Rand, reentrant bool) *history.History {
	h := &history.History{Complete: true, Stock: map[string]history.Levels{}}
	id := int64(0)
	workers := 2 + rng.IntN(2)
	for w := range workers {
		t := int64(rng.IntN(12))
		step := func(n int) int64 { t += int64(rng.IntN(n)); return t }
		op := func(kind history.Op, grant int64) *history.Operation {
			id++
			o := history.Operation{ID: id, Process: id, Client: w, Op: kind, Object: "lock", Grant: grant, Invoke: step(6)}
			o.Return = step(4)
			o.Outcome = history.OutcomeOK
			h.Operations = append(h.Operations, o)
			return &h.Operations[len(h.Operations)-1]
		}
		unknown := func(o *history.Operation) {
			o.Outcome = history.OutcomeInfo
			if rng.IntN(2) == 0 {
				o.Return = history.Never
			}
		}
		for range 1 + rng.IntN(2) {
			a := op(history.Acquire, 0)
			grant := a.ID
			switch rng.IntN(12) {
			case 0, 1:
				unknown(a)
			case 2:
				a.Outcome, a.Code = history.OutcomeFail, history.CodeNotAcquired
			case 3:
				a.Belief = history.BelievesNot
			case 4, 5:
				a.From = a.Invoke + (a.Return-a.Invoke)/2
			}
			releases := 1
			if reentrant && rng.IntN(2) == 0 {
				n := op(history.Acquire, grant)
				releases = 2
				switch rng.IntN(6) {
				case 0:
					unknown(n)
				case 1:
					n.Outcome, n.Code = history.OutcomeFail, history.CodeNotAcquired
					releases = 1
				}
			}
			if rng.IntN(8) == 0 {
				releases += rng.IntN(3) - 1
			}
			for range releases {
				r := op(history.Release, grant)
				switch rng.IntN(10) {
				case 0, 1:
					unknown(r)
				case 2:
					r.Outcome, r.Code = history.OutcomeFail, history.CodeNotHeld
				case 3:
					r.Outcome, r.Code = history.OutcomeFail, history.CodeNoEffect
				}
			}
			switch rng.IntN(10) {
			case 0:
				h.Deaths = append(h.Deaths, history.Death{Client: w, Time: step(3)})
			case 1:
				h.Losses = append(h.Losses, history.Loss{Grant: grant, Time: t - int64(rng.IntN(5))})
			}
		}
	}
	finish(h)
	return h
}

// finish sorts a history as Assemble does.
func finish(h *history.History) {
	slices.SortStableFunc(h.Operations, func(a, b history.Operation) int { return int(a.Invoke - b.Invoke) })
	slices.SortStableFunc(h.Deaths, func(a, b history.Death) int { return int(a.Time - b.Time) })
	slices.SortStableFunc(h.Losses, func(a, b history.Loss) int { return int(a.Time - b.Time) })
	for _, o := range h.Operations {
		h.End = max(h.End, o.Invoke)
		if o.Return != history.Never {
			h.End = max(h.End, o.Return)
		}
	}
}

// randomStock makes a small history of one SKU: a correct run with a few changes.
func randomStock(rng *rand.Rand) *history.History {
	h := &history.History{Complete: rng.IntN(3) > 0, Stock: map[string]history.Levels{}}
	initial := int64(2 + rng.IntN(4))
	level := initial
	h.Stock["sku"] = history.Levels{Initial: &initial}
	n := 3 + rng.IntN(5)
	t := int64(0)
	for i := range n {
		t += int64(rng.IntN(4))
		o := history.Operation{ID: int64(i + 1), Process: int64(i), Client: i, Op: history.Deduct, Object: "sku", Outcome: history.OutcomeOK}
		o.Invoke = max(0, t-int64(rng.IntN(5)))
		o.Return = o.Invoke + int64(rng.IntN(8))
		left := level - 1
		if rng.IntN(6) == 0 {
			left += int64(rng.IntN(3) - 1)
		}
		o.Left, o.Sold = &left, left >= 0
		happened := true
		switch rng.IntN(10) {
		case 0, 1, 2:
			o.Outcome, o.Left, o.Sold = history.OutcomeInfo, nil, false
			happened = rng.IntN(2) == 0
			if happened && (h.Complete || rng.IntN(3) == 0) {
				h.Ledger = append(h.Ledger, history.LedgerLine{Object: "sku", Ledger: history.Ledger{Seq: int64(len(h.Ledger)), Op: o.ID, Left: left}})
			}
			if rng.IntN(2) == 0 {
				o.Return = history.Never
			}
		case 3:
			o.Outcome, o.Left, o.Sold = history.OutcomeFail, nil, false
			happened = false
			if rng.IntN(3) == 0 {
				h.Ledger = append(h.Ledger, history.LedgerLine{Object: "sku", Ledger: history.Ledger{Seq: int64(len(h.Ledger)), Op: o.ID, Left: left}})
				happened = true
			}
		case 4:
			if level <= 0 || rng.IntN(6) == 0 {
				o.Left, o.Sold, happened = nil, false, false
			}
		}
		if happened {
			level = left
		}
		h.Operations = append(h.Operations, o)
	}
	finish(h)
	return h
}

// known cuts a history at t. What was under way then had happened by t or not; if it had,
// then with the result that it reported later.
func known(h *history.History, t int64) *history.History {
	k := &history.History{Complete: h.Complete, Stock: h.Stock, End: t}
	for _, o := range h.Operations {
		if o.Invoke > t {
			continue
		}
		if o.Return > t {
			if o.Outcome == history.OutcomeFail && o.Code != history.CodeNoEffect || o.From > t {
				continue
			}
			if o.Outcome == history.OutcomeOK {
				o.Outcome, o.Belief = history.OutcomeInfo, ""
				o.Invoke, o.From = max(o.Invoke, o.From), 0
			}
			o.Return = history.Never
		}
		k.Operations = append(k.Operations, o)
	}
	for _, d := range h.Deaths {
		if d.Time <= t {
			k.Deaths = append(k.Deaths, d)
		}
	}
	for _, l := range h.Losses {
		if l.Time <= t {
			k.Losses = append(k.Losses, l)
		}
	}
	return k
}

// referenceCases is the number of histories per model: enough for every pair of
// mechanisms to meet many times.
const referenceCases = 15000

func TestLockAgainstReference(t *testing.T) {
	for _, reentrant := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(2, 71))
		legal := 0
		for i := range referenceCases {
			h := randomLock(rng, reentrant)
			want := linearizable(lockAtoms(h, reentrant), state{})
			// Cut as finely as possible, so that cuts and prefixes are tested too.
			j, _, odd := models.JudgeInPieces(h, models.Params{Reentrant: reentrant}, 1+i%3, 1+i%2)
			if len(odd) > 0 {
				t.Fatalf("case %d: %s\n%s", i, odd, dump(h))
			}
			if got := j.Verdict == models.Valid; got != want || j.Verdict == models.Unknown {
				t.Fatalf("reentrant %v, case %d: got %s, want linearizable %v: the encoding for porcupine is not the definition\n%s",
					reentrant, i, j.Verdict, want, dump(h))
			}
			if want {
				legal++
				continue
			}
			at := int64(j.Violations[0].EndS*1e9 + 0.5)
			if linearizable(lockAtoms(known(h, at), reentrant), state{}) {
				t.Fatalf("reentrant %v, case %d: got a violation at %d, but what was known then is linearizable\n%s", reentrant, i, at, dump(h))
			}
			if !linearizable(lockAtoms(known(h, at-1), reentrant), state{}) {
				t.Fatalf("reentrant %v, case %d: got a violation at %d, want an earlier one: the explanation blames the wrong operation\n%s", reentrant, i, at, dump(h))
			}
			if len(j.Pictures) != 1 {
				t.Fatalf("reentrant %v, case %d: got %d pictures, want 1: the stretch that is drawn must be illegal by itself\n%s", reentrant, i, len(j.Pictures), dump(h))
			}
		}
		balanced(t, legal)
	}
}

func TestStockAgainstReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 72))
	legal := 0
	for i := range referenceCases {
		h := randomStock(rng)
		want := linearizable(stockAtoms(h), state{level: *h.Stock["sku"].Initial})
		_, j, odd := models.JudgeInPieces(h, models.Params{}, 1+i%3, 1+i%2)
		if len(odd) > 0 {
			t.Fatalf("case %d: %s\n%s", i, odd, dump(h))
		}
		if got := j.Verdict == models.Valid; got != want || j.Verdict == models.Unknown {
			t.Fatalf("case %d: got %s, want linearizable %v: the encoding for porcupine is not the definition\n%s", i, j.Verdict, want, dump(h))
		}
		if want {
			legal++
		} else if len(j.Pictures) != 1 {
			t.Fatalf("case %d: got %d pictures, want 1\n%s", i, len(j.Pictures), dump(h))
		}
	}
	balanced(t, legal)
}

// balanced fails if nearly all cases were of one kind: then agreement says little.
func balanced(t *testing.T, legal int) {
	t.Helper()
	if legal < referenceCases/5 || legal > referenceCases*4/5 {
		t.Errorf("got %d linearizable histories of %d, want a fifth at least of either kind", legal, referenceCases)
	}
}
