package reports

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// series is one line of a chart over time: a value per window; NaN where there is none.
type series struct {
	name   string
	values []float64
	ink    ink
	dashes []vg.Length
	filled bool
}

// Dashes tell lines apart without colour.
var (
	dashed  = []vg.Length{6, 3}
	dotted  = []vg.Length{1.5, 3}
	dashDot = []vg.Length{9, 3, 2, 3}
)

// overTime begins a chart over time with the faults as bands behind the data.
func (c *chartData) overTime(yLabel string) *sheet {
	s := newSheet(c.fonts, "seconds since the load began", yLabel)
	s.X.Min, s.X.Max = 0, c.seconds()
	s.X.Tick.Marker = secondTicks{}
	for i := range c.faults {
		f := &c.faults[i]
		s.Add(plotFunc(func(c draw.Canvas, p *plot.Plot) { band(c, p, f) }))
		kind := []rune(plain(f.Kind))
		if len(kind) > 24 {
			kind = append(kind[:23], '…')
		}
		s.tags = append(s.tags, tag{at: f.From, name: f.Name, more: string(kind), ink: inkFault})
	}
	return s
}

// band draws a fault; the edges of one that is not proven to have landed are dashed.
func band(c draw.Canvas, p *plot.Plot, f *fault) {
	from, to := c.X(p.X.Norm(f.From)), c.X(p.X.Norm(f.To))
	from, to = min(max(from, c.Min.X), c.Max.X), min(max(to, c.Min.X), c.Max.X)
	edge := line(inkFault, 1)
	if !f.Landed {
		edge.Dashes = []vg.Length{3, 3}
	}
	fill(c, vg.Rectangle{Min: vg.Point{X: from, Y: c.Min.Y}, Max: vg.Point{X: max(to, from+2), Y: c.Max.Y}}, inkFault.alpha(0x30))
	c.StrokeLine2(edge, from, c.Min.Y, from, c.Max.Y)
	if !f.Open && to > from+2 {
		c.StrokeLine2(edge, to, c.Min.Y, to, c.Max.Y)
	}
}

// plot adds lines, with their keys where there are several.
func (c *chartData) plot(s *sheet, all []series) {
	for _, x := range all {
		s.Add(plotFunc(func(to draw.Canvas, p *plot.Plot) { c.steps(to, p, &x) }))
		if len(all) > 1 {
			s.keys = append(s.keys, key{x.name, func(to draw.Canvas) {
				if x.filled {
					fill(to, to.Rectangle, x.ink.alpha(0x38))
				}
				to.StrokeLine2(line(x.ink, 2, x.dashes...), to.Min.X, to.Center().Y, to.Max.X, to.Center().Y)
			}})
		}
	}
}

// steps draws a series as steps, one per window; where there is no value, the line breaks.
func (c *chartData) steps(to draw.Canvas, p *plot.Plot, x *series) {
	var run []vg.Point
	flush := func() {
		if len(run) > 0 && x.filled {
			area := append([]vg.Point{{X: run[0].X, Y: to.Min.Y}}, run...)
			to.FillPolygon(x.ink.alpha(0x38), append(area, vg.Point{X: run[len(run)-1].X, Y: to.Min.Y}))
		}
		if len(run) > 0 {
			to.StrokeLines(line(x.ink, 1.8, x.dashes...), run)
		}
		run = nil
	}
	for w, v := range x.values {
		if math.IsNaN(v) {
			flush()
			continue
		}
		a, b := c.edges(w)
		y := to.Y(p.Y.Norm(v))
		run = append(run, vg.Point{X: to.X(p.X.Norm(a)), Y: y}, vg.Point{X: to.X(p.X.Norm(b)), Y: y})
	}
	flush()
}

// highest is the largest value of all series; 0 if there is none.
func highest(all []series) float64 {
	most := 0.0
	for _, x := range all {
		for _, v := range x.values {
			if !math.IsNaN(v) {
				most = max(most, v)
			}
		}
	}
	return most
}

// counts gives the vertical axis from 0.
func (s *sheet) counts(most float64) {
	s.spans(s.X.Min, s.X.Max, 0, max(most*1.06, 1))
	s.Y.Tick.Marker = countTicks{}
}

// decades gives the vertical axis whole powers of ten, at least two of them.
func (s *sheet) decades(least, most float64) {
	if most <= 0 { // nothing to show: an empty chart still has an axis
		least, most = 1, 100
	}
	least = math.Pow(10, math.Floor(math.Log10(max(least, 0.001))))
	s.spans(s.X.Min, s.X.Max, least, math.Pow(10, math.Ceil(math.Log10(max(most, 100*least)))+0.02))
	s.Y.Scale, s.Y.Tick.Marker = plot.LogScale{}, decadeTicks{}
}
