package reports

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"

	"picklock/harness/history"
	"picklock/models"
)

// Sizes of the still picture, in its own units, which are pixels at full width.
const (
	picWidth  = 1180.0
	picLeft   = 138.0 // lane names
	picRight  = 18.0
	rowHeight = 22.0 // a row of labels above the lanes
	laneLow   = 24.0 // a lane that has nothing to do with the violation
	laneHigh  = 58.0 // one that has: room for step numbers above and words below the bar
	maxLanes  = 12
	charWidth = 6.7 // of the 12 px text, on the wide side
)

// still draws one violation and what surrounds it, as SVG without scripts: what a reader
// without JavaScript, a mail program or a screenshot gets to see. The numbers in circles
// are the steps of its story. The id must be unique in the page.
func still(id string, v models.Violation, h *history.History, d *derived, fs []fault, ttl int64) string {
	p := &picture{id: id, h: h, d: d, v: v, w: window(v, h, d, ttl), held: involvedHolds(v, h, d), ops: map[int]bool{}}
	for _, id := range v.Operations {
		if i, ok := d.Index.Get(id); ok {
			p.ops[i] = true
		}
	}
	p.chooseLanes()
	p.top = 4 + rowHeight
	shown := 0
	for i := range fs {
		if p.faultRow(&fs[i], shown) {
			shown++
		}
	}
	p.top += float64(shown) * rowHeight
	labels := p.svg.String() // before the band of the violation
	p.svg.Reset()
	y := p.top
	for i := range p.lanes {
		p.lanes[i].y = y
		y += p.lanes[i].height
	}
	p.chooseRoles()
	for i := range p.roles {
		p.roles[i].y = y
		y += laneLow
	}
	p.bottom = y + laneLow // the ledger's lane
	p.background(fs)
	p.svg.WriteString(labels)
	for i := range p.lanes {
		p.lane(&p.lanes[i])
	}
	p.roleLanes()
	p.ledger()
	p.steps()
	p.axis()

	var out strings.Builder
	fmt.Fprintf(&out, `<svg class="still" viewBox="0 0 %.0f %.0f" role="img" xmlns="http://www.w3.org/2000/svg">`,
		picWidth, p.bottom+30)
	fmt.Fprintf(&out, `<title>What happened between %.3f s and %.3f s</title>`, h.Seconds(p.w.From), h.Seconds(p.w.To))
	fmt.Fprintf(&out, `<defs><pattern id="%s" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">`+
		`<rect class="overstay-back" width="7" height="7"/><rect class="overstay-line" width="3" height="7"/></pattern></defs>`, id)
	out.WriteString(p.svg.String())
	out.WriteString(`</svg>`)
	return out.String()
}

type picture struct {
	id     string // of the hatching
	h      *history.History
	d      *derived
	v      models.Violation
	w      span
	held   []bool       // by hold: it has to do with the violation
	ops    map[int]bool // operations that the violation names
	lanes  []picLane
	roles  []roleLane
	hidden int // lanes that did not fit
	top    float64
	bottom float64
	svg    strings.Builder
}

type picLane struct {
	index     int // in derived.Lanes
	involved  bool
	y, height float64
	words     [][2]float64 // x spans of the words below the bar
}

func (p *picture) x(t int64) float64 {
	t = min(max(t, p.w.From), p.w.To)
	return picLeft + float64(t-p.w.From)/float64(max(1, p.w.To-p.w.From))*(picWidth-picLeft-picRight)
}

func (p *picture) seen(from, to int64) bool { return to >= p.w.From && from <= p.w.To }

// add writes one SVG element with a tooltip; classes and tags are ours, the tip is not.
func (p *picture) add(element, tip string) {
	tag, _, _ := strings.Cut(element[1:], " ")
	if tip == "" {
		p.svg.WriteString(element + "/>")
		return
	}
	fmt.Fprintf(&p.svg, `%s><title>%s</title></%s>`, element, svgText(tip), tag)
}

// svgText escapes foreign text, line by line: control characters are no XML.
func svgText(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = html.EscapeString(plain(lines[i]))
	}
	return strings.Join(lines, "\n")
}

func (p *picture) text(class string, x, y float64, anchor, s string) {
	fmt.Fprintf(&p.svg, `<text class="%s" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, class, x, y, anchor, svgText(s))
}

// chooseLanes takes the lanes that the violation is about, and as many others that held
// a lock in the window as fit.
func (p *picture) chooseLanes() {
	involved, busy := map[int]bool{}, map[int]int{}
	for i := range p.ops {
		involved[int(p.d.LaneOf[i])] = true
	}
	for i, x := range p.d.Holds {
		if p.held[i] {
			involved[x.Lane] = true
		}
		if p.seen(x.From, x.Remains) {
			busy[x.Lane]++
		}
	}
	all := make([]int, len(p.d.Lanes))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int {
		if involved[a] != involved[b] {
			if involved[a] {
				return -1
			}
			return 1
		}
		return cmp.Compare(busy[b], busy[a])
	})
	if len(all) > maxLanes {
		p.hidden = len(all) - maxLanes
		all = all[:maxLanes]
	}
	slices.Sort(all)
	for _, i := range all {
		l := picLane{index: i, involved: involved[i], height: laneLow}
		if l.involved {
			l.height = laneHigh
		}
		p.lanes = append(p.lanes, l)
	}
}

// faultRow writes the fault's name above the lanes, in the n-th row; false: it is not
// in the window.
func (p *picture) faultRow(f *fault, n int) bool {
	from, to := p.ns(f.From), p.ns(f.To)
	if !p.seen(from, to) {
		return false
	}
	y := p.top + float64(n)*rowHeight
	x1, x2 := p.x(from), max(p.x(to), p.x(from)+2)
	p.add(fmt.Sprintf(`<rect class="fault-label" x="%.1f" y="%.1f" width="%.1f" height="17" rx="3"`, x1, y, x2-x1), f.title()+"\n"+f.Proof)
	p.label("fault-text", f.title(), x1, x2, y+13)
	return true
}

// label writes s into the bar from x1 to x2, or beside it where it does not fit.
func (p *picture) label(class, s string, x1, x2, y float64) {
	width := float64(len([]rune(s))) * charWidth
	switch {
	case width+12 <= x2-x1:
		p.text(class+" inside", (x1+x2)/2, y, "middle", s)
	case x2+6+width <= picWidth:
		p.text(class, x2+6, y, "start", s)
	case x1-6-width >= picLeft:
		p.text(class, x1-6, y, "end", s)
	default: // as much of it as there is room for
		room := int((picWidth - x1 - 12) / charWidth)
		p.text(class+" inside", x1+6, y, "start", string([]rune(s)[:max(0, min(room, len([]rune(s))))]))
	}
}

func (p *picture) background(fs []fault) {
	for i := range fs {
		f := &fs[i]
		from, to := p.ns(f.From), p.ns(f.To)
		if !p.seen(from, to) {
			continue
		}
		x1, x2 := p.x(from), max(p.x(to), p.x(from)+2)
		p.add(fmt.Sprintf(`<rect class="fault-weak" x="%.1f" y="%.1f" width="%.1f" height="%.1f"`, x1, p.top, x2-x1, p.bottom-p.top), "")
		for _, l := range p.lanes {
			if f.Client == p.d.Lanes[l.index].Client || f.Client < 0 && f.Node == "" {
				p.add(fmt.Sprintf(`<rect class="fault-strong" x="%.1f" y="%.1f" width="%.1f" height="%.1f"`, x1, l.y+1, x2-x1, l.height-2), f.title()+"\n"+f.Proof)
			}
		}
		for _, l := range p.roles {
			if f.Node == l.node {
				p.add(fmt.Sprintf(`<rect class="fault-strong" x="%.1f" y="%.1f" width="%.1f" height="%.1f"`, x1, l.y+1, x2-x1, laneLow-2), f.title()+"\n"+f.Proof)
			}
		}
	}
	p.violation()
	for _, l := range p.lanes {
		p.add(fmt.Sprintf(`<line class="rule" x1="0" x2="%.0f" y1="%.1f" y2="%.1f"`, picWidth, l.y, l.y), "")
		class := "lane-name"
		if l.involved {
			class += " involved"
		}
		at := p.d.Lanes[l.index]
		p.text(class, 2, l.y+l.height/2+4, "start", fmt.Sprintf("client %d worker %d", at.Client, at.Worker))
	}
}

// violation draws the time that it took.
func (p *picture) violation() {
	from, to := p.ns(p.v.StartS), p.ns(p.v.EndS)
	x1, x2 := p.x(from), max(p.x(to), p.x(from)+2)
	p.add(fmt.Sprintf(`<rect class="breach-band" x="%.1f" y="%.1f" width="%.1f" height="%.1f"`, x1, 4.0, x2-x1, p.bottom-4), "")
	p.add(fmt.Sprintf(`<line class="breach-line" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"`, x1, x1, p.top, p.bottom), "")
	words := fmt.Sprintf("violation at %.3f s", p.v.StartS)
	if p.v.EndS-p.v.StartS >= 0.0005 {
		words = fmt.Sprintf("violation: %.3f s to %.3f s", p.v.StartS, p.v.EndS)
	}
	p.label("breach-text", words, x1, x2, 18)
}

func (p *picture) ledger() {
	y := p.bottom - laneLow
	p.add(fmt.Sprintf(`<line class="rule" x1="0" x2="%.0f" y1="%.1f" y2="%.1f"`, picWidth, y, y), "")
	p.text("lane-name", 2, y+laneLow/2+4, "start", "writes to stock")
	last := -1.0
	var ticks strings.Builder
	for _, e := range p.h.Ledger {
		i, ok := p.d.Index.Get(e.Op)
		if !ok || !p.seen(p.d.Ends[i], p.d.Ends[i]) {
			continue
		}
		x, class, tip := p.x(p.d.Ends[i]), "write", fmt.Sprintf("operation %d: stock %d → %d", e.Op, e.Found, e.Left)
		if e.Basis != nil && *e.Basis != e.Found {
			class = "write lost"
			tip += fmt.Sprintf(", computed from %d: an update is lost", *e.Basis)
		} else if x < last+1 {
			continue
		} else if x < last+thin {
			fmt.Fprintf(&ticks, "M%.1f %.1fv%.1f", x, y+4, laneLow-8)
			last = x
			continue
		}
		last = x
		p.add(fmt.Sprintf(`<line class="%s" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"`, class, x, x, y+4, y+laneLow-4), tip)
	}
	p.path("write", ticks.String())
}

func (p *picture) ns(seconds float64) int64 { return p.h.Start + int64(seconds*1e9) }

func (p *picture) axis() {
	y := p.bottom
	p.add(fmt.Sprintf(`<line class="axis" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"`, picLeft, picWidth-picRight, y, y), "")
	from, to := p.h.Seconds(p.w.From), p.h.Seconds(p.w.To)
	step, decimals := niceStep((to - from) / 9)
	for n := int(from/step) + 1; float64(n)*step <= to; n++ {
		x := p.x(p.ns(float64(n) * step))
		p.add(fmt.Sprintf(`<line class="axis" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"`, x, x, y, y+5), "")
		p.text("axis-text", x, y+18, "middle", strconv.FormatFloat(float64(n)*step, 'f', decimals, 64)+" s")
	}
	if p.hidden > 0 {
		p.text("axis-text", 2, y+18, "start", fmt.Sprintf("+ %d more", p.hidden))
	}
}

// holdTip says in words what a bar shows.
func holdTip(h *history.History, x *hold) string {
	o := &h.Operations[x.Acquire]
	s := fmt.Sprintf("client %d worker %d holds %q from %.3f s", o.Client, o.Worker, clip(o.Object), h.Seconds(x.From))
	switch x.Ending {
	case endReleased:
		s += fmt.Sprintf(" until its release at %.3f s", h.Seconds(x.To))
	case endDied:
		s += fmt.Sprintf(" until it dies at %.3f s", h.Seconds(x.To))
	case endLost:
		s += fmt.Sprintf(" until it gives the lock up at %.3f s", h.Seconds(x.To))
	default:
		s += " to the end of the record"
	}
	switch {
	case x.Lease == history.Never:
		s += "; the lock has no expiry"
	case x.Lease <= x.From:
		s += "; nothing was granted"
	default:
		s += fmt.Sprintf("; its lease ends at %.3f s", h.Seconds(x.Lease))
	}
	return s + fmt.Sprintf(" (operation %d)", o.ID)
}
