package reports

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// waiting charts for each client how long its acquires took that succeeded: a box from
// the median to p95, a line up to the longest.
func waiting(c *chartData) figure {
	if total(c.grants) == 0 {
		return figure{says: nobodyGot(c.asked)}
	}
	cols := c.columns()
	s := c.overClients(cols, "acquire (log scale)")
	least, most := math.Inf(1), 0.0
	for i := range cols {
		if cols[i].grants > 0 {
			least, most = min(least, max(cols[i].waits.p50, shortest)), max(most, cols[i].waits.max)
		}
	}
	s.decades(least, most)
	s.Add(plotFunc(func(to draw.Canvas, p *plot.Plot) {
		for i := range cols {
			if cols[i].grants > 0 {
				box(to, p, cols, i)
			} else {
				never(s, to, p, cols, i)
			}
		}
	}))
	s.keys = []key{
		{"p50 to p95", func(to draw.Canvas) {
			fill(to, to.Rectangle, inkMain.alpha(0x38))
			frame(to, to.Rectangle, inkMain)
		}},
		{"p50", func(to draw.Canvas) {
			to.StrokeLine2(line(inkMain, 3), to.Min.X, to.Center().Y, to.Max.X, to.Center().Y)
		}},
		{"longest", func(to draw.Canvas) {
			to.StrokeLine2(line(inkThird, 1.5, dotted...), to.Center().X, to.Min.Y, to.Center().X, to.Max.Y)
			to.StrokeLine2(line(inkThird, 2), to.Center().X-8, to.Max.Y, to.Center().X+8, to.Max.Y)
		}},
	}
	return figure{"A box for each client on a logarithmic scale, from the median of its waiting times to their 95th percentile, and a line up to the longest.",
		waitingInWords(cols), s}
}

func box(c draw.Canvas, p *plot.Plot, cols []column, i int) {
	x := &cols[i].waits
	r := barOf(c, p, cols, i, max(x.p50, shortest), max(x.p95, shortest))
	fill(c, r, inkMain.alpha(0x38))
	frame(c, r, inkMain)
	c.StrokeLine2(line(inkMain, 3), r.Min.X, r.Min.Y, r.Max.X, r.Min.Y)
	top, middle := c.Y(p.Y.Norm(max(x.max, shortest))), (r.Min.X+r.Max.X)/2
	c.StrokeLine2(line(inkThird, 1.5, dotted...), middle, r.Max.Y, middle, top)
	half := min(8, (r.Max.X-r.Min.X)/2)
	c.StrokeLine2(line(inkThird, 2), middle-half, top, middle+half, top)
}

// never says of a client that it asked and was never granted a lock.
func never(s *sheet, c draw.Canvas, p *plot.Plot, cols []column, i int) {
	style := s.words(12.5, inkText, p.X.Tick.Label)
	style.XAlign, style.YAlign = draw.XCenter, draw.YBottom
	r := barOf(c, p, cols, i, p.Y.Min, p.Y.Min)
	c.FillText(style, vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: r.Min.Y + 3}, "–")
}

func waitingInWords(cols []column) string {
	var low, high, top *column
	none := 0
	for i := range cols {
		x := &cols[i]
		if x.grants == 0 {
			none += x.clients
			continue
		}
		if top == nil || x.waits.max > top.waits.max {
			top = x
		}
		if x.clients > 1 {
			continue // its median is of no client
		}
		if low == nil || x.waits.p50 < low.waits.p50 {
			low = x
		}
		if high == nil || x.waits.p50 > high.waits.p50 {
			high = x
		}
	}
	says := fmt.Sprintf("The longest wait was %s, of %s.", inMS(top.waits.max), top.who())
	switch {
	case low == nil:
	case len(cols) == 1:
		says += fmt.Sprintf(" Half of its waits took at most %s, 95%% at most %s.", inMS(low.waits.p50), inMS(low.waits.p95))
	default:
		of := ""
		if hasShared(cols) {
			of = " of the clients shown"
		}
		says += fmt.Sprintf(" The medians%s go from %s (client %s) to %s (client %s).", of, inMS(low.waits.p50), low.name, inMS(high.waits.p50), high.name)
	}
	if none > 0 {
		says += fmt.Sprintf(" %s asked, and was never granted a lock (–).", plural(none, "client", "clients"))
	}
	return says
}

// who names the client, or the clients, of a column.
func (x *column) who() string {
	if x.clients > 1 {
		return "one of the " + x.name
	}
	return "client " + x.name
}
