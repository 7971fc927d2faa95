package reports

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/models"
)

// maxOperations bounds the operations that the timeline of a page can hold: they take a
// browser some 0.4 s to prepare.
const maxOperations = 150_000

// unfolded is how many violations of a property are told at once; the others fold away.
const unfolded = 3

// page is what the template shows, in the order of the page.
type page struct {
	CSS    template.CSS
	JS     template.JS
	JSHash string // of the one script that the browser may run

	Test    *store.Test
	Recipe  string
	Started string

	Class, Symbol, Word, Rest string
	Breaches                  []breachLine
	Lead                      string
	Expectation               string
	ExpectationClass          string
	Unmet                     []string
	Figures                   []pair
	Notices                   []notice

	First       *firstBreach
	Properties  []propertyRow
	HasExpected bool
	Rerun       []string // words of the command: it breaks between them only
	Data        template.JS
	Broken      []brokenProperty
	Faults      []faultRow
	Charts      []chartView
	Measures    []pair
	Stock       []stockRow
	Parameters  []pair
	About       []pair
	Links       []Link

	derived *derived // of the history; nil without one
}

type (
	pair       struct{ Name, Value string }
	notice     struct{ Title, Text string }
	breachLine struct{ Text, Property, Count string }

	firstBreach struct {
		Property, At string
		Still        template.HTML
		Steps        [][]part
		Lamport      *lamportView
	}
	propertyRow struct {
		ID, Verdict, Class, Symbol, Promise, Anchor string
		Expected, Why, Note                         string
		Unexpected                                  bool
		Count, Checked                              int
	}
	brokenProperty struct {
		ID, Promise, Anchor, More string
		Violations, Folded        []violationView // the first few, the rest
		Pictures                  []Link
	}
	violationView struct {
		Index, N           int // Index: in the whole page, as the timeline counts
		When, Kind, Object string
		Button             bool
		Still              template.HTML
		Steps              [][]part
		Lamport            *lamportView
		Operations         []operationRow
		Left               int // operations that the table leaves out
	}
	// part is a piece of a step: plain text, or a time (seconds in T) in the timeline, with
	// the operation that it is about, 0 where none is known.
	part struct {
		Text, T string
		Op      int64
	}
	chartView struct {
		File, Title string
		Says        string        // the main figures in words
		SVG         template.HTML // empty: there is nothing to draw
	}
	faultRow struct {
		fault
		FromText, ToText string
	}
)

func newPage(r *store.Result, h *history.History, links []Link, seen *views) (*page, error) {
	p := &page{Test: &r.Test, Recipe: recipe(&r.Test), Rerun: strings.Split(r.Rerun, " ")}
	if err := p.assets(); err != nil {
		return nil, err
	}
	if !r.Test.Started.IsZero() {
		p.Started = r.Test.Started.Format("2006-01-02 15:04:05 -07:00")
	}
	fs := faults(r, h)
	p.verdict(r, fs)
	var d *derived
	if h != nil {
		d = seen.derived()
		p.derived = d
		data, err := encode(r, h, d, fs, maxOperations)
		if err != nil {
			return nil, err
		}
		p.Data = template.JS(`"` + string(data) + `"`) // base64: there is nothing to escape
		if p.Charts, err = seen.charts(); err != nil {
			p.Notices = append(p.Notices, notice{"A chart is missing.", err.Error()})
		}
		p.Stock = seen.stock()
	}
	p.properties(r)
	p.violations(r, h, d, fs, links)
	for _, f := range fs {
		row := faultRow{f, fmt.Sprintf("%.3f s", f.From), fmt.Sprintf("%.3f s", f.To)}
		if f.Open {
			row.ToText = "end of record"
		}
		p.Faults = append(p.Faults, row)
	}
	p.Measures, p.Parameters = measures(&r.Measures), parameters(&r.Test)
	for _, k := range slices.Sorted(maps.Keys(r.Test.About)) {
		p.About = append(p.About, pair{k, r.Test.About[k]})
	}
	for _, l := range links {
		if l.Property == "" {
			p.Links = append(p.Links, l)
		}
	}
	return p, nil
}

func (p *page) assets() error {
	css, err := asset("report.css")
	if err != nil {
		return err
	}
	messages, err := asset("lamport.css")
	if err != nil {
		return err
	}
	css += messages
	var js []string
	for _, name := range scripts() {
		s, err := asset(name)
		if err != nil {
			return err
		}
		js = append(js, s)
	}
	script := "\n\"use strict\";\n" + strings.Join(js, "\n")
	sum := sha256.Sum256([]byte(script))
	p.CSS, p.JS, p.JSHash = template.CSS(css), template.JS(script), base64.StdEncoding.EncodeToString(sum[:]) // our own files
	return nil
}

// scripts are the files of the page's one script, in order.
func scripts() []string {
	return []string{"data.js", "layout.js", "levels.js", "filter.js", "draw.js", "spans.js", "marks.js", "overview.js",
		"words.js", "input.js", "links.js", "timeline.js", "page.js"}
}

// verdict fills the top of the page.
func (p *page) verdict(r *store.Result, fs []fault) {
	p.Word, p.Rest = headline(r)
	p.Symbol = symbol(r.Verdict)
	p.Class = string(r.Verdict)
	if r.Vacuous && r.Verdict != models.Violated {
		p.Class, p.Symbol = string(models.Unknown), "?"
	}
	for _, id := range violated(r) {
		if _, breach := promise(id); breach != "" {
			p.Breaches = append(p.Breaches, breachLine{sentence(breach), string(id), times(r.Properties[id].Count)})
		}
	}
	if r.Verdict == models.Unknown {
		for _, id := range properties(r) {
			if j := r.Properties[id]; j.Verdict == models.Unknown && j.Note != "" {
				p.Breaches = append(p.Breaches, breachLine{Text: "Not decided: " + j.Note, Property: string(id)})
			}
		}
	}
	if r.Verdict == models.Valid && !r.Vacuous {
		p.Lead = "Nothing that this test did to the lock made it break a promise."
	}
	if r.Vacuous {
		p.Notices = append(p.Notices, notice{"Vacuous: this test proves nothing, and is no pass.", strings.Join(r.VacuousWhy, "; ")})
	}
	if r.Broken != "" {
		p.Notices = append(p.Notices, notice{"The record breaks off.", r.Broken})
	}
	p.Expectation, p.ExpectationClass, p.Unmet = expectation(r)
	m := &r.Measures
	landed := 0
	for _, f := range fs {
		if f.Landed {
			landed++
		}
	}
	p.Figures = []pair{
		{"under load", fmt.Sprintf("%.1f s", m.DurationS)},
		{"sales", strconv.Itoa(m.Sales)},
		{"sales per second", fmt.Sprintf("%.1f", m.SalesPerS)},
		{"grants of the lock", strconv.Itoa(m.Grants)},
		{"operations", strconv.Itoa(m.Operations)},
		{"faults landed", fmt.Sprintf("%d of %d", landed, len(fs))},
		{"clients × workers", fmt.Sprintf("%d × %d", r.Test.Clients, r.Test.Workers)},
		{"TTL", r.Test.TTL.String()},
	}
}

// expectation compares what came out with what is known of the lock, in a sentence, and
// lists the properties where they differ. It is empty where nothing was expected.
func expectation(r *store.Result) (sentence, class string, unmet []string) {
	if len(r.Expected) == 0 {
		return "", "", nil
	}
	for _, e := range r.Expected {
		if !e.Met {
			got := "not judged"
			if j := r.Properties[models.Property(e.Property)]; j != nil {
				got = string(j.Verdict)
			}
			s := fmt.Sprintf("%s: expected %s, got %s", e.Property, e.Expected, got)
			if e.Why != "" {
				s += " (" + e.Why + ")"
			}
			unmet = append(unmet, s)
		}
	}
	if len(unmet) > 0 {
		return "Not as expected of this lock:", "bad", unmet
	}
	for _, e := range r.Expected {
		if e.Expected != string(models.Valid) {
			return "As expected: these are the known weaknesses of this lock.", "good", nil
		}
	}
	return "As expected of this lock.", "good", nil
}

func (p *page) properties(r *store.Result) {
	expected := map[string]store.Expected{}
	for _, e := range r.Expected {
		expected[e.Property] = e
	}
	p.HasExpected = len(expected) > 0
	for _, id := range properties(r) {
		j := r.Properties[id]
		e := expected[string(id)]
		says, _ := promise(id)
		row := propertyRow{
			ID: string(id), Verdict: string(j.Verdict), Class: string(j.Verdict), Symbol: symbol(j.Verdict), Promise: says,
			Expected: e.Expected, Why: e.Why, Unexpected: e.Property != "" && !e.Met, Count: j.Count, Checked: j.Checked, Note: j.Note,
		}
		if j.Verdict == models.Violated {
			row.Anchor = "property-" + safeName(string(id))
		}
		p.Properties = append(p.Properties, row)
	}
}

// violations tells every violation, with a picture of the first one of each property.
func (p *page) violations(r *store.Result, h *history.History, d *derived, fs []fault, links []Link) {
	draw := func(id string, v models.Violation) template.HTML {
		if h == nil || len(d.Lanes) == 0 {
			return ""
		}
		return template.HTML(still(id, v, h, d, fs, int64(r.Test.TTL))) // it escapes foreign text itself
	}
	opening, any := first(r)
	if any {
		p.First = &firstBreach{
			Property: string(opening.Property), At: fmt.Sprintf("%.3f s", opening.StartS),
			Still: draw("hatch-first", opening.Violation), Steps: linked(opening.Violation, h, d),
		}
	}
	index := 0
	for _, id := range violated(r) {
		j := r.Properties[id]
		says, _ := promise(id)
		b := brokenProperty{ID: string(id), Promise: says, Anchor: "property-" + safeName(string(id))}
		if more := j.Count - len(j.Violations); more > 0 {
			b.More = fmt.Sprintf("%s; the first %d are told here.", plural(j.Count, "violation", "violations"), len(j.Violations))
		}
		for i, v := range j.Violations {
			view := violationView{
				Index: index, N: i + 1, Kind: v.Kind, Object: v.Object, Button: h != nil, Steps: linked(v, h, d),
				When: fmt.Sprintf("%.3f s", v.StartS),
			}
			if v.EndS-v.StartS >= 0.0005 {
				view.When += fmt.Sprintf(" to %.3f s", v.EndS)
			}
			if h != nil {
				view.Operations, view.Left = operationRows(v, h, d)
			}
			if i == 0 && (id != opening.Property || opening.N != 1) {
				view.Still = draw(fmt.Sprintf("hatch-%d", index), v)
			}
			b.Violations = append(b.Violations, view)
			index++
		}
		if n := len(b.Violations); n > unfolded+1 {
			b.Violations, b.Folded = b.Violations[:unfolded], b.Violations[unfolded:]
		}
		for _, l := range links {
			if l.Property == id {
				b.Pictures = append(b.Pictures, l)
			}
		}
		p.Broken = append(p.Broken, b)
	}
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// sentence begins s with a capital letter.
func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
