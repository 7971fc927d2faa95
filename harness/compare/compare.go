// Package compare says what changed between two matrices, and what is only luck.
//
// In go two matrices, or a matrix and the baseline that was committed; out comes a
// Difference: a list of Items, each one cell and what became of it, sorted, with the
// proof. A violation is a fact, a rate is a statistic, and a time is a statistic of a
// noisy machine; each is judged by rules of its own (rates.go, speed.go). What the number
// of runs cannot prove is said, never taken for "unchanged".
//
// It also lines up all stored matrices of one name (Trend). It never runs anything and
// draws nothing: reports/changes does.
package compare

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"picklock/harness/matrix"
	"picklock/models"
)

// Severity is what an item means for a build.
type Severity string

// The severities, worst first.
const (
	Regression Severity = "regression" // a lock became worse: exit 1
	Doubt      Severity = "doubt"      // less is proven than before: exit 2
	Note       Severity = "note"       // worth telling: exit 0
)

// Kind is what changed.
type Kind string

// The kinds, in the order in which they are told.
const (
	NewlyViolated      Kind = "newly violated"
	RateGrown          Kind = "violated more often"
	LessAvailable      Kind = "less available"
	Slower             Kind = "slower"
	Incomplete         Kind = "incomplete" // the matrix as a whole
	NewlyValid         Kind = "newly valid"
	RateFallen         Kind = "violated less often"
	BecameError        Kind = "became error"
	BecameUnknown      Kind = "became unknown"
	BecameVacuous      Kind = "became vacuous"
	Gone               Kind = "gone"
	ExpectationChanged Kind = "expectation changed"
	Decided            Kind = "decided again" // no longer unknown, vacuous or error
	MoreAvailable      Kind = "more available"
	Faster             Kind = "faster"
	New                Kind = "new"
)

// Kinds are all of them, in that order.
var Kinds = []Kind{
	NewlyViolated, RateGrown, LessAvailable, Slower, Incomplete, NewlyValid, RateFallen, BecameError, BecameUnknown, BecameVacuous,
	Gone, ExpectationChanged, Decided, MoreAvailable, Faster, New,
}

// Item is one thing that changed.
type Item struct {
	Kind     Kind            `json:"kind"`
	Severity Severity        `json:"severity"`
	Cell     string          `json:"cell,omitempty"` // its ID; empty: the whole matrix
	Property models.Property `json:"property,omitempty"`
	Measure  Measure         `json:"measure,omitempty"`
	Says     string          `json:"says"` // in a sentence, without the cell and what it is about

	RateBefore *matrix.Rate `json:"rate_before,omitempty"`
	RateAfter  *matrix.Rate `json:"rate_after,omitempty"`
	Before     *Sample      `json:"before,omitempty"`
	After      *Sample      `json:"after,omitempty"`
	// P is the corrected p-value where a test decided. Facts have none.
	P *float64 `json:"p,omitempty"`

	// Of a run that shows it: the seed, the steps of the first violation, the folder
	// relative to the store's root and the command that repeats it.
	Seed  *uint64  `json:"seed,omitempty"`
	Story []string `json:"story,omitempty"`
	Dir   string   `json:"dir,omitempty"`
	Rerun string   `json:"rerun,omitempty"`
}

// About is what the item is about, beside the cell: a property, a measure or nothing.
func (i *Item) About() string { return string(i.Property) + string(i.Measure) }

// Side is one of the two that were compared.
type Side struct {
	Name    string    `json:"name"`
	Started time.Time `json:"started,omitzero"` // zero: a baseline
	Cells   int       `json:"cells"`
	Runs    int       `json:"runs"`
}

// Difference is what changed from A to B. It is an interface for other programs: fields
// are added, never renamed.
type Difference struct {
	A     Side     `json:"a"`
	B     Side     `json:"b"`
	About []string `json:"about,omitempty"` // what else is different: plan, versions, servers
	Items []Item   `json:"items"`           // by severity, kind, cell, property or measure
	// Machine is what the performance of all cells together did; none where it was not
	// compared.
	Machine []Shift  `json:"machine,omitempty"`
	Notes   []string `json:"notes,omitempty"` // what could not be compared, and what these runs cannot prove
	Cells   int      `json:"cells"`           // on both sides
	Rates   int      `json:"rates"`           // properties judged on both sides
	Speeds  int      `json:"speeds"`          // measures compared, cell by cell
	Exit    int      `json:"exit"`            // status for the shell: see ExitCode
}

// ExitCode is 1 if anything became worse beyond chance, else 2 if less is proven than
// before, else 0.
//
// That a cell is gone, was not decided or shows a certain violation no longer accuses no
// lock, so it is not 1. It is not 0 either: 0 lets a build pass on a claim that nothing
// has tested. For a cell that was taken out on purpose, the baseline is updated.
func (d *Difference) ExitCode() int {
	switch {
	case d.has(Regression):
		return 1
	case d.has(Doubt):
		return 2
	}
	return 0
}

func (d *Difference) has(s Severity) bool {
	return slices.ContainsFunc(d.Items, func(i Item) bool { return i.Severity == s })
}

// Of are the items of one severity.
func (d *Difference) Of(s Severity) []Item {
	var out []Item
	for _, i := range d.Items {
		if i.Severity == s {
			out = append(out, i)
		}
	}
	return out
}

// String sums it up: "2 regressions, 1 doubt, 3 notes", "nothing changed".
func (d *Difference) String() string {
	var parts []string
	for _, s := range []Severity{Regression, Doubt, Note} {
		if n := len(d.Of(s)); n > 0 {
			parts = append(parts, counted(n, string(s)))
		}
	}
	if len(parts) == 0 {
		return "nothing changed beyond chance"
	}
	return strings.Join(parts, ", ")
}

// counted is "1 run", "2 runs".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Diff compares two matrices: a before, b now. An error says that a matrix has a cell
// twice.
func Diff(a, b *matrix.Matrix) (*Difference, error) {
	before, err := Take(a)
	if err != nil {
		return nil, err
	}
	now, err := Take(b)
	if err != nil {
		return nil, err
	}
	return before.Diff(now), nil
}

// Diff compares two snapshots: s before, b now.
func (s *Snapshot) Diff(b *Snapshot) *Difference {
	d := &differ{Difference: Difference{A: s.side(), B: b.side(), About: about(s, b), Items: []Item{}}}
	if b.Missing > 0 && b.Shard == "" {
		d.add(Item{Kind: Incomplete, Severity: Doubt, Says: "the matrix broke off: " + counted(b.Missing, "run") + " of its plan missing"})
	}
	for _, c := range both(s.Cells, b.Cells) {
		switch {
		case c.b == nil:
			d.add(Item{Kind: Gone, Severity: Doubt, Cell: c.a.ID, Says: "it was verified before, and is not now"})
		case c.a == nil:
			d.fresh(c.b)
		default:
			d.Cells++
			d.cell(c.a, c.b)
		}
	}
	if d.Cells == 0 {
		d.add(Item{Kind: Incomplete, Severity: Doubt, Says: "no cell is on both sides: nothing was compared"})
	}
	d.judgeRates()
	if s.crowded(b) {
		d.pairs = nil // see remarks
	}
	d.judgeSpeeds()
	d.remarks(s, b)
	slices.SortStableFunc(d.Items, inOrder)
	d.Exit = d.ExitCode()
	return &d.Difference
}

func (s *Snapshot) side() Side {
	side := Side{Name: s.Name, Started: s.Started, Cells: len(s.Cells)}
	for _, c := range s.Cells {
		side.Runs += c.Runs
	}
	return side
}

// inOrder sorts items.
func inOrder(a, b Item) int {
	rank := func(i *Item) int {
		return slices.Index([]Severity{Regression, Doubt, Note}, i.Severity)*len(Kinds) + slices.Index(Kinds, i.Kind)
	}
	measure := func(i *Item) int { return slices.Index(Measures, i.Measure) }
	if n := rank(&a) - rank(&b); n != 0 {
		return n
	}
	if n := strings.Compare(a.Cell, b.Cell); n != 0 {
		return n
	}
	if n := strings.Compare(string(a.Property), string(b.Property)); n != 0 {
		return n
	}
	return measure(&a) - measure(&b)
}

// cells of one ID; nil where a side has none.
type cells struct{ a, b *Cell }

// both joins two sorted lists of cells.
func both(a, b []Cell) (out []cells) {
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case j == len(b), i < len(a) && a[i].ID < b[j].ID:
			out, i = append(out, cells{a: &a[i]}), i+1
		case i == len(a), a[i].ID > b[j].ID:
			out, j = append(out, cells{b: &b[j]}), j+1
		default:
			out, i, j = append(out, cells{&a[i], &b[j]}), i+1, j+1
		}
	}
	return out
}

// about is what else is different, and may be why the rest is.
func about(a, b *Snapshot) []string {
	var out []string
	changed := func(what, x, y string) {
		if x == y {
			return
		}
		if x == "" {
			x = "(not told)"
		}
		if y == "" {
			y = "(not told)"
		}
		out = append(out, fmt.Sprintf("%s: %s before, %s now", what, x, y))
	}
	changed("name", a.Name, b.Name)
	if a.Plan != "" && b.Plan != "" && a.Plan != b.Plan {
		out = append(out, fmt.Sprintf("plan: another than before (%s, now %s): what was run is not the same", short(a.Plan), short(b.Plan)))
	}
	changed("shard", orWhole(a.Shard, b.Shard), orWhole(b.Shard, a.Shard))
	if a.About != nil && b.About != nil {
		keys := []string{}
		for _, m := range []map[string]string{a.About, b.About} {
			for k := range m {
				keys = append(keys, k)
			}
		}
		slices.Sort(keys)
		for _, k := range slices.Compact(keys) {
			changed(k, a.About[k], b.About[k])
		}
	}
	if a.Missing > 0 && a.Shard == "" {
		out = append(out, "before, the matrix broke off: "+counted(a.Missing, "run")+" of its plan missing")
	}
	return out
}

func orWhole(shard, other string) string {
	if shard == "" && other != "" {
		return "the whole"
	}
	return shard
}

// short is enough of a digest to tell it from another.
func short(digest string) string {
	if r := []rune(digest); len(r) > 12 {
		return string(r[:12])
	}
	return digest
}
