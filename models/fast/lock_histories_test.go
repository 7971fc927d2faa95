package fast

import (
	"slices"
	"testing"

	"picklock/models/spec"
)

// The generator must make what it promises: legal histories, all steps, all sizes, ties,
// overlaps, owners that are sequential and owners that are not.
func TestLockHistories(t *testing.T) {
	const n = 1500
	least, most := smallLocks.min, smallLocks.max
	for _, m := range lockModels {
		var sizes [9 + 1]int
		var steps [spec.MayFree + 1]int
		ties, overlaps, sequential, told, illegal := 0, 0, 0, 0, 0
		for i := range n {
			ops := lockHistory(m, smallLocks, i)
			if len(ops) < least || len(ops) > most {
				t.Fatalf("%s: history %d has %d operations", m.name, i, len(ops))
			}
			sizes[len(ops)]++
			switch v := specLock(m.lock, ops); {
			case v == Illegal && i%2 == 0:
				t.Fatalf("%s: history %d is illegal: %s", m.name, i, formatLock(ops))
			case v == Illegal:
				illegal++
			}
			tie, overlap, alone := false, false, true
			for j, a := range ops {
				if a.End() < a.Call {
					t.Fatalf("%s: history %d: operation %d returns before its call: %s", m.name, i, j, formatLock(ops))
				}
				steps[a.Step]++
				if a.Fence > 0 && a.Step == spec.Acquire {
					told++
				}
				for k, b := range ops {
					tie = tie || j != k && a.Return == b.Call
					meet := j < k && a.Call < b.End() && b.Call < a.End() && !a.Step.May() && !b.Step.May()
					overlap = overlap || meet
					alone = alone && !(meet && a.Owner == b.Owner)
				}
			}
			ties, overlaps, sequential = ties+count(tie), overlaps+count(overlap), sequential+count(alone)
		}
		t.Logf("%s: sizes %v steps %v ties %d overlaps %d owners in sequence %d fences %d illegal %d", m.name, sizes[least:], steps, ties, overlaps, sequential, told, illegal)
		if slices.Min(sizes[least:]) < n/50 || slices.Min(steps[:]) < n/50 || ties < n/10 || overlaps < n/4 || sequential < n/4 || sequential > n*19/20 || m.lock.Fenced != (told > n/4) {
			t.Errorf("%s: the histories are not various enough", m.name)
		}
	}
}
