package reports

import (
	"fmt"
	"math"

	"picklock/harness/history"
)

// availability charts the share of the time with a hold or a grant in it: of the windows
// of 100 ms in each window of the chart, as models counts them over the whole load.
func availability(c *chartData) figure {
	if c.asked == 0 {
		return figure{says: nobodyGot(0)}
	}
	a := c.available()
	s := c.overTime("% of windows of 100 ms")
	s.spans(s.X.Min, s.X.Max, 0, 106)
	s.Y.Tick.Marker = percentTicks{}
	c.plot(s, []series{{name: "available", values: a.shares(), ink: inkMain, filled: true}})
	return figure{"Steps over time; the faults are shaded.", c.availabilityInWords(a), s}
}

// availabilities counts windows of 100 ms.
type availabilities struct {
	with, of []int64 // by window of the chart; of is 0 where the load is over
}

func (a *availabilities) shares() []float64 {
	vs := make([]float64, len(a.of))
	for i, n := range a.of {
		vs[i] = math.NaN()
		if n > 0 {
			vs[i] = 100 * float64(a.with[i]) / float64(n)
		}
	}
	return vs
}

// together are the windows of 100 ms of the whole load.
func (a *availabilities) together() (with, of int64) {
	for i := range a.of {
		with += a.with[i]
		of += a.of[i]
	}
	return with, of
}

// available counts in one sweep over the holds, which are in the order of their starts: so
// windows before the last one that counts will not come again.
func (c *chartData) available() *availabilities {
	a := &availabilities{make([]int64, c.n), make([]int64, c.n)}
	if c.loadEnd <= c.Start {
		return a
	}
	c.count(a.of, 0, (c.loadEnd-1-c.Start)/tenth)
	next := int64(0)
	for i := range c.d.Holds {
		x := &c.d.Holds[i]
		if x.Nested {
			continue
		}
		from, to := max(x.From, c.Start), x.To
		if to <= x.From { // no hold: what counts is that the lock was granted
			if c.Operations[x.Acquire].Outcome != history.OutcomeOK {
				continue
			}
			to = x.From + 1
		}
		if to = min(to, c.loadEnd); from >= to {
			continue
		}
		first, last := max(next, (from-c.Start)/tenth), (to-1-c.Start)/tenth
		if first <= last {
			c.count(a.with, first, last)
			next = last + 1
		}
	}
	return a
}

// count adds the windows of 100 ms from first to last to those of the chart.
func (c *chartData) count(counts []int64, first, last int64) {
	for first <= last {
		w := c.at(c.start + first*tenth)
		end := last
		if w < c.n-1 {
			end = min(last, int64(w+1)*c.step/tenth-1)
		}
		counts[w] += end - first + 1
		first = end + 1
	}
}

func (c *chartData) availabilityInWords(a *availabilities) string {
	with, of := a.together()
	if of == 0 {
		return "The load was over at once: there is nothing to count."
	}
	least, at := math.Inf(1), 0
	for i, v := range a.shares() {
		if v < least {
			least, at = v, i
		}
	}
	says := fmt.Sprintf("In %d of %d windows of 100 ms (%.1f%%) a lock was held or granted", with, of, 100*float64(with)/float64(of))
	if with == of {
		return says + "."
	}
	from, to := c.edges(at)
	return fmt.Sprintf("%s; the fewest from %s to %s: %.0f%%.", says, inSeconds(from), inSeconds(to), least)
}
