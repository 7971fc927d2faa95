package reports

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// secondTicks marks round seconds, countTicks round counts, decadeTicks powers of ten.
type secondTicks struct{}

func (secondTicks) Ticks(lo, hi float64) []plot.Tick {
	step, decimals := niceStep((hi - lo) / 12)
	var ts []plot.Tick
	for n := 0; float64(n)*step <= hi; n++ {
		v := float64(n) * step
		ts = append(ts, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', decimals, 64)})
	}
	return ts
}

type countTicks struct{}

func (countTicks) Ticks(lo, hi float64) []plot.Tick {
	step, decimals := niceStep((hi - lo) / 5)
	var ts []plot.Tick
	for n := 0; float64(n)*step <= hi; n++ {
		v := float64(n) * step
		ts = append(ts, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', decimals, 64)})
	}
	return ts
}

type decadeTicks struct{}

func (decadeTicks) Ticks(lo, hi float64) []plot.Tick {
	var ts []plot.Tick
	for e := int(math.Round(math.Log10(lo))); math.Pow10(e) <= hi; e++ {
		v := math.Pow10(e)
		ts = append(ts, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', max(0, -e), 64)})
	}
	return ts
}

// niceStep rounds up to 1, 2 or 5 times a power of ten, and says how many decimals
// multiples of it need.
func niceStep(least float64) (step float64, decimals int) {
	step, decimals = 1000, 0
	for _, s := range []struct {
		step     float64
		decimals int
	}{
		{1e-5, 5}, {2e-5, 5}, {5e-5, 5}, {1e-4, 4}, {2e-4, 4}, {5e-4, 4}, {1e-3, 3}, {2e-3, 3}, {5e-3, 3},
		{0.01, 2}, {0.02, 2}, {0.05, 2}, {0.1, 1}, {0.2, 1}, {0.5, 1}, {1, 0}, {2, 0}, {5, 0}, {10, 0},
		{20, 0}, {50, 0}, {100, 0}, {200, 0}, {500, 0},
	} {
		if s.step >= least {
			return s.step, s.decimals
		}
	}
	return step, decimals
}
