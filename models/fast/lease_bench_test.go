package fast

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"picklock/models/spec"
)

// benchLease is a TTL of 50 ms with 2 ms of drift.
var benchLease = spec.Lease{Min: int64(48 * time.Millisecond), Max: int64(52 * time.Millisecond)}

// leaseHistory makes a legal history of l, of about n operations, by call, in nanoseconds: all
// clients wait for the lock nearly all of the time, hold it for about a millisecond, and of
// the acquires and of the releases a part is unknown; half of those took
// effect; half of the clients of the other releases died before.
func leaseHistory(l spec.Lease, n, clients int, unknown float64, seed uint64) []spec.LockOp {
	rng := rand.New(rand.NewPCG(seed, 1))
	ops := make([]spec.LockOp, 0, n+8)
	waits := make([]int64, clients) // since when each client has waited
	for i := range waits {
		waits[i] = rng.Int64N(1e6)
	}
	now := int64(1e6)
	for owner := int64(1); len(ops) < n; owner++ {
		i := rng.IntN(clients)
		at := max(now, waits[i]+1000) + rng.Int64N(50e3)
		back := at + rng.Int64N(100e3)
		acquire := spec.LockOp{Call: waits[i], Return: back, Owner: owner, ID: owner}
		if rng.Float64() < unknown {
			acquire.Step = spec.MayAcquire
			if rng.IntN(2) == 0 {
				ops = append(ops, acquire)
				waits[i] = back + rng.Int64N(100e3)
				continue
			}
		}
		ops = append(ops, acquire)
		call := min(back+rng.Int64N(2e6), at+l.Min)
		done := min(call+rng.Int64N(50e3), at+l.Max)
		call = min(call, done)
		release := spec.LockOp{Call: call, Return: done + rng.Int64N(50e3), Owner: owner, ID: owner, Step: spec.Release}
		now = done
		died := false
		if rng.Float64() < unknown {
			release.Step = spec.MayRelease
			if rng.IntN(2) == 0 {
				now = at + l.Min + rng.Int64N(l.Max-l.Min)
				died = rng.IntN(2) == 0
			}
		}
		if !died {
			ops = append(ops, release)
		}
		waits[i] = release.Return + rng.Int64N(100e3)
	}
	return byCall(ops)
}

// TestLeaseLong: what holds of small histories holds of longer ones, legal ones and ones with
// one hold that is longer than it can be.
func TestLeaseLong(t *testing.T) {
	for seed := range uint64(40) {
		ops := leaseHistory(benchLease, 120, 1+int(seed%30), float64(seed%5)/40, seed)
		for _, spoil := range []bool{false, true} {
			if spoil {
				spoilLease(ops, seed)
			}
			got := Lease(benchLease, ops, Limits{})
			want := porcupine.CheckOperationsTimeout(benchLease.Model(), spec.Operations(ops), 200*time.Millisecond)
			switch {
			case want == porcupine.Unknown && got.Verdict == Undecided:
			case want == porcupine.Unknown && (got.Verdict == Illegal) == spoil:
			case want == porcupine.Ok && got.Verdict == Legal:
			case want == porcupine.Illegal && got.Verdict == Illegal:
			default:
				t.Errorf("seed %d, spoiled %v: %+v, porcupine says %s", seed, spoil, got, want)
			}
		}
	}
}

// spoilLease makes one acquire, behind four fifths of the history, take place before the hold
// before it ended. It takes a hold that is certain and the next that is.
func spoilLease(ops []spec.LockOp, seed uint64) {
	var last *spec.LockOp
	for i := len(ops)*4/5 - int(seed%20); i < len(ops); i++ {
		o := &ops[i]
		if o.Step != spec.Release {
			continue
		}
		var a *spec.LockOp
		for j := range ops {
			if ops[j].Owner == o.Owner && ops[j].Step == spec.Acquire {
				a = &ops[j]
			}
		}
		if a == nil {
			continue
		}
		if last != nil && a.Return > last.Call {
			a.Return = last.Call - 1
			a.Call = min(a.Call, a.Return)
			if o.Call-a.Return > 0 {
				return
			}
		}
		last = o
	}
}

func BenchmarkLease(b *testing.B) {
	for _, n := range []int{1e4, 1e5, 1e6} {
		for _, clients := range []int{5, 20, 500} {
			for _, unknown := range []float64{0, 0.01, 0.2} {
				b.Run(fmt.Sprintf("ops=%d/clients=%d/unknown=%g%%", n, clients, unknown*100), func(b *testing.B) {
					ops := leaseHistory(benchLease, n, clients, unknown, 1)
					asked := 0
					b.ReportAllocs()
					for b.Loop() {
						got := Lease(benchLease, ops, Limits{})
						if got.Verdict != Legal {
							b.Fatalf("%+v", got)
						}
						asked = got.Asked
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(ops)), "ns/operation")
					b.ReportMetric(float64(asked), "asked")
				})
			}
		}
	}
}
