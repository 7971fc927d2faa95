package models

import (
	"cmp"
	"fmt"
	"slices"

	"picklock/models/spec"
)

// The kinds of breaches of fencing.
const (
	kindTokenMissing = "token-missing"    // a grant came without a token
	kindTokenReused  = "token-reused"     // two grants of one lock have the same token
	kindTokenBack    = "token-not-rising" // a later grant has a lower token than an earlier one
	kindStaleWrite   = "stale-write"      // the stock accepted a token after a higher one
)

// judgeFencing: of two grants of one lock, where one had returned before the other was
// asked for, the later has the higher token; no two grants share a token; and the stock
// accepted no write with a lower token than it had accepted before.
//
// A grant is asked for when its deciding attempt begins: earlier ones took nothing. An
// acquire of unknown outcome says nothing, since nobody learned its token: there may be
// gaps. Nested acquires belong to the grant that they are nested in. A lock that promises
// fencing and grants without a token leaves the stock nothing to compare: that is a
// breach too.
//
// The stock is judged by its ledger, which has the token of each accepted write. A read
// that raised the highest token is not in the ledger, so a write that was accepted after
// such a read and before any later write goes unseen here.
func judgeFencing(r *record) *Judgement {
	f := &findings{r: r}
	for _, name := range r.names {
		f.tokens(name)
	}
	if f.checked == 0 && len(f.list) == 0 {
		f.unknown("no lock was granted: there are no tokens to judge")
	}
	f.staleWrites()
	return f.judgement()
}

// tokens judges the grants of one lock in the order in which they were asked for. Each
// grant is found wanting once at most.
func (f *findings) tokens(name string) {
	r := f.r
	var asked []*group
	for _, g := range r.byLock[name] {
		if g.granted() {
			asked = append(asked, g)
		}
	}
	slices.SortStableFunc(asked, func(a, b *group) int {
		return cmp.Or(cmp.Compare(from(a.outer), from(b.outer)), cmp.Compare(a.grant, b.grant))
	})
	returned := slices.Clone(asked)
	slices.SortStableFunc(returned, func(a, b *group) int { return cmp.Compare(a.outer.Return, b.outer.Return) })

	owner := make(map[int64]*group, len(asked)) // the first grant with each token
	var highest *group                          // of the grants that had returned
	next := 0
	for _, g := range asked {
		f.checked++
		o := g.outer
		for ; next < len(returned) && returned[next].outer.Return < from(o); next++ {
			if x := returned[next]; x.outer.Fence != 0 && (highest == nil || x.outer.Fence > highest.outer.Fence) {
				highest = x
			}
		}
		first, taken := owner[o.Fence]
		switch {
		case o.Fence == 0:
			f.add(r.unfenced(g))
			continue
		case highest != nil && highest.outer.Fence > o.Fence:
			f.add(r.tokenBreach(kindTokenBack, highest, g))
		case taken:
			f.add(r.tokenBreach(kindTokenReused, first, g))
		}
		if !taken {
			owner[o.Fence] = g
		}
	}
}

// staleWrites judges the writes to each SKU in the ledger's order. Writes without a token
// are not fenced and have nothing to compare.
func (f *findings) staleWrites() {
	r := f.r
	if !r.Complete {
		f.note("the record breaks off: writes that are not in its ledger are not judged")
	}
	highest := map[string]int{} // position of the write with the highest token, by SKU
	fenced := 0
	for i := range r.Ledger {
		e := &r.Ledger[i]
		if e.Fence == 0 {
			continue
		}
		fenced++
		at, known := highest[e.Object]
		if known && r.Ledger[at].Fence > e.Fence {
			f.add(r.staleWrite(at, i))
			continue
		}
		highest[e.Object] = i
	}
	f.checked += fenced
	if fenced == 0 && len(r.Ledger) > 0 {
		f.note("no write to the stock came with a token: whether it refuses stale ones was not tried")
	}
}

// fencedMoment is a hold of no length, at one moment of an interval, with a token.
func fencedMoment(owner, id, fence, from, to int64) []spec.LockOp {
	return []spec.LockOp{
		{Step: spec.Acquire, Owner: owner, Fence: fence, Call: from, Return: to, ID: id},
		{Step: spec.Release, Owner: owner, Call: from, Return: to, ID: id},
	}
}

// unfenced explains a grant without a token.
func (r *record) unfenced(g *group) finding {
	o := g.outer
	return finding{
		start: from(o), end: o.Return, kind: kindTokenMissing, object: o.Object, ops: []int64{g.grant},
		story: func() []string {
			return sentences(r.faults(span{o.Invoke, o.Return}, o.Client), []string{
				r.acquired(g),
				"the grant came without a fencing token: the stock cannot tell it from an older one",
			})
		},
	}
}

// tokenBreach explains that the grant b has a token that a, granted before it or beside it,
// does not leave it.
func (r *record) tokenBreach(kind string, a, b *group) finding {
	return finding{
		start: from(b.outer), end: b.outer.Return, kind: kind, object: b.object, ops: []int64{a.grant, b.grant},
		witness: func() *Witness {
			var units [][]spec.LockOp
			for _, g := range []*group{a, b} {
				o := g.outer
				units = append(units, fencedMoment(g.grant, g.grant, o.Fence, from(o), o.Return))
			}
			return lockSuspect("fenced-mutex", spec.FencedMutex(), units).minimise()
		},
		story: func() []string {
			why := fmt.Sprintf("the token went back from %d to %d: a stock that has seen the first refuses the later owner, and a late write of the earlier one passes",
				a.outer.Fence, b.outer.Fence)
			if kind == kindTokenReused {
				why = fmt.Sprintf("both have token %d: the stock cannot tell them apart", b.outer.Fence)
			}
			return sentences(
				[]string{r.acquired(a)},
				r.faults(span{from(a.outer), b.outer.Return}, a.outer.Client, b.outer.Client),
				[]string{r.acquired(b), why})
		},
	}
}

// staleWrite explains that the stock accepted the i-th entry of the ledger after the one at
// position high, whose token is higher.
func (r *record) staleWrite(high, i int) finding {
	newer, e := &r.Ledger[high], &r.Ledger[i]
	x := finding{kind: kindStaleWrite, object: e.Object, ops: []int64{e.Op, newer.Op}}
	x.witness = func() *Witness {
		// The ledger's order is that of the writes.
		units := [][]spec.LockOp{
			fencedMoment(1, newer.Op, newer.Fence, newer.Seq, newer.Seq), fencedMoment(2, e.Op, e.Fence, e.Seq, e.Seq),
		}
		return lockSuspect("fenced-mutex", spec.FencedMutex(), units).minimise()
	}
	x.start, x.end = r.when(e.Op), r.when(e.Op)
	o := r.op(e.Op)
	if o != nil {
		x.end = r.clip(o.Return)
	}
	x.story = func() []string {
		var before, hit []string
		writer := fmt.Sprintf("operation %d", e.Op)
		if o != nil {
			writer = who(o)
			since := o.Invoke
			if g := r.group(o.Grant); g != nil && g.outer != nil {
				before = append(before, r.acquired(g))
				since = min(since, from(g.outer))
			}
			hit = r.faults(span{since, x.end}, o.Client)
		}
		later := fmt.Sprintf("operation %d wrote %d to %d", newer.Op, newer.Found, newer.Left)
		if by := r.op(newer.Op); by != nil {
			later = fmt.Sprintf("%s wrote %d to %d (operation from %s to %s)", who(by), newer.Found, newer.Left, r.at(by.Invoke), r.at(by.Return))
		}
		return sentences(before, hit, []string{
			fmt.Sprintf("%s with token %d", later, newer.Fence),
			fmt.Sprintf("after it the stock accepted a write of %s, %d to %d, with the older token %d", writer, e.Found, e.Left, e.Fence),
		})
	}
	return x
}
