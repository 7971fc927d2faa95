package reports

import (
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/models"
)

// chartData is what the charts of a test are drawn from. Everything about operations is
// gathered in one pass over them, because there may be millions.
type chartData struct {
	*history.History
	windows
	d     *derived
	fonts *font.Cache

	// Set by charts.
	result *store.Result
	faults []fault

	// By window in which they returned.
	sales, grants, refused []int
	waits                  [][]int64 // ns, of the acquires that succeeded

	asked   int // acquires, however they ended
	clients []chartClient
	loadEnd int64 // the last moment at which an acquire is known to have been under way
}

// chartClient is a client that asked for a lock.
type chartClient struct {
	number int
	asked  int
	waits  []int64 // ns, of its acquires that succeeded: as many as it has grants
}

// wait is an acquire that succeeded.
type wait struct {
	took           int64 // ns
	window, client int32
}

func gather(h *history.History, d *derived) *chartData {
	w := cut(h)
	c := &chartData{
		History: h, windows: w, d: d, loadEnd: h.Start,
		// A cache of its own: the charts must look the same whatever else uses gonum/plot.
		fonts: font.NewCache(liberation.Collection()),
		sales: make([]int, w.n), grants: make([]int, w.n), refused: make([]int, w.n),
	}
	of := make([]int32, len(d.Lanes)) // the place in all of each lane's client
	var all []chartClient
	for i, l := range d.Lanes {
		if i == 0 || l.Client != d.Lanes[i-1].Client {
			all = append(all, chartClient{number: l.Client})
		}
		of[i] = int32(len(all) - 1)
	}
	waits := make([]wait, 0, len(d.Holds))
	for i := range h.Operations {
		switch o := &h.Operations[i]; o.Op {
		case history.Deduct:
			if o.Sold && o.Return != history.Never {
				if at := w.at(o.Return); at >= 0 {
					c.sales[at]++
				}
			}
		case history.Acquire:
			client := of[d.LaneOf[i]]
			all[client].asked++
			c.loadEnd = max(c.loadEnd, o.Invoke)
			if o.Return == history.Never {
				continue
			}
			c.loadEnd = max(c.loadEnd, o.Return)
			at := w.at(o.Return)
			switch {
			case at < 0:
			case o.Outcome == history.OutcomeOK:
				c.grants[at]++
				waits = append(waits, wait{o.Return - o.Invoke, int32(at), client})
			case o.Outcome == history.OutcomeFail:
				c.refused[at]++
			}
		}
	}
	c.waits = grouped(waits, w.n, func(x *wait) int32 { return x.window })
	for i, ws := range grouped(waits, len(all), func(x *wait) int32 { return x.client }) {
		if all[i].asked > 0 {
			all[i].waits = ws
			c.clients = append(c.clients, all[i])
			c.asked += all[i].asked
		}
	}
	return c
}

// grouped gives the lengths of the waits by group, of which there are n.
func grouped(waits []wait, n int, group func(*wait) int32) [][]int64 {
	ends := make([]int, n+1)
	for i := range waits {
		ends[group(&waits[i])+1]++
	}
	for i := range n {
		ends[i+1] += ends[i]
	}
	all, next := make([]int64, len(waits)), ends[:n:n]
	groups := make([][]int64, n)
	for i := range groups {
		groups[i] = all[ends[i]:ends[i+1]:ends[i+1]]
	}
	for i := range waits {
		g := group(&waits[i])
		all[next[g]] = waits[i].took
		next[g]++
	}
	return groups
}

// spread is how a set of durations lies, in ms: by nearest rank.
type spread struct{ p50, p95, p99, max float64 }

// spreadOf gives the zero spread where there are no durations (ns). It moves them about.
func spreadOf(all []int64) spread {
	n := len(all)
	if n == 0 {
		return spread{}
	}
	done := 0 // what lies before is no more than what lies behind
	at := func(percent int) float64 {
		rank := (n*percent + 99) / 100
		v := models.Nth(all[done:], rank-1-done)
		done = rank - 1
		return float64(v) / 1e6
	}
	return spread{at(50), at(95), at(99), at(100)}
}

func total(counts []int) int {
	n := 0
	for _, k := range counts {
		n += k
	}
	return n
}
