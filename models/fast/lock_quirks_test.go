package fast

import "testing"

// lockQuirks are the mistakes that are planted in the lock checker, one at a time, each
// with a lock by whose histories it is to be found.
var lockQuirks = []struct {
	quirk quirk
	name  string
	model string
}{
	{quirkTouching, "holds that touch overlap", "owner mutex"},
	{quirkTouching, "holds that touch overlap", "two permits"},
	{quirkNoWindow, "windows are not looked at", "owner mutex"},
	{quirkNoWindow, "windows are not looked at", "two permits"},
	{quirkWindowEnds, "a window's ends are not a part of it", "owner mutex"},
	{quirkDeafRelease, "a release that may have happened never does", "owner mutex"},
	{quirkProofless, "a release does not prove an unknown acquire", "owner mutex"},
	{quirkNotHeld, "a wrong \"not held\" is legal", "owner mutex"},
	{quirkFromCall, "a hold counts from the acquire's call", "owner mutex"},
	{quirkToReturn, "a hold counts to the release's return", "owner mutex"},
	{quirkFenceTwice, "two holds may have the same fence", "fenced"},
	{quirkFenceTwice, "two holds may have the same fence", "reentrant fenced"},
	{quirkSkipClusters, "what is left to porcupine is legal", "owner mutex"},
	{quirkSkipClusters, "what is left to porcupine is legal", "three permits"},
	{quirkOneMore, "there is a permit more", "one permit"},
	{quirkOneMore, "there is a permit more", "three permits"},
	{quirkFreeOne, "a death ends one hold only", "reentrant"},
	{quirkFreeOne, "a death ends one hold only", "two permits"},
	{quirkReleaseOfNobody, "a release without a hold is legal", "owner mutex"},
	{quirkNeedless, "unknown acquires are left out", "owner mutex"},
	{quirkNeedless, "unknown acquires are left out", "two permits"},
}

// quirkHistories are tried of each size, whatever the flag says: the rarest mistake is
// found by the 2,325th.
const quirkHistories = 20_000

// Each mistake must be found by the histories of the differential test: a test that
// overlooks one proves less than it seems to.
func TestLockQuirksAreFound(t *testing.T) {
	if planted != 0 {
		t.Fatalf("a mistake is planted already: %b", planted)
	}
	t.Cleanup(func() { planted = 0 })
	for _, q := range lockQuirks {
		t.Run(q.name+" "+q.model, func(t *testing.T) {
			m, ok := findLockModel(q.model)
			if !ok || q.quirk == 0 || q.quirk&(q.quirk-1) != 0 {
				t.Fatalf("%b is not one mistake, or %s is not a lock", q.quirk, q.model)
			}
			planted = q.quirk
			defer func() { planted = 0 }()
			for i := range quirkHistories {
				for _, size := range []lockSize{smallLocks, sparseLocks} {
					ops := lockHistory(m, size, i)
					if _, wrong := compareLock(specLock(m.lock, ops), m.lock, ops); wrong != "" {
						t.Logf("found by %s history %d: %s", size.name, i, wrong)
						return
					}
				}
			}
			t.Errorf("not found in %d histories", 2*quirkHistories)
		})
	}
}

// All bits of the lock checker must be in the table: those up to the highest one.
func TestLockQuirksAreAll(t *testing.T) {
	var all, highest quirk
	for _, q := range lockQuirks {
		all |= q.quirk
		highest = max(highest, q.quirk)
	}
	if all != highest<<1-1 {
		t.Errorf("the table has the bits %b, which leaves some out", all)
	}
}

func findLockModel(name string) (lockModel, bool) {
	for _, m := range lockModels {
		if m.name == name {
			return m, true
		}
	}
	return lockModel{}, false
}
