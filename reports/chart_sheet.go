package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Sizes of a chart in its own units, which are pixels where the page is at its widest.
// There the data of all charts lie below each other, and below the timeline's.
const (
	chartWidth  = 1212 * vg.Length(1)
	chartLeft   = 128 // as in the timeline: see layout.js
	chartRight  = 14
	chartHeight = 170 // of the data
	chartBelow  = 48  // the axis and what it says
	chartRow    = 17  // of words above the data
	maxTagRows  = 4
)

// sheet is a chart on paper: a plot with words above it, never over it.
type sheet struct {
	*plot.Plot
	keys []key
	tags []tag
	rows int // of tags
	dark int // tags that did not find room
}

// key says what a line or bar means.
type key struct {
	text string
	draw func(draw.Canvas) // a sample of it
}

// tag names something at a place on the horizontal axis.
type tag struct {
	at         float64
	name, more string
	ink        ink

	x   vg.Length
	row int // -1: there is no room
}

// plotFunc draws data.
type plotFunc func(c draw.Canvas, p *plot.Plot)

// Plot implements plot.Plotter.
func (f plotFunc) Plot(c draw.Canvas, p *plot.Plot) { f(c, p) }

// newSheet begins a chart with fonts and colours for everything that is not data.
func newSheet(fonts *font.Cache, xLabel, yLabel string) *sheet {
	s := &sheet{Plot: plot.New()}
	s.TextHandler = text.Plain{Fonts: fonts}
	s.BackgroundColor = nil
	for _, a := range []*plot.Axis{&s.X, &s.Y} {
		a.Label.TextStyle, a.Tick.Label = s.words(13, inkText, a.Label.TextStyle), s.words(12.5, inkText, a.Tick.Label)
		a.LineStyle.Color, a.Tick.LineStyle.Color = inkAxis.light, inkAxis.light
		a.Padding = 0
	}
	s.X.Label.Text, s.Y.Label.Text = xLabel, yLabel
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = inkGrid.light, inkGrid.light
	s.Add(grid)
	return s
}

// words gives a style of text, set as another one is.
func (s *sheet) words(size vg.Length, i ink, as text.Style) text.Style {
	as.Font = font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
	as.Handler, as.Color = s.TextHandler, i.light
	return as
}

// spans sets what the axes show.
func (s *sheet) spans(xMin, xMax, yMin, yMax float64) {
	s.X.Min, s.X.Max, s.Y.Min, s.Y.Max = xMin, xMax, yMin, yMax
}

// svg draws the chart. name must be unique in the page.
func (s *sheet) svg(name, title, desc string) ([]byte, error) {
	s.place()
	ticks := s.words(12.5, inkText, s.X.Tick.Label)
	s.X.Tick.Marker = fitting{s.X.Tick.Marker, func(t plot.Tick) bool { return s.right(t.Value)+ticks.Width(t.Label)/2 <= chartWidth }}
	above := vg.Length(s.rows)*chartRow + 6
	if len(s.keys) > 0 || s.dark > 0 {
		above += chartRow
	}
	canvas := vgsvg.New(chartWidth, chartBelow+chartHeight+above)
	whole := draw.New(canvas)
	whole.SetColor(inkPaper.light)
	whole.Fill(whole.Rectangle.Path())
	s.Add(plotFunc(s.above))
	s.Draw(s.aligned(whole))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("write the chart %s: %w", name, err)
	}
	return themed(b.Bytes(), name, title, desc), nil
}

// aligned gives the part of the canvas on which a plot must be drawn so that its data come
// to lie where those of the other charts do. How much room the axes take is the plot's
// own business, and depends a little on the answer: so ask again.
func (s *sheet) aligned(c draw.Canvas) draw.Canvas {
	left, right, bottom, top := vg.Length(chartLeft), chartWidth-chartRight, vg.Length(chartBelow), vg.Length(chartBelow+chartHeight)
	for range 2 {
		got := s.DataCanvas(c)
		c.Min.X += left - got.Min.X
		c.Max.X += right - got.Max.X
		c.Min.Y += bottom - got.Min.Y
		c.Max.Y += top - got.Max.Y
	}
	return c
}

// place finds a row for each tag, where none is written over another, and no line that
// leads down goes through the words of another. Where not all find room with all of their
// words, they go without.
func (s *sheet) place() {
	slices.SortStableFunc(s.tags, func(a, b tag) int { return cmp.Compare(a.at, b.at) })
	if s.dark = s.placed(); s.dark > 0 {
		for i := range s.tags {
			s.tags[i].more = ""
		}
		s.dark = s.placed()
	}
}

// placed gives the tags their rows and counts those that find none.
func (s *sheet) placed() (dark int) {
	style := s.words(12.5, inkText, s.X.Tick.Label)
	var free [maxTagRows]vg.Length // where the words of each row end
	s.rows = 0
	for i := range s.tags {
		t := &s.tags[i]
		width := style.Width(t.name) + 8
		if t.more != "" {
			width = style.Width(t.name+" "+t.more) + 8
		}
		at := s.right(t.at)
		t.row, t.x = maxTagRows, min(at+3, chartWidth-width)
		for t.row > 0 && free[t.row-1] <= min(at, t.x) {
			t.row--
		}
		if t.row == maxTagRows {
			t.row = -1
			dark++
			continue
		}
		free[t.row] = t.x + width
		s.rows = max(s.rows, t.row+1)
	}
	return dark
}

// right says how far right a value is on the chart.
func (s *sheet) right(v float64) vg.Length {
	return chartLeft + vg.Length(s.X.Norm(v))*(chartWidth-chartLeft-chartRight)
}

// above writes the keys and the tags, and draws the lines that lead down from the tags.
func (s *sheet) above(c draw.Canvas, p *plot.Plot) {
	style := s.words(12.5, inkText, p.X.Tick.Label)
	style.XAlign, style.YAlign = draw.XLeft, draw.YCenter
	base := c.Max.Y + vg.Length(s.rows)*chartRow
	x, y := c.Min.X, base+chartRow/2+4
	write := func(words string) {
		c.FillText(style, vg.Point{X: x, Y: y}, words)
		x += style.Width(words) + 22
	}
	for _, k := range s.keys {
		k.draw(draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: vg.Point{X: x, Y: y - 6}, Max: vg.Point{X: x + 28, Y: y + 6}}})
		x += 34
		write(k.text)
	}
	if s.dark > 0 {
		write(fmt.Sprintf("%d more are shaded, for whose names there is no room", s.dark))
	}
	for i := range s.tags {
		t := &s.tags[i]
		if t.row < 0 {
			continue
		}
		style.Color = t.ink.light
		y := base - vg.Length(t.row)*chartRow - chartRow/2 + 2
		c.StrokeLine2(line(t.ink, 1), c.X(p.X.Norm(t.at)), c.Max.Y, c.X(p.X.Norm(t.at)), y+chartRow/2-2)
		// A text of its own: so the short name can be searched for.
		c.FillText(style, vg.Point{X: t.x, Y: y}, t.name)
		if t.more != "" {
			c.FillText(style, vg.Point{X: t.x + style.Width(t.name+" "), Y: y}, t.more)
		}
	}
}

// line is a style of line.
func line(i ink, width vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: i.light, Width: width, Dashes: dashes}
}

// fill paints a rectangle.
func fill(c draw.Canvas, r vg.Rectangle, paint color.Color) {
	c.FillPolygon(paint, []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}})
}

// hatch fills a rectangle so that it is told apart from a plain one without colour.
func hatch(c draw.Canvas, r vg.Rectangle, i ink) {
	fill(c, r, i.alpha(0x30))
	inside := draw.Canvas{Canvas: c.Canvas, Rectangle: r}
	height := r.Max.Y - r.Min.Y
	var lines [][]vg.Point
	for x := r.Min.X - height; x < r.Max.X; x += 6 {
		lines = append(lines, []vg.Point{{X: x, Y: r.Min.Y}, {X: x + height, Y: r.Max.Y}})
	}
	c.StrokeLines(line(i, 2), inside.ClipLinesXY(lines...)...)
	frame(c, r, i)
}

func frame(c draw.Canvas, r vg.Rectangle, i ink) {
	c.StrokeLines(line(i, 1), []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}, r.Min})
}
