package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Of more clients than maxColumns only the extremes have a column of their own: as many
// with the fewest and the most grants; the others share one.
const (
	maxColumns = 40
	extremes   = 15
)

// column is one client, or those in the middle together.
type column struct {
	name    string
	clients int
	asked   int
	grants  int // of all its clients
	fewest  int // of one of them
	most    int
	waits   spread // ms
}

// columns gives the clients by number, or if they are many the extremes by grants.
func (c *chartData) columns() []column {
	one := func(x *chartClient) column {
		n := len(x.waits)
		return column{strconv.Itoa(x.number), 1, x.asked, n, n, n, spreadOf(x.waits)}
	}
	var out []column
	if len(c.clients) <= maxColumns {
		for i := range c.clients {
			out = append(out, one(&c.clients[i]))
		}
		return out
	}
	sorted := slices.Clone(c.clients)
	slices.SortStableFunc(sorted, func(a, b chartClient) int { return cmp.Compare(len(a.waits), len(b.waits)) })
	middle := sorted[extremes : len(sorted)-extremes]
	rest := column{name: fmt.Sprintf("%d others", len(middle)), clients: len(middle),
		fewest: len(middle[0].waits), most: len(middle[len(middle)-1].waits)}
	var waits []int64
	for i := range middle {
		rest.asked += middle[i].asked
		waits = append(waits, middle[i].waits...)
	}
	rest.grants, rest.waits = len(waits), spreadOf(waits)
	for i := range sorted[:extremes] {
		out = append(out, one(&sorted[i]))
	}
	out = append(out, rest)
	for i := range sorted[len(sorted)-extremes:] {
		out = append(out, one(&sorted[len(sorted)-extremes+i]))
	}
	return out
}

// overClients begins a chart with a column for each client. The column of several is
// wider than the others.
func (c *chartData) overClients(cols []column, yLabel string) *sheet {
	label := "client"
	if len(c.clients) > maxColumns {
		label = fmt.Sprintf("client, by its grants: the %d with the fewest, the others together, the %d with the most", extremes, extremes)
	}
	s := newSheet(c.fonts, label, yLabel)
	var ticks plot.ConstantTicks
	for i := range cols {
		from, to := placeOf(cols, i)
		ticks = append(ticks, plot.Tick{Value: (from + to) / 2, Label: cols[i].name})
		s.X.Max = to
	}
	s.X.Min, s.X.Tick.Marker = 0, ticks
	return s
}

// shared is how many times wider the column of several clients is.
const shared = 3.0

// placeOf is from where to where on the horizontal axis a column goes.
func placeOf(cols []column, i int) (from, to float64) {
	for k := range cols[:i] {
		from += widthOf(&cols[k])
	}
	return from, from + widthOf(&cols[i])
}

func widthOf(x *column) float64 {
	if x.clients > 1 {
		return shared
	}
	return 1
}

// barOf is where a column's bar is on the canvas: at most 60 wide, in the middle of its
// place, from one value to another.
func barOf(c draw.Canvas, p *plot.Plot, cols []column, i int, low, high float64) vg.Rectangle {
	from, to := placeOf(cols, i)
	a, b := c.X(p.X.Norm(from)), c.X(p.X.Norm(to))
	middle, half := (a+b)/2, min((b-a)*0.36, 30)
	return vg.Rectangle{Min: vg.Point{X: middle - half, Y: c.Y(p.Y.Norm(low))}, Max: vg.Point{X: middle + half, Y: c.Y(p.Y.Norm(high))}}
}
