package fast

import (
	"math/rand/v2"
	"slices"

	"picklock/models/spec"
)

// stockShape says what random histories are made of.
type stockShape struct {
	name     string
	steps    []spec.StockStep // those that happen, some of them hidden afterwards
	quantity int64            // the largest
	unknown  int64            // the largest quantity of steps whose level is not told
	hide     int              // how many of a hundred takes or restocks hide their level
	may      int              // how many of a hundred of those may not have happened
}

var stockShapes = []stockShape{
	{"units", []spec.StockStep{spec.Take}, 1, 1, 20, 50},
	{"units, mostly unknown", []spec.StockStep{spec.Take, spec.Take, spec.Take, spec.Level}, 1, 1, 60, 50},
	{"units, reads, refusals", []spec.StockStep{spec.Take, spec.Take, spec.Level, spec.Refuse}, 1, 1, 40, 50},
	{"quantities, unknown units", []spec.StockStep{spec.Take, spec.Take, spec.Level, spec.Refuse}, 3, 1, 40, 50},
	{"quantities", []spec.StockStep{spec.Take, spec.Take, spec.Take, spec.Level, spec.Refuse}, 3, 3, 40, 50},
	{"reads of unknown quantities", []spec.StockStep{spec.Take, spec.Take, spec.Level}, 3, 3, 100, 90},
	{"units, restocks", []spec.StockStep{spec.Take, spec.Take, spec.Restock, spec.Level}, 1, 1, 30, 50},
	{"everything", []spec.StockStep{spec.Take, spec.Take, spec.Restock, spec.Level, spec.Refuse}, 3, 3, 40, 50},
	{"everything unknown", []spec.StockStep{spec.Take, spec.Restock, spec.Level, spec.Level}, 3, 3, 90, 40},
}

// stockMade is a history: what a real counter did, if it is not mutated.
type stockMade struct {
	shape   string
	stock   spec.Stock
	ops     []spec.StockOp
	mutated bool
}

// makeStock simulates a counter that does n operations. Each takes effect at a moment of its own, or at
// that of others, and its call and return are around it, so that ties and all kinds of
// overlap occur. Then levels are hidden, and half of the histories are mutated.
func makeStock(r *rand.Rand, n int) stockMade {
	sh := &stockShapes[r.IntN(len(stockShapes))]
	times := int64(2 + r.IntN(3*n))
	spread := int64(1 + r.IntN(6))
	moments := make([]int64, n)
	for i := range moments {
		moments[i] = r.Int64N(times)
	}
	slices.Sort(moments)
	level := int64(r.IntN(2*n)) - 1
	m := stockMade{shape: sh.name, stock: spec.Stock{Start: level}}
	for i, at := range moments {
		o := spec.StockOp{
			Call: at - r.Int64N(spread), Return: at + r.Int64N(spread),
			Qty: 1 + r.Int64N(sh.quantity), ID: int64(i), Step: sh.steps[r.IntN(len(sh.steps))],
		}
		hide := r.IntN(100) < sh.hide && (o.Step == spec.Take || o.Step == spec.Restock)
		if hide && o.Qty > sh.unknown {
			o.Qty = sh.unknown
		}
		if o.Step == spec.Refuse && level >= o.Qty {
			o.Qty = level + 1 + r.Int64N(2)
		}
		happened := true
		if hide {
			o.Step++ // TookSome or RestockedSome
			if r.IntN(100) < sh.may {
				o.Step++ // MayTake or MayRestock
				happened = r.IntN(3) > 0
			}
		}
		if happened {
			level += o.Delta()
		}
		o.Left = level
		if !o.Step.Named() {
			o.Left = 0
		}
		if r.IntN(20) == 0 && o.Step != spec.Level && o.Step != spec.Refuse {
			o.Return = spec.Never // it is known to have happened, but not when
		}
		m.ops = append(m.ops, o)
	}
	if r.IntN(10) == 0 {
		m.stock.Start, m.stock.Free = r.Int64N(9), true
	}
	if r.IntN(2) == 0 {
		for range 1 + r.IntN(4) {
			mutateStock(r, &m)
		}
		m.mutated = true
	}
	if r.IntN(2) == 0 {
		slices.SortStableFunc(m.ops, func(a, b spec.StockOp) int { return int(a.Call - b.Call) })
	} else {
		r.Shuffle(len(m.ops), func(a, b int) { m.ops[a], m.ops[b] = m.ops[b], m.ops[a] })
	}
	return m
}

// mutateStock changes one thing, so that the history may become illegal.
func mutateStock(r *rand.Rand, m *stockMade) {
	i, j := r.IntN(len(m.ops)), r.IntN(len(m.ops))
	a, b := &m.ops[i], &m.ops[j]
	switch r.IntN(9) {
	case 0:
		a.Left += r.Int64N(5) - 2
	case 1:
		a.Left, b.Left = b.Left, a.Left
	case 2:
		a.Left = b.Left
	case 3:
		a.Qty = max(1, a.Qty+r.Int64N(5)-2)
	case 4: // late or early
		d := r.Int64N(9) - 4
		a.Call += d
		if a.Return != spec.Never {
			a.Return += d
		}
	case 5: // shorter
		if a.Return != spec.Never && a.Return > a.Call {
			a.Call += r.Int64N(a.Return - a.Call + 1)
		}
	case 6:
		if len(m.ops) > 1 {
			m.ops = slices.Delete(m.ops, i, i+1)
		}
	case 7: // repeated
		m.ops = append(m.ops, *a)
	case 8:
		m.stock.Start += r.Int64N(3) - 1
	}
}
