package models

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/anishathalye/porcupine"

	"picklock/harness/history"
	"picklock/models/fast"
	"picklock/models/spec"
)

// judgeLinearizableStock: the deductions of each SKU linearize as a counter. At most one
// violation per SKU is explained and counted: behind it every later level is wrong too.
func judgeLinearizableStock(r *record) *Judgement {
	f := &findings{r: r}
	var pictures []Picture
	for _, sku := range r.skus() {
		initial := r.Stock[sku].Initial
		if initial == nil {
			f.unknown("the stock of %s before the load is not known", sku)
			continue
		}
		ops, lies := r.stockOps(sku, *initial)
		f.checked += len(ops)
		if len(lies) > 0 {
			f.note("the ledger has writes of %s that were reported as not done (first: operation %d); they were judged as done",
				count(len(lies), "operation"), lies[0])
		}
		var split []stockPiece
		res := r.settle(f, question{
			object: sku,
			fast: func(lim fast.Limits) fast.Result {
				return fast.Stock(spec.Stock{Start: *initial}, specStocks(ops), lim)
			},
			pieces: func() []piece {
				split = stockPieces(ops, *initial, r.sizes.piece)
				pieces := make([]piece, len(split))
				for i := range split {
					pieces[i] = split[i].piece(r.sizes.prefix)
				}
				return pieces
			},
		})
		switch res.result {
		case porcupine.Unknown:
			if res.piece >= 0 {
				f.unknown("%s was not decided within %s and 1 GiB: it is linearizable down to %d left", sku, r.p.PorcupineTimeout, split[res.piece].start)
			}
		case porcupine.Illegal:
			x := r.illegalStock(sku, &split[res.piece], res.cut, *initial)
			f.add(x)
			if len(pictures) < r.p.MaxViolations {
				pictures = append(pictures, x.witness().picture(r, sku)...)
			}
			if n := twice(ops); n > 0 {
				f.note("%s: %s named more than once", sku, count(n, "level"))
			}
		}
	}
	if len(f.list) > 0 {
		f.note("one violation is counted per SKU: after the first every level is wrong")
	}
	if !r.Complete {
		f.note("the record breaks off: deductions with an unknown result were given the levels that somebody must have taken")
	}
	j := f.judgement()
	j.Pictures = pictures
	return j
}

// skus are the SKUs that were worked on, sorted.
func (r *record) skus() []string {
	return slices.Sorted(maps.Keys(r.deductsOf()))
}

// twice counts the levels that more than one operation names.
func twice(ops []stockOp) int {
	seen, n := map[int64]int{}, 0
	for _, o := range ops {
		if !o.soldOut {
			if seen[o.left]++; seen[o.left] == 2 {
				n++
			}
		}
	}
	return n
}

// illegalStock explains the shortest illegal prefix of a piece: what the operation whose
// return ends it contradicts.
func (r *record) illegalStock(sku string, s *stockPiece, t int64, initial int64) finding {
	culprit, rival, kind := s.culprit(t)
	x := finding{start: culprit.from, end: culprit.to, object: sku, ops: []int64{culprit.op.ID}}
	x.kind = kind
	if rival != nil {
		x.ops = append(x.ops, rival.op.ID)
	}
	x.story = func() []string { return r.stockStory(sku, culprit, rival, kind, initial) }
	x.witness = func() *Witness { return s.witness(culprit, rival, kind, t) }
	return x
}

// culprit finds the operation whose return ends the illegal prefix, and what it
// contradicts. Of several that return at that moment it is one that contradicts something,
// rather one whose client knows its result.
func (s *stockPiece) culprit(t int64) (c, rival *stockOp, kind string) {
	for _, settled := range []bool{false, true} {
		for i := range s.ops {
			o := &s.ops[i]
			if o.to != t || o.settled != settled {
				continue
			}
			rival, kind := s.rival(o)
			if s.witness(o, rival, kind, t) != nil {
				return o, rival, kind
			}
			if c == nil {
				c = o
			}
		}
	}
	if c == nil {
		c = &s.ops[len(s.ops)-1]
	}
	rival, kind = s.rival(c)
	return c, rival, kind
}

// The kinds of violations of the counter.
const (
	kindSoldTwice    = "sold-twice"     // two deductions left the same level
	kindStockRose    = "stock-rose"     // a deduction left more than an earlier one
	kindSkipped      = "skipped"        // a level that nobody took lies above
	kindNotUsedUp    = "not-used-up"    // "nothing left" was the answer while there was
	kindBeyondTheTop = "above-the-fill" // more was left than there ever was
)

// rival finds the operation that contradicts the culprit, and how.
func (s *stockPiece) rival(c *stockOp) (*stockOp, string) {
	if c.soldOut {
		return nil, kindNotUsedUp
	}
	if c.left >= s.start {
		return nil, kindBeyondTheTop
	}
	var rose *stockOp
	for i := range s.ops {
		o := &s.ops[i]
		switch {
		case o == c:
		case !o.soldOut && o.left == c.left:
			return o, kindSoldTwice
		case o.rank() < c.rank() && o.to < c.from && rose == nil:
			rose = o
		case o.rank() > c.rank() && c.to < o.from && rose == nil && !o.soldOut:
			rose = o
		}
	}
	if rose != nil {
		return rose, kindStockRose
	}
	return nil, kindSkipped
}

// took tells one deduction.
func (r *record) took(o *stockOp) string {
	when := r.between(o.from, o.op.Return)
	switch {
	case o.soldOut:
		return fmt.Sprintf("%s was told %s that nothing was left", who(o.op), when)
	case o.op.Outcome == history.OutcomeOK && o.left >= 0:
		return fmt.Sprintf("%s sold unit %d and left %d, %s", who(o.op), o.left+1, o.left, when)
	case o.op.Outcome == history.OutcomeOK:
		return fmt.Sprintf("%s was refused a unit and left %d, %s", who(o.op), o.left, when)
	}
	return fmt.Sprintf("%s took unit %d and left %d after %s, without learning so", who(o.op), o.left+1, o.left, r.at(o.from))
}

func (r *record) stockStory(sku string, c, rival *stockOp, kind string, initial int64) []string {
	during, clients := span{c.from, r.clip(c.op.Return)}, []int{c.op.Client}
	var story []string
	ops := []*stockOp{c}
	if rival != nil {
		ops = append(ops, rival)
		slices.SortStableFunc(ops, func(a, b *stockOp) int { return cmp.Compare(a.from, b.from) })
		clients = append(clients, rival.op.Client)
		during.from = min(during.from, rival.from)
	}
	for _, o := range ops {
		if g := r.group(o.op.Grant); g != nil && g.outer != nil && believes(g.outer) {
			story = append(story, r.acquired(g))
			during.from = min(during.from, g.outer.Return)
		}
	}
	story = append(story, r.faults(during, clients...)...)
	for _, o := range ops {
		story = append(story, r.took(o))
	}
	switch kind {
	case kindSoldTwice:
		story = append(story, fmt.Sprintf("both sold unit %d of %s", c.left+1, sku))
		if c.left < 0 {
			story[len(story)-1] = fmt.Sprintf("both left %d of %s", c.left, sku)
		}
	case kindStockRose:
		story = append(story, fmt.Sprintf("the stock of %s rose: one was over before the other began", sku))
	case kindNotUsedUp:
		story = append(story, fmt.Sprintf("not all of the %d units of %s had been taken by then", initial, sku))
	case kindBeyondTheTop:
		story = append(story, fmt.Sprintf("%s had only %d units at the start", sku, initial))
	case kindSkipped:
		story = append(story, fmt.Sprintf("to leave %d of %s, every unit above must have been taken by then, and nobody took one of them", c.left, sku))
	}
	for _, o := range ops {
		for _, i := range r.entries(o.op.ID) {
			if e := &r.Ledger[i]; e.Basis != nil && *e.Basis != e.Found {
				story = append(story, r.overwrite(e))
			}
		}
	}
	return story
}
