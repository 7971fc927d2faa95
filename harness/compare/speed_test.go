package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picklock/harness/matrix"
)

// quiet is a matrix of 30 cells of ten locks with little noise; change alters each run.
func quiet(seed uint64, change func(lock string, r *matrix.Run)) *matrix.Matrix {
	r := rand.New(rand.NewPCG(seed, 3))
	var cells []matrix.Result
	for i := range 30 {
		c := result(fmt.Sprintf("lock-%d", i/3), given{"valid", 0, 3})
		c.Cell.Nemesis = []string{fmt.Sprintf("fault-%d", i%3)}
		for n := range c.Runs {
			m := &c.Runs[n].Measures
			noise := 1 + 0.02*r.NormFloat64()
			m.SalesPerS, m.AcquireP50MS, m.AcquireP99MS = 100*noise, 5/noise, 20/noise
			if change != nil {
				change(c.Cell.Lock, &c.Runs[n])
			}
		}
		cells = append(cells, c)
	}
	return of(cells...)
}

// TestMachine: what all cells share is the machine's, told by itself and no regression.
func TestMachine(t *testing.T) {
	d := diffed(t, quiet(1, nil), quiet(2, func(_ string, r *matrix.Run) {
		r.Measures.SalesPerS *= 0.6
		r.Measures.AcquireP50MS /= 0.6
		r.Measures.AcquireP99MS /= 0.6
	}))
	if len(d.Items) != 0 || len(d.Machine) != 4 || math.Abs(d.Machine[0].By+0.4) > 0.02 || math.Abs(d.Machine[1].By-1/0.6+1) > 0.03 {
		t.Errorf("a machine of 0.6 times the speed gives %v and %+v", d.Items, d.Machine)
	}
}

// TestOneMeasure: each measure is found by itself, in the cells that changed and no
// others, in the direction that it changed in.
func TestOneMeasure(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*matrix.Run)
		kind    Kind
		measure Measure
	}{
		"sales halved":     {func(r *matrix.Run) { r.Measures.SalesPerS /= 2 }, Slower, SalesPerS},
		"sales doubled":    {func(r *matrix.Run) { r.Measures.SalesPerS *= 2 }, Faster, SalesPerS},
		"p50 doubled":      {func(r *matrix.Run) { r.Measures.AcquireP50MS *= 2 }, Slower, AcquireP50MS},
		"p99 halved":       {func(r *matrix.Run) { r.Measures.AcquireP99MS /= 2 }, Faster, AcquireP99MS},
		"less available":   {func(r *matrix.Run) { r.Measures.Availability -= 0.3 }, LessAvailable, Availability},
		"a fifth slower":   {func(r *matrix.Run) { r.Measures.SalesPerS *= 0.84 }, "", ""},
		"5 points less":    {func(r *matrix.Run) { r.Measures.Availability -= 0.05 }, "", ""},
		"by microseconds":  {func(r *matrix.Run) { r.Measures.AcquireP50MS += 0.01 }, "", ""},
		"nothing measured": {func(r *matrix.Run) { r.Measures.AcquireP50MS = 0 }, "", ""},
	} {
		d := diffed(t, quiet(1, nil), quiet(2, func(lock string, r *matrix.Run) {
			if lock == "lock-4" {
				c.change(r)
			}
		}))
		want := 3
		if c.kind == "" {
			want = 0
		}
		bad := slices.ContainsFunc(d.Items, func(i Item) bool {
			worse := c.kind == Slower || c.kind == LessAvailable
			return i.Kind != c.kind || i.Measure != c.measure || !strings.HasPrefix(i.Cell, "lock-4+") || (i.Severity == Regression) != worse
		})
		if len(d.Items) != want || bad {
			t.Errorf("%s: %s; want %d items of %s", name, kinds(d), want, c.kind)
		}
	}
}

// TestNotCompared: runs that cannot be compared are not, and it is said why.
func TestNotCompared(t *testing.T) {
	slow := func(change func(*matrix.Run)) *matrix.Matrix {
		return quiet(2, func(lock string, r *matrix.Run) {
			if lock == "lock-4" {
				r.Measures.SalesPerS /= 4
				change(r)
			}
		})
	}
	for name, c := range map[string]struct {
		b    *matrix.Matrix
		note string
	}{
		"ended early":     {slow(func(r *matrix.Run) { r.Early = true }), "no run went on to its end"},
		"another time":    {slow(func(r *matrix.Run) { r.Measures.DurationS = 20 }), "the loads took different times"},
		"vacuous by word": {slow(func(r *matrix.Run) { r.VacuousWhy = []string{"too few sales"} }), "no run went on to its end"},
	} {
		d := diffed(t, quiet(1, nil), c.b)
		if len(d.Items) != 0 || !strings.Contains(strings.Join(d.Notes, "\n"), "3 cells not compared: ") || !strings.Contains(strings.Join(d.Notes, "\n"), c.note) {
			t.Errorf("%s: %s, notes %q", name, kinds(d), d.Notes)
		}
	}
	crowded := quiet(2, func(_ string, r *matrix.Run) { r.Measures.Availability /= 2 })
	before := quiet(1, func(_ string, r *matrix.Run) { r.Measures.SalesPerS *= 3 })
	before.Jobs, crowded.Jobs = 4, 9
	if d := diffed(t, before, crowded); d.Speeds != 0 || !strings.Contains(strings.Join(d.Notes, "\n"), "ran side by side before, and 9 now") {
		t.Errorf("as if as many tests had run side by side: %d, %q", d.Speeds, d.Notes)
	}
	few := of(quiet(1, nil).Cells[:5]...)
	if d := diffed(t, few, few); d.Speeds != 0 || !strings.Contains(strings.Join(d.Notes, "\n"), "it takes 6 cells") {
		t.Errorf("five cells were compared: %d, %q", d.Speeds, d.Notes)
	}
}

// TestScale: unscale undoes scale, and nothing without a scale has one.
func TestScale(t *testing.T) {
	for _, m := range Measures {
		for _, v := range []float64{1e-6, 0.01, 0.5, 0.999, 1} {
			x, ok := m.scale(v)
			if back := m.unscale(x); !ok || math.Abs(back-v) > 1e-9 {
				t.Errorf("%s: %g became %g, and then %g", m, v, x, back)
			}
		}
		for _, v := range []float64{math.NaN(), math.Inf(1), -1} {
			if _, ok := m.scale(v); ok {
				t.Errorf("%s: %g has a scale", m, v)
			}
		}
	}
}

// TestInverseTrigamma: against the function itself.
func TestInverseTrigamma(t *testing.T) {
	for _, x := range []float64{0.01, 0.5, 1, 7.3, 500} {
		if got := inverseTrigamma(trigamma(x)); math.Abs(got/x-1) > 1e-6 {
			t.Errorf("of trigamma(%g): %g", x, got)
		}
	}
	if v := trigamma(1); math.Abs(v-math.Pi*math.Pi/6) > 1e-9 {
		t.Errorf("trigamma(1) = %g", v)
	}
}
