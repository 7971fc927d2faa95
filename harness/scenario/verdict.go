package scenario

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"picklock/harness/store"
	"picklock/models"
)

// Verdict says whether one run did what the scenario says of its case.
type Verdict struct {
	// Met: a guilty case was caught and explained, an innocent one passed, with all faults
	// landed.
	Met bool
	// Violated: an innocent case violated a judged property: the test itself is in doubt.
	Violated bool
	Why      string             // in one line, where it was not met
	After    float64            // s since the load began: the first violation of a judged property; guilty only
	Figures  map[string]float64 // of the measured
}

// judge compares a result with what the scenario says of its case.
func (s Scenario) judge(r *store.Result, guilty bool) Verdict {
	v := Verdict{After: -1, Figures: map[string]float64{}}
	var doubts []string
	doubt := func(format string, args ...any) { doubts = append(doubts, fmt.Sprintf(format, args...)) }
	for _, f := range r.Faults {
		if !f.Landed {
			doubt("the fault %s of %s did not land: %s", f.Kind, f.Target, f.Error)
		}
	}
	if r.Vacuous {
		doubt("vacuous: %s", strings.Join(r.VacuousWhy, "; "))
	}
	for _, id := range s.Judged {
		j := r.Properties[models.Property(id)]
		switch {
		case j == nil:
			doubt("%s was not judged", id)
		case guilty && j.Verdict != models.Violated:
			doubt("%s is %s", id, j.Verdict)
		case guilty:
			s.explained(id, j, &v, doubt)
		case j.Verdict != models.Valid:
			v.Violated = v.Violated || j.Verdict == models.Violated
			doubt("%s is %s", id, j.Verdict)
		}
	}
	for _, m := range s.Measured {
		s.measure(m, r, guilty, &v, doubt)
	}
	v.Met, v.Why = len(doubts) == 0, strings.Join(doubts, "; ")
	return v
}

// explained looks for the first violation, and for the words that must tell of it.
func (s Scenario) explained(id string, j *models.Judgement, v *Verdict, doubt func(string, ...any)) {
	tells := regexp.MustCompile(s.Tells) // it was checked
	told := false
	for _, x := range j.Violations {
		if v.After < 0 || x.StartS < v.After {
			v.After = x.StartS
		}
		told = told || tells.MatchString(strings.Join(x.Story, "\n"))
	}
	if !told && s.Tells != "" {
		doubt("no explanation of %s tells of %q", id, s.Tells)
	}
}

func (s Scenario) measure(m Measured, r *store.Result, guilty bool, v *Verdict, doubt func(string, ...any)) {
	bound := m.Innocent
	if guilty {
		bound = m.Guilty
	}
	figure := figures(r.Measures)[m.Measure]
	v.Figures[m.Measure] = figure
	switch {
	case bound == nil:
	case bound.AtLeast != nil && figure < *bound.AtLeast:
		doubt("%s is %.3g, not at least %g", m.Measure, figure, *bound.AtLeast)
	case bound.AtMost != nil && figure > *bound.AtMost:
		doubt("%s is %.3g, not at most %g", m.Measure, figure, *bound.AtMost)
	}
}

// figures are the measures by their names in results.json.
func figures(m models.Measures) map[string]float64 {
	all := map[string]float64{}
	v := reflect.ValueOf(m)
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		switch f := v.Field(i); {
		case f.CanInt():
			all[name] = float64(f.Int())
		case f.CanFloat():
			all[name] = f.Float()
		}
	}
	return all
}
