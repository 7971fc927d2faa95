package reports

import (
	"fmt"
	"strconv"
	"strings"
)

// throughput charts sales, grants and refused acquires per second.
func throughput(c *chartData) figure {
	all := c.rates()
	s := c.overTime("per second")
	s.fromZero(highest(all), 0)
	c.plot(s, all)
	return figure{"Steps over time; the faults are shaded.", c.throughputInWords(all[0].values), s}
}

// rates leaves out what never happened, but for the sales.
func (c *chartData) rates() []series {
	all := []series{{name: "sales", values: c.perSecond(c.sales), ink: inkMain, filled: true}}
	if total(c.grants) > 0 {
		all = append(all, series{name: "grants of a lock", values: c.perSecond(c.grants), ink: inkSecond, dashes: dashed})
	}
	if total(c.refused) > 0 {
		all = append(all, series{name: "acquires that failed", values: c.perSecond(c.refused), ink: inkThird, dashes: dotted})
	}
	return all
}

func (c *chartData) throughputInWords(sales []float64) string {
	n := total(c.sales)
	if n == 0 {
		return fmt.Sprintf("Nothing was sold in %s; %s, %s.", inSeconds(c.seconds()), c.granted(), c.failed())
	}
	best, from, longest, since := 0.0, 0.0, 0.0, -1.0
	for i, v := range sales {
		best = max(best, v)
		a, b := c.edges(i)
		if v > 0 {
			since = -1
			continue
		}
		if since < 0 {
			since = a
		}
		if b-since > longest {
			from, longest = since, b-since
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s per second, at best %s), %s, %s.", plural(n, "sale", "sales"), rate(float64(n)/c.seconds()), rate(best),
		c.granted(), c.failed())
	if longest > 0 {
		fmt.Fprintf(&b, " Longest time without a sale: %s, from %s on.", inSeconds(longest), inSeconds(from))
	}
	return b.String()
}

func (c *chartData) granted() string {
	return plural(total(c.grants), "grant of a lock", "grants of a lock")
}

func (c *chartData) failed() string {
	if n := total(c.refused); n > 0 {
		return plural(n, "acquire failed", "acquires failed")
	}
	return "no acquire failed"
}

// rate writes how often something happens.
func rate(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func inSeconds(s float64) string {
	if s >= 100 {
		return fmt.Sprintf("%.0f s", s)
	}
	return fmt.Sprintf("%.1f s", s)
}

// inMS writes a duration in ms so that it can be read.
func inMS(ms float64) string {
	switch {
	case ms >= 10_000:
		return fmt.Sprintf("%.1f s", ms/1000)
	case ms >= 1000:
		return fmt.Sprintf("%.2f s", ms/1000)
	case ms >= 10:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.2f ms", ms)
}
