package changes

import (
	"fmt"
	"io"
	"strings"

	"picklock/harness/compare"
	"picklock/harness/matrix"
)

// How large the pictures of a row are, in pixels: a square for each night, and the line of
// its sales per second above them in the same columns.
const (
	square = 10
	pitch  = 12
	high   = 28
)

const trendPage = `<header>
<h1>{{.Name}}</h1>
<p>{{.Span}}</p>
<p class="muted">{{.Legend}} Lines: sales per second, from 0 to the cell's largest.</p>
</header>
<section>
<table>
<thead><tr><th>cell</th><th>nights</th><th>last</th></tr></thead>
<tbody>
{{range .Rows}}<tr><td>{{.Name}}{{range .First}}<br/><span class="muted">✗ {{.}}</span>{{end}}</td><td>{{if .Width}}<svg width="{{.Width}}" height="{{.Height}}" viewBox="0 0 {{.Width}} {{.Height}}" role="img" aria-label="{{.Alt}}">
{{range .Lines}}<polyline points="{{.}}"/>{{end}}{{range .Dots}}<circle cx="{{.X}}" cy="{{.Y}}" r="1.6"><title>{{.Title}}</title></circle>{{end}}
{{range .Squares}}<rect class="{{.Class}}" x="{{.X}}" y="{{.Y}}" width="{{.Size}}" height="{{.Size}}" rx="2"><title>{{.Title}}</title></rect>{{end}}
</svg>{{end}}</td><td class="n">{{.Last}}</td></tr>
{{end}}</tbody>
</table>
</section>
`

// trendRow is a row of the page.
type trendRow struct {
	Name, Alt, Last string
	First           []string
	Width, Height   int
	Lines           []string // of points that follow each other without a gap
	Dots, Squares   []mark
}

// mark is a dot or a square.
type mark struct {
	X, Y  string
	Size  int
	Class string
	Title string
}

// TrendHTML writes a trend as one page that needs no other file and runs no script.
func TrendHTML(w io.Writer, t *compare.Trend) error {
	var rows []trendRow
	if len(t.Nights) > 0 {
		r := trendRow{Name: "all cells together", Alt: "speed of the machine over the nights"}
		r.draw(t, speeds(t), " times the usual")
		rows = append(rows, r)
	}
	for i := range t.Cells {
		c := &t.Cells[i]
		r := trendRow{Name: plain(c.Cell), Alt: "nights, oldest first: " + letters(c), Last: newest(sales(c))}
		r.draw(t, sales(c), " sales per second")
		r.squares(t, c)
		for n := range c.First {
			r.First = append(r.First, plain(first(&c.First[n])))
		}
		rows = append(rows, r)
	}
	return fill(w, "trend", trendPage, map[string]any{
		"Title": plain(t.Name) + ": trend", "Name": plain(t.Name), "Span": span(t), "Rows": rows,
		"Legend": "Squares: green as expected, red unexpected violation, violet expected and not reproduced, amber unknown, vacuous or error, hollow no such cell.",
	})
}

// draw draws a sparkline.
func (r *trendRow) draw(t *compare.Trend, values []float64, unit string) {
	r.Width, r.Height = len(values)*pitch, high
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	var line []string
	end := func() {
		if len(line) > 1 {
			r.Lines = append(r.Lines, strings.Join(line, " "))
		}
		line = nil
	}
	for i, v := range values {
		if v <= 0 {
			end()
			continue
		}
		x, y := fmt.Sprintf("%.1f", float64(i)*pitch+square/2), fmt.Sprintf("%.1f", high-2-v/top*(high-4))
		line = append(line, x+","+y)
		r.Dots = append(r.Dots, mark{X: x, Y: y, Title: fmt.Sprintf("%s: %.3g%s", moment(t.Nights[i].Started), v, unit)})
	}
	end()
}

// squares draws the outcomes below the line.
func (r *trendRow) squares(t *compare.Trend, c *compare.Row) {
	for i, p := range c.Nights {
		word := string(p.Outcome)
		if word == "" {
			word = "no such cell"
		}
		r.Squares = append(r.Squares, mark{
			X: fmt.Sprint(i * pitch), Y: fmt.Sprint(high + 2), Size: square, Class: class(p.Outcome), Title: plain(moment(t.Nights[i].Started) + ": " + word),
		})
	}
	r.Height = high + square + 4
}

func class(o matrix.Outcome) string {
	switch o {
	case matrix.AsExpected:
		return "n-expected"
	case matrix.UnexpectedViolation:
		return "n-violation"
	case matrix.NotReproduced:
		return "n-missed"
	case "":
		return "n-absent"
	}
	return "n-other"
}
