package spec_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"picklock/models/spec"
)

// Histories of locks as text, one word for each operation:
//
//	a+7@0..3   owner a acquires, and is told fence 7, between 0 and 3
//	a-         releases. Words without times follow each other in their order
//	a!         is told that it does not hold
//	a?+@2..    may acquire, from 2 on; a?- may release; a?0 may be rid of what it holds
//
// Owners are the letters a to z.
var lockSigns = []string{"+", "-", "!", "?+", "?-", "?0"} // by spec.Step

func parseLockOp(word string, place int) (spec.LockOp, error) {
	what, times, timed := strings.Cut(word, "@")
	if what == "" || what[0] < 'a' || what[0] > 'z' {
		return spec.LockOp{}, fmt.Errorf("%q: no owner", word)
	}
	o := spec.LockOp{Owner: int64(what[0]-'a') + 1, ID: int64(place), Call: int64(10 * place), Return: int64(10*place + 1)}
	n := 1
	if strings.HasPrefix(what[1:], "?") {
		n = 2
	}
	if len(what) <= n {
		return o, fmt.Errorf("%q: no step", word)
	}
	step := slices.Index(lockSigns, what[1:n+1])
	if step < 0 {
		return o, fmt.Errorf("%q: no step", word)
	}
	o.Step = spec.Step(step)
	var err error
	if fence := what[n+1:]; fence != "" {
		if o.Fence, err = strconv.ParseInt(fence, 10, 64); err != nil {
			return o, fmt.Errorf("%q: fence: %w", word, err)
		}
	}
	if timed {
		call, ret, found := strings.Cut(times, "..")
		if !found {
			return o, fmt.Errorf("%q: no ..", word)
		}
		if o.Call, err = strconv.ParseInt(call, 10, 64); err != nil {
			return o, fmt.Errorf("%q: call: %w", word, err)
		}
		o.Return = spec.Never
		if ret != "" {
			if o.Return, err = strconv.ParseInt(ret, 10, 64); err != nil {
				return o, fmt.Errorf("%q: return: %w", word, err)
			}
		}
	}
	if o.Step.May() {
		o.Return = spec.Never
	}
	return o, nil
}

func parseLockOps(t *testing.T, text string) []spec.LockOp {
	t.Helper()
	var ops []spec.LockOp
	for i, word := range strings.Fields(text) {
		o, err := parseLockOp(word, i)
		if err != nil {
			t.Fatal(err)
		}
		ops = append(ops, o)
	}
	return ops
}

func formatLockOps(ops []spec.LockOp) string {
	var words []string
	for i := range ops {
		o := &ops[i]
		w := string(rune('a'+o.Owner-1)) + lockSigns[o.Step]
		if o.Fence != 0 {
			w += strconv.FormatInt(o.Fence, 10)
		}
		w += fmt.Sprintf("@%d..", o.Call)
		if o.End() != spec.Never {
			w += strconv.FormatInt(o.Return, 10)
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func TestLockText(t *testing.T) {
	const text = "a+7@0..3 b-@1..4 c!@2..5 d?+@2.. e?-@6.. f?0@7.. z+12@-3.. a+-4@8..8"
	if got := formatLockOps(parseLockOps(t, text)); got != text {
		t.Errorf("got %s, want %s", got, text)
	}
	if got, want := formatLockOps(parseLockOps(t, "a+ a?- b+3")), "a+@0..1 a?-@10.. b+3@20..21"; got != want {
		t.Errorf("without times: got %s, want %s", got, want)
	}
	for _, bad := range []string{"", "+", "a", "a?", "a*", "a?!", "a+x", "a+@1", "a+@x..2", "a+@1..x", "A+"} {
		if o, err := parseLockOp(bad, 0); err == nil {
			t.Errorf("%q was read as %+v", bad, o)
		}
	}
}
