package fast

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"picklock/models/spec"
)

// compareLock says how the checker's answer differs from the specification's, or is not an
// answer; "": it does not.
func compareLock(want Verdict, l spec.Lock, ops []spec.LockOp) (Result, string) {
	res, wrong := askLock(l, ops)
	switch {
	case wrong != "":
	case res.Verdict != want:
		wrong = fmt.Sprintf("%v, but %v by the specification", res.Verdict, want)
	case res.Verdict == Legal && len(res.Ops) != 0:
		wrong = fmt.Sprintf("legal, but operations %v contradict each other", res.Ops)
	case res.Verdict == Illegal && (len(res.Ops) == 0 || slices.Min(res.Ops) < 0 || slices.Max(res.Ops) >= len(ops)):
		wrong = fmt.Sprintf("illegal, but for operations %v of %d", res.Ops, len(ops))
	case res.Asked < 0:
		wrong = fmt.Sprintf("%d operations were left to porcupine", res.Asked)
	}
	return res, wrong
}

// askLock asks the checker. It must not panic, and not change the history.
func askLock(l spec.Lock, ops []spec.LockOp) (res Result, text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprintf("panics: %v", p)
		}
	}()
	before := slices.Clone(ops)
	res = Lock(l, ops, Limits{})
	if !slices.Equal(before, ops) {
		copy(ops, before)
		text = "changes the history"
	}
	return res, text
}

// shrinkLock takes operations away, and then fences, and makes the times small, as long as
// something is wrong.
func shrinkLock(ops []spec.LockOp, wrong func([]spec.LockOp) bool) []spec.LockOp {
	try := func(smaller []spec.LockOp) bool {
		if !wrong(smaller) {
			return false
		}
		ops = smaller
		return true
	}
	less := func() bool {
		for i := range ops {
			without := slices.Delete(slices.Clone(ops), i, i+1)
			if try(without) {
				return true
			}
			for j := i; j < len(without); j++ { // a grant goes together with its release
				if try(slices.Delete(slices.Clone(without), j, j+1)) {
					return true
				}
			}
		}
		return false
	}
	for less() {
	}
	for i := range ops {
		plain := slices.Clone(ops)
		plain[i].Fence = 0
		try(plain)
	}
	var times []int64
	for i := range ops {
		times = append(times, ops[i].Call)
		if ops[i].End() != spec.Never {
			times = append(times, ops[i].Return)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	rank := func(t int64) int64 { return int64(slices.Index(times, t)) }
	ranked := slices.Clone(ops)
	for i := range ranked {
		o := &ranked[i]
		o.Call = rank(o.Call)
		if o.End() != spec.Never {
			o.Return = rank(o.Return)
		}
	}
	try(ranked)
	return ops
}

// explainLock tells of a history about which the two differ.
func explainLock(m lockModel, number int, ops []spec.LockOp) string {
	differs := func(ops []spec.LockOp) string {
		_, text := compareLock(specLock(m.lock, ops), m.lock, ops)
		return text
	}
	small := shrinkLock(slices.Clone(ops), func(ops []spec.LockOp) bool { return differs(ops) != "" })
	return fmt.Sprintf("%s, history %d: %s\n\t%s\nsmaller: %s\n\t%s", m.name, number, differs(ops), formatLock(ops),
		differs(small), formatLock(small))
}

// The checker gives the specification's verdict on every history, and both verdicts are
// frequent.
func TestLockAgreesWithSpecification(t *testing.T) {
	for _, m := range lockModels {
		t.Run(m.name, func(t *testing.T) {
			agreeLock(t, m, smallLocks, *histories)
			agreeLock(t, m, sparseLocks, *histories/4)
			agreeLock(t, m, longLocks, *histories/80)
		})
	}
}

// And it does if it gathers the operations of all owners, which it does else only where they
// have many.
func TestLockAgreesGathered(t *testing.T) {
	defer func(n int) { manyOps = n }(manyOps)
	manyOps = 0
	for _, m := range lockModels {
		t.Run(m.name, func(t *testing.T) {
			agreeLock(t, m, smallLocks, *histories/4)
			agreeLock(t, m, sparseLocks, *histories/4)
		})
	}
}

// And if the owners' numbers are guessed from two operations, rightly or wrongly, which is
// done else only in long histories.
func TestLockAgreesGuessed(t *testing.T) {
	before := guessing
	defer func() { guessing = before }()
	guessing.from, guessing.samples, guessing.margin = 2, 2, 0
	for _, m := range lockModels {
		t.Run(m.name, func(t *testing.T) {
			agreeLock(t, m, smallLocks, *histories/4)
			agreeLock(t, m, sparseLocks, *histories/4)
			right, wrong := 0, 0
			for i := range *histories / 4 {
				ops := lockHistory(m, sparseLocks, i)
				numbers := guessOwners(ops)
				if numbers == nil {
					continue
				}
				if slices.ContainsFunc(ops, func(op spec.LockOp) bool { return !numbers.has(op.Owner) }) {
					wrong++
				} else {
					right++
				}
			}
			if t.Logf("%d were guessed rightly, %d wrongly", right, wrong); right < *histories/100 || wrong < *histories/100 {
				t.Error("of one kind there are too few to say much")
			}
		})
	}
}

// An owner that no sample shows, and whose number differs from another's by a multiple of
// 2^32 or 2^33, is not taken for that other one: the first holds the lock to the end.
func TestLockGuessedFarOwner(t *testing.T) {
	for _, far := range []int64{1 << 32, -1 << 32, 1 << 33, math.MaxInt64 - 10_000, math.MinInt64} {
		var ops []spec.LockOp
		add := func(step spec.Step, owner int64) {
			at := int64(2 * len(ops))
			ops = append(ops, spec.LockOp{Step: step, Owner: owner, Call: at, Return: at + 1})
		}
		for owner := range int64(4000) {
			add(spec.Acquire, owner)
			if owner == 1234 {
				add(spec.Release, owner+far) // nobody's: its owner never acquired
			} else {
				add(spec.Release, owner)
			}
		}
		if guessOwners(ops) == nil {
			t.Fatal("nothing is guessed: this test could not fail")
		}
		if got := Lock(spec.OwnerMutex(), ops, Limits{}).Verdict; got != Illegal {
			t.Errorf("a release by an owner %d away: %v, want Illegal", far, got)
		}
	}
}

func agreeLock(t *testing.T, m lockModel, size lockSize, n int) {
	illegal, alone, undecided := 0, 0, 0
	for i := range n {
		ops := lockHistory(m, size, i)
		want := specLock(m.lock, ops)
		if want == Undecided {
			undecided++
			continue
		}
		res, wrong := compareLock(want, m.lock, ops)
		if wrong != "" {
			t.Fatal(explainLock(m, i, ops))
		}
		illegal += count(want == Illegal)
		alone += count(res.Asked == 0)
	}
	share := func(k int) float64 { return 100 * float64(k) / float64(n) }
	t.Logf("%d %s histories, %.1f%% illegal, %.1f%% without porcupine", n, size.name, share(illegal), share(alone))
	if n >= 1000 && (share(illegal) < 25 || share(illegal) > 75) {
		t.Errorf("%.1f%% of the %s histories are illegal: one verdict is too rare to say much", share(illegal), size.name)
	}
	// Long ones are left out where the specification takes too long, by the machine's clock.
	if undecided > 0 && (size.name != longLocks.name || 2*undecided > n) {
		t.Errorf("the specification did not decide %d of %d %s histories", undecided, n, size.name)
	}
}

// What is left when a history shrinks is still wrong, and without any one of its operations
// it is not. Fences that are overlooked leave little: two acquires that were told fences,
// and what shows the order of the two, or that the one is nested in the other.
func TestShrinkLock(t *testing.T) {
	shrunk := 0
	for _, m := range lockModels {
		if !m.lock.Fenced {
			continue
		}
		unfenced := m.lock
		unfenced.Fenced = false
		wrong := func(ops []spec.LockOp) bool { return specLock(m.lock, ops) != specLock(unfenced, ops) }
		for i := range 400 {
			ops := lockHistory(m, smallLocks, i)
			if !wrong(ops) {
				continue
			}
			shrunk++
			small := shrinkLock(slices.Clone(ops), wrong)
			for i := range small {
				if wrong(slices.Delete(slices.Clone(small), i, i+1)) {
					t.Errorf("%s: operation %d is too much in %s", m.name, i, formatLock(small))
				}
			}
			if !wrong(small) || len(small) > 5 {
				t.Errorf("%s: %s is left of %s", m.name, formatLock(small), formatLock(ops))
			}
			for _, o := range small {
				if o.Call < 0 || o.Call > 9 {
					t.Errorf("%s: the times are not small: %s", m.name, formatLock(small))
				}
			}
		}
	}
	if shrunk < 20 {
		t.Errorf("only %d histories were there to shrink", shrunk)
	}
}
