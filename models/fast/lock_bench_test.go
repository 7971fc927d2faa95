package fast

import (
	"runtime"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"picklock/models/spec"
)

// lockLoads are measured: sizes, then clients, then unknown outcomes, then a violation.
var lockLoads = []lockLoad{
	{operations: 10_000, clients: 20, unknown: 1},
	{operations: 100_000, clients: 20, unknown: 1},
	{operations: 1_000_000, clients: 20, unknown: 1},
	{operations: 100_000, clients: 5, unknown: 1},
	{operations: 100_000, clients: 500, unknown: 1},
	{operations: 100_000, clients: 20, unknown: 0},
	{operations: 100_000, clients: 20, unknown: 20},
	{operations: 100_000, clients: 20, unknown: 1, retried: 5},
	{operations: 100_000, clients: 20, unknown: 1, violated: true},
}

// BenchmarkLock/(lock)/(operations)/(clients)/(unknown)/(verdict) checks histories that are
// in memory, by call.
func BenchmarkLock(b *testing.B) {
	benchmarkLock(b, lockLoads, func(b *testing.B, l spec.Lock, ops []spec.LockOp) Verdict {
		res := Lock(l, ops, Limits{})
		if res.Asked != 0 {
			b.Fatalf("%d operations were left to porcupine", res.Asked)
		}
		return res.Verdict
	})
}

// BenchmarkLockPorcupine is the same by the specification, at sizes at which it answers.
func BenchmarkLockPorcupine(b *testing.B) {
	loads := []lockLoad{
		{operations: 1_000, clients: 20, unknown: 0},
		{operations: 10_000, clients: 20, unknown: 0},
		{operations: 1_000, clients: 20, unknown: 1},
		{operations: 10_000, clients: 20, unknown: 1},
		{operations: 300, clients: 20, unknown: 1, violated: true},
	}
	benchmarkLock(b, loads, func(b *testing.B, l spec.Lock, ops []spec.LockOp) Verdict {
		switch porcupine.CheckOperationsTimeout(l.Model(), spec.Operations(ops), time.Minute) {
		case porcupine.Ok:
			return Legal
		case porcupine.Illegal:
			return Illegal
		}
		b.Skip("not decided within a minute")
		return Undecided
	})
}

func benchmarkLock(b *testing.B, loads []lockLoad, check func(*testing.B, spec.Lock, []spec.LockOp) Verdict) {
	for _, m := range loadLocks {
		for _, l := range loads {
			l.lock = m.lock
			b.Run(m.name+"/"+l.String(), func(b *testing.B) {
				ops := l.history(1)
				want := Legal
				if l.violated {
					want = Illegal
				}
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				b.ResetTimer()
				for range b.N {
					if v := check(b, m.lock, ops); v != want {
						b.Fatalf("%v, want %v", v, want)
					}
				}
				b.StopTimer()
				runtime.ReadMemStats(&after)
				all := float64(b.N) * float64(len(ops))
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/all, "ns/operation")
				b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/all, "B/operation")
			})
		}
	}
}
