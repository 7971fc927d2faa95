package web

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"picklock/harness/store"
	"picklock/models"
	"picklock/reports"
)

type comparePage struct {
	frame
	Sides      [2]sideView
	Swap       string
	Says       []string
	Promises   []promiseBoth
	Parameters []both
	Measures   []both
	Faults     [2][]faultView
}

type (
	sideView struct {
		rowView
		Letter string
	}
	// both is one line of two columns.
	both struct {
		Name, A, B string
		Differ     bool
		Says       string
	}
	promiseBoth struct {
		ID, Says string
		A, B     *promiseView // nil: not judged there
		Differ   bool
	}
)

// side is one of two tests.
type side struct {
	entry  *store.Entry
	test   *store.Test
	result *store.Result // nil: it has no verdict
}

// compare is the page of two tests side by side.
func (h *Handler) compare(w http.ResponseWriter, r *http.Request) error {
	paths, err := parsePair(r.URL.RawQuery)
	if err != nil {
		return err
	}
	done, err := h.turn(r)
	if err != nil {
		return err
	}
	defer done()
	var sides [2]side
	for i, p := range paths {
		if sides[i], err = h.side(p); err != nil {
			return err
		}
	}
	h.render(w, http.StatusOK, "compare", newComparePage(&sides[0], &sides[1]))
	return nil
}

// parsePair reads which two tests are meant: t=NAME/START, twice.
func parsePair(raw string) (paths [2]string, err error) {
	values, err := parameters(raw)
	if err != nil {
		return paths, err
	}
	for key := range values {
		if key != "t" {
			return paths, bad("a comparison takes two tests as t, and no %q", clip(key, 40))
		}
	}
	t := values["t"]
	if len(t) != 2 {
		return paths, bad("Two tests can be compared, and %s chosen. Tick two in the list of tests.", counted(len(t), "was", "were"))
	}
	for i, p := range t {
		names := strings.Split(p, "/")
		if len(names) != 2 || slices.ContainsFunc(names, func(n string) bool { return n == "" || n == "." || n == ".." }) {
			return paths, bad("%q is no test: it is written as its name, a slash, and its start", clip(p, 80))
		}
		paths[i] = p
	}
	return paths, nil
}

func (h *Handler) side(p string) (s side, err error) {
	name, start, _ := strings.Cut(p, "/")
	if s.entry, err = h.entry(name, start); err != nil {
		return s, err
	}
	if s.entry.State == store.Judged {
		if s.result, err = h.result(s.entry); err != nil {
			return s, fail(http.StatusUnprocessableEntity, "%s has no result that can be read: %s", clip(p, 120), clip(err.Error(), 200))
		}
		s.test = &s.result.Test
		return s, nil
	}
	if s.test, err = h.plan(s.entry); err != nil {
		return s, fail(http.StatusUnprocessableEntity, "%s cannot be read: %s", clip(p, 120), clip(err.Error(), 200))
	}
	return s, nil
}

func newComparePage(a, b *side) *comparePage {
	p := &comparePage{frame: frame{"Two tests", "tests"}, Swap: "/compare?t=" + queryEscape(b.entry.Path) + "&t=" + queryEscape(a.entry.Path)}
	p.Sides = [2]sideView{{viewRow(a.entry), "A"}, {viewRow(b.entry), "B"}}
	for _, what := range whatTold() {
		x := both{Name: what.name, A: what.of(a.test), B: what.of(b.test)}
		if x.A == "" && x.B == "" {
			continue
		}
		x.Differ = x.A != x.B
		p.Parameters = append(p.Parameters, x)
	}
	p.promises(a, b)
	if a.result != nil && b.result != nil {
		p.measures(&a.result.Measures, &b.result.Measures)
	}
	for i, s := range []*side{a, b} {
		if s.result != nil {
			var t testPage
			t.fill(s.result)
			p.Faults[i] = t.Faults
		}
	}
	p.say(a, b)
	return p
}

func (p *comparePage) promises(a, b *side) {
	views := func(s *side) map[string]*promiseView {
		m := map[string]*promiseView{}
		if s.result != nil {
			var t testPage
			t.fill(s.result)
			for i := range t.Promises {
				m[t.Promises[i].ID] = &t.Promises[i]
			}
		}
		return m
	}
	of, other := views(a), views(b)
	var ids []models.Property
	for _, m := range []map[string]*promiseView{of, other} {
		for id := range m {
			ids = append(ids, models.Property(id))
		}
	}
	slices.SortFunc(ids, reports.Compare)
	for _, id := range slices.Compact(ids) {
		x := promiseBoth{ID: string(id), Says: reports.Promise(id), A: of[string(id)], B: other[string(id)]}
		x.Differ = (x.A == nil) != (x.B == nil) || x.A != nil && x.A.Word != x.B.Word
		p.Promises = append(p.Promises, x)
	}
}

// measure is one figure of a test.
type measure struct {
	name, unit string
	of         func(*models.Measures) float64
}

func measures() []measure {
	return []measure{
		{"sales per second", "", func(m *models.Measures) float64 { return m.SalesPerS }},
		{"sales", "", func(m *models.Measures) float64 { return float64(m.Sales) }},
		{"operations", "", func(m *models.Measures) float64 { return float64(m.Operations) }},
		{"grants", "", func(m *models.Measures) float64 { return float64(m.Grants) }},
		{"acquires that failed", "", func(m *models.Measures) float64 { return float64(m.FailedAcquires) }},
		{"attempts per grant", "", func(m *models.Measures) float64 { return m.AttemptsPer }},
		{"unknown operations", "", func(m *models.Measures) float64 { return float64(m.Unknown) }},
		{"to acquire, p50", " ms", func(m *models.Measures) float64 { return m.AcquireP50MS }},
		{"to acquire, p95", " ms", func(m *models.Measures) float64 { return m.AcquireP95MS }},
		{"to acquire, p99", " ms", func(m *models.Measures) float64 { return m.AcquireP99MS }},
		{"to acquire, longest", " ms", func(m *models.Measures) float64 { return m.AcquireMaxMS }},
		{"fairness (Jain)", "", func(m *models.Measures) float64 { return m.Jain }},
		{"longest starvation", " s", func(m *models.Measures) float64 { return m.StarvedS }},
		{"holds that outlived their lease", "", func(m *models.Measures) float64 { return float64(m.Overstays) }},
		{"time with two in the section", " s", func(m *models.Measures) float64 { return m.OverlapSpanS }},
		{"sold, but the caller saw an error", "", func(m *models.Measures) float64 { return float64(m.SoldButFailed) }},
		{"lost releases", "", func(m *models.Measures) float64 { return float64(m.LostReleases) }},
		{"availability", " %", func(m *models.Measures) float64 { return 100 * m.Availability }},
		{"longest idle", " ms", func(m *models.Measures) float64 { return m.LongestIdleMS }},
		{"promotions", "", func(m *models.Measures) float64 { return float64(m.Promotions) }},
		{"commands per grant", "", func(m *models.Measures) float64 { return m.CommandsPerGrant }},
		{"client CPU per grant", " ms", func(m *models.Measures) float64 { return m.ClientCPUPerGrantMS }},
		{"lasted", " s", func(m *models.Measures) float64 { return m.DurationS }},
	}
}

// apart is by how much two figures must differ for the page to say so: less is the chance of
// single tests.
const apart = 1.25

func (p *comparePage) measures(a, b *models.Measures) {
	for _, m := range measures() {
		x, y := m.of(a), m.of(b)
		if x == 0 && y == 0 {
			continue
		}
		line := both{Name: m.name, A: number(x) + m.unit, B: number(y) + m.unit}
		if x > 0 && y > 0 {
			r := y / x
			line.Differ = r > apart || r < 1/apart
			if line.Differ {
				line.Says = times(r)
			}
		} else {
			line.Differ, line.Says = true, "only in A"
			if x == 0 {
				line.Says = "only in B"
			}
		}
		p.Measures = append(p.Measures, line)
	}
}

// times tells a ratio of B to A.
func times(r float64) string {
	if r >= 1 {
		return fmt.Sprintf("B has %s times A's", number(math.Round(r*100)/100))
	}
	return fmt.Sprintf("A has %s times B's", number(math.Round(100/r)/100))
}

// say tells in words how the two differ.
func (p *comparePage) say(a, b *side) {
	word := func(s *side) string { return markOf(s.entry).Word }
	if word(a) == word(b) {
		p.Says = append(p.Says, "Both are "+word(a)+".")
	} else {
		p.Says = append(p.Says, "A is "+word(a)+", B is "+word(b)+".")
	}
	told := func(v *promiseView) string {
		switch {
		case v == nil:
			return "not judged"
		case v.Count > 0:
			return fmt.Sprintf("%s (%s)", v.Word, counted(v.Count, "time", "times"))
		}
		return v.Word
	}
	for _, x := range p.Promises {
		if x.Differ && a.result != nil && b.result != nil {
			p.Says = append(p.Says, fmt.Sprintf("%s is %s in A, %s in B.", x.ID, told(x.A), told(x.B)))
		}
	}
	var differ []string
	for _, x := range p.Parameters {
		if x.Differ {
			differ = append(differ, x.Name)
		}
	}
	if len(differ) == 0 {
		p.Says = append(p.Says, "They were told the same, seed and all.")
	} else {
		p.Says = append(p.Says, "They were told otherwise in: "+strings.Join(differ, ", ")+".")
	}
	if a.result == nil || b.result == nil {
		p.Says = append(p.Says, "A test without a verdict has no promises, measures and faults to compare.")
		return
	}
	landed := func(s *side) (n int) {
		for _, f := range s.result.Faults {
			if f.Landed {
				n++
			}
		}
		return n
	}
	p.Says = append(p.Says, fmt.Sprintf("A had %s, of which %d landed; B had %s, of which %d landed.",
		counted(len(a.result.Faults), "fault", "faults"), landed(a), counted(len(b.result.Faults), "fault", "faults"), landed(b)))
	for _, x := range p.Measures {
		if x.Name == "sales per second" && x.Differ {
			p.Says = append(p.Says, "Sales per second: "+x.Says+" ("+x.A+" and "+x.B+").")
		}
	}
}
