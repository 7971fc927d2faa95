package reports

import (
	"math"

	"picklock/harness/history"
)

// tenth is the length in ns of the windows in which availability is counted; those of the
// charts are whole multiples of it.
const tenth = 100_000_000

// windows are the parts of the load that a chart over time has a value for: at most 60, of
// one round length but for the last, which is between half and one and a half of it.
type windows struct {
	start, step int64 // ns
	length      int64 // ns, of all together
	n           int
}

func cut(h *history.History) windows {
	w := windows{start: h.Start, length: max(h.End-h.Start, tenth)}
	step, _ := niceStep(max(float64(w.length)/1e9/60, 0.1))
	w.step = max(tenth, int64(math.Round(step*10))*tenth)
	w.n = int((w.length + w.step/2) / w.step)
	w.n = max(1, w.n)
	return w
}

// at is the window of a moment; -1: it is before the load began.
func (w *windows) at(t int64) int {
	if t < w.start {
		return -1
	}
	return int(min((t-w.start)/w.step, int64(w.n-1)))
}

// edges are the seconds since the load began from and to which a window goes.
func (w *windows) edges(i int) (from, to float64) {
	from, to = float64(int64(i)*w.step)/1e9, float64(int64(i+1)*w.step)/1e9
	if i == w.n-1 {
		to = w.seconds()
	}
	return from, to
}

// seconds is the length of all windows together.
func (w *windows) seconds() float64 { return float64(w.length) / 1e9 }

// perSecond turns counts by window into rates.
func (w *windows) perSecond(counts []int) []float64 {
	rates := make([]float64, len(counts))
	for i, k := range counts {
		from, to := w.edges(i)
		rates[i] = float64(k) / (to - from)
	}
	return rates
}
