package reports

import (
	"fmt"
	"io"
	"strings"

	"picklock/harness/store"
	"picklock/models"
	"picklock/reports/junit"
)

// JUnit writes the result as JUnit XML: one test case per property. A violated property
// is a failure with its stories; an unknown one is an error, never a pass and never
// skipped. A vacuous test, and a record that breaks off, add an error of their own:
// what could be judged then proves too little.
func JUnit(w io.Writer, r *store.Result) error {
	s := junit.Suite{
		Name: r.Test.Name, Time: r.Measures.DurationS, Timestamp: r.Test.Started,
		Properties: []junit.Pair{{Name: "seed", Value: fmt.Sprint(r.Test.Seed)}, {Name: "verdict", Value: string(r.Verdict)}, {Name: "rerun", Value: r.Rerun}},
	}
	add := func(name string) *junit.Case {
		s.Cases = append(s.Cases, junit.Case{Class: "picklock." + r.Test.Name, Name: name})
		return &s.Cases[len(s.Cases)-1]
	}
	for _, p := range properties(r) {
		j := r.Properties[p]
		c := add(string(p))
		switch j.Verdict {
		case models.Valid:
			c.Out = j.Note
		case models.Violated:
			_, breach := promise(p)
			if breach == "" {
				breach = "violated"
			}
			c.Failure = &junit.Problem{Message: breach + ", " + times(j.Count), Type: "violated", Text: stories(j)}
		default:
			c.Error = &junit.Problem{Message: "not decided: " + j.Note, Type: "unknown", Text: j.Note}
		}
	}
	if r.Vacuous {
		why := strings.Join(r.VacuousWhy, "; ")
		add("proves-something").Error = &junit.Problem{Message: "vacuous: " + why, Type: "vacuous", Text: why}
	}
	if r.Broken != "" {
		add("record-is-whole").Error = &junit.Problem{Message: "the record breaks off: " + r.Broken, Type: "broken", Text: r.Broken}
	}
	return (&junit.Suites{Name: r.Test.Name, Time: s.Time, Suites: []junit.Suite{s}}).Write(w)
}

// stories are all violations of a property as text.
func stories(j *models.Judgement) string {
	var b strings.Builder
	for i, v := range j.Violations {
		fmt.Fprintf(&b, "\n%d. at %.3f s", i+1, v.StartS)
		if v.Kind != "" {
			fmt.Fprintf(&b, " (%s)", plain(v.Kind))
		}
		b.WriteString("\n")
		for _, s := range v.Story {
			fmt.Fprintf(&b, "   %s\n", plain(s)) // CDATA takes no control characters
		}
	}
	if more := j.Count - len(j.Violations); more > 0 {
		fmt.Fprintf(&b, "\nand %d more\n", more)
	}
	return b.String()
}
