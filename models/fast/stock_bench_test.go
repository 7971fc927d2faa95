package fast

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"picklock/models/spec"
)

// stockLoad is a long history to measure with.
type stockLoad struct {
	ops, clients int
	unknown      int   // of a hundred takes
	quantity     int64 // the largest of a take; unknown ones take one unit
	restock      int   // one of so many operations is a restock; 0: none
	illegal      bool  // at 80% a level was given out twice
}

// make lets clients take from a counter. Operations are in the order of their calls.
func (l stockLoad) make(seed int) (spec.Stock, []spec.StockOp) {
	r := rand.New(rand.NewPCG(uint64(l.ops+seed), uint64(l.clients)))
	level := int64(l.ops) * (l.quantity + 1)
	stock := spec.Stock{Start: level}
	ops := make([]spec.StockOp, l.ops)
	// Every ten nanoseconds one operation takes effect. On average as many are under way as
	// there are clients.
	under := int64(l.clients) * 10
	for i := range ops {
		o := &ops[i]
		at := int64(i) * 10
		o.Call = at - r.Int64N(under)
		o.Return = at + r.Int64N(under)
		o.Qty = 1 + r.Int64N(l.quantity)
		o.ID = int64(i)
		happened := true
		switch {
		case l.restock > 0 && r.IntN(l.restock) == 0:
			o.Step, o.Qty = spec.Restock, o.Qty*4
		case r.IntN(100) < l.unknown:
			o.Qty = 1
			o.Step = spec.MayTake
			happened = r.IntN(2) == 0
			if r.IntN(4) == 0 {
				o.Step, happened = spec.TookSome, true
			}
		}
		if happened {
			level += o.Delta()
		}
		o.Left = level
		if !o.Step.Named() {
			o.Left = 0
		}
	}
	if l.illegal {
		i := l.ops * 8 / 10
		for ops[i].Step != spec.Take || ops[i+1].Step != spec.Take {
			i++
		}
		ops[i+1].Left = ops[i].Left
	}
	slices.SortFunc(ops, func(a, b spec.StockOp) int { return cmp.Compare(a.Call, b.Call) })
	return stock, ops
}

func (l stockLoad) String() string {
	kind := "legal"
	if l.illegal {
		kind = "illegal"
	}
	return fmt.Sprintf("%d ops/%d clients/%d%% unknown/quantity %d/restocks %d/%s", l.ops, l.clients, l.unknown, l.quantity, l.restock, kind)
}

func (l stockLoad) bench(b *testing.B) {
	b.Run(l.String(), func(b *testing.B) {
		// As many as make a million operations, in turn: a history is checked once, and
		// neither the cache nor the branch predictor knows it before.
		all := make([][]spec.StockOp, max(1, 1_000_000/l.ops))
		var stock spec.Stock
		for i := range all {
			stock, all[i] = l.make(i)
		}
		i, want := 0, Legal
		if l.illegal {
			want = Illegal
		}
		b.ReportAllocs()
		for b.Loop() {
			if res := Stock(stock, all[i%len(all)], Limits{}); res.Verdict != want || res.Asked > 0 {
				b.Fatalf("%s, %d asked, want %s", res.Verdict, res.Asked, want)
			}
			i++
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*l.ops), "ns/operation")
	})
}

// BenchmarkStock measures histories of takes, from 10^4 to 10^6 operations; with
// PICKLOCK_BENCH_OPS=10000000 in the environment to 10^7, which needs 1 GiB.
func BenchmarkStock(b *testing.B) {
	most := benchOps(1_000_000)
	for n := 10_000; n <= most; n *= 10 {
		for _, clients := range []int{5, 20, 500} {
			for _, unknown := range []int{0, 1, 20} {
				stockLoad{ops: n, clients: clients, unknown: unknown, quantity: 1}.bench(b)
			}
		}
		stockLoad{ops: n, clients: 20, unknown: 1, quantity: 1, illegal: true}.bench(b)
		stockLoad{ops: n, clients: 500, unknown: 20, quantity: 1, illegal: true}.bench(b)
		stockLoad{ops: n, clients: 20, unknown: 1, quantity: 9}.bench(b)
	}
}

// BenchmarkStockPorcupine is the same by the specification, at sizes at which it answers, and
// tells how many times as long porcupine takes as the checker does in the same run.
func BenchmarkStockPorcupine(b *testing.B) {
	for _, l := range []stockLoad{
		{ops: 100, clients: 20, unknown: 0},
		{ops: 1_000, clients: 20, unknown: 0},
		{ops: 10_000, clients: 20, unknown: 0},
		{ops: 100, clients: 20, unknown: 1},
		{ops: 300, clients: 20, unknown: 1},
		{ops: 1_000, clients: 20, unknown: 1},
		{ops: 300, clients: 20, unknown: 0, illegal: true},
	} {
		l.quantity = 1
		b.Run(l.String(), func(b *testing.B) {
			stock, ops := l.make(0)
			againstPorcupine(b, len(ops), stock.Model(), spec.StockOperations(ops), func() Result { return Stock(stock, ops, Limits{}) })
		})
	}
}

// BenchmarkStockSearch measures histories with restocks.
func BenchmarkStockSearch(b *testing.B) {
	for n := 1000; n <= 100_000; n *= 10 {
		for _, restock := range []int{1000, 20} {
			for _, unknown := range []int{0, 1, 20} {
				stockLoad{ops: n, clients: 20, unknown: unknown, quantity: 1, restock: restock}.bench(b)
			}
			stockLoad{ops: n, clients: 20, unknown: 1, quantity: 1, restock: restock, illegal: true}.bench(b)
		}
	}
}
