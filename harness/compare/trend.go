package compare

import (
	"math"
	"slices"
	"strings"
	"time"

	"picklock/harness/matrix"
	"picklock/models"
)

// Trend is all matrices of one name side by side, oldest first. It is an interface for
// other programs: fields are added, never renamed.
type Trend struct {
	Name   string  `json:"name"`
	Nights []Night `json:"nights"`
	Cells  []Row   `json:"cells"` // by ID: all that any night had
}

// Night is one matrix.
type Night struct {
	Started time.Time      `json:"started"`
	Dir     string         `json:"dir,omitempty"` // where it was read from
	Outcome matrix.Outcome `json:"outcome"`
	Cells   int            `json:"cells"`
	Missing int            `json:"missing,omitempty"` // runs of its plan
	// Speed is the machine's: the median over the cells of sales per second, each as a
	// multiple of the cell's own median over the nights. 0: not measured.
	Speed float64 `json:"speed"`
}

// Row is one cell over the nights.
type Row struct {
	Cell   string  `json:"cell"`
	Nights []Point `json:"nights"` // as many as Trend.Nights
	// First tells, by property, when it was first violated though it should hold.
	First []First `json:"first,omitempty"`
}

// Point is a cell in one night.
type Point struct {
	Outcome   matrix.Outcome `json:"outcome,omitempty"` // "": the night had no such cell
	SalesPerS float64        `json:"sales_per_s"`       // median of the runs that went on to their end; 0: none did
}

// First is the night in which a property that should hold was violated first, of those
// that the trend spans.
type First struct {
	Property models.Property `json:"property"`
	Night    int             `json:"night"` // index in Trend.Nights
	Started  time.Time       `json:"started"`
	Violated int             `json:"violated"` // runs in that night
	Of       int             `json:"of"`
	Nights   int             `json:"nights"` // that showed it, up to now
	Judged   int             `json:"judged"` // nights since then that could have
	Seed     *uint64         `json:"seed,omitempty"`
	Rerun    string          `json:"rerun,omitempty"`
	Story    []string        `json:"story,omitempty"`
}

// NewTrend lines up matrices by their start. dirs are where they are from, as many.
func NewTrend(name string, all []*matrix.Matrix, dirs []string) *Trend {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return all[i].Started.Compare(all[j].Started) })
	t := &Trend{Name: name, Nights: []Night{}, Cells: []Row{}}
	rows := map[string]*Row{}
	for n, at := range order {
		m := all[at]
		t.Nights = append(t.Nights, Night{Started: m.Started, Dir: dirs[at], Outcome: m.Outcome, Cells: len(m.Cells), Missing: m.Missing})
		for i := range m.Cells {
			c := take(&m.Cells[i])
			r := rows[c.ID]
			if r == nil {
				r = &Row{Cell: c.ID, Nights: make([]Point, len(all))}
				rows[c.ID] = r
			}
			r.Nights[n] = Point{Outcome: m.Cells[i].Outcome, SalesPerS: c.Speed[SalesPerS].Median}
			r.violations(n, m.Started, &c)
		}
	}
	for _, r := range rows {
		slices.SortFunc(r.First, func(a, b First) int { return strings.Compare(string(a.Property), string(b.Property)) })
		t.Cells = append(t.Cells, *r)
	}
	slices.SortFunc(t.Cells, func(a, b Row) int { return strings.Compare(a.Cell, b.Cell) })
	t.machine()
	return t
}

// violations notes which properties the cell should have kept in night n and did not.
func (r *Row) violations(n int, started time.Time, c *Cell) {
	for _, id := range ids(c.Rates) {
		rate := c.Rates[id]
		at := slices.IndexFunc(r.First, func(f First) bool { return f.Property == id })
		if at < 0 && (rate.Expected != "valid" || rate.Violated == 0) {
			continue
		}
		if at < 0 {
			var i Item
			i.Property = id
			i.from(c, violated(id))
			at = len(r.First)
			r.First = append(r.First, First{
				Property: id, Night: n, Started: started, Violated: rate.Violated, Of: rate.Of, Seed: i.Seed, Rerun: i.Rerun, Story: i.Story,
			})
		}
		if rate.Of > 0 {
			r.First[at].Judged++
		}
		if rate.Violated > 0 {
			r.First[at].Nights++
		}
	}
}

// machine fills in how fast each night was as a whole.
func (t *Trend) machine() {
	logs := make([][]float64, len(t.Nights))
	for _, r := range t.Cells {
		var all []float64
		for _, p := range r.Nights {
			if p.SalesPerS > 0 {
				all = append(all, math.Log(p.SalesPerS))
			}
		}
		if len(all) < 2 {
			continue
		}
		middle := median(all)
		for n, p := range r.Nights {
			if p.SalesPerS > 0 {
				logs[n] = append(logs[n], math.Log(p.SalesPerS)-middle)
			}
		}
	}
	for n := range logs {
		if len(logs[n]) > 0 {
			t.Nights[n].Speed = math.Exp(median(logs[n]))
		}
	}
}

// ReadTrend reads the last matrices of a name in a store; last <= 0: all of them.
func ReadTrend(root, name string, last int) (*Trend, error) {
	dirs, err := Stored(root, name)
	if err != nil {
		return nil, err
	}
	if last > 0 && len(dirs) > last {
		dirs = dirs[len(dirs)-last:]
	}
	all := make([]*matrix.Matrix, len(dirs))
	for i, dir := range dirs {
		if all[i], err = matrix.Read(dir); err != nil {
			return nil, err
		}
	}
	return NewTrend(name, all, dirs), nil
}
