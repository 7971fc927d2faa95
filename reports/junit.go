package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"picklock/harness/store"
	"picklock/models"
)

type (
	junitSuites struct {
		XMLName xml.Name   `xml:"testsuites"`
		Suite   junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string      `xml:"name,attr"`
		Tests      int         `xml:"tests,attr"`
		Failures   int         `xml:"failures,attr"`
		Errors     int         `xml:"errors,attr"`
		Time       string      `xml:"time,attr"`
		Timestamp  string      `xml:"timestamp,attr,omitempty"`
		Properties []junitPair `xml:"properties>property"`
		Cases      []junitCase `xml:"testcase"`
	}
	junitPair struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure,omitempty"`
		Error   *junitProblem `xml:"error,omitempty"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",cdata"`
	}
)

// JUnit writes the result as JUnit XML: one test case per property. A violated property
// is a failure with its stories; an unknown one is an error, never a pass and never
// skipped. A vacuous test, and a record that breaks off, add an error of their own:
// what could be judged then proves too little.
func JUnit(w io.Writer, r *store.Result) error {
	s := junitSuite{
		Name: r.Test.Name, Time: fmt.Sprintf("%.3f", r.Measures.DurationS),
		Properties: []junitPair{{"seed", fmt.Sprint(r.Test.Seed)}, {"verdict", string(r.Verdict)}, {"rerun", r.Rerun}},
	}
	if !r.Test.Started.IsZero() {
		s.Timestamp = r.Test.Started.UTC().Format("2006-01-02T15:04:05")
	}
	add := func(name string) *junitCase {
		s.Cases = append(s.Cases, junitCase{Class: "picklock." + r.Test.Name, Name: name, Time: "0"})
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
			c.Failure = &junitProblem{breach + ", " + times(j.Count), "violated", stories(j)}
			s.Failures++
		default:
			c.Error = &junitProblem{"not decided: " + j.Note, "unknown", plain(j.Note)}
			s.Errors++
		}
	}
	if r.Vacuous {
		why := strings.Join(r.VacuousWhy, "; ")
		add("proves-something").Error = &junitProblem{"vacuous: " + why, "vacuous", plain(why)}
		s.Errors++
	}
	if r.Broken != "" {
		add("record-is-whole").Error = &junitProblem{"the record breaks off: " + r.Broken, "broken", plain(r.Broken)}
		s.Errors++
	}
	s.Tests = len(s.Cases)
	b, err := xml.MarshalIndent(junitSuites{Suite: s}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode JUnit XML: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", xml.Header, b); err != nil {
		return fmt.Errorf("write JUnit XML: %w", err)
	}
	return nil
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
