package reports

import (
	"fmt"
	"strings"

	"picklock/harness/history"
	"picklock/harness/store"
)

// ChartNumbers are what the charts of a test draw.
type ChartNumbers struct {
	Edges                  []float64 // s, of the windows: one more than there are windows
	Sales, Grants, Refused []int     // by window
	Waits                  [][4]float64
	With, Of               []int64 // windows of 100 ms
	Columns                []ChartColumn
	Jain                   float64
	Lengths                []ChartBin
	Over                   int
}

// ChartColumn is a client, or several together. Waits are ms: p50, p95, p99, the longest.
type ChartColumn struct {
	Name                                 string
	Clients, Asked, Grants, Fewest, Most int
	Waits                                [4]float64
}

// ChartBin counts holds from From ns on that are shorter than To.
type ChartBin struct {
	From, To                   int64
	Within, Overstayed, Leases int
}

// NumbersOf gathers what the charts draw.
func NumbersOf(r *store.Result, h *history.History) *ChartNumbers {
	c := gather(h, derive(h))
	c.result = r
	a, l, edges := c.available(), c.lengthCounts(), binEdges()
	n := &ChartNumbers{Sales: c.sales, Grants: c.grants, Refused: c.refused, With: a.with, Of: a.of, Jain: c.jain(), Over: l.over}
	for w := range c.n {
		from, to := c.edges(w)
		if w == 0 {
			n.Edges = append(n.Edges, from)
		}
		n.Edges = append(n.Edges, to)
		x := spreadOf(c.waits[w])
		n.Waits = append(n.Waits, [4]float64{x.p50, x.p95, x.p99, x.max})
	}
	if len(c.clients) > 0 {
		for _, x := range c.columns() {
			n.Columns = append(n.Columns, ChartColumn{x.name, x.clients, x.asked, x.grants, x.fewest, x.most,
				[4]float64{x.waits.p50, x.waits.p95, x.waits.p99, x.waits.max}})
		}
	}
	for i := range bins {
		if l.within[i]+l.overstayed[i]+l.leases[i] > 0 {
			n.Lengths = append(n.Lengths, ChartBin{edges[i], edges[i+1], l.within[i], l.overstayed[i], l.leases[i]})
		}
	}
	return n
}

// String writes a line for each window, client and length.
func (n *ChartNumbers) String() string {
	var b strings.Builder
	for w := range n.Sales {
		fmt.Fprintf(&b, "%g to %g s: %d sold, %d granted, %d refused; p50 %.3f p95 %.3f p99 %.3f longest %.3f ms; available %d of %d\n", n.Edges[w], n.Edges[w+1],
			n.Sales[w], n.Grants[w], n.Refused[w], n.Waits[w][0], n.Waits[w][1], n.Waits[w][2], n.Waits[w][3], n.With[w], n.Of[w])
	}
	for _, x := range n.Columns {
		fmt.Fprintf(&b, "client %s: asked %d, granted %d (%d to %d); p50 %.3f p95 %.3f p99 %.3f longest %.3f ms\n",
			x.Name, x.Asked, x.Grants, x.Fewest, x.Most, x.Waits[0], x.Waits[1], x.Waits[2], x.Waits[3])
	}
	fmt.Fprintf(&b, "Jain %.6f\n", n.Jain)
	for _, x := range n.Lengths {
		fmt.Fprintf(&b, "%.3f to %.3f ms: %d within, %d overstayed, %d leases\n", float64(x.From)/1e6, float64(x.To)/1e6, x.Within, x.Overstayed, x.Leases)
	}
	return b.String()
}

// ChartTexts are the titles of all charts with what each says.
func ChartTexts(r *store.Result, h *history.History) ([][2]string, error) {
	views, err := charts(r, gather(h, derive(h)))
	var out [][2]string
	for _, v := range views {
		out = append(out, [2]string{v.Title, v.Says})
	}
	return out, err
}
