package models

import (
	"cmp"
	"fmt"
	"slices"

	"picklock/harness/history"
	"picklock/models/spec"
)

// judgeNoLostUpdate: every write to the stock that was computed from a level found that
// level. The ledger settles it: the server noted what it held in the same step as the
// write. Relative writes have no basis and cannot lose an update.
func judgeNoLostUpdate(r *record) *Judgement {
	f := &findings{r: r}
	if len(r.Ledger) == 0 && r.anySold() {
		f.unknown("sales were reported, but the history has no ledger")
	}
	if !r.Complete {
		f.note("the record breaks off: writes that are not in its ledger are not judged")
	}
	var lost []lostUpdate
	based := 0
	for _, entries := range r.entriesOf() {
		for n, i := range entries {
			e := &r.Ledger[i]
			f.checked++
			if e.Basis == nil {
				continue
			}
			based++
			if *e.Basis != e.Found {
				lost = append(lost, lostUpdate{i, entries[:n]})
			}
		}
	}
	slices.SortFunc(lost, func(a, b lostUpdate) int { return cmp.Compare(a.entry, b.entry) })
	for _, l := range lost {
		e, before := &r.Ledger[l.entry], l.before
		x := finding{kind: "lost-update", object: e.Object, ops: []int64{e.Op}}
		if o := r.op(e.Op); o != nil {
			x.start, x.end = o.Invoke, r.clip(o.Return)
		}
		since := r.since(before, *e.Basis)
		for _, k := range since {
			x.ops = append(x.ops, r.Ledger[k].Op)
		}
		x.ops = x.ops[:min(len(x.ops), 1+maxCollisions)]
		x.story = func() []string { return r.lostUpdate(e, since) }
		x.witness = func() *Witness { return r.lostUpdateWitness(e, before) }
		f.add(x)
	}
	if based == 0 && len(r.Ledger) > 0 {
		f.note("no write was computed from a level that was read before")
	}
	return f.judgement()
}

// lostUpdate is a write that did not find its basis, with the entries of its SKU before it.
type lostUpdate struct {
	entry  int
	before []int
}

// lostUpdateWitness is the write and the one before it, whose level it should have found.
func (r *record) lostUpdateWitness(e *history.LedgerLine, before []int) *Witness {
	var units [][]spec.RegisterOp
	start := level(e.Found)
	if len(before) > 0 {
		last := &r.Ledger[before[len(before)-1]]
		if last.Left != *e.Basis {
			// Whatever else went before, this write was there and was not seen.
			units = append(units, []spec.RegisterOp{{Step: spec.Write, Value: level(last.Left), Call: last.Seq, Return: last.Seq, ID: last.Op}})
			start = level(*e.Basis)
		}
	}
	units = append(units, []spec.RegisterOp{{Step: spec.CAS, Expect: level(*e.Basis), Value: level(e.Left), Call: e.Seq, Return: e.Seq, ID: e.Op}})
	return registerSuspect(spec.Register{Initial: start}, units).minimise()
}

// level is one as a register has it.
func level(n int64) spec.Value { return spec.Some(fmt.Sprint(n)) }

func (r *record) anySold() bool {
	for _, o := range r.deducts {
		if o.Outcome == history.OutcomeOK && o.Sold {
			return true
		}
	}
	return false
}

// since gives the entries (positions in the ledger) that came after the level was last
// basis; the writer had read by then.
func (r *record) since(entries []int, basis int64) []int {
	for i := len(entries) - 1; i >= 0; i-- {
		e := &r.Ledger[entries[i]]
		if e.Left == basis {
			return entries[i+1:]
		}
		if e.Found == basis {
			return entries[i:]
		}
	}
	return nil
}

func (r *record) lostUpdate(e *history.LedgerLine, since []int) []string {
	story := []string{r.overwrite(e)}
	o := r.op(e.Op)
	clients := []int{}
	during := span{r.Start, r.End}
	if o != nil {
		during = span{o.Invoke, r.clip(o.Return)}
		clients = append(clients, o.Client)
		if g := r.group(o.Grant); g != nil && g.outer != nil {
			story = append([]string{r.acquired(g)}, story...)
			if believes(g.outer) {
				during.from = min(during.from, g.outer.Return)
			}
		} else {
			story = append([]string{fmt.Sprintf("%s worked on %s from %s to %s without a lock", who(o), o.Object, r.at(o.Invoke), r.at(o.Return))}, story...)
		}
	}
	for i, k := range since {
		w := &r.Ledger[k]
		if i == maxCollisions {
			story = append(story, fmt.Sprintf("and %s more", count(len(since)-i, "write")))
			break
		}
		if by := r.op(w.Op); by != nil {
			clients = append(clients, by.Client)
			story = append(story, fmt.Sprintf("meanwhile %s had written %d to %d (operation from %s to %s)",
				who(by), w.Found, w.Left, r.at(by.Invoke), r.at(by.Return)))
		}
	}
	return sentences(story[:1], r.faults(during, clients...), story[1:])
}
