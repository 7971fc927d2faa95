package spec_test

import (
	"math/rand/v2"
	"testing"

	"github.com/anishathalye/porcupine"

	"picklock/models/spec"
	"picklock/models/spec/spectest"
)

// TestLeaseModelAgainstDefinition: an order has moments by the model if and only if walking
// through time finds them.
func TestLeaseModelAgainstDefinition(t *testing.T) {
	legal := 0
	const n = 30000
	for seed := range uint64(n) {
		h := spectest.RandomLease(rand.New(rand.NewPCG(seed, 4)))
		want := spectest.LegalLease(h.Lease, h.Ops)
		got := porcupine.CheckOperations(h.Lease.Model(), spec.Operations(h.Ops))
		if got != want {
			t.Fatalf("seed %d: %+v: the model says %v, the definition %v", seed, h, got, want)
		}
		if want {
			legal++
		}
	}
	t.Logf("%d of %d are legal", legal, n)
	if legal < n/5 || legal > n*4/5 {
		t.Errorf("%d of %d histories are legal: too few of one kind to tell much", legal, n)
	}
}

func TestLease(t *testing.T) {
	op := func(owner int64, step spec.Step, call, ret int64) spec.LockOp {
		return spec.LockOp{Owner: owner, Step: step, Call: call, Return: ret}
	}
	l := spec.Lease{Min: 10, Max: 12}
	for _, c := range []struct {
		name string
		l    spec.Lease
		ops  []spec.LockOp
		want bool
	}{
		{"empty", l, nil, true},
		{"the next at Min", l, []spec.LockOp{op(1, spec.Acquire, 0, 0), op(2, spec.Acquire, 10, 10)}, true},
		{"the next before Min", l, []spec.LockOp{op(1, spec.Acquire, 0, 0), op(2, spec.Acquire, 9, 9)}, false},
		{"the next before Min, freed", l, []spec.LockOp{op(1, spec.Acquire, 0, 0), op(1, spec.MayFree, 4, 5), op(2, spec.Acquire, 5, 5)}, true},
		{"freed before it held", l, []spec.LockOp{op(1, spec.Acquire, 3, 3), op(1, spec.MayFree, 0, 1), op(2, spec.Acquire, 3, 3)}, true},
		{"released at Max", l, []spec.LockOp{op(1, spec.Acquire, 0, 0), op(1, spec.Release, 12, 12)}, true},
		{"released after Max", l, []spec.LockOp{op(1, spec.Acquire, 0, 0), op(1, spec.Release, 13, 13)}, false},
		{"released after Max, but acquired late", l, []spec.LockOp{op(1, spec.Acquire, 0, 4), op(1, spec.Release, 16, 17)}, true},
		{"acquired early for the next, late for the release", l,
			[]spec.LockOp{op(1, spec.Acquire, 0, 4), op(1, spec.Release, 13, 13), op(2, spec.Acquire, 12, 12)}, false},
		{"others saw it not held while it was acquired", l,
			[]spec.LockOp{op(1, spec.Acquire, 0, 4), op(2, spec.NotHeld, 1, 2), op(1, spec.Release, 16, 16)}, true},
		{"not held before Min", l, []spec.LockOp{op(1, spec.Acquire, 0, 0), op(1, spec.NotHeld, 5, 9)}, false},
		{"not held at Min", l, []spec.LockOp{op(1, spec.Acquire, 0, 0), op(1, spec.NotHeld, 5, 10)}, true},
		{"not held, then released", l,
			[]spec.LockOp{op(1, spec.Acquire, 0, 0), op(1, spec.NotHeld, 10, 10), op(1, spec.Release, 11, 11)}, false},
		{"released by one who may have acquired, in a hold", l,
			[]spec.LockOp{op(1, spec.Acquire, 0, 0), op(2, spec.MayAcquire, 2, 3), op(2, spec.Release, 4, 5), op(1, spec.Release, 6, 6)}, false},
		{"nobody acquired", l, []spec.LockOp{op(1, spec.Release, 0, 5)}, false},
		{"acquired twice", l, []spec.LockOp{op(1, spec.Acquire, 0, 0), op(1, spec.Acquire, 10, 10), op(1, spec.Release, 13, 13)}, true},
		{"never runs out", spec.Lease{Min: 10, Max: spec.Never}, []spec.LockOp{op(1, spec.Acquire, 0, 0), op(1, spec.Release, 99, 99)}, true},
	} {
		if got := porcupine.CheckOperations(c.l.Model(), spec.Operations(c.ops)); got != c.want {
			t.Errorf("%s: the model says %v, want %v", c.name, got, c.want)
		}
		if got := spectest.LegalLease(c.l, c.ops); got != c.want {
			t.Errorf("%s: the definition says %v, want %v", c.name, got, c.want)
		}
	}
}
