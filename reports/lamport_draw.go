package reports

import (
	"fmt"
	"strings"

	"picklock/nemesis/wire/record"
)

// draw writes the diagram as SVG without scripts. What lies behind comes first.
func (l *lamport) draw() string {
	l.lanes()
	l.cuts()
	for i := range l.bars {
		l.bar(&l.bars[i])
	}
	for _, e := range l.events {
		l.moment(&e)
	}
	long := 0
	for i := range l.chosen {
		if m := &l.chosen[i]; m.outY-m.y > longArrow {
			long++
		}
	}
	l.crowded = long > 2
	for i := range l.chosen {
		l.arrow(&l.chosen[i])
	}
	l.labels()
	var out strings.Builder
	fmt.Fprintf(&out, `<svg class="lamport" viewBox="0 0 %.0f %.0f" role="img" xmlns="http://www.w3.org/2000/svg">`, lamWidth, l.bottom+8)
	fmt.Fprintf(&out, `<title>Messages on the wire between %.3f s and %.3f s</title>`, l.h.Seconds(l.from), l.h.Seconds(l.to))
	fmt.Fprintf(&out, `<defs><pattern id="%s" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">`+
		`<rect class="overstay-back" width="7" height="7"/><rect class="overstay-line" width="3" height="7"/></pattern>`+
		`<marker id="%s-tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">`+
		`<path class="tip-mark" d="M0 0L8 4L0 8z"/></marker></defs>`, l.id, l.id)
	out.WriteString(l.svg.String())
	out.WriteString(`</svg>`)
	return out.String()
}

// add writes an element with a tooltip; classes and tags are ours, the tip is not.
func (l *lamport) add(tip, element string, args ...any) {
	element = fmt.Sprintf(element, args...)
	if tip == "" {
		l.svg.WriteString(element + "/>")
		return
	}
	tag, _, _ := strings.Cut(element[1:], " ")
	fmt.Fprintf(&l.svg, `%s><title>%s</title></%s>`, element, svgText(tip), tag)
}

// text writes a label of at most so many units; what was cut off is in its tooltip.
func (l *lamport) text(class string, x, y float64, anchor, s, tip string, width float64) {
	if r, most := []rune(s), int(width/lamChar); len(r) > most {
		tip = strings.TrimSpace(s + "\n" + tip)
		s = string(r[:max(0, most-1)]) + "…"
	}
	if tip != "" {
		tip = "<title>" + svgText(tip) + "</title>"
	}
	fmt.Fprintf(&l.svg, `<text class="%s" x="%.1f" y="%.1f" text-anchor="%s">%s%s</text>`, class, x, y, anchor, tip, svgText(s))
}

// lanes draws a line for each client and each node, with its name above: in two rows by
// turns, where the names are wider than the lanes are apart.
func (l *lamport) lanes() {
	for _, side := range [][]lamportLane{l.clients, l.nodes} {
		longest, apart := 0, 0.0
		for i, lane := range side {
			longest = max(longest, len([]rune(lane.name())))
			if i > 0 {
				apart = lane.x - side[i-1].x
			}
		}
		turns := len(side) > 1 && float64(longest)*lamBold > apart-8
		for i, lane := range side {
			class, y, top, width := "lane-name", 16.0, 24.0, 104.0
			if lane.client >= 0 {
				width = 78
			}
			if lane.core {
				class += " involved"
			}
			if turns {
				y, top, width = 11, 16, 2*apart-8
				if i%2 == 1 {
					y, top = 26, 31
				}
			}
			l.text(class, lane.x, y, "middle", lane.name(), "", width*lamChar/lamBold)
			l.add("", `<line class="lane" x1="%.1f" x2="%.1f" y1="%.0f" y2="%.1f"`, lane.x, lane.x, top, l.bottom)
		}
	}
}

// cuts hides the lanes where time is cut out, and says how much of it.
func (l *lamport) cuts() {
	before := lamTop
	for _, e := range l.events {
		if e.cut > 0 {
			y := before + 9
			l.add("", `<rect class="cut" x="0" y="%.1f" width="%.0f" height="%.0f"`, y, lamWidth, lamBreak-10)
			l.add("", `<line class="cut-line" x1="0" x2="%.0f" y1="%.1f" y2="%.1f"`, lamWidth, y, y)
			l.add("", `<line class="cut-line" x1="0" x2="%.0f" y1="%.1f" y2="%.1f"`, lamWidth, y+lamBreak-10, y+lamBreak-10)
			l.text("cut-text", lamAxis-6, y+14, "end", spanWords(e.cut)+" later", "", lamAxis)
		}
		before = e.y
	}
}

func (l *lamport) bar(b *bar) {
	x := &l.d.Holds[b.hold]
	tip := holdTip(l.h, x)
	end := b.y2
	if b.leaseY > 0 {
		end = b.leaseY
	}
	if x.Lease > x.From || b.leaseY > 0 {
		if x.Lease > l.from || b.leaseY > 0 {
			l.add(tip, `<rect class="hold" x="%.1f" y="%.1f" width="9" height="%.1f"`, b.x-4.5, b.y1, max(2, end-b.y1))
		} else {
			end = b.y1 // its lease was over before the diagram begins
		}
	} else {
		end = b.y1
	}
	if b.y2 > end {
		l.add(tip, `<rect class="over" style="fill:url(#%s)" x="%.1f" y="%.1f" width="9" height="%.1f"`, l.id, b.x-4.5, end, b.y2-end)
	}
	if !b.below {
		l.add(tip, `<line class="hold-end" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"`, b.x-8, b.x+8, b.y2, b.y2)
	}
}

// moment marks what is neither a message nor a hold's end.
func (l *lamport) moment(e *event) {
	switch e.kind {
	case evBreach, evRepaired:
		l.add("", `<line class="breach-line" x1="%.1f" x2="%.0f" y1="%.1f" y2="%.1f"`, lamAxis, lamWidth, e.y, e.y)
	case evFault, evHealed:
		x := e.lane
		if x == 0 {
			x = lamAxis + 8
		}
		l.add("", `<line class="fault-line" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"`, min(x, l.near), max(x, l.near), e.y, e.y)
		l.add(e.tip, `<path class="fault-mark" d="M%.1f %.1fl6 6l-6 6l-6 -6z"`, x, e.y-6)
	case evGranted, evLease, evEnded:
		if e.label != "" {
			l.add("", `<line class="leader" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"`, e.lane+6, l.near, e.y, e.y)
		}
	}
}

// longArrow is from where an arrow crosses so much that several of them must not stand out.
const longArrow = 160

// arrow draws a message: level to the labels, across them in its time, and level to where
// it went.
func (l *lamport) arrow(m *message) {
	from, to := l.clientX(m.Client), l.nodeX(m.Node)
	near, far := l.near, l.far
	if m.Side != record.Request {
		from, to, near, far = to, from, far, near
	}
	class := "message"
	if m.Fate != record.Passed {
		class += " met"
	}
	if m.outY-m.y > longArrow && l.crowded {
		class += " long"
	}
	tip := l.tip(m)
	if m.Name == "" && (m.Fate == record.Refused || m.Fate == record.Reset) { // no message, but the end of a connection
		l.add(tip, `<path class="message met" d="M%.1f %.1fL%.1f %.1f"`, from, m.y, far, m.y)
		l.cross(far, m.y, tip)
		return
	}
	if m.outY == 0 {
		x := near + (far-near)*0.92
		l.add(tip, `<path class="%s" d="M%.1f %.1fL%.1f %.1f"`, class, from, m.y, x, m.y)
		switch {
		case m.Out == 0:
			l.cross(x, m.y, tip)
		default: // it went on after the diagram's end
			l.add(tip, `<path class="%s" marker-end="url(#%s-tip)" d="M%.1f %.1fL%.1f %.1f"`, class, l.id, x, m.y, x, l.bottom)
		}
		return
	}
	l.add(tip, `<path class="%s" marker-end="url(#%s-tip)" d="M%.1f %.1fL%.1f %.1fL%.1f %.1fL%.1f %.1f"`, class, l.id,
		from, m.y, near, m.y, far, m.outY, to, m.outY)
	l.add("", `<circle class="message-start" cx="%.1f" cy="%.1f" r="2.5"`, from, m.y)
}

func (l *lamport) cross(x, y float64, tip string) {
	l.add(tip, `<path class="lost-mark" d="M%.1f %.1fl11 11m0 -11l-11 11"`, x-5.5, y-5.5)
}

// labels writes the times and the words of all moments, each in its row.
func (l *lamport) labels() {
	var base int64 // the time that is told in full
	for _, e := range l.events {
		if e.cut > 0 {
			base = 0
		}
		if e.label == "" {
			continue
		}
		if base == 0 || e.at-base >= 1e9 {
			base = e.at
			l.text("time full", lamAxis-6, e.y+4, "end", fmt.Sprintf("%.4f s", l.h.Seconds(e.at)), "", lamAxis)
		} else {
			l.text("time", lamAxis-6, e.y+4, "end", "+ "+offsetWords(e.at-base), fmt.Sprintf("%.6f s", l.h.Seconds(e.at)), lamAxis)
		}
		class, x, anchor := "label", l.near+8, "start"
		switch e.kind {
		case evCame:
			if m := &l.chosen[e.index]; m.Side != record.Request {
				x, anchor = l.far-8, "end"
			}
			if l.chosen[e.index].Fate != record.Passed {
				class += " met"
			}
		case evBreach, evRepaired:
			class += " breach"
		case evFault, evHealed:
			class += " fault"
		default:
			class += " quiet"
		}
		l.text(class, x, e.y-4, anchor, e.label, e.tip, l.far-l.near-16)
	}
}

// offsetWords are a time since another one, as it is counted along the axis.
func offsetWords(ns int64) string {
	if ns < 10e6 {
		return fmt.Sprintf("%.2f ms", float64(ns)/1e6)
	}
	return fmt.Sprintf("%.1f ms", float64(ns)/1e6)
}
