package fast

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
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

// BenchmarkLockPorcupine is the same by the specification, at sizes at which it answers, and
// tells how many times as long porcupine takes as the checker does in the same run. Of
// 100,000 operations only the owner mutex: porcupine takes long.
func BenchmarkLockPorcupine(b *testing.B) {
	loads := []lockLoad{
		{operations: 1_000, clients: 20, unknown: 0},
		{operations: 10_000, clients: 20, unknown: 0},
		{operations: 1_000, clients: 20, unknown: 1},
		{operations: 10_000, clients: 20, unknown: 1},
		{operations: 300, clients: 20, unknown: 1, violated: true},
	}
	for _, m := range loadLocks {
		all := loads
		if m.lock == spec.OwnerMutex() {
			all = append(slices.Clone(loads), lockLoad{operations: 100_000, clients: 20, unknown: 1})
		}
		for _, l := range all {
			l.lock = m.lock
			b.Run(m.name+"/"+l.String(), func(b *testing.B) {
				ops := l.history(1)
				againstPorcupine(b, len(ops), l.lock.Model(), spec.Operations(ops), func() Result { return Lock(l.lock, ops, Limits{}) })
			})
		}
	}
}

// againstPorcupine measures porcupine, which is given a minute, and the checker, which must
// give the same verdict. Both begin without memory of runs before, as in a process that
// judges a history once: porcupine takes two gigabytes for 100,000 operations.
func againstPorcupine(b *testing.B, n int, m porcupine.Model, ops []porcupine.Operation, check func() Result) {
	fast := time.Duration(math.MaxInt64)
	var res Result
	for range 10 {
		debug.FreeOSMemory()
		start := time.Now()
		res = check()
		fast = min(fast, time.Since(start))
	}
	slow := time.Duration(math.MaxInt64)
	for b.Loop() {
		debug.FreeOSMemory()
		start := time.Now()
		switch porcupine.CheckOperationsTimeout(m, ops, time.Minute) {
		case porcupine.Unknown:
			b.Skip("not decided within a minute")
		case porcupine.Ok:
			if res.Verdict != Legal {
				b.Fatalf("%+v, but legal by the specification", res)
			}
		default:
			if res.Verdict != Illegal {
				b.Fatalf("%+v, but illegal by the specification", res)
			}
		}
		slow = min(slow, time.Since(start))
	}
	b.ReportMetric(float64(slow.Nanoseconds())/float64(n), "ns/operation")
	b.ReportMetric(float64(fast.Nanoseconds())/float64(n), "fast-ns/operation")
	b.ReportMetric(float64(slow)/float64(fast), "times-as-long")
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

// clusteredLock makes a legal history of about n operations, in groups of eighteen: two owners
// that are irregular, three windows of which one connects the two, and nothing that goes from
// one group to the next.
func clusteredLock(n int) (ops []spec.LockOp) {
	owner := int64(0)
	add := func(at int64, step spec.Step, call, ret int64) {
		ops = append(ops, spec.LockOp{Step: step, Owner: owner, Call: at + call, Return: at + ret, ID: int64(len(ops))})
	}
	for at := int64(0); len(ops) < n; at += 1000 {
		for _, from := range []int64{at, at + 300} {
			owner++
			add(from, spec.MayAcquire, 0, 0)
			add(from, spec.Release, 20, 60)
			add(from, spec.Acquire, 100, 110)
			add(from, spec.Release, 120, 130)
			owner++
			add(from, spec.Acquire, 140, 150) // its core ends the cluster
			add(from, spec.Release, 160, 170)
		}
		for _, window := range [][2]int64{{10, 50}, {125, 320}, {500, 520}} {
			owner++
			add(at, spec.MayAcquire, window[0], 0)
			add(at, spec.Release, window[0], window[1])
		}
	}
	return byCall(ops)
}

// BenchmarkLockClusters is what it takes to find what is left to porcupine, and to leave it
// that: the time for an operation must not grow with the history.
func BenchmarkLockClusters(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 500_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ops := clusteredLock(n)
			for b.Loop() {
				if res := Lock(spec.OwnerMutex(), ops, Limits{Timeout: time.Minute}); res.Verdict != Legal || res.Asked < n/2 {
					b.Fatalf("%+v", res)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/operation")
		})
	}
}
