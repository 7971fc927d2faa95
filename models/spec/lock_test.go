package spec_test

import (
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"picklock/models/spec"
)

type lockCase struct {
	history string
	legal   bool
	why     string
}

func checkLock(l spec.Lock, ops []spec.LockOp) bool {
	return porcupine.CheckOperations(l.Model(), spec.Operations(ops))
}

func runLockCases(t *testing.T, l spec.Lock, cases []lockCase) {
	t.Helper()
	for _, c := range cases {
		if got := checkLock(l, parseLockOps(t, c.history)); got != c.legal {
			t.Errorf("%s: legal %v, want %v: %s", c.history, got, c.legal, c.why)
		}
	}
}

// The mutex of knossos.model: acquire of a held one and release of a free one are
// inconsistent, and it does not look at who does it.
func TestMutex(t *testing.T) {
	runLockCases(t, spec.Mutex(), []lockCase{
		{"", true, "nothing was done"},
		{"a+", true, "it starts free"},
		{"a+ a-", true, ""},
		{"a+ a- a+ a-", true, ""},
		{"a+ a+", false, "already held"},
		{"a+ b+", false, "already held"},
		{"a-", false, "not held"},
		{"a+ a- a-", false, "not held"},
		{"a+ b-", true, "anybody may release it"},
		{"a+ b- b+ a-", true, "anybody may release it"},
		{"a+ b- a-", false, "not held any more"},
		{"a+ b!", false, "held, by anybody"},
		{"a+ b- a!", true, "free"},
		{"a+ b?- c+", true, "b may have released it"},
		{"a+ b?0 c+", true, "all owners count as one"},
		{"a?+ b-", true, "a may have acquired it"},
		{"a?+ b- c-", false, "one of the two released a free lock"},
	})
}

// OwnerAwareMutex of Jepsen's tests of Hazelcast.
func TestOwnerMutex(t *testing.T) {
	runLockCases(t, spec.OwnerMutex(), []lockCase{
		{"a+ a- b+ b-", true, ""},
		{"a+ b+", false, "held by another"},
		{"a+ a+", false, "not reentrant"},
		{"a-", false, "free"},
		{"a+ b-", false, "held by another"},
		{"a+ a- a-", false, "released twice"},
		{"a+ a- b+ a-", false, "b holds"},
		{"a+ a- a+ a-", true, "an owner can acquire anew"},
		{"a!", true, "free"},
		{"a+ a!", false, "a holds"},
		{"a+ b!", true, "a holds"},
		{"a+3 a- a+2 a-", true, "fences are not looked at"},
	})
}

// ReentrantMutex of Jepsen's tests of Hazelcast: an owner can hold it twice.
func TestReentrantMutex(t *testing.T) {
	runLockCases(t, spec.ReentrantMutex(2), []lockCase{
		{"a+ a+ a- a-", true, ""},
		{"a+ a+ a+", false, "the limit is two"},
		{"a+ a+ a- a+ a- a- b+", true, "two at once, not two in all"},
		{"a+ a+ a- b+", false, "a still holds once"},
		{"a+ a+ a- a- b+", true, "free after as many releases"},
		{"a+ a+ a- a- a-", false, "one release too many"},
		{"a+ b+", false, "held by another"},
		{"a+ a+ b-", false, "held by another"},
		{"a+ a+ a- a!", false, "a still holds once"},
		{"a+ a+ a?- b+", false, "a release of unknown outcome takes one hold only"},
		{"a+ a+ a?- a?- b+", true, ""},
		{"a+ a+ a?0 b+", true, "all that a holds may be gone"},
		{"a+ a+ a?0 a-", true, "or not"},
		{"a+ a+ a?0 a- a-", true, "or not"},
		{"a+ a+ a?0 a- b+", true, "gone after the release"},
		{"a+ a?+ a- b+", true, "the nested acquire need not have happened"},
		{"a+ a?+ a- a-", true, "it may have"},
		{"a+ a?+ a- a- a-", false, "once at most"},
	})
	runLockCases(t, spec.ReentrantMutex(0), []lockCase{
		{strings.Repeat("a+ ", 9) + strings.Repeat("a- ", 9) + "b+", true, "without end"},
		{strings.Repeat("a+ ", 9) + strings.Repeat("a- ", 8) + "b+", false, "one release too few"},
	})
}

// FencedMutex of Jepsen's tests of Hazelcast.
func TestFencedMutex(t *testing.T) {
	runLockCases(t, spec.FencedMutex(), []lockCase{
		{"a+1 a- b+2 b-", true, ""},
		{"a+5 a- b+900 b-", true, "tokens can leave gaps"},
		{"a+2 a- b+2", false, "told twice"},
		{"a+2 a- a+2", false, "told twice, to the same owner"},
		{"a+2 a- b+1", false, "falls"},
		{"a+5 a- b+ b- c+6", true, "one that was not told needs no number between"},
		{"a+5 a- b+ b- c+5", false, "one that was not told hides nothing"},
		{"a+ a- b+1", true, ""},
		{"a+1 a+2", false, "not reentrant"},
		{"a+1 b+2", false, "held by another"},
		{"a+1 b-", false, "held by another"},
		{"a+-1", false, "tokens are above 0"},
		{"a+2@0..9 a-@10..11 b+1@0..9 b-@10..11", false, "the order by tokens: b's release comes after a's acquire"},
		{"a+2@0..9 a-@10..11 b+1@0..9 b-@8..9", true, "b can have been first"},
		{"a+1 a- b?+ b?- c+2", true, ""},
		{"a+3 a- b?+9 b- c+4", true, "the token of an acquire of unknown outcome is not looked at"},
		{"a+3 a- b?+1 b- c+4", true, "the token of an acquire of unknown outcome is not looked at"},
		{"a+3 a- b?+ b- c+3", false, ""},
	})
}

// ReentrantFencedMutex of Jepsen's tests of Hazelcast: an owner can hold it twice.
func TestReentrantFencedMutex(t *testing.T) {
	runLockCases(t, spec.ReentrantFencedMutex(2), []lockCase{
		{"a+1 a+1 a- a- b+2", true, "nested: the same token"},
		{"a+1 a+2", false, "nested: another token"},
		{"a+2 a+1", false, "nested: another token"},
		{"a+1 a+ a- a+1", true, "a nested one that was not told"},
		{"a+1 a+ a- a+2", false, "the token stays that of the first"},
		{"a+1 a+1 a+1", false, "the limit is two"},
		{"a+1 a- a+1", false, "not nested: must rise"},
		{"a+1 a- a+2", true, ""},
		{"a+1 a+1 a- b+2", false, "a still holds once"},
		{"a+ a+4", true, "the first was not told: the nested one stands for it"},
		{"a+ a+4 a- a+4", true, "the first was not told: the nested one stands for it"},
		{"a+ a+4 a- a+5", false, "the first was not told: the nested one stands for it"},
		{"a+ a+4 a- a- b+4", false, "and counts for the others"},
		{"a+3 a- b+ b+3", false, "the first was not told, but is above 3"},
		{"a+3 a- b+ b+4", true, ""},
		{"a+ a- a+1 a+1", true, "nothing stays of one that was not told"},
		{"a+3 a- b?+ b+3", false, "whether b's acquire happened or not, 3 is used up"},
		{"a+3 a- b?+ b+4 b- b-", true, "it happened"},
		{"a+3 a- b?+ b+4 b- c+5", true, "it did not"},
		{"a+3 a- b?+ b+4 b- b- c+4", false, ""},
	})
	runLockCases(t, spec.ReentrantFencedMutex(0), []lockCase{
		{"a+1 a+1 a+1 a+ a- a- a- a- b+2", true, ""},
		{"a+1 a+1 a+1 a+ a- a- a- b+2", false, "one release too few"},
	})
}

// AcquiredPermits of Jepsen's tests of Hazelcast: two permits. The limits by owner are
// ours.
func TestPermits(t *testing.T) {
	runLockCases(t, spec.Permits(2), []lockCase{
		{"a+ b+", true, ""},
		{"a+ a+", true, "an owner can have several"},
		{"a+ b+ c+", false, "two at most"},
		{"a+ a+ a+", false, "two at most"},
		{"a+ b+ a- c+", true, ""},
		{"a+ b-", false, "b has none"},
		{"a+ b+ a- a-", false, "a has none any more"},
		{"a+ a+ a- a- a-", false, "one release too many"},
		{"a+ a!", false, "a has one"},
		{"a+ a- b+ a!", true, ""},
		{"a+ a+ a?0 b+ c+", true, "both of a's may be gone"},
		{"a+ a+ a?- b+ c+", false, "only one may be gone"},
		{"a+ b+ a?- c+ c-", true, ""},
		{"a+ b+ a?0 c+ d+", false, "b's is not gone"},
		{"a+ b?+ b- c+", true, "b's is gone again"},
		{"c+ a+ c- b+ b- a-", true, "owners in any order"},
	})
	limited := spec.Permits(3)
	limited.Holds = 2
	runLockCases(t, limited, []lockCase{
		{"a+ a+ b+", true, ""},
		{"a+ a+ a+", false, "two for one owner"},
		{"a+ a+ b+ b+", false, "three in all"},
		{"a+ a+ a- a+ b+ a- b+", true, ""},
		{"a+ a+ a?+ b+ a- a- a-", true, "the third of unknown outcome came after a release"},
		{"a+ a+ a?+ b+ c+", false, "three in all"},
	})
	anonymous := spec.Permits(2)
	anonymous.Anonymous = true
	runLockCases(t, anonymous, []lockCase{
		{"a+ b- c+ c+", true, "anybody may release"},
		{"a+ b+ c+", false, "two at most"},
		{"a+ b- c-", false, "none is held"},
	})
}

// The rules of the package comment: closed intervals, ties, steps that may happen.
func TestTimes(t *testing.T) {
	runLockCases(t, spec.OwnerMutex(), []lockCase{
		{"a+@0..1 a-@2..5 b+@5..6", true, "at 5 the release can be first"},
		{"a+@0..1 b+@2..5 a-@5..6", true, "at 5 the release can be first, though called at the acquire's return"},
		{"a+@0..1 b+@2..4 a-@5..6", false, "the acquire had returned"},
		{"b+@5..6 a-@2..5 a+@0..1", true, "the order of the slice says nothing"},
		{"b+@2..4 a-@5..6 a+@0..1", false, "the order of the slice says nothing"},
		{"a-@5..5 a+@5..5", true, "all at one moment"},
		{"a+@5..5 a-@5..5 b+@5..5 b-@5..5 c!@5..5", true, "all at one moment"},
		{"a+@5..5 b+@5..5", false, "no order of the two is right"},
		{"a+@0..5 a-@5..9", true, ""},
		{"a-@0..5 a+@5..9", true, "a tie: the release can be second"},
		{"a-@0..4 a+@5..9", false, "the release had returned"},
		{"a+@-9..-8 b+@-7..-6 a-@-7..-6", true, "times below 0"},
		{"a+@-9..-8 b+@-7..-6 a-@-5..-4", false, "times below 0"},
		{"a+@-9..-8 b+@-7..-6 a?-@-7..", true, "times below 0: the far end is behind them"},
		{"a+@0..1 b+@2.. a-@9..10", true, "a certain step without a return takes effect at any time"},
		{"a+@0..1 b+@2.. c+@11..12", false, "a and c overlap"},
		{"a+@0..1 b+@2.. a-@9..10 c+@11..12", false, "it must take effect all the same: once in the history as it is"},
		{"a+@0..1 b+@2.. a-@9..10 c+@11..12 c-@13..14", true, "after c's release"},

		{"a+@0..1 a?-@2.. b+@8..9", true, "long after its call"},
		{"a+@0..1 b+@2..3 a?-@4..", false, "not before its call"},
		{"a+@0..1 b+@2..4 a?-@4..", true, "at its call"},
		{"a+@0..1 a?-@2.. a-@8..9", true, "never"},
		{"a+@0..1 a?-@2.. b+@3..4 a-@8..9", false, "either it happened, or it did not"},
		{"a+@0..1 a?-@2.. a?-@2.. b+@3..4 b-@5..6 a!@7..8", true, ""},
		{"a?+@0.. b+@1..2 a-@8..9", false, "a's release proves that it held, and b never released"},
		{"a?+@0.. b+@1..9 a-@8..9", true, "the release can be first"},
		{"a?+@0.. b+@1..2 b-@3..4 a-@8..9", true, "acquired long after its call"},
		{"a?+@0.. a-@1..2 a-@3..4", false, "once only"},
		{"a?+@5.. a-@1..4", false, "not before its call"},
		{"a+@0..1 a?0@2.. a!@3..4", true, ""},
		{"a+@0..1 a?0@2.. a!@3..4 a-@5..6", false, "what is gone does not come back"},
		{"a+@0..1 a?0@2.. a!@3..4 a+@5..6 a-@7..8", true, ""},
		{"a?0@0.. a+@1..2 b+@3..4", true, "a step that may happen waits until it can"},
		{"a?0@0.. a+@1..2 b+@3..4 b-@5..6 a+@7..8 c+@9..10", false, "once only"},
	})
	// The return of a step that may happen is not looked at.
	ops := parseLockOps(t, "a+@0..1 a?-@5.. b+@8..9")
	for _, ret := range []int64{0, 5, 6, 100, spec.Never} {
		if ops[1].Return = ret; !checkLock(spec.OwnerMutex(), ops) {
			t.Errorf("a step that may happen was held to its return %d", ret)
		}
	}
}

func TestLockDescriptions(t *testing.T) {
	describe := func(l spec.Lock, history string) string {
		m := l.Model()
		s := m.Init()
		var text []string
		for _, o := range parseLockOps(t, history) {
			var ok bool
			if ok, s = m.Step(s, o, nil); !ok {
				t.Fatalf("%s is not legal", history)
			}
			text = append(text, m.DescribeOperation(o, nil)+": "+m.DescribeState(s))
		}
		return strings.Join(text, "; ")
	}
	for _, c := range []struct {
		l             spec.Lock
		history, want string
	}{
		{spec.ReentrantFencedMutex(0), "a+ a+4 a-", "1 acquires: held by 1; 1 acquires, fence 4: held 2 times by 1, fence 4; 1 releases: held by 1, fence 4"},
		{spec.Permits(3), "b+ a+ b+ b?0 a-", "2 acquires: held by 2x1; 1 acquires: held by 1x1;2x1; 2 acquires: held by 1x1;2x2; 2 may be rid of it: held by 1x1; 1 releases: free"},
	} {
		if got := describe(c.l, c.history); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
