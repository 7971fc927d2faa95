package grid

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"picklock/harness/matrix"
	"picklock/harness/store"
	"picklock/reports"
	"picklock/reports/text"
)

//go:embed assets
var assets embed.FS

// How many cells that are not as expected stand open on the page, and how many older
// nights are drawn of each.
const (
	unfolded  = 12
	maxNights = 10
	// Of a cell with more runs than this, those as expected are links only: pages with
	// many seeds stay small, and what matters stays in sight.
	maxRows = 5
)

// page is what the template shows, in the order of the page.
type page struct {
	CSS template.CSS
	JS  template.JS

	Title, Name, Started      string
	Class, Symbol, Word, Rest string
	Lead                      string
	Figures, About            []pair
	Missing, Artifacts        string

	Unmet, Folded []cellView
	Compared      bool
	Against       string
	Changes       []changeView
	Marks         []markView
	Tables        []tableView
	Cells         []cellView
}

type (
	pair       struct{ Name, Value string }
	changeView struct {
		Change
		Anchor, Sign, Class string
	}
	markView struct {
		mark
		N int
	}
	tableView struct {
		Topology string
		N        string
		Faults   []string
		Rows     []rowView
	}
	rowView struct {
		Lock, Rest string
		Cells      []*place
	}
	// place is a cell in a grid; nil where the matrix has none.
	place struct{ Symbol, Class, Rate, Href, Says string }

	cellView struct {
		mark
		Anchor, ID, Lock, Counts, Why string
		Reasons                       []string
		StoryOf                       string
		Story                         []string
		Rerun                         []string // words of the command: it breaks between them only
		Rates                         []rateView
		Runs                          []runView
		Others                        []runView // as expected, where there are many
		Nights                        []nightView
		NightsSay                     string
	}
	rateView struct {
		Property, Breach, Expected, Got, Class string
	}
	runView struct {
		mark
		Seed, Took, After, Why, Href string
		Early                        bool
	}
	nightView struct {
		Symbol, Class, Says string
		Height              int // percent
	}
)

// HTML writes the matrix as one self-contained page for the folder
// store/matrices/<name>/<start time>: it loads nothing, and its links lead to the tests in
// the same store. The verdict and what is not as expected come first, then what changed,
// then a grid for each topology, then every cell with its rates and runs.
func HTML(w io.Writer, m *matrix.Matrix, opts ...Option) error {
	p, err := newPage(gather(m, opts))
	if err != nil {
		return fmt.Errorf("prepare the matrix's page: %w", err)
	}
	t, err := template.ParseFS(assets, "assets/matrix.html.tmpl")
	if err != nil {
		return fmt.Errorf("read the template of the matrix's page: %w", err)
	}
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("write the matrix's page: %w", err)
	}
	return nil
}

func newPage(m *matrix.Matrix, o *options) (*page, error) {
	p := &page{Name: m.Name, Missing: missing(m), Artifacts: o.artifacts, Compared: o.compared, Against: o.against}
	css, err := reports.Style()
	if err != nil {
		return nil, err
	}
	for name, add := range map[string]func(string){
		"assets/matrix.css": func(s string) { p.CSS = template.CSS(css + s) },
		"assets/matrix.js":  func(s string) { p.JS = template.JS(s) }, // our own files
	} {
		b, err := assets.ReadFile(name)
		if err != nil {
			return nil, err
		}
		add(string(b))
	}
	p.head(m)
	anchors := map[*matrix.Result]string{}
	byID := map[string]string{}
	for i := range m.Cells {
		c := &m.Cells[i]
		anchors[c] = "cell-" + strconv.Itoa(i+1)
		byID[c.Cell.ID()] = anchors[c]
		p.Cells = append(p.Cells, viewCell(c, anchors[c], o))
	}
	for _, c := range unmet(m) {
		p.Unmet = append(p.Unmet, viewCell(c, anchors[c], o))
	}
	if len(p.Unmet) > unfolded+1 {
		p.Unmet, p.Folded = p.Unmet[:unfolded], p.Unmet[unfolded:]
	}
	for _, c := range o.changes {
		sign, class := c.sign()
		p.Changes = append(p.Changes, changeView{c, byID[c.Cell], sign, class})
	}
	for _, t := range tables(m) {
		p.Tables = append(p.Tables, viewTable(t, anchors))
	}
	return p, nil
}

// head fills the top of the page.
func (p *page) head(m *matrix.Matrix) {
	p.Word, p.Rest, p.Class = verdict(m)
	p.Symbol = map[string]string{"valid": "✓", "violated": "✗", "unknown": "?"}[p.Class]
	p.Title = p.Word + ": " + m.Name
	if !m.Started.IsZero() {
		p.Started = m.Started.Format("2006-01-02 15:04:05 -07:00")
	}
	if len(m.Cells) > 0 {
		p.Lead = m.String() + "; " + clock(m) + "."
	}
	n := map[string]int{}
	for i := range m.Cells {
		n[cellMark(&m.Cells[i]).Class]++
	}
	for _, k := range marks() {
		if n[k.Class] > 0 {
			p.Marks = append(p.Marks, markView{k, n[k.Class]})
		}
	}
	p.Figures = []pair{{"cells", strconv.Itoa(len(m.Cells))}, {"as expected", strconv.Itoa(m.Count()[matrix.AsExpected])}, {"runs", strconv.Itoa(runs(m))}}
	if m.Shard != "" {
		p.Figures = append(p.Figures, pair{"shard", m.Shard})
	}
	for _, k := range slices.Sorted(maps.Keys(m.About)) {
		p.About = append(p.About, pair{k, m.About[k]})
	}
	if m.Plan != "" {
		p.About = append(p.About, pair{"plan", m.Plan})
	}
}

func viewTable(t table, anchors map[*matrix.Result]string) tableView {
	v := tableView{Topology: t.Topology, Faults: t.Faults}
	n, bad := 0, 0
	for _, r := range t.Rows {
		x := rowView{Lock: r.Lock, Rest: r.Rest}
		for i, c := range r.Cells {
			if c == nil {
				x.Cells = append(x.Cells, nil)
				continue
			}
			n++
			if c.Outcome != matrix.AsExpected {
				bad++
			}
			k := cellMark(c)
			y := &place{Symbol: k.Symbol, Class: k.Class, Href: href(telling(c)), Says: r.name() + " under " + t.Faults[i] + ": " + k.Word + "; " + counts(c)}
			if y.Href == "" {
				y.Href = "#" + anchors[c]
			}
			p := mostViolated(c)
			if wrong := astray(c); len(wrong) > 0 {
				p = wrong[0]
			}
			if p != "" && c.Rates[p].Of > 0 {
				y.Rate = fmt.Sprintf("%d/%d", c.Rates[p].Violated, c.Rates[p].Of)
				y.Says += "; " + string(p) + " " + rate(c.Rates[p])
			}
			x.Cells = append(x.Cells, y)
		}
		v.Rows = append(v.Rows, x)
	}
	v.N = text.Plural(n, "cell", "cells")
	if bad > 0 {
		v.N += fmt.Sprintf(", %d not as expected", bad)
	}
	return v
}

func viewCell(c *matrix.Result, anchor string, o *options) cellView {
	v := cellView{mark: cellMark(c), Anchor: anchor, ID: c.Cell.ID(), Lock: c.Cell.Lock, Counts: counts(c), Reasons: reasons(c)}
	if c.Outcome != matrix.AsExpected {
		v.Why = why(c)
	}
	r := telling(c)
	if p, steps := story(c, r); len(steps) > 0 {
		v.StoryOf, v.Story = fmt.Sprintf("%s in seed %d", p, r.Seed), steps
	}
	if r != nil && r.Rerun != "" {
		v.Rerun = strings.Split(r.Rerun, " ")
	}
	for _, p := range properties(c) {
		x := c.Rates[p]
		y := rateView{Property: string(p), Expected: x.Expected, Got: rate(x), Breach: reports.Promise(p)}
		switch o := worstOutcome(c, p); {
		case o != matrix.AsExpected:
			y.Class = markOf(o, true).Class
		case x.Violated > 0:
			y.Class = markOf(o, true).Class
		}
		v.Rates = append(v.Rates, y)
	}
	for i := range c.Runs {
		r := &c.Runs[i]
		x := runView{mark: markOf(r.Outcome, violates(r)), Seed: strconv.FormatUint(r.Seed, 10), Took: fmt.Sprintf("%.1f s", r.TookS), Why: r.Why, Href: href(r), Early: r.Early}
		if r.AfterS >= 0 {
			x.After = fmt.Sprintf("%.1f s", r.AfterS)
		}
		if len(c.Runs) > maxRows && r.Outcome == matrix.AsExpected {
			v.Others = append(v.Others, x)
			continue
		}
		v.Runs = append(v.Runs, x)
	}
	nights := o.nights[v.ID]
	nights = nights[max(0, len(nights)-maxNights):]
	for _, n := range nights {
		k := markOf(n.Outcome, n.Violated > 0)
		x := nightView{Symbol: k.Symbol, Class: k.Class, Height: 8, Says: n.Started.Format("2006-01-02") + ": " + k.Word}
		if n.Of > 0 {
			x.Height = max(8, min(100, 100*n.Violated/n.Of))
			x.Says += fmt.Sprintf(", violated in %d of %d", n.Violated, n.Of)
		}
		v.Nights = append(v.Nights, x)
		v.NightsSay = strings.TrimPrefix(v.NightsSay+"; "+x.Says, "; ")
	}
	return v
}

// href leads from the matrix's folder to the report of a run; empty if it has none.
func href(r *matrix.Run) string {
	dir := local(r)
	if dir == "" {
		return ""
	}
	parts := strings.Split(dir, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return "../../../" + strings.Join(parts, "/") + "/" + store.ReportFile
}
