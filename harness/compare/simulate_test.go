package compare

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"picklock/harness/matrix"
	"picklock/models"
)

var nightPairs = flag.Int("nights", 80, "simulated pairs of nights in each simulation")

// world is what a simulated matrix measures: what is the same in every night, and how
// much the nights, the cells and the runs differ.
type world struct {
	cells            []simulated
	wobble, together float64 // of a cell, and of all cells of a lock, from night to night
	outliers         float64 // share of wild runs
	drifts           float64 // machine-wide, at most, on the logarithm
}

type simulated struct {
	cell   matrix.Cell
	sales  float64 // per second
	p50    float64 // ms
	down   float64 // share of the time
	noise  float64 // between runs, on the logarithm
	either float64 // rate of a violation that may be either
	sure   bool    // a violation that is expected
}

// newWorld draws a matrix of about n cells: locks of three to nine cells each.
func newWorld(r *rand.Rand, n int) *world {
	w := &world{wobble: 0.02 + 0.06*r.Float64(), together: 0.04 * r.Float64(), outliers: 0.03 * r.Float64(), drifts: math.Log(1.4)}
	per := 3 + r.IntN(7)
	for i := range n / per * per {
		s := simulated{
			cell:  matrix.Cell{Lock: fmt.Sprintf("lock-%d", i/per), Deduct: "read-write", Topology: "single", Nemesis: []string{fmt.Sprintf("fault-%d", i%per)}},
			sales: math.Exp(3 + 2*r.Float64()), p50: math.Exp(4 * r.Float64()), noise: 0.08 * math.Exp(0.5*r.NormFloat64()), sure: r.IntN(3) == 0,
		}
		if i%per > 0 { // a fault costs some time
			s.down = 0.3 * r.Float64()
		}
		if r.IntN(3) == 0 {
			s.either = r.Float64()
		}
		w.cells = append(w.cells, s)
	}
	return w
}

// wild is noise with the tails that times have: a t-distribution, and now and then a run
// that something else on the machine got in the way of.
func (w *world) wild(r *rand.Rand) float64 {
	chi := 0.0
	const df = 5
	for range df {
		x := r.NormFloat64()
		chi += x * x
	}
	x := r.NormFloat64() / math.Sqrt(chi/df) * math.Sqrt((df-2.0)/df)
	if r.Float64() < w.outliers {
		x -= 3 + 5*r.Float64()
	}
	return x
}

// night runs the matrix with so many seeds. slow is by how much a lock is slower.
func (w *world) night(r *rand.Rand, seeds int, slow map[string]float64) *matrix.Matrix {
	m := &matrix.Matrix{Name: "nightly", Plan: "p"}
	machine := w.drifts * (2*r.Float64() - 1)
	lock, shared := "", 0.0
	for _, s := range w.cells {
		if s.cell.Lock != lock {
			lock, shared = s.cell.Lock, w.together*r.NormFloat64()
		}
		here := machine + shared + w.wobble*r.NormFloat64()
		if by := slow[s.cell.Lock]; by > 0 {
			here -= math.Log(by)
		}
		var runs []matrix.Run
		for seed := range seeds {
			speed := here + s.noise*w.wild(r)
			v := models.Measures{
				DurationS: 20 + r.Float64(), SalesPerS: s.sales * math.Exp(speed),
				AcquireP50MS: s.p50 * math.Exp(-speed+s.noise*r.NormFloat64()/2),
				AcquireP99MS: 8 * s.p50 * math.Exp(-speed-1.5*s.noise*w.wild(r)),
				Availability: math.Round(200*(1-min(0.9, s.down*math.Exp(s.noise*w.wild(r))))) / 200,
			}
			run := matrix.Run{Seed: uint64(seed + 1), Outcome: matrix.AsExpected, Measures: v, Properties: map[models.Property]matrix.Judged{
				models.NoOversell: {Verdict: models.Valid, Expected: "valid", Outcome: matrix.AsExpected},
			}}
			for id, e := range map[models.Property]struct {
				is       bool
				rate     float64
				expected string
			}{
				models.MutualExclusion: {s.sure, 1, "violated"},
				models.NoLostUpdate:    {s.either > 0, s.either, "either"},
				models.Liveness:        {s.either > 0, s.either / 10, "either"},
			} {
				if e.is {
					verdict := models.Valid
					if r.Float64() < e.rate {
						verdict = models.Violated
					}
					run.Properties[id] = matrix.Judged{Verdict: verdict, Expected: e.expected, Outcome: matrix.AsExpected}
				}
			}
			runs = append(runs, run)
		}
		m.Cells = append(m.Cells, matrix.Sum(s.cell, runs))
	}
	return m
}

func diffed(t *testing.T, a, b *matrix.Matrix) *Difference {
	t.Helper()
	d, err := Diff(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestSameCode: two nights of the same code do not differ. The bound is a rate over all
// pairs; the test allows for the luck of its own few.
func TestSameCode(t *testing.T) {
	wrong, kinds, bySeeds := 0, map[Kind]int{}, map[int]int{}
	for i := range *nightPairs {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		w := newWorld(r, 27+r.IntN(124))
		seeds := 1 + r.IntN(10)
		d := diffed(t, w.night(r, seeds, nil), w.night(r, seeds, nil))
		if d.Speeds == 0 || d.Rates == 0 {
			t.Fatal("nothing was compared")
		}
		if len(d.Items) > 0 {
			wrong++
			bySeeds[seeds]++
			for _, it := range d.Items {
				kinds[it.Kind]++
			}
			t.Logf("pair %d, %d cells, %d seeds: %s %s: %s", i, len(w.cells), seeds, d.Items[0].Kind, d.Items[0].Measure, d.Items[0].Says)
		}
	}
	n := float64(*nightPairs)
	t.Logf("%d of %d pairs differ (%.2f%%): %v, by seeds %v", wrong, *nightPairs, 100*float64(wrong)/n, kinds, bySeeds)
	if most := 0.005*n + 3*math.Sqrt(0.005*n); float64(wrong) > most {
		t.Errorf("%d of %d pairs of the same code differ; at most %.1f may", wrong, *nightPairs, most)
	}
}

// TestSlowLock: a lock that takes twice as long is named, in all of its cells and nowhere
// else, from three seeds on.
func TestSlowLock(t *testing.T) {
	for _, seeds := range []int{1, 2, 3, 5, 10} {
		found, cells, of, others, faster := 0, 0, 0, 0, 0
		for i := range *nightPairs {
			r := rand.New(rand.NewPCG(uint64(i), 2))
			w := newWorld(r, 27+r.IntN(124))
			lock := w.cells[r.IntN(len(w.cells))].cell.Lock
			d := diffed(t, w.night(r, seeds, nil), w.night(r, seeds, map[string]float64{lock: 2}))
			hit := map[string]bool{}
			wrong := false
			for _, it := range d.Items {
				switch {
				case strings.HasPrefix(it.Cell, lock+"+") && it.Kind == Slower:
					hit[it.Cell] = true
				case it.Severity == Regression && !strings.HasPrefix(it.Cell, lock+"+"):
					wrong = true
				case it.Kind == Faster:
					faster++
				}
			}
			if wrong {
				others++
			}
			cells += len(hit)
			if len(hit) > 0 {
				found++
			}
			for _, s := range w.cells {
				if s.cell.Lock == lock {
					of++
				}
			}
		}
		n := *nightPairs
		t.Logf("%d seeds: found in %.1f%% of pairs, %.1f%% of the lock's cells named; %.2f%% of pairs accuse another; %d faster", seeds,
			100*float64(found)/float64(n), 100*float64(cells)/float64(of), 100*float64(others)/float64(n), faster)
		if seeds >= 3 && float64(found) < 0.95*float64(n) {
			t.Errorf("%d seeds: found in %d of %d, want 95%%", seeds, found, n)
		}
		if float64(others) > 0.01*float64(n)+3*math.Sqrt(0.01*float64(n)) {
			t.Errorf("%d seeds: another lock is accused in %d of %d", seeds, others, n)
		}
	}
}

// TestSlowCell: what is slow under one fault only has no lock to be found by; with ten
// seeds a cell that takes twice as long is found by itself in four of five cases.
func TestSlowCell(t *testing.T) {
	for _, seeds := range []int{3, 5, 10} {
		found, others := 0, 0
		for i := range *nightPairs {
			r := rand.New(rand.NewPCG(uint64(i), 5))
			w := newWorld(r, 27+r.IntN(124))
			a, b := w.night(r, seeds, nil), w.night(r, seeds, nil)
			slow := &b.Cells[r.IntN(len(b.Cells))]
			for n := range slow.Runs {
				m := &slow.Runs[n].Measures
				m.SalesPerS, m.AcquireP50MS, m.AcquireP99MS = m.SalesPerS/2, m.AcquireP50MS*2, m.AcquireP99MS*2
			}
			hit := false
			for _, it := range diffed(t, a, b).Items {
				if it.Cell == slow.Cell.ID() && it.Kind == Slower {
					hit = true
				} else if it.Severity == Regression {
					others++
				}
			}
			if hit {
				found++
			}
		}
		n := float64(*nightPairs)
		t.Logf("%d seeds: found in %.1f%% of pairs; %d items accuse another", seeds, 100*float64(found)/n, others)
		if least := 0.8*n - 3*math.Sqrt(0.16*n); seeds == 10 && float64(found) < least {
			t.Errorf("%d seeds: found in %d of %.0f, want 80%%, at least %.0f by luck", seeds, found, n, least)
		}
	}
}
