// Package grid shows a matrix: as text for a terminal, Markdown, GitHub annotations, JUnit
// XML, a page and a picture.
//
// In goes a matrix.Matrix; out comes text that says the same in each form: which cells are
// not as expected, how often, why, and where their tests are. The package judges nothing,
// and touches neither servers, files nor a clock: the same matrix gives the same text.
// Names, errors and stories are foreign text and are escaped for the form that they go into.
package grid

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"picklock/harness/matrix"
	"picklock/harness/store"
	"picklock/reports/text"
)

// File is the name of the page in a matrix's folder, store/matrices/<name>/<start time>/.
const File = "matrix.html"

// Option adds what the matrix does not know itself.
type Option func(*options)

type options struct {
	store     string
	artifacts string
	against   string
	changes   []Change
	compared  bool
	nights    map[string][]Night
}

// Change is one thing that is not as it was in an older matrix or in the baseline.
type Change struct {
	Kind string // a word or two: "newly violated", "slower", "gone"
	Cell string // ID; may be of a cell that the matrix does not have
	Text string // one line
	// Severity: Regression, Doubt or, whatever else it is, a note. The worst come first.
	Severity string
}

// The severities of a change: a lock became worse; less is proven than before.
const (
	Regression = "regression"
	Doubt      = "doubt"
)

// sign of a change, and the class of style sheets that goes with it; both are empty for a
// note.
func (c Change) sign() (sign, class string) {
	switch c.Severity {
	case Regression:
		return "✗", "bad"
	case Doubt:
		return "?", "doubt"
	}
	return "", ""
}

// weight is higher for worse changes.
func (c Change) weight() int { return map[string]int{Regression: 2, Doubt: 1}[c.Severity] }

// Night is a cell in an older matrix.
type Night struct {
	Started      time.Time
	Outcome      matrix.Outcome
	Violated, Of int // of the property that was violated most often
}

// Changes says what changed against what: "the baseline", "the night of 2026-03-13". With
// no changes the report says that nothing did; without this option it says nothing.
func Changes(against string, all []Change) Option {
	return func(o *options) { o.against, o.changes, o.compared = against, all, true }
}

// Nights shows how each cell did before, by its ID, oldest first. The matrix itself is not
// among them. The last ten are drawn.
func Nights(by map[string][]Night) Option { return func(o *options) { o.nights = by } }

// StoreAt says where the store's root is for who reads the text, instead of Matrix.Store:
// a path relative to the folder of the project, where CI systems look for files.
func StoreAt(dir string) Option { return func(o *options) { o.store = dir } }

// Artifacts is the address (http or https) where the CI system keeps the stored tests.
func Artifacts(url string) Option {
	return func(o *options) {
		if strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") {
			o.artifacts = url
		}
	}
}

// gather makes what all forms begin with: the matrix with clean texts, and the options
// with theirs.
func gather(m *matrix.Matrix, all []Option) (*matrix.Matrix, *options) {
	o := &options{store: m.Store}
	for _, f := range all {
		f(o)
	}
	o.against, o.changes = text.Plain(o.against), slices.Clone(o.changes)
	for i := range o.changes {
		c := &o.changes[i]
		c.Kind, c.Cell, c.Text = text.Plain(c.Kind), text.Plain(c.Cell), text.Plain(c.Text)
	}
	slices.SortStableFunc(o.changes, func(a, b Change) int {
		return cmp.Or(b.weight()-a.weight(), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Cell, b.Cell))
	})
	return clean(m), o
}

// folder is the path of a run's test for the reader; empty if there is none.
func (o *options) folder(r *matrix.Run) string {
	dir := local(r)
	if dir == "" {
		return ""
	}
	return filepath.ToSlash(filepath.Join(o.store, dir))
}

// local is the folder of a run's test in the store; empty if there is none, or where it
// would lead out of the store.
func local(r *matrix.Run) string {
	if r == nil || r.Dir == "" || strings.Contains(r.Dir, `\`) || !filepath.IsLocal(r.Dir) || text.Plain(r.Dir) != r.Dir {
		return ""
	}
	return path.Clean(r.Dir)
}

// report is the path of a run's report for the reader; empty if there is none.
func (o *options) report(r *matrix.Run) string {
	if dir := o.folder(r); dir != "" {
		return dir + "/" + store.ReportFile
	}
	return ""
}

// telling is the run that tells why a cell came out as it did: the first with the cell's
// outcome; in a cell as expected the first that showed a violation, else the first.
func telling(c *matrix.Result) *matrix.Run {
	for i := range c.Runs {
		if r := &c.Runs[i]; r.Outcome == c.Outcome && (c.Outcome != matrix.AsExpected || violates(r)) {
			return r
		}
	}
	for i := range c.Runs {
		if c.Runs[i].Outcome == c.Outcome {
			return &c.Runs[i]
		}
	}
	if len(c.Runs) > 0 {
		return &c.Runs[0]
	}
	return nil
}

// unmet lists the cells that are not as expected, the worst outcome first.
func unmet(m *matrix.Matrix) []*matrix.Result {
	var out []*matrix.Result
	for i := range m.Cells {
		if m.Cells[i].Outcome != matrix.AsExpected {
			out = append(out, &m.Cells[i])
		}
	}
	slices.SortStableFunc(out, func(a, b *matrix.Result) int { return severity(b.Outcome) - severity(a.Outcome) })
	return out
}

// severity ranks outcomes, best first; one that is not known is the worst but one.
func severity(o matrix.Outcome) int {
	if i := slices.Index(matrix.Outcomes, o); i >= 0 {
		return 2 * i
	}
	return 2*len(matrix.Outcomes) - 3
}

// table is the grid of one topology: a row for each lock with its deduction, server and
// variant, a column for each fault.
type table struct {
	Topology string
	Faults   []string
	Rows     []row
}

type row struct {
	Lock, Rest string // Rest: what else tells the row from others: "read-write, redis:8.0"
	Cells      []*matrix.Result
}

func (r row) name() string {
	if r.Rest == "" {
		return r.Lock
	}
	return r.Lock + " + " + r.Rest
}

// tables arranges the cells: topologies, rows and columns in the order in which the names
// sort, but single topologies and no faults first. Two cells for one place make a second
// row of the same name: nothing hides behind anything else.
func tables(m *matrix.Matrix) []table {
	byTopology := map[string][]*matrix.Result{}
	for i := range m.Cells {
		c := &m.Cells[i]
		byTopology[c.Cell.Topology] = append(byTopology[c.Cell.Topology], c)
	}
	var out []table
	for name, cells := range byTopology {
		out = append(out, arrange(name, cells))
	}
	first := func(name, first string) int {
		if name == first {
			return 0
		}
		return 1
	}
	slices.SortFunc(out, func(a, b table) int {
		return cmp.Or(first(a.Topology, "single")-first(b.Topology, "single"), cmp.Compare(a.Topology, b.Topology))
	})
	return out
}

func arrange(topology string, cells []*matrix.Result) table {
	t := table{Topology: topology}
	type key struct {
		lock, deduct, server, variant string
		copy                          int
	}
	rows := map[key]map[string]*matrix.Result{}
	for _, c := range cells {
		fault := c.Cell.Fault()
		if !slices.Contains(t.Faults, fault) {
			t.Faults = append(t.Faults, fault)
		}
		k := key{c.Cell.Lock, c.Cell.Deduct, c.Cell.Server, c.Cell.Variant, 0}
		for rows[k][fault] != nil {
			k.copy++
		}
		if rows[k] == nil {
			rows[k] = map[string]*matrix.Result{}
		}
		rows[k][fault] = c
	}
	slices.SortFunc(t.Faults, func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == "none":
			return -1
		case b == "none":
			return 1
		}
		return cmp.Compare(a, b)
	})
	keys := make([]key, 0, len(rows))
	for k := range rows {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.lock, b.lock), cmp.Compare(a.deduct, b.deduct), cmp.Compare(a.server, b.server),
			cmp.Compare(a.variant, b.variant), cmp.Compare(a.copy, b.copy))
	})
	for _, k := range keys {
		r := row{Lock: k.lock}
		for _, s := range []string{k.deduct, k.server, k.variant} {
			if s != "" {
				r.Rest = strings.TrimPrefix(r.Rest+", "+s, ", ")
			}
		}
		for _, f := range t.Faults {
			r.Cells = append(r.Cells, rows[k][f])
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// runs counts the runs of all cells.
func runs(m *matrix.Matrix) int {
	n := 0
	for i := range m.Cells {
		n += len(m.Cells[i].Runs)
	}
	return n
}

// duration writes a time for people: "31m12s", "4.2s".
func duration(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
