package models

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"picklock/harness/history"
	"picklock/models/fast"
	"picklock/models/spec"
)

// Witness is the smallest part of a history that still violates a property: without any
// one of its units it would be legal. A unit is what can be left out without making a
// violation of its own: a grant with all its operations, a single deduction of a run whose
// starting level is free, one write of a ledger.
type Witness struct {
	// Model is the specification that the witness violates, as porcupine checks it.
	Model string `json:"model"`
	// Units are the IDs of the operations of each unit.
	Units [][]int64 `json:"units"`

	model porcupine.Model
	units [][]porcupine.Operation
}

// Porcupine gives the witness without the unit in that place (-1: all of it) as porcupine
// takes it.
func (w *Witness) Porcupine(without int) (porcupine.Model, []porcupine.Operation) {
	var ops []porcupine.Operation
	for i, u := range w.units {
		if i != without {
			ops = append(ops, u...)
		}
	}
	return w.model, ops
}

// Operations is how many operations of the history the witness has.
func (w *Witness) Operations() int {
	seen := map[int64]bool{}
	for _, u := range w.Units {
		for _, id := range u {
			seen[id] = true
		}
	}
	return len(seen)
}

// suspect is a part of a history that violates a specification, in units, before it is
// made small. T is an operation of that specification.
type suspect[T any] struct {
	name    string // of the specification
	model   porcupine.Model
	units   [][]T
	illegal func(ops []T) bool // near-linear, and as strict as the model
	forPorc func(ops []T) []porcupine.Operation
	id      func(T) int64 // of the operation in the history; 0: none
}

// lockSuspect is one of operations on a lock; the operations' IDs are the history's.
func lockSuspect(name string, l spec.Lock, units [][]spec.LockOp) suspect[spec.LockOp] {
	return suspect[spec.LockOp]{
		name: name, model: l.Model(), units: units,
		illegal: func(ops []spec.LockOp) bool { return fast.Lock(l, ops, fast.Limits{}).Verdict == fast.Illegal },
		forPorc: spec.Operations,
		id:      func(o spec.LockOp) int64 { return o.ID },
	}
}

// minimise leaves out units as long as what remains is illegal. It is Zeller's delta
// debugging: halves first, then ever smaller parts, single units in the end, until none
// can be left out any more. nil: it is not illegal at all.
func (s suspect[T]) minimise() *Witness {
	units := s.units
	if !s.illegal(flat(units)) {
		return nil
	}
	for parts := 2; len(units) > 1; {
		size := (len(units) + parts - 1) / parts
		smaller := false
		for from := 0; from < len(units); {
			to := min(from+size, len(units))
			rest := append(append([][]T{}, units[:from]...), units[to:]...)
			if len(rest) > 0 && s.illegal(flat(rest)) {
				units, smaller = rest, true // what followed is in this place now
				continue
			}
			from = to
		}
		if size == 1 && !smaller {
			break
		}
		if !smaller {
			parts = min(2*parts, len(units))
		}
		parts = max(2, min(parts, len(units)))
	}
	w := &Witness{Model: s.name, model: s.model}
	for _, u := range units {
		var ids []int64
		for _, o := range u {
			if id := s.id(o); id != 0 && (len(ids) == 0 || ids[len(ids)-1] != id) {
				ids = append(ids, id)
			}
		}
		w.Units = append(w.Units, ids)
		w.units = append(w.units, nil)
	}
	// Together, since what stays open to the end needs to know the end of all.
	all := s.forPorc(flat(units))
	for i, n := 0, 0; i < len(units); i++ {
		w.units[i] = all[n : n+len(units[i])]
		n += len(units[i])
	}
	return w
}

func flat[T any](units [][]T) []T {
	var all []T
	for _, u := range units {
		all = append(all, u...)
	}
	return all
}

// proven is the witness of a finding, judged by porcupine as well.
func (r *record) proven(x finding) *Witness {
	if x.witness == nil {
		return nil
	}
	w := x.witness()
	if w == nil && x.kind == kindOversell {
		return nil // too large to be shown
	}
	err := errors.New("it is legal")
	if w != nil {
		err = w.confirmed(r.p.PorcupineTimeout)
	}
	if err != nil {
		r.disagree("%s of %s at %s, made small: %s", x.kind, x.object, r.at(x.start), err)
	}
	return w
}

// confirmed has porcupine judge a witness, whole and without each of its units. If it sees
// it otherwise, a checker or the making of the witness is wrong.
func (w *Witness) confirmed(timeout time.Duration) error {
	for without := -1; without < len(w.units); without++ {
		model, ops := w.Porcupine(without)
		res := spec.Decide(model, ops, timeout, spec.Memory)
		legal := res == porcupine.Ok
		switch {
		case res == porcupine.Unknown:
		case without < 0 && legal:
			return fmt.Errorf("porcupine finds the smallest violation of a %s legal (%d operations)", w.Model, len(ops))
		case without >= 0 && !legal:
			return fmt.Errorf("porcupine finds a smaller violation of a %s than the smallest (unit %d of %d is not needed)", w.Model, without, len(w.units))
		}
	}
	return nil
}

// The names of specifications that several properties use.
const (
	ownerMutex = "owner-mutex"
	permits    = "permits"
)

// stay is a hold as a grant of its own: from its first moment to its last.
func stay(g *group, s span) []spec.LockOp {
	last := g.grant
	for _, x := range g.releases {
		if x.Invoke == s.to {
			last = x.ID
		}
	}
	ops := []spec.LockOp{{Step: spec.Acquire, Owner: g.grant, Call: s.from, Return: s.from, ID: g.grant}}
	if s.to != spec.Never {
		ops = append(ops, spec.LockOp{Step: spec.Release, Owner: g.grant, Call: s.to, Return: s.to, ID: last})
	}
	return ops
}

// registerSuspect is one of operations on a register. They are few: porcupine judges them.
func registerSuspect(l spec.Register, units [][]spec.RegisterOp) suspect[spec.RegisterOp] {
	return suspect[spec.RegisterOp]{
		name: "register", model: l.Model(), units: units,
		illegal: func(ops []spec.RegisterOp) bool {
			return !porcupine.CheckOperations(l.Model(), spec.RegisterOperations(ops))
		},
		forPorc: spec.RegisterOperations,
		id:      func(o spec.RegisterOp) int64 { return o.ID },
	}
}

// stockSuspect is one of operations on the stock.
func stockSuspect(l spec.Stock, units [][]spec.StockOp) suspect[spec.StockOp] {
	return suspect[spec.StockOp]{
		name: "stock", model: l.Model(), units: units,
		illegal: func(ops []spec.StockOp) bool {
			return fast.Stock(l, ops, fast.Limits{}).Verdict == fast.Illegal
		},
		forPorc: spec.StockOperations,
		id:      func(o spec.StockOp) int64 { return o.ID },
	}
}

// picture draws a witness. Operations keep the line of their worker where they have an end.
func (w *Witness) picture(r *record, object string) []Picture {
	if w == nil {
		return nil
	}
	model, ops := w.Porcupine(-1)
	var by []*history.Operation
	end := int64(0)
	for _, o := range ops {
		by = append(by, r.op(idOf(o)))
		end = max(end, o.Return)
	}
	by = slices.DeleteFunc(by, func(o *history.Operation) bool { return o == nil })
	lines := newLanes(by)
	for i := range ops {
		if o := r.op(idOf(ops[i])); o != nil && o.Outcome == history.OutcomeOK && ops[i].Return < end {
			ops[i].ClientId = lines.of(o)
		} else {
			ops[i].ClientId = lines.next()
		}
	}
	plain := model.DescribeOperation
	model.DescribeOperation = func(input, output any) string {
		o := r.op(inputID(input))
		if o == nil {
			return plain(input, output)
		}
		if in, ok := input.(spec.LockOp); ok && in.Fence == 0 {
			return who(o) + " " + in.Step.String()
		}
		return who(o) + ": " + plain(input, output)
	}
	res, info := porcupine.CheckOperationsVerbose(model, ops, r.p.PorcupineTimeout)
	if res != porcupine.Illegal {
		return nil
	}
	return []Picture{{Object: object, Model: model, Info: info}}
}

func idOf(o porcupine.Operation) int64 { return inputID(o.Input) }

// inputID is the ID of the operation that an input stands for.
func inputID(input any) int64 {
	switch in := input.(type) {
	case spec.LockOp:
		return in.ID
	case spec.StockOp:
		return in.ID
	case spec.RegisterOp:
		return in.ID
	}
	return 0
}
