package reports

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// secondTicks marks round seconds, countTicks round counts, percentTicks quarters of a
// hundred, decadeTicks powers of ten, lengthTicks powers of ten of ms.
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

type countTicks struct{ least float64 } // step

func (c countTicks) Ticks(lo, hi float64) []plot.Tick {
	step, decimals := niceStep(max((hi-lo)/5, c.least))
	var ts []plot.Tick
	for n := 0; float64(n)*step <= hi; n++ {
		v := float64(n) * step
		ts = append(ts, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', decimals, 64)})
	}
	return ts
}

type percentTicks struct{}

func (percentTicks) Ticks(_, _ float64) []plot.Tick {
	var ts []plot.Tick
	for v := 0; v <= 100; v += 25 {
		ts = append(ts, plot.Tick{Value: float64(v), Label: strconv.Itoa(v)})
	}
	return ts
}

type decadeTicks struct{}

func (decadeTicks) Ticks(lo, hi float64) []plot.Tick {
	var ts []plot.Tick
	for e := int(math.Ceil(math.Log10(lo) - 1e-9)); math.Pow10(e) <= hi; e++ {
		v := math.Pow10(e)
		ts = append(ts, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', max(0, -e), 64)})
	}
	return ts
}

type lengthTicks struct{}

func (lengthTicks) Ticks(lo, hi float64) []plot.Tick {
	ts := decadeTicks{}.Ticks(lo, hi)
	for i := range ts {
		switch v := ts[i].Value; {
		case v >= 999:
			ts[i].Label = fmt.Sprintf("%.0f s", v/1000)
		case v >= 0.99:
			ts[i].Label = fmt.Sprintf("%.0f ms", v)
		default:
			ts[i].Label = fmt.Sprintf("%.0f µs", v*1000)
		}
	}
	return ts
}

// fitting leaves out labels for which there is no room on the right of a chart.
type fitting struct {
	plot.Ticker
	fits func(plot.Tick) bool
}

func (f fitting) Ticks(lo, hi float64) []plot.Tick {
	ts := f.Ticker.Ticks(lo, hi)
	for i := range ts {
		if !f.fits(ts[i]) {
			ts[i].Label = ""
		}
	}
	return ts
}

// niceStep rounds up to 1, 2 or 5 times a power of ten, and says how many decimals
// multiples of it need. It does not go below 0.00001.
func niceStep(least float64) (step float64, decimals int) {
	for e := -5; e < 15; e++ {
		for _, m := range [...]float64{1, 2, 5} {
			// Divided, not multiplied: 0.1 must be 0.1.
			if step = m * math.Pow10(max(e, 0)) / math.Pow10(max(-e, 0)); step >= least {
				return step, max(-e, 0)
			}
		}
	}
	return step, 0
}
