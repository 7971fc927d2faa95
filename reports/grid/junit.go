package grid

import (
	"fmt"
	"io"
	"strings"

	"picklock/harness/matrix"
	"picklock/reports/junit"
	"picklock/reports/text"
)

// JUnit writes the matrix as JUnit XML: a suite for each topology, a case for each cell.
//
// What passes is what is as expected, and nothing else. A failure is what was decided and
// came out wrong: an unexpected violation, and a violation that was expected and did not
// show (not reproduced: an assertion on the lock and on picklock itself). An error is what
// could not be decided: picklock failed, a property is unknown, the test is vacuous. None
// of these is skipped: CI systems paint skipped cases like passed ones, and what proves
// nothing must not look like a pass. The type tells them apart. A matrix that was broken
// off gets a case of its own that is an error; a shard does not, its others follow.
//
// The text of a failure stands alone, as GitLab shows nothing else: why, the rates, the
// story of the first violation, the command that repeats it, and where the report is. The
// report is attached in the form that GitLab and Jenkins link.
func JUnit(w io.Writer, m *matrix.Matrix, opts ...Option) error {
	m, o := gather(m, opts)
	d := junit.Suites{Name: "picklock matrix " + m.Name, Time: m.WallS}
	about := []junit.Pair{{Name: "matrix", Value: m.Name}, {Name: "outcome", Value: string(m.Outcome)}, {Name: "plan", Value: m.Plan}}
	if m.Shard != "" {
		about = append(about, junit.Pair{Name: "shard", Value: m.Shard})
	}
	if o.artifacts != "" {
		about = append(about, junit.Pair{Name: "artifacts", Value: o.artifacts})
	}
	for _, t := range tables(m) {
		s := junit.Suite{Name: nonempty(m.Name) + "." + nonempty(t.Topology), Timestamp: m.Started, Properties: about}
		class := "picklock." + strings.ReplaceAll(nonempty(m.Name), ".", "_") + "." + strings.ReplaceAll(nonempty(t.Topology), ".", "_")
		names := map[string]int{}
		for _, r := range t.Rows {
			for _, c := range r.Cells {
				if c == nil {
					continue
				}
				x := testCase(o, c)
				x.Class = class
				if names[x.Name]++; names[x.Name] > 1 {
					x.Name += fmt.Sprintf(" (%d)", names[x.Name])
				}
				s.Time += x.Time
				s.Cases = append(s.Cases, x)
			}
		}
		d.Suites = append(d.Suites, s)
	}
	if why := missing(m); len(m.Cells) == 0 || why != "" && m.Shard == "" {
		if why == "" {
			why = "The matrix has no cells: it proves nothing."
		}
		d.Suites = append(d.Suites, junit.Suite{Name: nonempty(m.Name), Timestamp: m.Started, Properties: about, Cases: []junit.Case{{
			Class: "picklock." + strings.ReplaceAll(nonempty(m.Name), ".", "_"), Name: "the matrix is whole",
			Error: &junit.Problem{Message: why, Type: "incomplete", Text: why}}}})
	}
	return d.Write(w)
}

// nonempty keeps names from being empty, which the schema does not take.
func nonempty(s string) string {
	if s == "" {
		return "matrix"
	}
	return s
}

func testCase(o *options, c *matrix.Result) junit.Case {
	x := junit.Case{Name: c.Cell.ID()}
	for _, r := range c.Runs {
		x.Time += r.TookS
	}
	k, r := cellMark(c), telling(c)
	if path := o.report(r); path != "" {
		x.Out += junit.Attachment(path)
	}
	x.Out += junit.Property("outcome", string(c.Outcome)) + junit.Property("runs", counts(c))
	if r != nil {
		x.Out += junit.Property("rerun", r.Rerun)
	}
	for _, p := range properties(c) {
		x.Out += lookalike(rated(p, c.Rates[p])) + "\n"
	}
	if c.Outcome == matrix.AsExpected {
		return x
	}
	problem := &junit.Problem{Message: k.Word + ": " + why(c), Type: strings.ReplaceAll(k.Word, " ", "-"), Text: explanation(o, c, r)}
	switch c.Outcome {
	case matrix.UnexpectedViolation, matrix.NotReproduced:
		x.Failure = problem
	default:
		x.Error = problem
	}
	return x
}

// lookalike keeps foreign text from looking like an attachment.
func lookalike(s string) string { return strings.ReplaceAll(s, "[[", "((") }

// explanation is the text of a failure or an error, which some readers show alone.
func explanation(o *options, c *matrix.Result, r *matrix.Run) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n%s\n", c.Cell.ID(), cellMark(c).Word, why(c))
	for _, s := range reasons(c) {
		fmt.Fprintf(&b, "%s\n", s)
	}
	if r == nil {
		return b.String()
	}
	if p, steps := story(c, r); len(steps) > 0 {
		fmt.Fprintf(&b, "\nWhat happened in seed %d (%s):\n", r.Seed, p)
		for i, s := range steps {
			fmt.Fprintf(&b, "%d. %s\n", i+1, s)
		}
	}
	if r.Rerun != "" {
		fmt.Fprintf(&b, "\nAgain: %s\n", r.Rerun)
	}
	if path := o.report(r); path != "" {
		fmt.Fprintf(&b, "Report: %s\n", text.Plain(path))
	}
	if o.artifacts != "" {
		fmt.Fprintf(&b, "Artifacts: %s\n", text.Plain(o.artifacts))
	}
	return b.String()
}
