package matrix

import (
	"errors"
	"math"
	"testing"

	"picklock/harness/store"
	"picklock/models"
)

// TestWilson compares with the interval's published values (Newcombe 1998, table I).
func TestWilson(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{
		{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}, {29, 29, 0.8830, 1}, {0, 0, 0, 1},
	} {
		low, high := Wilson(c.k, c.n)
		if math.Abs(low-c.low) > 5e-5 || math.Abs(high-c.high) > 5e-5 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", c.k, c.n, low, high, c.low, c.high)
		}
	}
}

// stored makes the result of a test from verdicts and what was expected of them.
func stored(vacuous bool, pairs ...string) *store.Result {
	r := &store.Result{Vacuous: vacuous, Properties: map[models.Property]*models.Judgement{}}
	ids := []models.Property{models.MutualExclusion, models.NoLostUpdate, models.Liveness}
	for i := 0; i < len(pairs); i += 2 {
		id := ids[i/2]
		r.Properties[id] = &models.Judgement{Verdict: models.Verdict(pairs[i+1])}
		r.Expected = append(r.Expected, store.Expected{Property: string(id), Expected: pairs[i]})
	}
	if vacuous {
		r.VacuousWhy = []string{"no fault landed"}
	}
	return r
}

func TestRunOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		r    *store.Result
		want Outcome
	}{
		"all as expected":                      {stored(false, "valid", "valid", "violated", "violated", "either", "valid"), AsExpected},
		"a violation":                          {stored(false, "valid", "violated"), UnexpectedViolation},
		"an expected overlap, a lost update":   {stored(false, "violated", "violated", "valid", "violated"), UnexpectedViolation},
		"a violation that did not show":        {stored(false, "violated", "valid", "valid", "valid"), NotReproduced},
		"an unknown that may be either":        {stored(false, "either", "unknown"), Unknown},
		"a violation beside an unknown":        {stored(false, "valid", "violated", "valid", "unknown"), UnexpectedViolation},
		"an unknown beside one that is missed": {stored(false, "violated", "valid", "valid", "unknown"), NotReproduced},
		"vacuous":                              {stored(true, "valid", "valid"), Vacuous},
		"vacuous, and a violation missed":      {stored(true, "violated", "valid"), Vacuous},
		"vacuous, with a violation":            {stored(true, "valid", "violated"), UnexpectedViolation},
		"nothing was judged":                   {stored(false), Vacuous},
	} {
		var r Run
		if r.judge(c.r); r.Outcome != c.want {
			t.Errorf("%s: %s, want %s", name, r.Outcome, c.want)
		}
		if (r.Why == "") != (c.want == AsExpected) {
			t.Errorf("%s: it is %s and says %q", name, r.Outcome, r.Why)
		}
	}
}

// runs makes so many runs of each result.
func runs(of ...any) (all []Run) {
	for i := 0; i < len(of); i += 2 {
		for range of[i].(int) {
			r := Run{Seed: uint64(len(all) + 1)}
			if t, ok := of[i+1].(*store.Result); ok {
				r.judge(t)
			} else {
				r.fail(of[i+1].(error))
			}
			all = append(all, r)
		}
	}
	return all
}

func TestSum(t *testing.T) {
	caught, missed := stored(false, "violated", "violated"), stored(false, "violated", "valid")
	bad, unknown := stored(false, "valid", "violated"), stored(false, "valid", "unknown")
	vacuous, fine := stored(true, "valid", "valid"), stored(false, "valid", "valid")
	for name, c := range map[string]struct {
		runs []Run
		want Outcome
		code int
	}{
		"all caught":                       {runs(20, caught), AsExpected, 0},
		"once in twenty missed":            {runs(19, caught, 1, missed), AsExpected, 0},
		"twice in twenty missed":           {runs(18, caught, 2, missed), NotReproduced, 2},
		"missed in the only run":           {runs(1, missed), NotReproduced, 2},
		"one unexpected violation":         {runs(99, fine, 1, bad), UnexpectedViolation, 1},
		"an unknown beside a violation":    {runs(1, unknown, 1, bad), UnexpectedViolation, 1},
		"unknown alone":                    {runs(1, unknown, 3, fine), Unknown, 2},
		"vacuous":                          {runs(1, vacuous, 3, fine), Vacuous, 2},
		"the harness failed":               {runs(1, errors.New("no\nserver"), 3, fine), Error, 255},
		"the harness failed and violation": {runs(1, errors.New("no"), 1, bad), UnexpectedViolation, 1},
		"not run":                          {nil, Unknown, 2},
	} {
		got := Sum(Cell{Lock: "x"}, c.runs)
		if got.Outcome != c.want || (got.Why == "") != (c.want == AsExpected) {
			t.Errorf("%s: %s (%q), want %s", name, got.Outcome, got.Why, c.want)
		}
		m := Matrix{Cells: []Result{got, Sum(Cell{}, runs(1, fine))}}
		if code := m.ExitCode(); code != c.code {
			t.Errorf("%s: exit %d, want %d", name, code, c.code)
		}
	}
}

// TestSumLeavesVacuousRunsOut: a rate is of runs that could show something.
func TestSumLeavesVacuousRunsOut(t *testing.T) {
	got := Sum(Cell{}, runs(3, stored(false, "violated", "violated"), 2, stored(true, "violated", "valid"))).Rates[models.MutualExclusion]
	if got.Violated != 3 || got.Of != 3 {
		t.Errorf("%d of %d, want 3 of 3", got.Violated, got.Of)
	}
}

// TestUnknownWord: an outcome that is none is never taken for a pass.
func TestUnknownWord(t *testing.T) {
	for _, word := range []Outcome{"", "fine", "As expected"} {
		m := Matrix{Cells: []Result{{Outcome: AsExpected}, {Outcome: word}}}
		if code := m.ExitCode(); code != 255 {
			t.Errorf("a cell that is %q: exit %d, want 255", word, code)
		}
	}
}
