package reports

import (
	"bytes"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"picklock/harness/history"
	"picklock/harness/store"
)

// Sizes of a chart in points; on paper these are 12 inches by 3.
const (
	chartWidth  = 864 * vg.Length(1)
	chartHeight = 230 * vg.Length(1)
)

// ink is a colour of a chart. The chart is drawn in its light value; in the file the
// light value stands as the fallback of a CSS variable, so that the page can turn dark.
type ink struct {
	name  string
	light color.RGBA
}

// The colours of charts. They must differ from each other and from black, which vgsvg
// does not write.
func inks() []ink {
	return []ink{inkText, inkAxis, inkGrid, inkMain, inkSecond, inkThird, inkFault, inkPaper}
}

var (
	inkText   = ink{"chart-text", color.RGBA{0x24, 0x2a, 0x33, 0xff}}
	inkAxis   = ink{"chart-axis", color.RGBA{0x7d, 0x86, 0x92, 0xff}}
	inkGrid   = ink{"chart-grid", color.RGBA{0xe3, 0xe6, 0xea, 0xff}}
	inkMain   = ink{"chart-main", color.RGBA{0x1f, 0x6f, 0xb8, 0xff}}
	inkSecond = ink{"chart-second", color.RGBA{0xb2, 0x6a, 0x00, 0xff}}
	inkThird  = ink{"chart-third", color.RGBA{0xa3, 0x3a, 0x6c, 0xff}}
	inkFault  = ink{"chart-fault", color.RGBA{0x7c, 0x5c, 0xc4, 0xff}}
	inkPaper  = ink{"chart-paper", color.RGBA{0xff, 0xff, 0xfe, 0xff}}
)

func (i ink) alpha(a uint8) color.Color {
	return color.NRGBA{i.light.R, i.light.G, i.light.B, a}
}

// series is one line of a chart: a value per window of time; NaN where there is none.
type series struct {
	name   string
	values []float64
	ink    ink
	dashes []vg.Length
	filled bool
}

// windows cuts the load into at most 60 equal windows of a round length, at least 0.1 s.
func windows(h *history.History) (length float64, n int) {
	total := max(h.Seconds(h.End), 0.1)
	length, _ = niceStep(max(total/60, 0.1))
	return length, int(math.Ceil(total / length))
}

// throughput charts the sales per second.
func throughput(h *history.History, fs []fault) ([]byte, error) {
	length, n := windows(h)
	sales := make([]float64, n)
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Op == history.Deduct && o.Sold && o.Return != history.Never {
			if w := int(h.Seconds(o.Return) / length); w >= 0 && w < n {
				sales[w] += 1 / length
			}
		}
	}
	return chart("sales per second", false, length, h.Seconds(h.End), fs,
		[]series{{"sales", sales, inkMain, nil, true}})
}

// latency charts how long the acquires took that succeeded: p50, p95 and the longest per
// window in which they returned.
func latency(h *history.History, fs []fault) ([]byte, error) {
	length, n := windows(h)
	took := make([][]float64, n)
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Op == history.Acquire && o.Outcome == history.OutcomeOK {
			if w := int(h.Seconds(o.Return) / length); w >= 0 && w < n {
				took[w] = append(took[w], max(float64(o.Return-o.Invoke)/1e6, 0.001))
			}
		}
	}
	at := func(q float64) []float64 {
		vs := make([]float64, n)
		for w := range vs {
			vs[w] = math.NaN()
			if k := len(took[w]); k > 0 {
				slices.Sort(took[w])
				vs[w] = took[w][min(k-1, int(math.Ceil(q*float64(k)))-1)]
			}
		}
		return vs
	}
	return chart("acquire, ms (log scale)", true, length, h.Seconds(h.End), fs, []series{
		{"longest", at(1), inkThird, []vg.Length{1.5, 3}, false},
		{"p95", at(0.95), inkSecond, []vg.Length{6, 3}, false},
		{"p50", at(0.5), inkMain, nil, false},
	})
}

// chart draws series over time with the faults as bands behind them.
func chart(yLabel string, logarithmic bool, length, end float64, fs []fault, ss []series) ([]byte, error) {
	p := plot.New()
	// A cache of its own: the charts must look the same whatever else uses gonum/plot.
	p.TextHandler = text.Plain{Fonts: font.NewCache(liberation.Collection())}
	style(p)
	p.BackgroundColor = inkPaper.light
	p.X.Label.Text, p.Y.Label.Text = "seconds since the load began", yLabel
	p.X.Min, p.X.Max = 0, max(end, length)
	p.X.Tick.Marker = secondTicks{}
	lo, hi := math.Inf(1), 0.0
	for _, s := range ss {
		for _, v := range s.values {
			if !math.IsNaN(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	if logarithmic {
		if hi == 0 { // nothing to show: an empty chart still has an axis
			lo, hi = 1, 100
		}
		lo = math.Pow(10, math.Floor(math.Log10(max(lo, 0.01))))
		p.Y.Min, p.Y.Max = lo, math.Pow(10, math.Ceil(math.Log10(max(hi, 100*lo)))+0.02)
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decadeTicks{}
	} else {
		p.Y.Min, p.Y.Max = 0, max(hi*1.18, 1)
		p.Y.Tick.Marker = countTicks{}
	}
	yMin, yMax := p.Y.Min, p.Y.Max

	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = inkGrid.light, inkGrid.light
	p.Add(grid)
	for i := range fs {
		if err := band(p, &fs[i], yMin, yMax); err != nil {
			return nil, err
		}
	}
	for _, s := range ss {
		if err := s.add(p, length, yMin); err != nil {
			return nil, err
		}
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, max(end, length), yMin, yMax // Add widens them

	c := vgsvg.New(chartWidth, chartHeight)
	p.Draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("write the chart of %s: %w", yLabel, err)
	}
	return themed(b.Bytes(), yLabel), nil
}

// style sets fonts and colours of everything that is not data.
func style(p *plot.Plot) {
	sans := func(s *text.Style, size vg.Length, c color.Color) {
		s.Font = font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
		s.Handler, s.Color = p.TextHandler, c
	}
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		sans(&a.Label.TextStyle, 10.5, inkText.light)
		sans(&a.Tick.Label, 10, inkText.light)
		a.LineStyle.Color, a.Tick.LineStyle.Color = inkAxis.light, inkAxis.light
		a.Padding = 0
	}
	sans(&p.Title.TextStyle, 10.5, inkText.light)
	sans(&p.Legend.TextStyle, 10, inkText.light)
	p.Legend.Top, p.Legend.YOffs, p.Legend.XOffs, p.Legend.ThumbnailWidth, p.Legend.Padding = true, -3, -4, 24, 2
}

// band draws a fault behind the data, with its short name at the top; the names of faults
// that overlap stand below each other.
func band(p *plot.Plot, f *fault, yMin, yMax float64) error {
	to := max(f.To, f.From+(p.X.Max-p.X.Min)/400)
	area, err := plotter.NewPolygon(plotter.XYs{{X: f.From, Y: yMin}, {X: to, Y: yMin}, {X: to, Y: yMax}, {X: f.From, Y: yMax}})
	if err != nil {
		return fmt.Errorf("chart fault %s: %w", f.Name, err)
	}
	area.Color, area.LineStyle.Width = inkFault.alpha(0x30), 0
	name, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: f.From, Y: yMax}}, Labels: []string{f.Name}})
	if err != nil {
		return fmt.Errorf("chart fault %s: %w", f.Name, err)
	}
	name.TextStyle[0] = p.X.Tick.Label
	name.TextStyle[0].Color = inkFault.light
	name.TextStyle[0].XAlign, name.TextStyle[0].YAlign = draw.XLeft, draw.YTop
	name.Offset = vg.Point{X: 2, Y: -2 - 11*vg.Length(f.Row)}
	p.Add(area, name)
	return nil
}

// add draws the series as steps, one per window; where there is no value, the line breaks.
func (s *series) add(p *plot.Plot, length, floor float64) error {
	var run plotter.XYs
	legend := false
	flush := func() error {
		if len(run) == 0 {
			return nil
		}
		line, err := plotter.NewLine(run)
		if err != nil {
			return fmt.Errorf("chart %s: %w", s.name, err)
		}
		line.LineStyle = draw.LineStyle{Color: s.ink.light, Width: 1.6, Dashes: s.dashes}
		if s.filled {
			area, err := plotter.NewPolygon(append(append(plotter.XYs{{X: run[0].X, Y: floor}}, run...),
				plotter.XY{X: run[len(run)-1].X, Y: floor}))
			if err != nil {
				return fmt.Errorf("chart %s: %w", s.name, err)
			}
			area.Color, area.LineStyle.Width = s.ink.alpha(0x38), 0
			p.Add(area)
		}
		p.Add(line)
		if !legend && !s.filled { // a single filled series is named by its axis
			p.Legend.Add(s.name, line)
			legend = true
		}
		run = nil
		return nil
	}
	for w, v := range s.values {
		if math.IsNaN(v) {
			if err := flush(); err != nil {
				return err
			}
			continue
		}
		from, to := float64(w)*length, min(float64(w+1)*length, p.X.Max)
		run = append(run, plotter.XY{X: from, Y: v}, plotter.XY{X: to, Y: v})
	}
	return flush()
}

// charts draws every chart of a test.
func charts(r *store.Result, h *history.History) ([]chartView, error) {
	fs := faults(r, h)
	var out []chartView
	for _, c := range []struct {
		file, title string
		draw        func(*history.History, []fault) ([]byte, error)
	}{
		{"throughput.svg", "Throughput", throughput},
		{"latency.svg", "How long an acquire takes (those that succeeded, by the time they returned)", latency},
	} {
		svg, err := c.draw(h, fs)
		if err != nil {
			return out, err
		}
		out = append(out, chartView{c.file, c.title, template.HTML(svg)}) // vgsvg escapes text
	}
	return out, nil
}
