package models

import (
	"cmp"
	"fmt"
	"slices"

	"picklock/harness/history"
	"picklock/models/spec"
)

// judgeReentrancy: an owner can re-enter, and its lock is free after exactly as many
// releases as acquires. The server's count after each call is compared with the calls
// that were made; calls with an unknown outcome widen what it may be.
func judgeReentrancy(r *record) *Judgement {
	f := &findings{r: r}
	for _, name := range r.names {
		for _, g := range r.byLock[name] {
			if g.granted() {
				f.reentered(g)
			}
		}
	}
	if f.checked == 0 && len(f.list) == 0 {
		f.unknown("no owner re-entered its lock within its lease")
	}
	return f.judgement()
}

// reentered follows one grant through its nested acquires and releases.
func (f *findings) reentered(g *group) {
	r := f.r
	var ops []*history.Operation
	ops = append(append(ops, g.acquires...), g.releases...)
	slices.SortStableFunc(ops, func(a, b *history.Operation) int { return cmp.Compare(a.Invoke, b.Invoke) })
	leases, lost := g.leases, r.lost(g.grant)
	var low, high int64 // what the owner may hold
	for _, o := range ops {
		if o.Op == history.Acquire {
			if o != g.outer {
				// Outside its lease the lock owes it nothing, and may even have been
				// granted to it afresh: what follows proves nothing.
				if o.Return >= lost || low < 1 || !slices.ContainsFunc(leases, func(s span) bool { return s.from <= o.Invoke && o.Return < s.to }) {
					return
				}
				f.checked++
			}
			switch o.Outcome {
			case history.OutcomeOK:
				low, high = low+1, high+1
			case history.OutcomeInfo:
				high++
			case history.OutcomeFail:
				f.add(finding{
					start: o.Invoke, end: o.Return, kind: "not-reentrant", object: g.object, ops: []int64{g.grant, o.ID},
					witness: func() *Witness {
						// To be refused is to be told that the lock is another's.
						unit := []spec.LockOp{
							{Step: spec.Acquire, Owner: g.grant, Call: from(g.outer), Return: g.outer.Return, ID: g.grant},
							{Step: spec.NotHeld, Owner: g.grant, Call: o.Invoke, Return: o.Return, ID: o.ID},
						}
						return lockSuspect("reentrant-mutex", spec.ReentrantMutex(0), [][]spec.LockOp{unit}).minimise()
					},
					story: func() []string {
						return sentences(
							[]string{r.acquired(g), r.renewed(g, span{g.outer.Return, o.Return})},
							r.faults(span{g.outer.Return, o.Return}, o.Client),
							[]string{fmt.Sprintf("%s was refused when it re-entered %s, although its own lease was running", who(o), r.between(o.Invoke, o.Return))})
					},
				})
				return
			}
		} else {
			switch o.Outcome {
			case history.OutcomeOK:
				low, high = max(low-1, 0), max(high-1, 0)
			case history.OutcomeInfo:
				low = max(low-1, 0)
			default:
				continue
			}
		}
		if o.Outcome != history.OutcomeOK || o.Count == nil || *o.Count < 0 {
			continue
		}
		if *o.Count < low || *o.Count > high {
			f.add(r.miscounted(g, o, low, high))
			return // every later count of this grant is wrong by the same amount
		}
		low, high = *o.Count, *o.Count
	}
}

// miscountWitness is what was done with a grant up to the wrong count, since the last count
// that was told: one unit, since each of its operations makes sense only with the others.
// The server's count is a stock to which an acquire adds one.
func miscountWitness(g *group, wrong *history.Operation) *Witness {
	var ops []*history.Operation
	ops = append(append(ops, g.acquires...), g.releases...)
	slices.SortStableFunc(ops, func(a, b *history.Operation) int { return cmp.Compare(a.Invoke, b.Invoke) })
	start := int64(0)
	var unit []spec.StockOp
	for _, o := range ops {
		s := spec.StockOp{Qty: 1, Call: o.Invoke, Return: o.Return, ID: o.ID}
		steps := map[history.Op][3]spec.StockStep{
			history.Acquire: {spec.Restock, spec.RestockedSome, spec.MayRestock},
			history.Release: {spec.Take, spec.TookSome, spec.MayTake},
		}[o.Op]
		told := o.Count != nil && *o.Count >= 0
		switch {
		case o.Outcome == history.OutcomeFail:
			continue
		case o.Outcome == history.OutcomeInfo:
			s.Step = steps[2]
		case told:
			s.Step, s.Left = steps[0], *o.Count
		default:
			s.Step = steps[1]
		}
		unit = append(unit, s)
		if o == wrong {
			break
		}
		if told && o.Outcome == history.OutcomeOK {
			start, unit = *o.Count, nil
		}
	}
	return stockSuspect(spec.Stock{Start: start}, [][]spec.StockOp{unit}).minimise()
}

// miscounted explains a count that does not follow from the calls.
func (r *record) miscounted(g *group, o *history.Operation, low, high int64) finding {
	ops := []int64{g.grant, o.ID}
	if o == g.outer {
		ops = ops[:1]
	}
	return finding{
		start: g.outer.Return, end: o.Return, kind: "wrong-count", object: g.object, ops: ops,
		witness: func() *Witness { return miscountWitness(g, o) },
		story: func() []string {
			acquires, releases := 0, 0
			for _, a := range g.acquires {
				if a.Invoke <= o.Invoke && a.Outcome == history.OutcomeOK {
					acquires++
				}
			}
			for _, x := range g.releases {
				if x.Invoke <= o.Invoke && x.Outcome == history.OutcomeOK {
					releases++
				}
			}
			want := fmt.Sprint(low)
			if low != high {
				want = fmt.Sprintf("between %d and %d", low, high)
			}
			return sentences(
				[]string{r.acquired(g)},
				r.faults(span{g.outer.Return, o.Return}, o.Client),
				[]string{fmt.Sprintf("after %s and %s of %s the server counted %s at %s, and it must be %s",
					count(acquires, "acquire"), count(releases, "release"), who(o), count(int(*o.Count), "hold"), r.at(o.Return), want)})
		},
	}
}
