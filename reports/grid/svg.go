package grid

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"picklock/harness/matrix"
	"picklock/reports/text"
)

// The measures of the picture, in its own units: it is drawn 900 wide.
const (
	svgWidth   = 900
	svgMargin  = 16
	svgRow     = 22
	svgChar    = 7  // of a letter of 12, on average and rather too wide
	svgNames   = 40 // letters of a row's name at most
	svgFaults  = 30 // of a fault's
	svgSlope   = 42 // degrees that a fault's name rises
	svgColumns = 20 // the least width of a column
)

// svgStyle draws the light picture, and the dark one where the reader prefers that. What
// it shows is text and symbols; the colours only repeat it.
const svgStyle = `
text { font: 12px system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif; fill: #1b2129; }
.paper { fill: #ffffff; } .title { font-size: 17px; font-weight: 700; } .topology { font-size: 14px; font-weight: 700; } .quiet { fill: #5b6572; }
.symbol { font-weight: 700; text-anchor: middle; } .rule { stroke: #dde1e6; } .empty { fill: #f3f5f8; }
.held { fill: #e3f3e8; } .t-held { fill: #1f7a45; } .weak { fill: #dbe9f9; } .t-weak { fill: #0b5cad; }
.vacuous, .unknown, .missed { fill: #fff1cf; stroke: #8a5a00; } .t-vacuous, .t-unknown, .t-missed { fill: #8a5a00; }
.error { fill: #fdf0f1; stroke: #c8102e; } .t-error { fill: #c8102e; } .bad { fill: #c8102e; } .t-bad { fill: #ffffff; }
@media (prefers-color-scheme: dark) {
text { fill: #e6eaef; } .paper { fill: #14181d; } .quiet { fill: #9aa5b1; } .rule { stroke: #333b45; } .empty { fill: #1b2027; }
.held { fill: #17301f; } .t-held { fill: #5fd08f; } .weak { fill: #15304c; } .t-weak { fill: #7cbcff; }
.vacuous, .unknown, .missed { fill: #2a2311; stroke: #f2c14e; } .t-vacuous, .t-unknown, .t-missed { fill: #f2c14e; }
.error { fill: #2c181c; stroke: #ff5d73; } .t-error { fill: #ff5d73; } .bad { fill: #ff5d73; } .t-bad { fill: #14181d; }
}
`

// SVG writes the matrix as a picture for a README: a grid for each topology and a legend,
// 900 wide. The texts in it are text; it needs nothing from outside.
func SVG(w io.Writer, m *matrix.Matrix, opts ...Option) error {
	m, _ = gather(m, opts)
	p := &picture{m: m}
	p.y = svgMargin + 18
	word, rest, _ := verdict(m)
	p.text(svgMargin, p.y, "title", "", text.Clip("picklock matrix "+m.Name+" · "+word+": "+rest, 76))
	if len(m.Cells) > 0 {
		p.y += 20
		p.text(svgMargin, p.y, "quiet", "", text.Clip(clock(m), 130))
	}
	all, longest := tables(m), 0
	for _, t := range all {
		for _, r := range t.Rows {
			longest = max(longest, min(svgNames, utf8.RuneCountInString(r.name())))
		}
	}
	for _, t := range all {
		p.table(t, svgMargin+float64(longest)*svgChar+8)
	}
	p.legend()
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f" viewBox="0 0 %d %.0f" role="img" aria-label="%s">`,
		svgWidth, p.y+svgMargin, svgWidth, p.y+svgMargin, escape("Matrix "+m.Name+". "+word+": "+rest+". "+m.String()))
	fmt.Fprintf(&out, "\n<style>%s</style>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n", svgStyle)
	out.Write(p.b.Bytes())
	out.WriteString("</svg>\n")
	if _, err := out.WriteTo(w); err != nil {
		return fmt.Errorf("write the matrix's picture: %w", err)
	}
	return nil
}

type picture struct {
	b bytes.Buffer
	m *matrix.Matrix
	y float64 // where the next thing goes
}

// text draws a line of foreign text; attributes is our own.
func (p *picture) text(x, y float64, class, attributes, s string) {
	if class != "" {
		attributes = fmt.Sprintf(` class="%s"`, class) + attributes
	}
	fmt.Fprintf(&p.b, "<text x=\"%.1f\" y=\"%.1f\"%s>%s</text>\n", x, y, attributes, escape(s))
}

// table draws the grid of a topology, in as many pieces as its columns need. The first
// column begins at left.
func (p *picture) table(t table, left float64) {
	faults, rise := make([]string, len(t.Faults)), 0
	for i, f := range t.Faults {
		faults[i] = text.Clip(f, svgFaults)
		rise = max(rise, utf8.RuneCountInString(faults[i]))
	}
	sin, cos := math.Sincos(svgSlope * math.Pi / 180)
	room := svgWidth - svgMargin - left - float64(rise)*svgChar*cos // a name leans to the right
	most := max(1, int(room/svgColumns))
	if n := len(faults); n > most { // pieces of the same size
		pieces := (n + most - 1) / most
		most = (n + pieces - 1) / pieces
	}
	column := math.Min(46, room/float64(min(most, max(1, len(faults)))))
	title := t.Topology
	for from := 0; from < len(faults); from += most {
		to := min(len(faults), from+most)
		p.y += 30
		p.text(svgMargin, p.y, "topology", "", text.Clip(title, 100))
		p.y += float64(rise)*svgChar*sin + 6
		for i := from; i < to; i++ {
			x := left + (float64(i-from)+0.5)*column - 2
			p.text(x, p.y, "", fmt.Sprintf(` transform="rotate(-%d %.1f %.1f)"`, svgSlope, x, p.y), faults[i])
		}
		p.y += 6
		for _, r := range t.Rows {
			p.row(text.Clip(r.name(), svgNames), r.Cells[from:to], left, column)
		}
		title = t.Topology + ", more faults"
	}
}

func (p *picture) row(name string, cells []*matrix.Result, left, column float64) {
	any := false
	for _, c := range cells {
		any = any || c != nil
	}
	if !any {
		return
	}
	p.text(svgMargin, p.y+15, "", "", name)
	for i, c := range cells {
		x := left + float64(i)*column
		if c == nil {
			fmt.Fprintf(&p.b, "<rect class=\"empty\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"3\"/>\n", x, p.y+0.5, column-3, svgRow-3)
			continue
		}
		p.cell(cellMark(c), x, p.y+0.5, column-3)
	}
	p.y += svgRow
}

func (p *picture) cell(k mark, x, y, width float64) {
	fmt.Fprintf(&p.b, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"3\"/>\n", k.Class, x, y, width, svgRow-3)
	p.text(x+width/2, y+14, "symbol t-"+k.Class, "", k.Symbol)
}

// legend explains the marks that are in the picture.
func (p *picture) legend() {
	n := map[string]int{}
	for i := range p.m.Cells {
		n[cellMark(&p.m.Cells[i]).Class]++
	}
	x := float64(svgMargin)
	p.y += 16
	for _, k := range marks() {
		if n[k.Class] == 0 {
			continue
		}
		s := fmt.Sprintf("%s (%d)", k.Word, n[k.Class])
		wide := 34 + float64(len(s))*svgChar + 14
		if x+wide > svgWidth {
			x, p.y = svgMargin, p.y+svgRow+2
		}
		p.cell(k, x, p.y, 26)
		p.text(x+34, p.y+14, "", "", s)
		x += wide
	}
	p.y += svgRow
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes everything
	return b.String()
}
