package reports

import (
	"fmt"
	"slices"
	"strings"

	"picklock/harness/history"
)

// thin is the width below which bars and lines that nothing is to be said about share one
// path without a tooltip: thousands of elements would make the page heavy.
const thin = 3.0

// path adds a path, unless it is empty.
func (p *picture) path(class, d string) {
	if d != "" {
		p.add(fmt.Sprintf(`<path class="%s" d="%s"`, class, d), "")
	}
}

// halfBar is half the height of a lane's bars.
func halfBar(l *picLane) float64 {
	if l.involved {
		return 8
	}
	return 6
}

func (p *picture) lane(l *picLane) {
	mid := l.y + l.height/2
	last := -1.0
	var waits, bars strings.Builder
	for i := range p.h.Operations {
		o := &p.h.Operations[i]
		if int(p.d.LaneOf[i]) != l.index || o.Op != history.Acquire || !p.seen(o.Invoke, p.d.Ends[i]) {
			continue
		}
		x1, x2 := p.x(o.Invoke), p.x(p.d.Ends[i])
		if x2 < last+0.5 {
			continue
		}
		last = x2
		if x2-x1 < thin && o.Outcome != history.OutcomeInfo {
			fmt.Fprintf(&waits, "M%.1f %.1fH%.1f", x1, mid, max(x2, x1+0.5))
			continue
		}
		class := "wait"
		if o.Outcome == history.OutcomeInfo {
			class = "wait unknown"
		}
		p.add(fmt.Sprintf(`<line class="%s" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"`, class, x1, max(x2, x1+0.5), mid, mid),
			fmt.Sprintf("operation %d: acquire, %s", o.ID, o.Outcome))
	}
	p.path("wait", waits.String())
	for i := range p.d.Holds {
		x := &p.d.Holds[i]
		if x.Lane != l.index || !p.seen(x.From, x.Remains) {
			continue
		}
		if x1, x2 := p.x(x.From), p.x(x.To); x2-x1 < thin && !p.held[i] && x.vouched() == x.To && x.Remains == x.To && x.Depth == 0 {
			fmt.Fprintf(&bars, "M%.1f %.1fh%.1fv%.1fh-%.1fz", x1, mid-halfBar(l), max(x2-x1, 1.5), 2*halfBar(l), max(x2-x1, 1.5))
		} else {
			p.hold(l, i, mid)
		}
	}
	p.path("hold", bars.String())
	for _, i := range p.named() {
		if int(p.d.LaneOf[i]) == l.index {
			p.operation(l, i, mid)
		}
	}
}

// named are the operations that the violation names, in order.
func (p *picture) named() []int {
	is := make([]int, 0, len(p.ops))
	for i := range p.ops {
		is = append(is, i)
	}
	slices.Sort(is)
	return is
}

func (p *picture) hold(l *picLane, i int, mid float64) {
	x := &p.d.Holds[i]
	half := halfBar(l)
	if x.Depth > 0 {
		half = max(2, half-3*float64(x.Depth))
	}
	tip := holdTip(p.h, x)
	bar := func(class string, from, to int64) (x1, x2 float64) {
		x1, x2 = p.x(from), max(p.x(to), p.x(from)+1.5)
		p.add(fmt.Sprintf(`<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"`, class, x1, mid-half, x2-x1, 2*half), tip)
		return x1, x2
	}
	within := func(s string, x1, x2 float64) {
		if p.held[i] && x.Depth == 0 && float64(len(s))*charWidth+10 <= x2-x1 {
			p.text("bar-text", (x1+x2)/2, mid+4, "middle", s)
		}
	}
	if x.Remains > x.To {
		x1, x2 := bar("remains", x.To, x.Remains)
		within("its lease goes on", x1, x2)
	}
	if v := x.vouched(); v > x.From || x.To == x.From {
		x1, x2 := bar("hold", x.From, v)
		within("holds the lock", x1, x2)
	}
	if v := x.vouched(); v < x.To {
		x1, x2 := bar("overstay\" fill=\"url(#"+p.id+")", v, x.To)
		words := "lease over, still acts as owner"
		if x.Lease <= x.From {
			words = "entered without a grant"
		}
		if float64(len(words))*charWidth+10 > x2-x1 {
			words = "overstays"
		}
		if p.held[i] {
			p.backed(words, x1, x2, mid)
			p.below(l, v, fmt.Sprintf("lease ended %.3f s", p.h.Seconds(v)), v > x.From)
		}
	}
	if p.held[i] {
		x1, x2 := p.x(x.From), max(p.x(x.To), p.x(x.From)+1.5)
		p.add(fmt.Sprintf(`<rect class="breach-box" x="%.1f" y="%.1f" width="%.1f" height="%.1f"`, x1-1, mid-half-1, x2-x1+2, 2*half+2), tip)
	}
}

// backed writes on a hatched bar, where letters need a quiet ground.
func (p *picture) backed(s string, x1, x2, mid float64) {
	width := float64(len(s)) * charWidth
	if width+10 > x2-x1 {
		return
	}
	c := (x1 + x2) / 2
	p.add(fmt.Sprintf(`<rect class="overstay-quiet" x="%.1f" y="%.1f" width="%.1f" height="14" rx="2"`, c-width/2-2, mid-7, width+4), "")
	p.text("bar-text dark", c, mid+4, "middle", s)
}

// below writes words under the bar at time t, unless they would touch others.
func (p *picture) below(l *picLane, t int64, s string, wanted bool) {
	if !wanted || !l.involved || !p.seen(t, t) {
		return
	}
	half := float64(len(s))*charWidth/2 + 3
	c := min(max(p.x(t), picLeft+half), picWidth-half)
	for _, w := range l.words {
		if c-half < w[1] && c+half > w[0] {
			return
		}
	}
	l.words = append(l.words, [2]float64{c - half, c + half})
	p.text("note", c, l.y+l.height-7, "middle", s)
}

// operation marks a release, renewal or write that the violation names.
func (p *picture) operation(l *picLane, i int, mid float64) {
	o := &p.h.Operations[i]
	words := ""
	switch o.Op {
	case history.Release:
		words = "releases"
	case history.Extend:
		words = "renews"
	case history.Deduct:
		words = "writes the stock"
	default:
		return
	}
	t := o.Invoke
	if o.Op == history.Deduct {
		t = p.d.Ends[i]
	}
	if !p.seen(t, t) {
		return
	}
	x := p.x(t)
	p.add(fmt.Sprintf(`<path class="breach-mark" d="M%.1f %.1fl5 7l-5 7l-5 -7z"`, x, mid-7), fmt.Sprintf("operation %d: %s", o.ID, o.Op))
	p.below(l, t, fmt.Sprintf("%s %.3f s", words, p.h.Seconds(t)), true)
}
