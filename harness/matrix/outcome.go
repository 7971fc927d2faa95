package matrix

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"picklock/harness/store"
	"picklock/models"
)

// Rate is how often a property was violated. Runs in which it is unknown do not count.
type Rate struct {
	Expected string  `json:"expected"` // "valid", "violated" or "either"
	Violated int     `json:"violated"`
	Of       int     `json:"of"`
	Low      float64 `json:"low"` // of the Wilson interval, 95%
	High     float64 `json:"high"`
}

// Wilson is the interval that has the true rate in 95 of 100 cases, when something
// happened k times in n (Wilson 1927). Without any run it is everything.
func Wilson(k, n int) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	const z = 1.959963984540054 // the normal distribution's 97.5%
	p, m := float64(k)/float64(n), float64(n)
	middle := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(0, middle-half), min(1, middle+half)
}

// Worse is the worse of two outcomes, in the order of Outcomes. A word that
// is none of them, of a damaged file or another version, counts as an error: never as fine.
func (o Outcome) Worse(p Outcome) Outcome {
	o, p = o.known(), p.known()
	if slices.Index(Outcomes, p) > slices.Index(Outcomes, o) {
		return p
	}
	return o
}

func (o Outcome) known() Outcome {
	if !slices.Contains(Outcomes, o) {
		return Error
	}
	return o
}

// outcome compares a verdict with what was expected.
func outcome(expected string, got models.Verdict) Outcome {
	switch {
	case got == models.Unknown:
		return Unknown
	case expected == "either" || expected == string(got):
		return AsExpected
	case got == models.Violated:
		return UnexpectedViolation
	}
	return NotReproduced
}

// judge fills in what the result of a run's test says, property by property.
func (r *Run) judge(t *store.Result) {
	r.AfterS, r.Measures, r.VacuousWhy, r.Rerun = -1, t.Measures, t.VacuousWhy, t.Rerun
	r.Early = t.Test.Observed != nil && t.Test.Observed.Early
	r.Outcome, r.Properties = AsExpected, map[models.Property]Judged{}
	var doubts []string
	for _, e := range t.Expected {
		id := models.Property(e.Property)
		j := t.Properties[id]
		p := Judged{Verdict: j.Verdict, Expected: e.Expected, Outcome: outcome(e.Expected, j.Verdict), Count: j.Count, Why: e.Why}
		if j.Verdict == models.Unknown {
			p.Why = j.Note
		}
		if len(j.Violations) > 0 {
			p.Story = j.Violations[0].Story
			if s := j.Violations[0].StartS; r.AfterS < 0 || s < r.AfterS {
				r.AfterS = s
			}
		}
		if p.Outcome != AsExpected {
			doubts = append(doubts, fmt.Sprintf("%s is %s, expected %s", id, p.Verdict, p.Expected))
		}
		r.Properties[id] = p
		r.Outcome = r.Outcome.Worse(p.Outcome)
	}
	if t.Vacuous || len(t.Expected) == 0 {
		// What a vacuous run did not show says nothing; what it did show was shown.
		if r.Outcome != UnexpectedViolation {
			r.Outcome, doubts = Vacuous, nil
		}
		doubts = append(doubts, "vacuous: "+strings.Join(t.VacuousWhy, "; "))
	}
	r.Why = strings.Join(doubts, "; ")
}

// fail says that the harness could not run or judge the test.
func (r *Run) fail(err error) {
	r.Outcome, r.AfterS = Error, -1
	r.Error = strings.Join(strings.Fields(err.Error()), " ")
	r.Why = r.Error
}

// Sum sums up the runs of a cell: its counts, its rates and its outcome.
//
// A violation that is certain must show in 19 of 20 runs, as in the scenarios; what a
// cell does not show once in twenty is luck, what it does not show more often is not
// reproduced. Any other outcome of a run is the cell's, and the worst one counts.
func Sum(c Cell, runs []Run) Result {
	out := Result{Cell: c, Outcome: AsExpected, Counts: map[Outcome]int{}, Rates: map[models.Property]Rate{}, Runs: runs}
	slices.SortFunc(out.Runs, func(a, b Run) int {
		return int(min(1, max(-1, int64(a.Seed)-int64(b.Seed))))
	})
	for i := range out.Runs {
		r := &out.Runs[i]
		out.Counts[r.Outcome]++
		for id, j := range r.Properties {
			rate := out.Rates[id]
			rate.Expected = j.Expected
			if j.Verdict != models.Unknown && r.Outcome != Vacuous {
				rate.Of++
			}
			if j.Verdict == models.Violated && r.Outcome != Vacuous {
				rate.Violated++
			}
			out.Rates[id] = rate
		}
	}
	missed := false
	for id, rate := range out.Rates {
		rate.Low, rate.High = Wilson(rate.Violated, rate.Of)
		out.Rates[id] = rate
		missed = missed || rate.Expected == "violated" && rate.Violated*20 < rate.Of*19
	}
	for _, r := range out.Runs {
		o := r.Outcome
		if o == NotReproduced && !missed {
			o = AsExpected
		}
		if worse := out.Outcome.Worse(o); worse != out.Outcome {
			out.Outcome, out.Why = worse, fmt.Sprintf("seed %d: %s", r.Seed, r.Why)
		}
	}
	if len(out.Runs) == 0 {
		out.Outcome, out.Why = Unknown, "it was not run"
	}
	return out
}

// ExitCode is 0 if every cell is as expected, 1 if one has an unexpected violation
// whatever the others are, 255 if the harness failed in one, else 2.
func (m *Matrix) ExitCode() int {
	worst := AsExpected
	for _, c := range m.Cells {
		worst = worst.Worse(c.Outcome)
	}
	switch {
	case worst == UnexpectedViolation:
		return 1
	case worst == Error:
		return 255
	case worst != AsExpected, m.Missing > 0 && m.Shard == "", len(m.Cells) == 0:
		return 2
	}
	return 0
}
