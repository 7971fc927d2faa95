// Package scenario is the catalogue of known ways in which Redis locks and deductions
// fail: one file each, in words that need no code, and in data that reproduces it: the
// topology, the faults, a guilty lock that must be caught and an innocent one that must
// pass the same.
//
// In go scenario files (catalogue/*.yaml), out come tests for the harness and, from their
// results, whether the scenario did what it says.
package scenario

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"

	"picklock/harness"
	"picklock/harness/setup"
	"picklock/harness/yamlfile"
	"picklock/models"
)

//go:embed catalogue/*.yaml
var catalogue embed.FS

// Scenario is one known failure.
type Scenario struct {
	ID     string `yaml:"id"`  // "misdelete"
	Row    int    `yaml:"row"` // of the catalogue of failures
	Title  string `yaml:"title"`
	Source string `yaml:"source"`
	// Happens tells the mechanism step by step, Fix what prevents it, Note what else there
	// is to say: where an experiment contradicted what was believed, and why.
	Happens string `yaml:"happens"`
	Fix     string `yaml:"fix"`
	Note    string `yaml:"note"`

	// Judged are the properties that the guilty must violate, each, and the innocent must
	// keep. Empty for a scenario that measures.
	Judged []string `yaml:"judged"`
	// Tells is a regular expression that the explanation of a violation must match.
	Tells string `yaml:"tells"`
	// Measured are figures with bounds.
	Measured []Measured `yaml:"measured"`

	Setup    `yaml:",inline"` // of both sides
	Guilty   []Case           `yaml:"guilty"`
	Innocent []Case           `yaml:"innocent"`
}

// Case is one test of a scenario: what differs from the scenario's own setup.
type Case struct {
	Name string `yaml:"name"` // in words, where lock and deduction do not say it
	// Judged, Tells and Measured replace the scenario's where this case shows in another way.
	Judged   []string   `yaml:"judged"`
	Tells    string     `yaml:"tells"`
	Measured []Measured `yaml:"measured"`
	Setup    `yaml:",inline"`
}

// Setup is a part of a test's options; zero values are not said.
type Setup = setup.Setup

// Measured is one figure of results.json with what the guilty must reach and the innocent
// must not.
type Measured struct {
	Measure  string `yaml:"measure"` // its name among the measures
	Guilty   *Bound `yaml:"guilty"`
	Innocent *Bound `yaml:"innocent"`
}

// Bound is what a figure must be.
type Bound struct {
	AtLeast *float64 `yaml:"at-least"`
	AtMost  *float64 `yaml:"at-most"`
}

// String tells the bound in words.
func (b *Bound) String() string {
	var parts []string
	if b != nil && b.AtLeast != nil {
		parts = append(parts, fmt.Sprintf("at least %g", *b.AtLeast))
	}
	if b != nil && b.AtMost != nil {
		parts = append(parts, fmt.Sprintf("at most %g", *b.AtMost))
	}
	if parts == nil {
		return "unbounded"
	}
	return strings.Join(parts, " and ")
}

// All lists the scenarios of the catalogue by their rows. The catalogue is part of the
// program: an error is a mistake in it.
var All = sync.OnceValues(func() ([]Scenario, error) {
	files, err := fs.Glob(catalogue, "catalogue/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []Scenario
	for _, file := range files {
		text, err := catalogue.ReadFile(file)
		if err != nil {
			return nil, err
		}
		s, err := Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Scenario) int { return a.Row - b.Row })
	return all, nil
})

// Parse reads a scenario file and checks that it can be run. Unknown fields are errors.
func Parse(text []byte) (Scenario, error) {
	var s Scenario
	if err := yamlfile.Decode(text, &s); err != nil && !errors.Is(err, io.EOF) { // an empty file
		return s, err
	}
	return s, s.check()
}

func (s Scenario) check() error {
	for field, text := range map[string]string{"id": s.ID, "title": s.Title, "source": s.Source, "happens": s.Happens, "fix": s.Fix} {
		if strings.TrimSpace(text) == "" {
			return fmt.Errorf("it says nothing under %q", field)
		}
	}
	if s.Row < 1 {
		return fmt.Errorf("row %d is none of the catalogue", s.Row)
	}
	if len(s.Judged) == 0 && len(s.Measured) == 0 {
		return errors.New("it neither judges nor measures anything")
	}
	if len(s.Guilty)+len(s.Innocent) == 0 {
		return errors.New("it has neither a guilty nor an innocent case")
	}
	for i, c := range slices.Concat(s.Guilty, s.Innocent) {
		if err := s.shown(c).checkShown(); err != nil {
			return fmt.Errorf("case %d (%q): %w", i+1, s.name(c), err)
		}
		if _, err := harness.Plan(s.options(c, 1)); err != nil {
			return fmt.Errorf("case %d (%q): %w", i+1, s.name(c), err)
		}
	}
	return nil
}

// checkShown checks what is judged and measured.
func (s Scenario) checkShown() error {
	for _, id := range s.Judged {
		if !slices.Contains(slices.Concat(models.LockProperties, models.StockProperties), models.Property(id)) {
			return fmt.Errorf("%q is no property", id)
		}
	}
	if _, err := regexp.Compile(s.Tells); err != nil {
		return fmt.Errorf("tells: %w", err)
	}
	for _, m := range s.Measured {
		if _, ok := figures(models.Measures{})[m.Measure]; !ok {
			return fmt.Errorf("%q is no measure", m.Measure)
		}
		if m.Guilty == nil && m.Innocent == nil {
			return fmt.Errorf("measure %s has no bound", m.Measure)
		}
	}
	return nil
}

// name tells a case in words.
func (s Scenario) name(c Case) string {
	if c.Name != "" {
		return c.Name
	}
	o := s.options(c, 0)
	return o.Lock + " × " + o.Deduct
}

// Names tells the cases of a side in words.
func (s Scenario) Names(guilty bool) []string {
	side := s.Innocent
	if guilty {
		side = s.Guilty
	}
	var all []string
	for _, c := range side {
		all = append(all, s.name(c))
	}
	return all
}

// Measures tells the measured figures and their bounds in words.
func (s Scenario) Measures() []string {
	var all []string
	for _, m := range s.Measured {
		all = append(all, fmt.Sprintf("%s (guilty %s, innocent %s)", m.Measure, m.Guilty, m.Innocent))
	}
	return all
}

// shown is the scenario as this case shows it.
func (s Scenario) shown(c Case) Scenario {
	if c.Judged != nil || c.Measured != nil {
		s.Judged, s.Tells, s.Measured = c.Judged, c.Tells, c.Measured
	}
	return s
}

// options are those of the test that a case is.
func (s Scenario) options(c Case, seed uint64) harness.Options {
	o := harness.Defaults()
	o.Nemesis = nil
	s.Setup.Apply(&o)
	c.Setup.Apply(&o)
	setup.Seed(&o, seed)
	return o
}
