package grid

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"picklock/harness/matrix"
	"picklock/models"
	"picklock/reports"
	"picklock/reports/text"
)

// A mark is how a cell looks. It divides what is as expected into locks that held and
// locks whose known weakness showed: that is what a reader of the whole grid looks for.
type mark struct {
	Symbol string
	Class  string // of style sheets
	Word   string
	Says   string
	Colour int // of a terminal's palette
}

// The colours of a terminal, as the numbers of its palette.
const (
	red    = 31
	green  = 32
	yellow = 33
	cyan   = 36
	bold   = 1
	faint  = 2
)

// marks are all of them, best first.
func marks() []mark {
	return []mark{
		{"✓", "held", "held", "as expected: no promise was broken", green},
		{"w", "weak", "known weakness", "as expected: it broke as it is known to", cyan},
		{"o", "vacuous", "vacuous", "the test proves nothing, and is no pass", yellow},
		{"?", "unknown", "unknown", "a property could not be decided", yellow},
		{"n", "missed", "not reproduced", "expected to break, and did not", yellow},
		{"!", "error", "error", "picklock itself failed", red},
		{"✗", "bad", "unexpected violation", "it broke a promise that it should keep", red},
	}
}

// markOf is the mark of an outcome; violated says whether a violation was seen. An outcome
// that is not known looks like an error: never like a pass.
func markOf(o matrix.Outcome, violated bool) mark {
	all := marks()
	switch o {
	case matrix.AsExpected:
		if violated {
			return all[1]
		}
		return all[0]
	case matrix.Vacuous:
		return all[2]
	case matrix.Unknown:
		return all[3]
	case matrix.NotReproduced:
		return all[4]
	case matrix.UnexpectedViolation:
		return all[6]
	}
	return all[5]
}

func cellMark(c *matrix.Result) mark { return markOf(c.Outcome, mostViolated(c) != "") }

func violates(r *matrix.Run) bool {
	for _, p := range r.Properties {
		if p.Verdict == models.Violated {
			return true
		}
	}
	return false
}

// properties lists the properties of a cell's rates in the order of DESIGN.md.
func properties(c *matrix.Result) []models.Property {
	return slices.SortedFunc(maps.Keys(c.Rates), reports.Compare)
}

// mostViolated is the property that was violated most often; empty if none was. Of two
// that were as often, one that should be valid, then the first.
func mostViolated(c *matrix.Result) models.Property {
	var worst models.Property
	for _, p := range properties(c) {
		r, w := c.Rates[p], c.Rates[worst]
		// a/b > c/d as products, without rounding
		more, less := r.Violated*max(1, w.Of), w.Violated*max(1, r.Of)
		if r.Violated > 0 && (worst == "" || more > less || more == less && r.Expected == "valid" && w.Expected != "valid") {
			worst = p
		}
	}
	return worst
}

// astray lists the properties that came out otherwise than expected in some run, those
// that should be valid first.
func astray(c *matrix.Result) []models.Property {
	var out []models.Property
	for _, p := range properties(c) {
		for _, r := range c.Runs {
			if j, ok := r.Properties[p]; ok && j.Outcome != matrix.AsExpected {
				out = append(out, p)
				break
			}
		}
	}
	slices.SortStableFunc(out, func(a, b models.Property) int { return severity(worstOutcome(c, b)) - severity(worstOutcome(c, a)) })
	return out
}

// worstOutcome is the worst that a property came to in a run of the cell.
func worstOutcome(c *matrix.Result, p models.Property) matrix.Outcome {
	worst := matrix.AsExpected
	for _, r := range c.Runs {
		if j, ok := r.Properties[p]; ok && severity(j.Outcome) > severity(worst) {
			worst = j.Outcome
		}
	}
	return worst
}

// rate tells how often a property was violated: "violated in 19 of 20 runs (76% to 99%)".
// The interval is Wilson's. Without a run that decided it there is no rate.
func rate(r matrix.Rate) string {
	if r.Of == 0 {
		return "decided in no run"
	}
	return fmt.Sprintf("violated in %d of %s (%.0f%% to %.0f%%)", r.Violated, text.Plural(r.Of, "run", "runs"), 100*r.Low, 100*r.High)
}

// rated is a property with its rate and what was expected of it.
func rated(p models.Property, r matrix.Rate) string {
	return fmt.Sprintf("%s %s, expected %s", p, rate(r), r.Expected)
}

// reasons are lines that tell what went astray in a cell: each property with its rate,
// and why it is unknown or what weakness was expected to show.
func reasons(c *matrix.Result) []string {
	var out []string
	for _, p := range astray(c) {
		s := rated(p, c.Rates[p])
		for _, r := range c.Runs {
			if j := r.Properties[p]; j.Outcome == worstOutcome(c, p) && j.Why != "" {
				s += ": " + j.Why
				break
			}
		}
		out = append(out, s)
	}
	return out
}

// counts are the outcomes of a cell's runs: "18 as expected, 2 unexpected violation".
func counts(c *matrix.Result) string {
	var parts []string
	for _, o := range matrix.Outcomes {
		if n := c.Counts[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	if len(parts) == 0 {
		return "not run"
	}
	return strings.Join(parts, ", ")
}

// why is the reason for a cell's outcome, in one line.
func why(c *matrix.Result) string {
	if c.Why == "" && c.Outcome != matrix.AsExpected {
		return "no reason was recorded"
	}
	return c.Why
}

// story explains a run: that of the property that went astray first, or else of any that
// was violated. It is empty where nothing was violated.
func story(c *matrix.Result, r *matrix.Run) (models.Property, []string) {
	if r == nil {
		return "", nil
	}
	ids := slices.SortedFunc(maps.Keys(r.Properties), reports.Compare)
	for _, unexpected := range []bool{true, false} {
		for _, p := range ids {
			if j := r.Properties[p]; len(j.Story) > 0 && (j.Outcome == matrix.UnexpectedViolation) == unexpected {
				return p, j.Story
			}
		}
	}
	return "", nil
}

// verdict is the matrix in a word and a sentence.
func verdict(m *matrix.Matrix) (word, rest, class string) {
	n := m.Count()
	bad := len(m.Cells) - n[matrix.AsExpected]
	switch {
	case len(m.Cells) == 0:
		return "Unknown", "the matrix has no cells", "unknown"
	case n[matrix.UnexpectedViolation] > 0:
		return "Unexpected violation", "in " + of(n[matrix.UnexpectedViolation], len(m.Cells)), "violated"
	case bad > 0 && n[matrix.Error] > 0:
		return "Error", "picklock failed in " + of(n[matrix.Error], len(m.Cells)), "violated"
	case bad > 0:
		return "Not as expected", of(bad, len(m.Cells)), "unknown"
	case m.Missing > 0 && m.Shard == "":
		return "Incomplete", fmt.Sprintf("%s of the plan %s missing", text.Plural(m.Missing, "run", "runs"), are(m.Missing)), "unknown"
	}
	return "As expected", fmt.Sprintf("all %s", text.Plural(len(m.Cells), "cell", "cells")), "valid"
}

func of(n, all int) string { return fmt.Sprintf("%d of %s", n, text.Plural(all, "cell", "cells")) }

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// missing says what of the plan the matrix has not; empty if it has all.
func missing(m *matrix.Matrix) string {
	switch {
	case m.Missing <= 0:
		return ""
	case m.Shard != "":
		return fmt.Sprintf("This is shard %s; %s of the plan %s in other shards.", m.Shard, text.Plural(m.Missing, "run", "runs"), are(m.Missing))
	}
	return fmt.Sprintf("%s of the plan %s missing: the matrix was broken off. With --resume the same command goes on where it stopped.",
		text.Plural(m.Missing, "run", "runs"), are(m.Missing))
}

// clock says how long it took, and how much of that could not be avoided.
func clock(m *matrix.Matrix) string {
	wall, least := time.Duration(m.WallS*1e9), m.Unavoidable()
	s := fmt.Sprintf("%s in %s", text.Plural(runs(m), "run", "runs"), duration(wall))
	if least > 0 {
		s += fmt.Sprintf(", %.2f times the %s of waiting that %s cannot avoid", wall.Seconds()/least.Seconds(), duration(least), text.Plural(max(1, m.Jobs), "job", "jobs"))
	}
	return s
}
