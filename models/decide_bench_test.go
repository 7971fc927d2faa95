package models

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"picklock/harness/history"
	"picklock/harness/history/historytest"
	"picklock/models/fast"
	"picklock/models/spec"
)

// BenchmarkDecide puts what it takes to decide whether a history is linearizable beside what it
// takes to read it: 20 clients, 1% of the operations without a completion, locks and stock.
// "translate" makes the specification's operations of the history's, "fast" decides them.
// "porcupine" decides the same operations as a whole, and is given a minute.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		file := filepath.Join(b.TempDir(), "history.jsonl")
		if err := historytest.Write(file, historytest.Config{Operations: n, SKUs: 1, Unknown: 0.01, Seed: 1}); err != nil {
			b.Fatal(err)
		}
		var h *history.History
		each := func(what string, f func(b *testing.B)) {
			b.Run(fmt.Sprintf("%s/%d", what, n), func(b *testing.B) {
				b.ReportAllocs()
				start := time.Now()
				for b.Loop() {
					f(b)
				}
				b.ReportMetric(float64(time.Since(start).Nanoseconds())/float64(b.N)/float64(n), "ns/operation")
			})
		}
		load := func(b *testing.B) {
			var err error
			if h, err = history.Load(file, ""); err != nil {
				b.Fatal(err)
			}
		}
		each("read", load)
		if h == nil {
			continue // it was not asked for
		}
		var p Params
		r := newRecord(h, p.withDefaults())
		var locks [][]spec.LockOp
		var stocks [][]spec.StockOp
		translate := func(*testing.B) {
			locks, stocks = locks[:0], stocks[:0]
			for _, name := range r.names {
				ops := r.lockOps(name)
				locks = append(locks, specOps(make([]spec.LockOp, 0, len(ops)), ops))
			}
			for _, sku := range r.skus() {
				ops, _ := r.stockOps(sku, *r.Stock[sku].Initial)
				stocks = append(stocks, specStocks(ops))
			}
		}
		each("translate", translate)
		translate(b)
		each("fast", func(b *testing.B) {
			for _, ops := range locks {
				if res := fast.Lock(spec.OwnerMutex(), ops, fast.Limits{}); res.Verdict != fast.Legal || res.Asked > 0 {
					b.Fatalf("%s, porcupine was asked for %d operations", res.Verdict, res.Asked)
				}
			}
			for i, sku := range r.skus() {
				if res := fast.Stock(spec.Stock{Start: *r.Stock[sku].Initial}, stocks[i], fast.Limits{}); res.Verdict != fast.Legal || res.Asked > 0 {
					b.Fatalf("%s, porcupine was asked for %d operations", res.Verdict, res.Asked)
				}
			}
		})
		if n > 100_000 {
			continue // porcupine takes all memory
		}
		decide := func(b *testing.B, m porcupine.Model, ops []porcupine.Operation) {
			if porcupine.CheckOperationsTimeout(m, ops, time.Minute) != porcupine.Ok {
				b.Skip("not decided within a minute")
			}
		}
		each("porcupine-lock", func(b *testing.B) {
			for _, ops := range locks {
				decide(b, spec.OwnerMutex().Model(), spec.Operations(ops))
			}
		})
		each("porcupine-stock", func(b *testing.B) {
			for i, sku := range r.skus() {
				decide(b, spec.Stock{Start: *r.Stock[sku].Initial}.Model(), spec.StockOperations(stocks[i]))
			}
		})
	}
}
