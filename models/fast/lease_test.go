package fast

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"picklock/models/spec"
	"picklock/models/spec/spectest"
)

// differs checks one random history in both ways.
func differs(t *testing.T, seed uint64) (h spectest.History, got Result, differ bool) {
	t.Helper()
	h = spectest.RandomLease(rand.New(rand.NewPCG(seed, 7)))
	got = Lease(h.Lease, h.Ops, Limits{})
	want := Illegal
	if porcupine.CheckOperations(h.Lease.Model(), spec.Operations(h.Ops)) {
		want = Legal
	}
	return h, got, got.Verdict != want
}

func TestLeaseAgainstPorcupine(t *testing.T) {
	count := map[Verdict]int{}
	asked := map[Verdict]int{}
	for seed := range uint64(*histories) {
		h, got, differ := differs(t, seed)
		if differ {
			t.Fatalf("seed %d: %+v: fast says %+v, porcupine the opposite", seed, h, got)
		}
		count[got.Verdict]++
		if got.Asked > 0 {
			asked[got.Verdict]++
		}
		if (got.Verdict == Illegal) != (len(got.Ops) > 0) {
			t.Fatalf("seed %d: %+v: %s with the operations %v", seed, h, got.Verdict, got.Ops)
		}
		// The definition is slow.
		if seed%8 == 0 && len(h.Ops) <= 12 && spectest.LegalLease(h.Lease, h.Ops) != (got.Verdict == Legal) {
			t.Fatalf("seed %d: %+v: fast and porcupine say %s, the definition the opposite", seed, h, got.Verdict)
		}
	}
	t.Logf("%v; of them by porcupine: %v", count, asked)
	for _, v := range []Verdict{Legal, Illegal} {
		if count[v] < *histories/5 || asked[v] < *histories/10000 {
			t.Errorf("%s: %d of %d histories, %d left to porcupine: too few to tell much", v, count[v], *histories, asked[v])
		}
	}
}

// TestLeaseOps: what is told to contradict each other does.
func TestLeaseOps(t *testing.T) {
	op := func(owner int64, step spec.Step, call, ret int64) spec.LockOp {
		return spec.LockOp{Owner: owner, Step: step, Call: call, Return: ret}
	}
	l := spec.Lease{Min: 10, Max: 12}
	other := op(9, spec.Acquire, -50, -49)
	for _, c := range []struct {
		name string
		ops  []spec.LockOp
		want []int
	}{
		{"two cores", []spec.LockOp{op(1, spec.Acquire, 0, 1), other, op(2, spec.Acquire, 1, 2), op(1, spec.Release, 5, 6), op(2, spec.Release, 5, 6)}, []int{0, 2, 3, 4}},
		{"a window in a core", []spec.LockOp{op(1, spec.Acquire, 0, 1), op(2, spec.MayAcquire, 1, 2), other, op(1, spec.Release, 5, 6), op(2, spec.Release, 2, 4)}, []int{0, 1, 3, 4}},
		{"not held, too early", []spec.LockOp{other, op(1, spec.Acquire, 0, 1), op(1, spec.NotHeld, 5, 6)}, []int{1, 2}},
		{"released too late", []spec.LockOp{other, op(1, spec.Acquire, 0, 1), op(1, spec.Release, 15, 16)}, []int{1, 2}},
		{"released twice", []spec.LockOp{op(1, spec.Acquire, 0, 1), op(1, spec.Release, 3, 3), op(1, spec.Release, 4, 5), other}, []int{0, 1, 2}},
		{"a loose hold without a gap", []spec.LockOp{op(1, spec.Acquire, 0, 14), op(2, spec.Acquire, 5, 5), other}, []int{0, 1}},
	} {
		got := Lease(l, c.ops, Limits{})
		if got.Verdict != Illegal || !slices.Equal(got.Ops, c.want) {
			t.Errorf("%s: %+v, want %s with the operations %v", c.name, got, Illegal, c.want)
		}
		var some []spec.LockOp
		for _, i := range c.want {
			some = append(some, c.ops[i])
		}
		if got := Lease(l, some, Limits{}); got.Verdict != Illegal {
			t.Errorf("%s: %s alone", c.name, got.Verdict)
		}
	}
}

// TestLeaseUndecided: what porcupine has no time for is not guessed.
func TestLeaseUndecided(t *testing.T) {
	// Twenty holds of the length 10 in the time of nineteen, at any moment of it.
	var ops []spec.LockOp
	for owner := range int64(20) {
		ops = append(ops, spec.LockOp{Owner: owner, Return: 180})
	}
	l := spec.Lease{Min: 10, Max: 12}
	if got := Lease(l, ops, Limits{Timeout: 50 * time.Millisecond}); got.Verdict != Undecided || got.Asked != len(ops) {
		t.Errorf("%+v, want %s", got, Undecided)
	}
	if got := Lease(l, ops[1:], Limits{}); got.Verdict != Legal || got.Asked != 0 {
		t.Errorf("%+v without one, want %s", got, Legal)
	}
	// But what is illegal for certain is told.
	ops = append(ops, spec.LockOp{Owner: 99, Step: spec.Release, Return: 5})
	if got := Lease(l, ops, Limits{Timeout: 50 * time.Millisecond}); got.Verdict != Illegal {
		t.Errorf("%+v with a release of nothing, want %s", got, Illegal)
	}
}

// TestLeaseFallback: what the proof does not cover is left to porcupine.
func TestLeaseFallback(t *testing.T) {
	op := func(owner int64, step spec.Step, call, ret int64) spec.LockOp {
		return spec.LockOp{Owner: owner, Step: step, Call: call, Return: ret}
	}
	twice := []spec.LockOp{op(1, spec.Acquire, 0, 1), op(1, spec.Release, 2, 3), op(1, spec.Acquire, 4, 5), op(1, spec.Release, 9, 9)}
	for _, c := range []struct {
		name string
		l    spec.Lease
		ops  []spec.LockOp
		want Verdict
	}{
		{"acquires twice", spec.Lease{Min: 3, Max: 5}, twice, Legal},
		{"acquires twice, released late", spec.Lease{Min: 3, Max: 3}, twice, Illegal},
		{"Max under Min", spec.Lease{Min: 3, Max: 2}, twice[:2], Legal},
	} {
		got := Lease(c.l, c.ops, Limits{})
		if got.Verdict != c.want || got.Asked != len(c.ops) {
			t.Errorf("%s: %+v, want %s with all operations left to porcupine", c.name, got, c.want)
		}
		got = Lease(c.l, c.ops, Limits{Timeout: 1})
		if got.Verdict != Undecided || got.Asked != len(c.ops) {
			t.Errorf("%s: %+v without time, want %s", c.name, got, Undecided)
		}
	}
}

// TestLeasePlanted: each planted mistake makes a verdict differ.
func TestLeasePlanted(t *testing.T) {
	defer func() { planted = 0 }()
	for _, q := range []struct {
		quirk quirk
		name  string
	}{
		{quirkLeaseTouch, "touching holds overlap"},
		{quirkLeaseWindowOpen, "open windows"},
		{quirkLeaseNoWindows, "skipped windows"},
		{quirkLeaseNoFrees, "ignored frees"},
		{quirkLeaseNoMax, "ignored Max"},
		{quirkLeaseNoNotHeld, "ignored answers"},
		{quirkLeaseCoreAtCall, "cores from the call"},
		{quirkLeaseMinIsMax, "Max for Min"},
		{quirkLeaseLongIllegal, "loose holds that do not fit are illegal"},
		{quirkLeaseLongLegal, "loose holds always fit"},
		{quirkLeaseUnknownHeld, "unknown acquires happened"},
		{quirkLeaseOrder, "order of earliest starts"},
	} {
		planted = q.quirk
		found := uint64(0)
		for seed := range uint64(20000) {
			if _, _, differ := differs(t, seed); differ {
				found = seed + 1
				break
			}
		}
		if found == 0 {
			t.Errorf("%s: not found in 20000 histories", q.name)
		}
		t.Logf("%s: found in history %d", q.name, found)
	}
}
