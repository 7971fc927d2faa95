package models_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"picklock/harness/history"
	"picklock/models"
)

// fencedHistory draws a history of two locks and two SKUs. Times and tokens are small
// numbers, so that ties, gaps and breaches are common.
func fencedHistory(t *rapid.T) *history.History {
	h := &history.History{Complete: true, Stock: map[string]history.Levels{}}
	for i := range rapid.IntRange(0, 9).Draw(t, "acquires") {
		o := history.Operation{ID: int64(i + 1), Client: i, Op: history.Acquire}
		o.Object = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "lock")
		o.Invoke = rapid.Int64Range(0, 30).Draw(t, "invoke")
		o.Return = o.Invoke + rapid.Int64Range(0, 8).Draw(t, "length")
		o.Outcome = rapid.SampledFrom([]history.Outcome{history.OutcomeOK, history.OutcomeOK, history.OutcomeOK, history.OutcomeInfo, history.OutcomeFail}).Draw(t, "outcome")
		// Mostly rising with time, as tokens do, so that valid histories are common too.
		o.Fence = max(0, o.Invoke/3+rapid.Int64Range(0, 3).Draw(t, "token"))
		if rapid.IntRange(0, 3).Draw(t, "waited") == 0 {
			o.From = o.Invoke + rapid.Int64Range(0, 8).Draw(t, "from")
		}
		if o.Outcome == history.OutcomeOK && i > 0 && rapid.IntRange(0, 7).Draw(t, "nested") == 0 {
			o.Grant = rapid.Int64Range(1, int64(i)).Draw(t, "grant")
			o.Object = h.Operations[o.Grant-1].Object
			if h.Operations[o.Grant-1].Grant != 0 {
				o.Grant = 0
			}
		}
		h.Operations = append(h.Operations, o)
	}
	mark := int64(0)
	for i := range rapid.IntRange(0, 8).Draw(t, "writes") {
		mark = max(0, mark+rapid.Int64Range(-1, 4).Draw(t, "step"))
		e := history.LedgerLine{Object: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "sku")}
		e.Seq, e.Op, e.Fence = int64(i), int64(100+i), mark
		h.Ledger = append(h.Ledger, e)
	}
	finish(h)
	return h
}

// breaches is the definition of fencing: all pairs, no cleverness. It counts the grants
// and the writes that break it.
func breaches(h *history.History) int {
	asked := func(o *history.Operation) int64 {
		if o.From > o.Invoke && o.From <= o.Return {
			return o.From
		}
		return o.Invoke
	}
	n := 0
	for i := range h.Operations {
		y := &h.Operations[i]
		if y.Op != history.Acquire || y.Outcome != history.OutcomeOK || y.Grant != 0 {
			continue
		}
		bad := y.Fence == 0
		for k := range h.Operations {
			x := &h.Operations[k]
			if k == i || x.Op != history.Acquire || x.Outcome != history.OutcomeOK || x.Grant != 0 || x.Object != y.Object || x.Fence == 0 {
				continue
			}
			before := asked(x) < asked(y) || asked(x) == asked(y) && x.ID < y.ID
			bad = bad || x.Return < asked(y) && x.Fence > y.Fence || x.Fence == y.Fence && before
		}
		if bad {
			n++
		}
	}
	for i, e := range h.Ledger {
		stale := false
		for _, w := range h.Ledger[:i] {
			stale = stale || w.Object == e.Object && e.Fence != 0 && w.Fence > e.Fence
		}
		if stale {
			n++
		}
	}
	return n
}

func TestFencingAgainstReference(t *testing.T) {
	broken, whole := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		h := fencedHistory(t)
		want := breaches(h)
		r := models.Judge(h, models.Params{Promises: []models.Property{models.Fencing}, MinSales: -1, MinContention: -1, MaxViolations: 1000})
		j := r.Properties[models.Fencing]
		if j.Count != want || len(j.Violations) != want {
			t.Fatalf("got %d breaches, want %d: the sweep must find what comparing all with all finds\n%s", j.Count, want, fences(h))
		}
		switch {
		case want > 0 && j.Verdict != models.Violated:
			t.Fatalf("got %s with %d breaches, want violated", j.Verdict, want)
		case want == 0 && j.Verdict == models.Violated:
			t.Fatalf("got violated, want no false alarm\n%s", fences(h))
		case want > 0:
			broken++
		case j.Verdict == models.Valid && len(h.Operations) > 3:
			whole++
		}
		for _, v := range j.Violations {
			if len(v.Story) < 2 {
				t.Fatalf("got the story %q of a %s, want who, when and why", v.Story, v.Kind)
			}
		}
	})
	if broken == 0 || whole == 0 {
		t.Errorf("got %d broken and %d whole histories, want some of either: agreement says little otherwise", broken, whole)
	}
}

func fences(h *history.History) string {
	s := dump(h)
	for _, o := range h.Operations {
		s += fmt.Sprintf("  #%d of %s has token %d\n", o.ID, o.Object, o.Fence)
	}
	for _, e := range h.Ledger {
		s += fmt.Sprintf("  write %d of %s has token %d\n", e.Op, e.Object, e.Fence)
	}
	return s
}

// Tokens from a correct counter are never accused, however many there are and however long
// their owners had waited.
func TestFencingOfManyGrants(t *testing.T) {
	const n = 50_000
	h := &history.History{Complete: true, End: 10 * n}
	for i := range int64(n) {
		h.Operations = append(h.Operations, history.Operation{
			ID: i + 1, Client: int(i % 50), Op: history.Acquire, Object: "a", Outcome: history.OutcomeOK,
			Invoke: max(0, 10*i-500), From: 10 * i, Return: 10*i + 5, Fence: 2*i + 1,
		}, history.Operation{
			ID: 2*n + i + 1, Client: int(i % 50), Op: history.Release, Object: "a", Outcome: history.OutcomeOK,
			Invoke: 10*i + 7, Return: 10*i + 8, Grant: i + 1,
		})
		h.Ledger = append(h.Ledger, history.LedgerLine{Object: "x", Ledger: history.Ledger{Seq: i, Op: n + i + 1, Fence: 2*i + 1}})
	}
	j := models.Judge(h, models.Params{Promises: []models.Property{models.Fencing}, MinSales: -1, MinContention: -1}).Properties[models.Fencing]
	if j.Verdict != models.Valid || j.Checked != 2*n {
		t.Errorf("got %s after %d checks, want valid after %d: %v", j.Verdict, j.Checked, 2*n, j.Violations)
	}
}
