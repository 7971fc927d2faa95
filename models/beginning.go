package models

import (
	"slices"

	"picklock/harness/history"
)

// Stands says whether the report on the beginning of a history (history.History.At) proves
// that the property is violated in the whole history, whatever comes later.
//
// What the beginning violates the whole violates, because the properties are about safety:
// two holds that overlap go on to have overlapped. A checker must only not take for certain
// what the rest could still explain, and none does: an operation without a completion may
// have happened or not, an acquire that is not known to have succeeded is no grant, and of
// a record that breaks off the ledger may be missing its last entries. Three things are not
// so:
//
//   - Liveness looks at the end of the history. It never stands.
//   - No-oversell counts a write of an operation under way as a sale. If the client then
//     reports none, it was none. It stands only in a beginning that has no such operation,
//     but for those whose client has died.
//   - Linearizable-stock wants each write of unknown outcome to have its place, which may
//     be behind operations that have not begun. It stands if it is violated, too, where
//     such operations may have left any level, or none.
//   - Ownership of a reentrant lock: that somebody renewed what was not its own is withdrawn
//     when that owner re-enters later, since it may have obtained the lock anew before.
func (r *Report) Stands(id Property, beginning *history.History, p Params) bool {
	j := r.Properties[id]
	if j == nil || j.Verdict != Violated {
		return false
	}
	switch id {
	case Liveness:
		return false
	case NoOversell:
		return !halfKnown(beginning)
	case LinearizableStock:
		p.Promises = nil
		return Judge(loosened(beginning), p).Properties[id].Verdict == Violated
	case Ownership:
		return !p.Reentrant
	}
	return true
}

// halfKnown says whether the ledger has a write of a deduction that is still to be completed.
func halfKnown(h *history.History) bool {
	wrote := map[int64]bool{}
	for i := range h.Ledger {
		wrote[h.Ledger[i].Op] = true
	}
	return slices.ContainsFunc(h.Operations, func(o history.Operation) bool {
		if o.Op != history.Deduct || o.Return != history.Never || !wrote[o.ID] {
			return false
		}
		return !slices.ContainsFunc(h.Deaths, func(d history.Death) bool { return d.Client == o.Client && d.Time >= o.Invoke })
	})
}

// loosened is the history without what the ledger knows of deductions that their clients
// do not know to have happened.
func loosened(h *history.History) *history.History {
	loose := *h
	loose.Operations = slices.Clone(h.Operations)
	acknowledged, wrote := map[int64]bool{}, map[int64]bool{}
	for i := range h.Ledger {
		wrote[h.Ledger[i].Op] = true
	}
	for i := range loose.Operations {
		switch o := &loose.Operations[i]; {
		case o.Op != history.Deduct:
		case o.Outcome == history.OutcomeOK:
			acknowledged[o.ID] = true
		case wrote[o.ID]: // it may say that it certainly did not
			o.Outcome, o.Return, o.Left, o.Basis = history.OutcomeInfo, history.Never, nil, nil
		}
	}
	loose.Ledger = slices.DeleteFunc(slices.Clone(h.Ledger), func(l history.LedgerLine) bool { return !acknowledged[l.Op] })
	return &loose
}
