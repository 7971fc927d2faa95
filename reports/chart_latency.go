package reports

import (
	"fmt"
	"math"
)

// latency charts how long the acquires took that succeeded, by the window in which they
// returned.
func latency(c *chartData) figure {
	m := &c.result.Measures
	if total(c.grants) == 0 {
		return figure{says: nobodyGot(c.asked)}
	}
	all, least := c.latencies()
	s := c.overTime("acquire, ms (log scale)")
	s.decades(least, highest(all))
	c.plot(s, all)
	return figure{
		"Steps over time on a logarithmic scale; the faults are shaded.",
		fmt.Sprintf("Half of the %s took at most %s, 95%% at most %s, 99%% at most %s; the longest took %s.",
			plural(m.Grants, "grant", "grants"), inMS(m.AcquireP50MS), inMS(m.AcquireP95MS), inMS(m.AcquireP99MS), inMS(m.AcquireMaxMS)), s,
	}
}

// latencies gives the lines in ms, and the least value that a logarithmic axis needs.
func (c *chartData) latencies() (all []series, least float64) {
	all = []series{
		{"longest", make([]float64, c.n), inkThird, dotted, false},
		{"p99", make([]float64, c.n), inkFourth, dashDot, false},
		{"p95", make([]float64, c.n), inkSecond, dashed, false},
		{"p50", make([]float64, c.n), inkMain, nil, false},
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
