package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"picklock/harness/matrix"
	"picklock/models"
)

// ErrBaseline: the file is not a baseline, or a damaged one.
var ErrBaseline = errors.New("not a baseline")

// maxBytes is how many bytes a baseline may have: some 200 for each of a cell's ten lines,
// and a hundred thousand cells.
const maxBytes = 200 << 20

// version of the format that is written, and the only one that is read.
const version = 1

// The head of a baseline, ahead of its rows.
const head = `# What a matrix showed, one line for each cell, property and measure: the baseline that
# later matrices are compared with. Written by picklock diff --update-baseline.
version: %d
name: %s
rows:
`

// row is one line of a baseline: of a cell, of a property or of a measure. Rows stand by
// cell; in a cell the cell's own first, then its properties by id, then its measures.
type row struct {
	Cell string `yaml:"cell"`

	Runs    *int    `yaml:"runs"`
	Vacuous int     `yaml:"vacuous"`
	Unknown int     `yaml:"unknown"`
	Error   int     `yaml:"error"`
	Seconds float64 `yaml:"seconds"`

	Property models.Property `yaml:"property"`
	Expected string          `yaml:"expected"`
	Violated *int            `yaml:"violated"`

	Measure Measure  `yaml:"measure"`
	Median  *float64 `yaml:"median"`
	Spread  float64  `yaml:"spread"`

	Of *int `yaml:"of"`
}

// Baseline is the text of a baseline: sorted, rounded, and the same bytes for the same
// matrix. The plan's digest, versions and times are left out, so that a line changes in
// review only when what it says has changed.
func (s *Snapshot) Baseline() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, head, version, quoted(s.Name))
	for i := range s.Cells {
		c := &s.Cells[i]
		fmt.Fprintf(&b, "- {cell: %s, runs: %d", quoted(c.ID), c.Runs)
		for _, n := range []struct {
			word string
			n    int
		}{{"vacuous", c.Vacuous}, {"unknown", c.Unknown}, {"error", c.Error}} {
			if n.n > 0 {
				fmt.Fprintf(&b, ", %s: %d", n.word, n.n)
			}
		}
		if c.Seconds > 0 {
			fmt.Fprintf(&b, ", seconds: %s", rounded(c.Seconds, 2))
		}
		b.WriteString("}\n")
		for _, id := range ids(c.Rates) {
			r := c.Rates[id]
			fmt.Fprintf(&b, "- {cell: %s, property: %s, expected: %s, violated: %d, of: %d}\n", quoted(c.ID), quoted(string(id)), r.Expected, r.Violated, r.Of)
		}
		for _, m := range Measures {
			if v, ok := c.Speed[m]; ok {
				fmt.Fprintf(&b, "- {cell: %s, measure: %s, median: %s, spread: %.3f, of: %d}\n", quoted(c.ID), m, rounded(v.Median, 3), v.Spread, v.Of)
			}
		}
	}
	return b.Bytes()
}

// quoted is a text in double quotes, as YAML and JSON both read it.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(strings.ToValidUTF8(s, "\uFFFD")) // a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// rounded to so many significant figures, without an exponent.
func rounded(v float64, figures int) string {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', figures-1, 64), 64)
	if err != nil {
		short = v
	}
	return strconv.FormatFloat(short, 'f', -1, 64)
}

// WriteBaseline replaces the baseline in a file by what a matrix shows now, as a whole or
// not at all. A part of a matrix is refused: the cells that it has not would be gone from
// the baseline without anyone having decided it.
func WriteBaseline(file string, s *Snapshot) error {
	if s.Shard != "" {
		return fmt.Errorf("%s is not updated: the matrix is shard %s only; merge the shards first", file, s.Shard)
	}
	if s.Missing > 0 {
		return fmt.Errorf("%s is not updated: the matrix broke off, %s missing; resume it first", file, counted(s.Missing, "run"))
	}
	text := s.Baseline()
	if _, err := ParseBaseline(text); err != nil {
		return fmt.Errorf("%s is not updated: the matrix holds what a baseline cannot: %w", file, err)
	}
	next, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return fmt.Errorf("the baseline cannot be written: %w", err)
	}
	_, err = next.Write(text)
	if err = errors.Join(err, next.Chmod(0o644), next.Sync(), next.Close()); err == nil {
		err = os.Rename(next.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("the baseline cannot be written: %w", errors.Join(err, os.Remove(next.Name())))
	}
	return nil
}

// ReadBaseline reads a baseline from a file. An error wraps ErrBaseline, with the line, or
// says that the file cannot be read.
func ReadBaseline(file string) (*Snapshot, error) {
	st, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no baseline %s: %w", file, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxBytes {
		return nil, fmt.Errorf("%s: %w: it must be a file of at most %d MB", file, ErrBaseline, maxBytes>>20)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s, err := ParseBaseline(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// ParseBaseline is the inverse of Snapshot.Baseline. It is strict: what it does not know,
// finds twice or cannot be true is an error that wraps ErrBaseline and names the line.
func ParseBaseline(text []byte) (s *Snapshot, err error) {
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%w: it must be UTF-8", ErrBaseline)
	}
	// The YAML library panics on some texts that no baseline has.
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("%w: no YAML: %v", ErrBaseline, p)
		}
	}()
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrBaseline, plainError(err))
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, fmt.Errorf("%w: it must be one document with version, name and rows", ErrBaseline)
	}
	top, ok := file.Docs[0].Body.(*ast.MappingNode)
	if !ok {
		return nil, fmt.Errorf("line %d: %w: version, name and rows must stand here", line(file.Docs[0].Body), ErrBaseline)
	}
	r := reader{cells: map[string]*Cell{}, seen: map[string]bool{}}
	keys := map[string]bool{}
	for _, v := range top.Values {
		key := v.Key.String()
		if keys[key] {
			return nil, fmt.Errorf("line %d: %w: %s stands there twice", line(v), ErrBaseline, key)
		}
		keys[key] = true
		if err := r.field(key, v.Value); err != nil {
			return nil, fmt.Errorf("line %d: %w: %w", max(r.line, line(v)), ErrBaseline, err)
		}
	}
	for _, key := range []string{"version", "name", "rows"} {
		if !keys[key] {
			return nil, fmt.Errorf("%w: it has no %s", ErrBaseline, key)
		}
	}
	return r.snapshot()
}

// reader collects the rows of a baseline.
type reader struct {
	name  string
	cells map[string]*Cell
	seen  map[string]bool
	line  int // of the row that is read
}

func (r *reader) field(key string, node ast.Node) error {
	switch key {
	case "version":
		var v int
		if err := yaml.NodeToValue(node, &v); err != nil || v != version {
			return fmt.Errorf("its version must be %d: this picklock reads no other", version)
		}
	case "name":
		if err := yaml.NodeToValue(node, &r.name); err != nil {
			return errors.New("its name must be a text")
		}
	case "rows":
		if _, empty := node.(*ast.NullNode); empty {
			return nil
		}
		rows, ok := node.(*ast.SequenceNode)
		if !ok {
			return errors.New("rows must be a list")
		}
		for _, n := range rows.Values {
			r.line = line(n)
			var v row
			if err := yaml.NodeToValue(n, &v, yaml.Strict()); err != nil {
				return errors.New(plainError(err))
			}
			if err := r.row(&v); err != nil {
				return err
			}
		}
		r.line = 0
	default:
		return fmt.Errorf("%q is not known; version, name and rows are", key)
	}
	return nil
}

// row takes one row.
func (r *reader) row(v *row) error {
	if v.Cell == "" {
		return errors.New("it names no cell")
	}
	key := fmt.Sprintf("%s\x00%s\x00%s", v.Cell, v.Property, v.Measure)
	if r.seen[key] {
		return fmt.Errorf("the row of %s %s%s stands there twice", v.Cell, v.Property, v.Measure)
	}
	r.seen[key] = true
	c := r.cells[v.Cell]
	if c == nil {
		c = &Cell{ID: v.Cell, Rates: map[models.Property]matrix.Rate{}, Speed: map[Measure]Sample{}}
		r.cells[v.Cell] = c
	}
	switch {
	case v.Property != "" && v.Measure != "":
		return errors.New("a row is of a property or of a measure, not of both")
	case v.Property != "":
		return c.property(v)
	case v.Measure != "":
		return c.measure(v)
	}
	return c.own(v)
}

func (c *Cell) own(v *row) error {
	switch {
	case v.Runs == nil || v.Expected != "" || v.Violated != nil || v.Median != nil || v.Spread != 0 || v.Of != nil:
		return errors.New("the row of a cell has runs, vacuous, unknown, error and seconds, and nothing else")
	case v.Vacuous < 0 || v.Unknown < 0 || v.Error < 0 || *v.Runs < 0 || *v.Runs > most ||
		v.Vacuous > *v.Runs || v.Error > *v.Runs-v.Vacuous || v.Unknown > *v.Runs-v.Vacuous-v.Error:
		return errors.New("vacuous, unknown and error runs cannot be more than there are runs")
	case !(v.Seconds >= 0 && v.Seconds <= 1e9):
		return errors.New("seconds must be how long the load took")
	}
	c.Runs, c.Vacuous, c.Unknown, c.Error, c.Seconds = *v.Runs, v.Vacuous, v.Unknown, v.Error, v.Seconds
	c.listed = true
	return nil
}

// most runs that a cell may have: tests of rates take time with their number.
const most = 100_000

func (c *Cell) property(v *row) error {
	switch {
	case v.Violated == nil || v.Of == nil || v.notCell() || v.Median != nil || v.Spread != 0:
		return errors.New("the row of a property has expected, violated and of, and nothing else")
	case !slices.Contains([]string{"valid", "violated", "either"}, v.Expected):
		return fmt.Errorf("expected must be valid, violated or either, not %q", v.Expected)
	case *v.Violated < 0 || *v.Violated > *v.Of || *v.Of > most:
		return fmt.Errorf("violated must be from 0 to of, and of at most %d", most)
	}
	r := matrix.Rate{Expected: v.Expected, Violated: *v.Violated, Of: *v.Of}
	r.Low, r.High = matrix.Wilson(r.Violated, r.Of)
	c.Rates[v.Property] = r
	return nil
}

func (c *Cell) measure(v *row) error {
	switch {
	case v.Median == nil || v.Of == nil || v.notCell() || v.Expected != "" || v.Violated != nil:
		return errors.New("the row of a measure has median, spread and of, and nothing else")
	case !slices.Contains(Measures, v.Measure):
		return fmt.Errorf("there is no measure %q; there are %s, %s, %s and %s", v.Measure, SalesPerS, AcquireP50MS, AcquireP99MS, Availability)
	case !inScale(v.Measure, *v.Median):
		return fmt.Errorf("the median of %s cannot be %g", v.Measure, *v.Median)
	case !(v.Spread >= 0 && v.Spread <= 1e3) || *v.Of < 1 || *v.Of > most:
		return fmt.Errorf("spread must be from 0 to 1000, and of from 1 to %d", most)
	}
	c.Speed[v.Measure] = Sample{Of: *v.Of, Median: *v.Median, Spread: v.Spread}
	return nil
}

func (v *row) notCell() bool {
	return v.Runs != nil || v.Vacuous != 0 || v.Unknown != 0 || v.Error != 0 || v.Seconds != 0
}

// snapshot puts the cells together.
func (r *reader) snapshot() (*Snapshot, error) {
	s := &Snapshot{Name: r.name}
	for _, c := range r.cells {
		if !c.listed {
			return nil, fmt.Errorf("%w: the cell %s has no row of its own, with its runs", ErrBaseline, c.ID)
		}
		for id, rate := range c.Rates {
			if rate.Of > c.Runs {
				return nil, fmt.Errorf("%w: the cell %s has %s, but %s was judged in %d", ErrBaseline, c.ID, counted(c.Runs, "run"), id, rate.Of)
			}
		}
		for m, v := range c.Speed {
			if v.Of > c.Runs || c.Seconds <= 0 {
				return nil, fmt.Errorf("%w: the cell %s has %s of %g seconds, which do not allow for %s of %d", ErrBaseline, c.ID, counted(c.Runs, "run"), c.Seconds, m, v.Of)
			}
		}
		s.Cells = append(s.Cells, *c)
	}
	slices.SortFunc(s.Cells, byID)
	return s, nil
}

// line is where a node begins, counted from 1; 0 if it does not know.
func line(n ast.Node) int {
	if m, ok := n.(*ast.MappingNode); ok && m.Start != nil && m.Start.Position != nil {
		return m.Start.Position.Line
	}
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

// plainError is an error of the YAML library in one line, without the excerpt.
func plainError(err error) string {
	text, _, _ := strings.Cut(yaml.FormatError(err, false, false), "\n")
	return text
}

// AgainstBaseline compares a matrix with the baseline in a file.
func AgainstBaseline(file string, m *matrix.Matrix) (*Difference, error) {
	was, err := ReadBaseline(file)
	if err != nil {
		return nil, err
	}
	is, err := Take(m)
	if err != nil {
		return nil, err
	}
	return was.Diff(is), nil
}

// UpdateBaseline writes a matrix as the new baseline: see WriteBaseline.
func UpdateBaseline(file string, m *matrix.Matrix) error {
	s, err := Take(m)
	if err != nil {
		return err
	}
	return WriteBaseline(file, s)
}
