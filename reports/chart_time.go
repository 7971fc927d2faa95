package reports

import (
	"cmp"
	"math"
	"slices"

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
	wide   bool // and pale: it can be seen behind another
}

func (x *series) line() draw.LineStyle {
	style := line(x.ink, 1.8, x.dashes...)
	if x.wide {
		style.Width, style.Color = 5, x.ink.alpha(0x80)
	}
	return style
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
	bands := bandsOf(c.faults, c.seconds()/500)
	s.Add(plotFunc(func(c draw.Canvas, p *plot.Plot) {
		for i := range bands {
			bands[i].draw(c, p)
		}
	}))
	for i := range c.faults {
		f := &c.faults[i]
		kind := []rune(plain(f.Kind))
		if len(kind) > 24 {
			kind = append(kind[:23], '…')
		}
		s.tags = append(s.tags, tag{at: min(max(f.From, 0), c.seconds()), name: f.Name, more: string(kind), ink: inkFault})
	}
	return s
}

// band is a fault behind the data.
type band struct {
	from, to     float64 // s since the load began
	landed, open bool
}

// maxBands bounds the bands that stand for one fault each: every chart over time has them.
const maxBands = 100

// bandsOf gives a band for each fault; of more than maxBands those that are less than near
// seconds apart share one, which is proven if all of them are.
func bandsOf(fs []fault, near float64) []band {
	bands := make([]band, 0, len(fs))
	for i := range fs {
		bands = append(bands, band{fs[i].From, fs[i].To, fs[i].Landed, fs[i].Open})
	}
	if len(bands) <= maxBands {
		return bands
	}
	slices.SortStableFunc(bands, func(a, b band) int { return cmp.Compare(a.from, b.from) })
	joined := bands[:1]
	for _, b := range bands[1:] {
		last := &joined[len(joined)-1]
		if b.from-last.to >= near {
			joined = append(joined, b)
			continue
		}
		last.to, last.landed, last.open = max(last.to, b.to), last.landed && b.landed, last.open || b.open
	}
	return joined
}

// draw gives what is not proven to have landed dashed edges.
func (b *band) draw(c draw.Canvas, p *plot.Plot) {
	from, to := c.X(p.X.Norm(b.from)), c.X(p.X.Norm(b.to))
	from, to = min(max(from, c.Min.X), c.Max.X), min(max(to, c.Min.X), c.Max.X)
	edge := line(inkFault, 1)
	if !b.landed {
		edge.Dashes = []vg.Length{3, 3}
	}
	fill(c, vg.Rectangle{Min: vg.Point{X: from, Y: c.Min.Y}, Max: vg.Point{X: max(to, from+2), Y: c.Max.Y}}, inkFault.alpha(0x30))
	c.StrokeLine2(edge, from, c.Min.Y, from, c.Max.Y)
	if !b.open && to > from+2 {
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
				to.StrokeLine2(x.line(), to.Min.X, to.Center().Y, to.Max.X, to.Center().Y)
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
			to.StrokeLines(x.line(), run)
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

// fromZero gives the vertical axis a linear scale whose steps are no less than least.
func (s *sheet) fromZero(most, least float64) {
	if most <= 0 {
		most = 1
	}
	s.spans(s.X.Min, s.X.Max, 0, most*1.06)
	s.Y.Tick.Marker = countTicks{least}
}

// decades gives the vertical axis, in ms, whole powers of ten, at least two of them.
func (s *sheet) decades(least, most float64) {
	if most <= 0 { // nothing to show: an empty chart still has an axis
		least, most = 1, 100
	}
	least = math.Pow(10, math.Floor(math.Log10(max(least, 0.001))))
	s.spans(s.X.Min, s.X.Max, least, math.Pow(10, math.Ceil(math.Log10(max(most, 100*least)))+0.02))
	s.Y.Scale, s.Y.Tick.Marker = plot.LogScale{}, lengthTicks{}
}
