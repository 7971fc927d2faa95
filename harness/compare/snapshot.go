package compare

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"picklock/harness/matrix"
	"picklock/models"
)

// Snapshot is what a comparison has to know of a matrix, and all that a baseline keeps.
type Snapshot struct {
	Name    string
	Plan    string    // digest; "" in a baseline
	Started time.Time // zero in a baseline
	Shard   string
	Missing int               // runs that the plan has and the matrix has not
	About   map[string]string // versions, image digest, host; nil in a baseline
	Jobs    int               // tests side by side; 0 in a baseline
	Cells   []Cell            // by ID, each once
}

// crowded says that other numbers of tests ran side by side: they share the machine, and not
// all locks mind alike.
func (s *Snapshot) crowded(b *Snapshot) bool { return s.Jobs != 0 && b.Jobs != 0 && s.Jobs != b.Jobs }

// Cell is one cell of a Snapshot.
type Cell struct {
	ID   string
	Runs int
	// Vacuous, Unknown and Error count the runs that decided nothing, or not all.
	Vacuous, Unknown, Error int
	Rates                   map[models.Property]matrix.Rate
	// Seconds that the load of the runs in Speed took; 0 if there are none.
	Seconds float64
	Speed   map[Measure]Sample

	result *matrix.Result // with the stories; nil in a baseline
	listed bool           // the baseline has a row of the cell itself
}

// Measure is the name of a measured value, as in results.json.
type Measure string

// The measures that are compared.
const (
	SalesPerS    Measure = "sales_per_s"
	AcquireP50MS Measure = "acquire_p50_ms"
	AcquireP99MS Measure = "acquire_p99_ms"
	Availability Measure = "availability" // 0..1
)

// Measures are all that are compared, in the order in which they are told.
var Measures = []Measure{SalesPerS, AcquireP50MS, AcquireP99MS, Availability}

// Sample is what the runs of a cell measured.
type Sample struct {
	Of     int     `json:"of"`     // runs
	Median float64 `json:"median"` // in the measure's own unit
	// Spread between the runs: the standard deviation on the measure's scale, which for a
	// rate or a latency is about the relative deviation. 0 if there is one run.
	Spread float64 `json:"spread"`
}

// resolution is added to latencies, in ms, before their logarithm is taken: what differs
// by microseconds does not differ.
const resolution = 0.05

// smallest and largest are the rates and latencies that count as measured.
const (
	smallest = 1e-6
	largest  = 1e15
)

// scale is where differences of a measure are alike whatever its size: the logarithm of
// rates and latencies, and of a share the arcsine of its root, which evens out the
// variance (Anscombe 1948). Values that cannot be measured are not ok.
func (m Measure) scale(v float64) (x float64, ok bool) {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, false
	case m == Availability:
		return math.Asin(math.Sqrt(v)), v >= 0 && v <= 1
	case m == SalesPerS:
		return math.Log(v), v >= smallest && v <= largest
	}
	return math.Log(v + resolution), v >= smallest && v <= largest
}

// unscale is the inverse of scale.
func (m Measure) unscale(x float64) float64 {
	switch m {
	case Availability:
		s := math.Sin(min(math.Pi/2, max(0, x)))
		return s * s
	case SalesPerS:
		return math.Exp(x)
	}
	return max(0, math.Exp(x)-resolution)
}

// of is the measured value itself.
func (m Measure) of(v *models.Measures) float64 {
	switch m {
	case SalesPerS:
		return v.SalesPerS
	case AcquireP50MS:
		return v.AcquireP50MS
	case AcquireP99MS:
		return v.AcquireP99MS
	}
	return v.Availability
}

// ErrMatrix: a matrix cannot be what picklock wrote.
var ErrMatrix = errors.New("a matrix that contradicts itself")

// Take takes the snapshot of a matrix. Two cells of one ID are refused, which would have to
// be compared with the same one, and rates that cannot be: ErrMatrix.
func Take(m *matrix.Matrix) (*Snapshot, error) {
	s := &Snapshot{Name: m.Name, Plan: m.Plan, Started: m.Started, Shard: m.Shard, Missing: m.Missing, About: m.About, Jobs: m.Jobs}
	for i := range m.Cells {
		s.Cells = append(s.Cells, take(&m.Cells[i]))
	}
	slices.SortStableFunc(s.Cells, byID)
	for i, c := range s.Cells {
		if i > 0 && c.ID == s.Cells[i-1].ID {
			return nil, fmt.Errorf("%w: %s has the cell %s twice; each must be there once", ErrMatrix, m.Name, c.ID)
		}
		for _, id := range ids(c.Rates) {
			if r := c.Rates[id]; r.Violated < 0 || r.Violated > r.Of || r.Of > most {
				return nil, fmt.Errorf("%w: %s says that in %s %s was violated in %d of %d runs", ErrMatrix, m.Name, c.ID, id, r.Violated, r.Of)
			}
		}
	}
	return s, nil
}

func take(r *matrix.Result) Cell {
	c := Cell{ID: r.Cell.ID(), Runs: len(r.Runs), Rates: maps.Clone(r.Rates), Speed: map[Measure]Sample{}, result: r}
	var seconds []float64
	values := map[Measure][]float64{}
	for i := range r.Runs {
		run := &r.Runs[i]
		switch run.Outcome {
		case matrix.Vacuous:
			c.Vacuous++
		case matrix.Error:
			c.Error++
		default:
			if undecided(run) {
				c.Unknown++
			}
		}
		if !measured(run) {
			continue
		}
		seconds = append(seconds, run.Measures.DurationS)
		for _, m := range Measures {
			if v := m.of(&run.Measures); inScale(m, v) {
				values[m] = append(values[m], v)
			}
		}
	}
	c.Seconds = median(seconds)
	for m, vs := range values {
		c.Speed[m] = sample(m, vs)
	}
	return c
}

// undecided: the worst outcome of a run hides that a property of it is unknown.
func undecided(run *matrix.Run) bool {
	for _, j := range run.Properties {
		if j.Verdict == models.Unknown {
			return true
		}
	}
	return run.Outcome == matrix.Unknown
}

// measured: what the run measured can be compared. A load that was ended early is cut off
// at the very moment that something happened, and a vacuous one had hardly any load.
func measured(run *matrix.Run) bool {
	return !run.Early && run.Outcome != matrix.Vacuous && run.Outcome != matrix.Error && len(run.VacuousWhy) == 0 && run.Measures.DurationS > 0
}

func inScale(m Measure, v float64) bool {
	_, ok := m.scale(v)
	return ok
}

func sample(m Measure, values []float64) Sample {
	xs := make([]float64, len(values))
	for i, v := range values {
		xs[i], _ = m.scale(v)
	}
	return Sample{Of: len(values), Median: m.unscale(median(xs)), Spread: deviation(xs)}
}

func byID(a, b Cell) int {
	switch {
	case a.ID < b.ID:
		return -1
	case a.ID > b.ID:
		return 1
	}
	return 0
}
