package reports

import (
	"fmt"
	"math"
	"slices"
)

// latency charts how long the acquires took that succeeded, by the window in which they
// returned.
func latency(c *chartData) figure {
	if total(c.grants) == 0 {
		return figure{says: nobodyGot(c.asked)}
	}
	whole := spreadOf(slices.Concat(c.waits...))
	all, least := c.latencies()
	s := c.overTime("acquire (log scale)")
	s.decades(least, highest(all))
	c.plot(s, all)
	return figure{
		"Steps over time on a logarithmic scale; the faults are shaded.",
		fmt.Sprintf("Half of the %s took at most %s, 95%% at most %s, 99%% at most %s; the longest took %s.",
			plural(total(c.grants), "grant", "grants"), inMS(whole.p50), inMS(whole.p95), inMS(whole.p99), inMS(whole.max)), s,
	}
}

// latencies gives the lines in ms, and the least value that a logarithmic axis needs.
func (c *chartData) latencies() (all []series, least float64) {
	all = []series{
		{name: "longest", values: make([]float64, c.n), ink: inkThird, wide: true},
		{name: "p99", values: make([]float64, c.n), ink: inkFourth, dashes: dashDot},
		{name: "p95", values: make([]float64, c.n), ink: inkSecond, dashes: dashed},
		{name: "p50", values: make([]float64, c.n), ink: inkMain},
	}
	least = math.Inf(1)
	for w := range c.n {
		x := spreadOf(c.waits[w])
		for i, v := range [...]float64{x.max, x.p99, x.p95, x.p50} {
			if all[i].values[w] = max(v, shortest); len(c.waits[w]) == 0 {
				all[i].values[w] = math.NaN()
			} else {
				least = min(least, all[i].values[w])
			}
		}
	}
	return all, least
}

// shortest is what a logarithmic axis in ms shows of anything that took less.
const shortest = 0.001

// nobodyGot says why there is nothing to draw about acquires that succeeded.
func nobodyGot(asked int) string {
	if asked == 0 {
		return "Nobody asked for a lock."
	}
	return fmt.Sprintf("Nobody was granted a lock: %s, none succeeded.", plural(asked, "acquire", "acquires"))
}
