package models

import (
	"fmt"
	"maps"
	"slices"

	"picklock/harness/history"
	"picklock/models/spec"
)

// judgeNoOversell audits the books of each SKU: no more sales than units, no write that
// the ledger does not have, no sale without a write, and no operation that took two
// units. The final level is known only where the stock lives on the stock node; without
// it the clauses about the level are left out, and the note says so.
func judgeNoOversell(r *record) *Judgement {
	f := &findings{r: r}
	if len(r.Ledger) == 0 && r.anySold() {
		f.unknown("sales were reported, but the history has no ledger: only their number was judged")
	}
	if !r.Complete {
		f.note("the record breaks off: levels after the load and sales without a ledger entry are not judged")
	}
	books := r.books()
	for _, name := range slices.Sorted(maps.Keys(books)) {
		b := books[name]
		f.checked += len(b.sales)
		f.oversold(name, b.sales)
		f.chain(name, b.entries)
	}
	f.doubleApplied()
	if r.Complete && len(r.Ledger) > 0 {
		f.unrecorded()
	}
	return f.judgement()
}

// sale is one unit that went to a customer, and when that was certain.
type sale struct {
	op *history.Operation
	at int64
}

// book is what is known of one SKU: its sales by time, and its positions in the ledger.
type book struct {
	sales   []sale
	entries []int
}

// books gives the books of all SKUs. An operation whose outcome is unknown sold a unit if
// the ledger has its write.
func (r *record) books() map[string]*book {
	books := map[string]*book{}
	for sku, entries := range r.entriesOf() {
		books[sku] = &book{entries: entries}
	}
	for sku, deducts := range r.deductsOf() {
		sales := make([]sale, 0, len(deducts))
		for _, o := range deducts {
			switch {
			case o.Outcome == history.OutcomeOK && o.Sold:
				sales = append(sales, sale{o, o.Return})
			case o.Outcome == history.OutcomeInfo && slices.ContainsFunc(r.entries(o.ID), func(i int) bool { return r.Ledger[i].Left >= 0 }):
				sales = append(sales, sale{o, r.clip(o.Return)})
			}
		}
		sortBy(sales, func(s *sale) int64 { return s.at })
		if books[sku] == nil {
			books[sku] = &book{}
		}
		books[sku].sales = sales
	}
	return books
}

// oversold: each sale beyond the initial stock is one too many.
func (f *findings) oversold(sku string, sales []sale) {
	r := f.r
	initial := r.Stock[sku].Initial
	if initial == nil {
		if len(sales) > 0 {
			f.unknown("the stock of %s before the load is not known", sku)
		}
		return
	}
	have := int(max(*initial, 0))
	for i := have; i < len(sales); i++ {
		o := sales[i].op
		f.add(finding{
			start: o.Invoke, end: r.clip(o.Return), kind: kindOversell, object: sku, ops: []int64{o.ID},
			witness: func() *Witness { return r.oversellWitness(sales[:i+1], have) },
			story: func() []string {
				story := []string{fmt.Sprintf("%s had %s at the start and %s were sold", sku, count(have, "unit"), count(len(sales), "unit"))}
				said := fmt.Sprintf("which was told so at %s", r.at(sales[i].at))
				if o.Outcome == history.OutcomeInfo {
					said = "which never learned so, but the ledger has it"
				}
				story = append(story, fmt.Sprintf("sale number %d was made by %s, %s", i+1, who(o), said))
				if l := r.level(o); l != nil {
					for _, s := range sales[:i] {
						if k := r.level(s.op); k != nil && *k == *l {
							story = append(story, fmt.Sprintf("it was unit %d, which %s had sold at %s", *l+1, who(s.op), r.at(s.at)))
							break
						}
					}
				}
				return append(story, r.faults(span{o.Invoke, r.clip(o.Return)}, o.Client)...)
			},
		})
	}
}

// oversellWitness is two sales of the same unit, where their levels tell that; otherwise as
// many sales as there were units and one more. A unit is a permit that nobody gives back.
// nil: there were so many units that the smallest part is no help to anybody.
func (r *record) oversellWitness(sales []sale, have int) *Witness {
	last := len(sales) - 1
	units, n := [][]spec.LockOp{taken(1, sales[last].op.ID, sales[last].at)}, have
	if l := r.level(sales[last].op); l != nil {
		for _, s := range sales[:last] {
			if k := r.level(s.op); k != nil && *k == *l {
				units, n = append(units, taken(2, s.op.ID, s.at)), 1
				break
			}
		}
	}
	if n > maxSold {
		return nil
	}
	if n == 0 {
		return registerSuspect(spec.Register{Initial: level(0)}, [][]spec.RegisterOp{{{Step: spec.CASFailed, Expect: level(0), ID: sales[last].op.ID}}}).minimise()
	}
	for i := 0; n > 1 && i < last; i++ {
		units = append(units, taken(int64(i+2), sales[i].op.ID, sales[i].at))
	}
	return lockSuspect(permits, spec.Permits(n), units).minimise()
}

// kindOversell: more was sold than there was.
const kindOversell = "oversell"

// maxSold bounds the units of an SKU of which all sales are shown.
const maxSold = 64

// taken is a permit that is taken for good.
func taken(owner, id, at int64) []spec.LockOp {
	return []spec.LockOp{{Step: spec.Acquire, Owner: owner, Call: at, Return: at, ID: id}}
}

// chain: each entry found what the one before it left, the first one the initial stock,
// and the last one left the final level. All links together say that initial stock plus
// all changes of the ledger make the final level.
func (f *findings) chain(sku string, entries []int) {
	r := f.r
	levels := r.Stock[sku]
	if levels.Final == nil || !r.Complete {
		if r.Complete {
			f.note("the level of %s after the load is not known: its ledger was not added up", sku)
		}
		return
	}
	if levels.Initial == nil {
		return // noted by oversold, if anything was sold
	}
	broken := func(want, got int64, ops []int64, where string, at int64) {
		f.add(finding{
			start: at, end: at, kind: "unaccounted", object: sku, ops: ops,
			witness: func() *Witness {
				found := spec.RegisterOp{Step: spec.Read, Value: level(got), Call: 2, Return: 2}
				left := spec.RegisterOp{Step: spec.Write, Value: level(want), Call: 1, Return: 1}
				if len(ops) > 0 {
					found.ID = ops[len(ops)-1]
				}
				if len(ops) < 2 {
					return registerSuspect(spec.Register{Initial: level(want)}, [][]spec.RegisterOp{{found}}).minimise()
				}
				left.ID = ops[0]
				return registerSuspect(spec.Register{Initial: level(got)}, [][]spec.RegisterOp{{left}, {found}}).minimise()
			},
			story: func() []string {
				sum := int64(0)
				for _, i := range entries {
					sum += r.Ledger[i].Left - r.Ledger[i].Found
				}
				return []string{
					where,
					fmt.Sprintf("%s changed by %+d without an entry in the ledger", sku, got-want),
					fmt.Sprintf("%d at the start and all changes of the ledger (%+d) make %d, and %d were left at the end",
						*levels.Initial, sum, *levels.Initial+sum, *levels.Final),
				}
			},
		})
	}
	level, last := *levels.Initial, int64(0)
	for _, i := range entries {
		e := &r.Ledger[i]
		f.checked++
		if e.Found != level {
			where := fmt.Sprintf("entry %d of the ledger found %d of %s where the stock was filled with %d", e.Seq, e.Found, sku, level)
			ops := []int64{e.Op}
			if last != 0 {
				where = fmt.Sprintf("entry %d of the ledger found %d of %s where the entry before it had left %d", e.Seq, e.Found, sku, level)
				ops = []int64{last, e.Op}
			}
			broken(level, e.Found, ops, where, r.when(e.Op))
		}
		level, last = e.Left, e.Op
	}
	if level != *levels.Final {
		broken(level, *levels.Final, []int64{}, fmt.Sprintf("the ledger ends with %d of %s, but %d were left after the load", level, sku, *levels.Final), r.End)
	}
}

// when is the invocation of an operation, or the start if the history does not have it.
func (r *record) when(op int64) int64 {
	if o := r.op(op); o != nil {
		return o.Invoke
	}
	return r.Start
}

// doubleApplied: no operation took more than one unit. A write that put back what was
// there took none.
func (f *findings) doubleApplied() {
	r := f.r
	if r.more == nil {
		return
	}
	for i := range r.Ledger {
		e := &r.Ledger[i]
		all := r.more[e.Op]
		if len(all) < 2 || all[0] != i {
			continue // once per operation, and only those with two entries
		}
		var took []*history.LedgerLine
		for _, k := range all {
			if x := &r.Ledger[k]; x.Left < x.Found && x.Left >= 0 {
				took = append(took, x)
			}
		}
		if len(took) < 2 {
			continue
		}
		at, end := r.Start, r.End
		o := r.op(e.Op)
		if o != nil {
			at, end = o.Invoke, r.clip(o.Return)
		}
		f.add(finding{
			start: at, end: end, kind: "double-apply", object: e.Object, ops: []int64{e.Op},
			witness: func() *Witness {
				var units [][]spec.LockOp
				for i, x := range took {
					units = append(units, taken(int64(i+1), x.Op, x.Seq))
				}
				return lockSuspect(permits, spec.Permits(1), units).minimise()
			},
			story: func() []string {
				by, hit := "somebody", []string(nil)
				if o != nil {
					by, hit = who(o), r.faults(span{at, end}, o.Client)
				}
				story := []string{fmt.Sprintf("operation %d of %s was one deduction of %s but took %d units", e.Op, by, e.Object, len(took))}
				for _, x := range took {
					story = append(story, fmt.Sprintf("entry %d of the ledger took %s from %d to %d", x.Seq, x.Object, x.Found, x.Left))
				}
				return append(story, hit...)
			},
		})
	}
}

// unrecorded: a sale that named what it left must have written, and every write to the
// stock is in the ledger.
func (f *findings) unrecorded() {
	r := f.r
	for _, o := range r.deducts {
		if o.Outcome != history.OutcomeOK || !o.Sold || o.Left == nil || r.entry(o.ID) != nil {
			continue
		}
		f.add(finding{
			start: o.Invoke, end: o.Return, kind: "unrecorded-sale", object: o.Object, ops: []int64{o.ID},
			story: func() []string {
				return sentences(
					[]string{fmt.Sprintf("%s was told at %s that it had sold unit %d of %s", who(o), r.at(o.Return), *o.Left+1, o.Object)},
					r.faults(span{o.Invoke, r.End}, o.Client),
					[]string{"the stock node has no record of that write: it was never made, or it was lost"})
			},
		})
	}
}
