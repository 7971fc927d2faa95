package web

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"picklock/harness/matrix"
	"picklock/harness/store"
	"picklock/models"
	"picklock/reports"
)

// maxResult is the most of a results.json that is read for a page.
const maxResult = 64 << 20

// maxFolder is how many files of a folder are listed.
const maxFolder = 200

type testPage struct {
	frame
	rowView
	Promises   []promiseView
	Expected   string
	Unmet      []string
	Story      []string
	StoryOf    string
	Faults     []faultView
	Parameters []pair
	Figures    []pair
	Vacuous    []string
	Cut        string // the history breaks off
	Rerun      string
	Files      []fileView
	Others     []rowView
	Live       *liveView
	Trouble    string
}

type (
	promiseView struct {
		mark
		ID, Says, Expected, Note string
		Count, Checked           int
	}
	faultView struct {
		Kind, Target, From, To, Proof, Healed, Trouble string
		Landed                                         bool
	}
	fileView struct{ Name, Href, Size string }
)

// entry looks at one test by the names of its folder.
func (h *Handler) entry(name, start string) (*store.Entry, error) {
	if name == matrix.Folder {
		return nil, fs.ErrNotExist
	}
	if err := h.isOurs([]string{name, start}); err != nil {
		return nil, err
	}
	e, ok := store.Look(store.Dir(filepath.Join(h.dir, name, start)))
	if !ok {
		return nil, fs.ErrNotExist
	}
	e.Path, e.Name = name+"/"+start, name
	return &e, nil
}

// result reads results.json of a test, with no more than the first violation of each promise.
func (h *Handler) result(e *store.Entry) (*store.Result, error) {
	name := e.Path + "/" + store.ResultFile
	info, err := store.LookIn(h.root, name)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%s %d %d", e.Path, info.Size(), info.ModTime().UnixNano())
	return h.results.get(key, func() (*store.Result, error) {
		b, err := store.ReadIn(h.root, name, maxResult)
		if err != nil {
			return nil, err
		}
		r := new(store.Result)
		if err := json.Unmarshal(b, r); err != nil {
			return nil, err
		}
		for _, j := range r.Properties {
			if j != nil && len(j.Violations) > 1 {
				j.Violations = slices.Clone(j.Violations[:1])
			}
		}
		return r, nil
	})
}

// plan reads test.json.
func (h *Handler) plan(e *store.Entry) (*store.Test, error) {
	b, err := store.ReadIn(h.root, e.Path+"/"+store.TestFile, maxResult)
	if err != nil {
		return nil, err
	}
	t := new(store.Test)
	return t, json.Unmarshal(b, t)
}

// test is the page of one test.
func (h *Handler) test(w http.ResponseWriter, r *http.Request, name, start string) error {
	e, err := h.entry(name, start)
	if err != nil {
		return err
	}
	done, err := h.turn(r)
	if err != nil {
		return err
	}
	defer done()
	p := testPage{frame: frame{markOf(e).Word + ": " + name, "tests"}, rowView: viewRow(e)}
	switch {
	case e.State == store.Judged:
		if result, err := h.result(e); err != nil {
			p.Trouble = "results.json cannot be shown: " + clip(err.Error(), 300)
		} else {
			p.fill(result)
		}
	case e.State == store.Damaged:
		p.Trouble = "The folder cannot be read: " + clip(e.Why, 300)
	default:
		if t, err := h.plan(e); err == nil {
			p.Parameters = parameterList(t)
		}
		if e.State == store.Running {
			if s, err := h.running.get(e.Path); err == nil {
				p.Live = viewLive(&s, under("tests", e.Path, liveFile))
			}
		}
	}
	if p.Files, err = h.files(e.Path, ofATest); err != nil {
		return err
	}
	if s, err := h.tests.get(); err == nil {
		for _, o := range s.same(e, 12) {
			p.Others = append(p.Others, viewRow(o))
		}
	}
	h.render(w, http.StatusOK, "test", p)
	return nil
}

// fill shows a result.
func (p *testPage) fill(r *store.Result) {
	expected := map[models.Property]store.Expected{}
	for _, x := range r.Expected {
		expected[models.Property(x.Property)] = x
		if !x.Met {
			p.Unmet = append(p.Unmet, fmt.Sprintf("%s should be %s", x.Property, x.Expected))
		}
	}
	if len(r.Expected) > 0 && len(p.Unmet) == 0 {
		p.Expected = "As is known of this lock."
	}
	for _, id := range judged(r) {
		j := r.Properties[id]
		v := promiseView{mark: markOfWord(store.Word(j.Verdict)), ID: string(id), Says: reports.Promise(id), Count: j.Count, Checked: j.Checked, Note: j.Note,
			Expected: expected[id].Expected}
		p.Promises = append(p.Promises, v)
		if j.Verdict == models.Violated && len(p.Story) == 0 && len(j.Violations) > 0 {
			p.Story, p.StoryOf = j.Violations[0].Story, string(id)
		}
	}
	for _, f := range r.Faults {
		p.Faults = append(p.Faults, faultView{f.Kind, f.Target, fmt.Sprintf("%.2f s", f.StartS), fmt.Sprintf("%.2f s", f.EndS), f.Proof, f.Healed, f.Error, f.Landed})
	}
	p.Parameters, p.Rerun, p.Cut = parameterList(&r.Test), r.Rerun, r.Broken
	if r.Vacuous {
		p.Vacuous = r.VacuousWhy
	}
	m := &r.Measures
	p.Figures = []pair{{"operations", thousands(m.Operations)}, {"sales", thousands(m.Sales)}, {"sales per second", number(m.SalesPerS)}, {"to acquire, p99", number(m.AcquireP99MS) + " ms"}}
}

// judged are the properties of a result, in the order in which reports name them.
func judged(r *store.Result) (ids []models.Property) {
	for id, j := range r.Properties {
		if j != nil {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, reports.Compare)
	return ids
}

// files lists what picklock wrote into a folder, the reports first.
func (h *Handler) files(in string, patterns []string) (all []fileView, err error) {
	for _, sub := range []string{"", "charts", store.NodeLogs, store.ClientLogs} {
		dir := path.Join(in, sub)
		if info, err := store.LookIn(h.root, dir); err != nil || !info.IsDir() {
			continue
		}
		f, err := h.root.Open(dir)
		if err != nil {
			return nil, err
		}
		infos, err := f.Readdir(maxFolder) // in the order of the disk: more than that is no test's
		_ = f.Close()                      // it was only read
		if err != nil && len(infos) == 0 {
			continue // it is empty
		}
		slices.SortFunc(infos, func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
		for _, i := range infos {
			if name := path.Join(sub, i.Name()); i.Mode().IsRegular() && !strings.HasPrefix(i.Name(), ".") && allowed(patterns, name) {
				all = append(all, fileView{name, under("store", in+"/"+name), humanize.Bytes(uint64(i.Size()))})
			}
		}
	}
	return all, nil
}

// parameter is what a test was told, in words.
type parameter struct {
	name string
	of   func(*store.Test) string
}

func whatTold() []parameter {
	length := func(d store.Duration) string {
		if d == 0 {
			return "0"
		}
		return d.String()
	}
	return []parameter{
		{"lock", func(t *store.Test) string { return t.Lock }},
		{"deduction", func(t *store.Test) string { return t.Deduct }},
		{"topology", func(t *store.Test) string { return t.Topology }},
		{"faults", func(t *store.Test) string { return strings.Join(t.Nemesis, ", ") }},
		{"seed", func(t *store.Test) string { return utoa(t.Seed) }},
		{"time limit", func(t *store.Test) string { return length(t.TimeLimit) }},
		{"TTL", func(t *store.Test) string { return length(t.TTL) }},
		{"clients", func(t *store.Test) string { return fmt.Sprintf("%d with %d workers each", t.Clients, t.Workers) }},
		{"stock", func(t *store.Test) string { return fmt.Sprintf("%d of each of %d SKUs", t.Stock, t.SKUs) }},
		{"stock on", func(t *store.Test) string { return t.StockOn }},
		{"think time", func(t *store.Test) string { return length(t.Think) + " inside, " + length(t.Pause) + " between sales" }},
		{"rate", func(t *store.Test) string {
			if t.Rate == 0 {
				return "no bound"
			}
			return fmt.Sprintf("%g sales per second and worker", t.Rate)
		}},
		{"acquire timeout", func(t *store.Test) string { return length(t.AcquireTimeout) }},
		{"Redis timeout", func(t *store.Test) string { return length(t.RedisTimeout) }},
		{"grace", func(t *store.Test) string { return length(t.Grace) }},
		{"persistence", func(t *store.Test) string { return t.Persistence }},
		{"replicas", func(t *store.Test) string { return nonzero(t.Replicas) }},
		{"nodes", func(t *store.Test) string { return nonzero(t.Nodes) }},
		{"server", func(t *store.Test) string { return t.Server }},
		{"redis.conf", func(t *store.Test) string { return strings.Join(t.Config, "; ") }},
		{"own servers", func(t *store.Test) string { return strings.Join(t.Addrs, ", ") }},
		{"runtime", func(t *store.Test) string { return t.Runtime }},
		{"image", func(t *store.Test) string { return t.Image }},
		{"checker", func(t *store.Test) string { return t.Checker }},
		{"least sales", func(t *store.Test) string { return nonzero(t.MinSales) }},
		{"until the verdict", func(t *store.Test) string {
			if t.UntilVerdict {
				return "yes"
			}
			return ""
		}},
		{"schedule", func(t *store.Test) string {
			if t.Explicit {
				return "given, with " + counted(len(t.Schedule), "fault", "faults")
			}
			return counted(len(t.Schedule), "fault", "faults") + " drawn from the seed"
		}},
	}
}

func nonzero(n int) string {
	if n == 0 {
		return ""
	}
	return thousands(n)
}

func parameterList(t *store.Test) (all []pair) {
	for _, p := range whatTold() {
		if v := p.of(t); v != "" {
			all = append(all, pair{p.name, v})
		}
	}
	return all
}

// number tells a figure with three digits that count.
func number(f float64) string {
	switch {
	case f == 0:
		return "0"
	case f >= 100 || f <= -100:
		return thousands(int(f + 0.5))
	}
	return fmt.Sprintf("%.3g", f)
}

// clock tells how far a test is: "12.3 s".
func clock(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
