package web

import (
	"net/http"
	"os"
	"slices"
	"strings"

	"picklock/harness/store"
)

type listPage struct {
	frame
	Query    query
	Whole    bool // nothing is left out
	Total    string
	Found    string
	Shown    string // "1 to 50 of 200"
	Counts   []countView
	Running  []rowView
	Rows     []rowView
	Heads    []headView
	Choices  []choice
	Verdicts []option
	Orders   []option
	Previous string
	Next     string
}

type (
	pair      struct{ Name, Value string }
	countView struct {
		mark
		N    string
		Href string
		On   bool
	}
	rowView struct {
		mark
		Path, Start, Took   string
		Lock, Deduct, Topo  string
		Fault, Broken, Why  string
		Href, Report, Seed  string
		Unmet, Same, Latest bool
	}
	headView struct {
		Text, Href, Arrow, Says string
	}
	choice struct {
		Label, Name, Any string
		Options          []option
	}
	option struct {
		Value, Text string
		Chosen      bool
	}
)

// list is the page of all tests.
func (h *Handler) list(w http.ResponseWriter, r *http.Request) error {
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	s, err := h.tests.get()
	if err != nil {
		return err
	}
	found, n := s.find(q, h.now())
	last := max(1, (n+q.Per-1)/q.Per)
	if q.Page > last {
		return fail(http.StatusNotFound, "There is no page %d of this list: it has %d.", q.Page, last)
	}
	p := listPage{frame: frame{"Tests", "tests"}, Query: q, Whole: !q.filtered(), Total: counted(len(s.entries), "test", "tests"), Found: counted(n, "test", "tests")}
	for _, e := range found {
		p.Rows = append(p.Rows, viewRow(e))
	}
	from := (q.Page - 1) * q.Per
	if n > len(found) {
		p.Shown = thousands(from+1) + " to " + thousands(from+len(found)) + " of " + thousands(n)
	}
	if q.Page > 1 {
		back := q
		back.Page--
		p.Previous = back.address()
	}
	if q.Page < last {
		on := q
		on.Page++
		p.Next = on.address()
	}
	for _, i := range s.running[:min(len(s.running), 10)] {
		p.Running = append(p.Running, viewRow(&s.entries[i]))
	}
	p.choose(q, s)
	h.render(w, http.StatusOK, "list", p)
	return nil
}

// choose fills in what can be asked for.
func (p *listPage) choose(q query, s *snapshot) {
	p.Choices = []choice{
		{"lock", "lock", "any lock", options(s.locks, q.Lock)},
		{"topology", "topology", "any topology", options(s.topologies, q.Topology)},
		{"fault", "fault", "any fault", options(s.faults, q.Fault)},
	}
	for _, word := range store.Words {
		on := slices.Contains(q.Words, word)
		p.Verdicts = append(p.Verdicts, option{string(word), string(word), on})
		if s.counts[word] == 0 {
			continue
		}
		with := query{Page: 1, Per: q.Per, Sort: q.Sort, Words: []store.Word{word}}
		p.Counts = append(p.Counts, countView{markOfWord(word), thousands(s.counts[word]), with.address(), on})
	}
	says := map[string]string{"started": "newest first", "lock": "by lock", "topology": "by topology", "fault": "by fault", "verdict": "worst first", "took": "longest first"}
	down := map[string]string{"started": "oldest first", "lock": "by lock, from z to a", "topology": "by topology, from z to a", "fault": "by fault, from z to a",
		"verdict": "best first", "took": "shortest first"}
	heads := map[string]string{"started": "start (UTC)", "took": "lasted"}
	for _, c := range columns {
		p.Orders = append(p.Orders, option{c, says[c], q.Sort == c || q.Sort == "" && c == columns[0]}, option{"-" + c, down[c], q.Sort == "-"+c})
		by := q
		by.Page, by.Sort = 1, c
		head := headView{Text: c, Says: says[c]}
		if t, ok := heads[c]; ok {
			head.Text = t
		}
		switch {
		case q.Sort == c || q.Sort == "" && c == columns[0]:
			head.Arrow, head.Says, by.Sort = "▾", down[c], "-"+c
		case q.Sort == "-"+c:
			head.Arrow = "▴"
		}
		if by.Sort == columns[0] {
			by.Sort = ""
		}
		head.Href = by.address()
		p.Heads = append(p.Heads, head)
	}
}

// options offers the values that there are, and the one that is asked for, whatever it is.
func options(all []string, chosen string) (o []option) {
	if chosen != "" && !slices.Contains(all, chosen) {
		o = append(o, option{chosen, clip(chosen, 60), true})
	}
	for _, v := range all {
		o = append(o, option{v, clip(v, 60), v == chosen})
	}
	return o
}

func viewRow(e *store.Entry) rowView {
	v := rowView{mark: markOf(e), Path: e.Path, Start: startOf(e), Took: seconds(e.DurationS), Lock: e.Lock, Deduct: e.Deduct, Topo: e.Topology,
		Fault: strings.ReplaceAll(e.Fault(), "+", " + "), Why: e.Why, Href: under("tests", e.Path), Seed: utoa(e.Seed), Unmet: len(e.Unmet) > 0, Latest: e.Latest}
	if e.Lock == "" { // a damaged folder tells no more than its name
		v.Lock, v.Fault, v.Seed = e.Name, "", ""
	}
	if info, err := os.Lstat(e.Dir.Path(store.ReportFile)); err == nil && info.Mode().IsRegular() {
		v.Report = under("store", e.Path, store.ReportFile)
	}
	var broken []string
	for _, p := range e.Violated {
		broken = append(broken, string(p))
	}
	v.Broken = strings.Join(broken, ", ")
	return v
}
