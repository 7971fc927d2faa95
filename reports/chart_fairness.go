package reports

import (
	"fmt"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// fairness charts how many grants each client got.
func fairness(c *chartData) figure {
	if c.asked == 0 {
		return figure{says: nobodyGot(0)}
	}
	cols := c.columns()
	s := c.overClients(cols, "grants")
	most := 0
	for i := range cols {
		most = max(most, cols[i].most)
	}
	s.fromZero(float64(most)*1.1, 1) // room for numbers
	style := s.words(11.5, inkText, s.X.Tick.Label)
	style.XAlign, style.YAlign = draw.XCenter, draw.YBottom
	s.Add(plotFunc(func(to draw.Canvas, p *plot.Plot) {
		for i := range cols {
			x := &cols[i]
			r := barOf(to, p, cols, i, 0, float64(x.grants)/float64(x.clients))
			fill(to, r, inkMain.alpha(0x58))
			frame(to, r, inkMain)
			middle, y := (r.Min.X+r.Max.X)/2, r.Max.Y
			words := strconv.Itoa(x.grants)
			if x.clients > 1 {
				y = to.Y(p.Y.Norm(float64(x.most)))
				to.StrokeLine2(line(inkThird, 2), middle, to.Y(p.Y.Norm(float64(x.fewest))), middle, y)
				words = fmt.Sprintf("%d to %d", x.fewest, x.most)
			}
			if style.Width(words) < to.X(p.X.Norm(1))-to.Min.X || x.clients > 1 {
				to.FillText(style, vg.Point{X: middle, Y: y + 2}, words)
			}
		}
	}))
	if hasShared(cols) {
		s.keys = []key{
			{"grants; of the others their mean", func(to draw.Canvas) {
				fill(to, to.Rectangle, inkMain.alpha(0x58))
				frame(to, to.Rectangle, inkMain)
			}},
			{"from the fewest to the most of one", func(to draw.Canvas) {
				to.StrokeLine2(line(inkThird, 2), to.Center().X, to.Min.Y, to.Center().X, to.Max.Y)
			}},
		}
	}
	return figure{"A bar for each client.", c.fairnessInWords(), s}
}

func hasShared(cols []column) bool { return cols[len(cols)/2].clients > 1 }

// jain is Jain's index of the grants per client that asked for a lock; 0 without grants.
func (c *chartData) jain() float64 {
	sum, squares := 0.0, 0.0
	for i := range c.clients {
		g := float64(len(c.clients[i].waits))
		sum += g
		squares += g * g
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(c.clients)) * squares)
}

func (c *chartData) fairnessInWords() string {
	fewest, most := &c.clients[0], &c.clients[0]
	for i := range c.clients {
		x := &c.clients[i]
		if len(x.waits) < len(fewest.waits) {
			fewest = x
		}
		if len(x.waits) > len(most.waits) {
			most = x
		}
	}
	n := len(c.clients)
	if len(most.waits) == 0 {
		return fmt.Sprintf("%s asked for a lock; none was granted one.", plural(n, "client", "clients"))
	}
	says, among := fmt.Sprintf("The one client, %d, was granted a lock %s.", most.number, times(len(most.waits))), ""
	if n > 1 {
		says = fmt.Sprintf("Of %d clients, client %d was granted a lock least often (%s), client %d most often (%s).",
			n, fewest.number, times(len(fewest.waits)), most.number, times(len(most.waits)))
		among = fmt.Sprintf(" %.3f among clients,", c.jain())
	}
	if j := c.result.Measures.Jain; j > 0 {
		among += fmt.Sprintf(" %.3f among workers,", j)
	}
	if among != "" {
		says += " Jain's index of the grants, 1 if they are even:" + strings.TrimSuffix(among, ",") + "."
	}
	return says
}
