package reports

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"picklock/harness/history"
)

// Bins of lengths: five to each power of ten, from 1 µs to some 30 years.
const (
	binsPerDecade = 5
	binDecades    = 15
	bins          = binsPerDecade * binDecades
)

// binEdges are the least ns of each bin, and the end of the last. What is shorter is
// counted in the first.
func binEdges() (edges [bins + 1]int64) {
	for i := range edges {
		edges[i] = int64(math.Round(1000 * math.Pow(10, float64(i)/binsPerDecade)))
	}
	return edges
}

// lengthCounts counts holds by their length. A lease is, as everywhere in the report, the
// part of a hold that the lock vouches for: of a hold that did not overstay, all of it.
type lengthCounts struct {
	within, overstayed, leases [bins]int
	n, over                    int   // holds; of these, that outlived their lease
	longest, longestOver       int64 // ns: hold, part of a hold after its lease
	expiring                   bool  // some lease has an end
}

// lengths charts how long holds and leases last.
func lengths(c *chartData) figure {
	l := c.lengthCounts()
	if l.n == 0 {
		return figure{says: "Nobody held a lock."}
	}
	edges, ttl := binEdges(), time.Duration(c.result.Test.TTL)
	first, last := l.shown(&edges, int64(ttl))
	s := newSheet(c.fonts, "length (log scale)", "number (log scale)")
	most := 0
	for i := first; i <= last; i++ {
		most = max(most, l.within[i], l.overstayed[i], l.leases[i])
	}
	s.spans(float64(edges[first])/1e6, float64(edges[last+1])/1e6, 0.6, math.Pow(10, math.Ceil(math.Log10(float64(max(most, 10)))))*1.05)
	s.X.Scale, s.X.Tick.Marker = plot.LogScale{}, lengthTicks{}
	s.Y.Scale, s.Y.Tick.Marker = plot.LogScale{}, decadeTicks{}
	s.Add(plotFunc(func(to draw.Canvas, p *plot.Plot) { l.draw(to, p, &edges, first, last) }))
	s.keys = []key{{"holds that ended within their lease", func(to draw.Canvas) { plainBar(to, to.Rectangle) }}}
	if l.over > 0 {
		s.keys = append(s.keys, key{"holds that outlived it", func(to draw.Canvas) { hatch(to, to.Rectangle, inkOverstay) }})
	}
	s.keys = append(s.keys, key{"leases", func(to draw.Canvas) {
		to.StrokeLine2(line(inkText, 1.6, dashed...), to.Min.X, to.Center().Y, to.Max.X, to.Center().Y)
	}})
	if l.expiring && ttl > 0 {
		s.tags = []tag{{at: float64(ttl) / 1e6, name: "TTL", more: ttl.String(), ink: inkText}}
		s.Add(plotFunc(func(to draw.Canvas, p *plot.Plot) {
			x := to.X(p.X.Norm(float64(ttl) / 1e6))
			to.StrokeLine2(line(inkText, 1.5), x, to.Min.Y, x, to.Max.Y)
		}))
	}
	return figure{"A histogram with logarithmic scales; holds that outlived their lease stand in bars of their own, which are hatched.", l.inWords(), s}
}

func (c *chartData) lengthCounts() *lengthCounts {
	l, edges := &lengthCounts{}, binEdges()
	var start [65]int // by number of bits: the first bin that such a length can be in
	for i := range start {
		for start[i] < bins-1 && bits.Len64(uint64(edges[start[i]+1])) < i {
			start[i]++
		}
	}
	bin := func(ns int64) int {
		b := start[bits.Len64(uint64(ns))]
		for b < bins-1 && ns >= edges[b+1] {
			b++
		}
		return b
	}
	for i := range c.d.Holds {
		x := &c.d.Holds[i]
		length := x.To - x.From
		if length <= 0 || x.Nested {
			continue // the client was granted the lock but went away, or had it already
		}
		lease := x.vouched() - x.From
		at := bin(length)
		l.n++
		l.longest = max(l.longest, length)
		l.expiring = l.expiring || x.Lease != history.Never && x.Lease > x.From
		if lease == length {
			l.within[at]++
			l.leases[at]++
			continue
		}
		l.over++
		l.longestOver = max(l.longestOver, length-lease)
		l.overstayed[at]++
		if lease > 0 {
			l.leases[bin(lease)]++
		}
	}
	return l
}

// shown gives the bins that hold something, one more on each side, and that of the TTL.
func (l *lengthCounts) shown(edges *[bins + 1]int64, ttl int64) (first, last int) {
	first, last = bins, 0
	for i := range bins {
		if l.within[i]+l.overstayed[i]+l.leases[i] > 0 || l.expiring && edges[i] <= ttl && ttl < edges[i+1] {
			first, last = min(first, i), i
		}
	}
	return max(0, first-1), min(bins-1, last+1)
}

func (l *lengthCounts) draw(to draw.Canvas, p *plot.Plot, edges *[bins + 1]int64, first, last int) {
	at := func(i int) vg.Length { return to.X(p.X.Norm(float64(edges[i]) / 1e6)) }
	up := func(n int) vg.Length { return to.Y(p.Y.Norm(max(float64(n), p.Y.Min))) }
	var outline []vg.Point
	flush := func() {
		if n := len(outline); n > 0 {
			outline = append(outline, vg.Point{X: outline[n-1].X, Y: to.Min.Y})
			to.StrokeLines(line(inkText, 1.6, dashed...), append([]vg.Point{{X: outline[0].X, Y: to.Min.Y}}, outline...))
		}
		outline = nil
	}
	for i := first; i <= last; i++ {
		a, b := at(i), at(i+1)
		middle := b - 1
		if l.overstayed[i] > 0 { // side by side: on a logarithmic scale nothing can be stacked
			middle = (a + b) / 2
			hatch(to, vg.Rectangle{Min: vg.Point{X: middle, Y: to.Min.Y}, Max: vg.Point{X: b - 1, Y: up(l.overstayed[i])}}, inkOverstay)
		}
		if l.within[i] > 0 {
			plainBar(to, vg.Rectangle{Min: vg.Point{X: a + 1, Y: to.Min.Y}, Max: vg.Point{X: middle, Y: up(l.within[i])}})
		}
		if l.leases[i] == 0 {
			flush()
			continue
		}
		outline = append(outline, vg.Point{X: a, Y: up(l.leases[i])}, vg.Point{X: b, Y: up(l.leases[i])})
	}
	flush()
}

func plainBar(c draw.Canvas, r vg.Rectangle) {
	fill(c, r, inkMain.alpha(0x58))
	frame(c, r, inkMain)
}

func (l *lengthCounts) inWords() string {
	says := fmt.Sprintf("%s, the longest of %s; ", plural(l.n, "hold", "holds"), inMS(float64(l.longest)/1e6))
	switch {
	case l.over == 1:
		return says + fmt.Sprintf("1 outlived its lease, by %s.", inMS(float64(l.longestOver)/1e6))
	case l.over > 0:
		return says + fmt.Sprintf("%d outlived their lease, at most by %s.", l.over, inMS(float64(l.longestOver)/1e6))
	case l.expiring:
		return says + "none outlived its lease."
	}
	return says + "their leases have no end."
}
