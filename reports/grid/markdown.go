package grid

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"picklock/harness/matrix"
	"picklock/reports/text"
)

// GitHub refuses a summary of more than a megabyte. These bound how many cells and changes
// are listed, how many bytes the details of cells may take, and the steps of a story.
const (
	maxTold    = 100
	maxDetails = 500_000
	maxSteps   = 20
	maxStep    = 500
)

// Markdown writes the matrix for the summary of a CI job (GITHUB_STEP_SUMMARY): the
// verdict, what is not as expected with its details folded, what changed, and the grids,
// folded too where all is as expected. It is GitHub's Markdown with a little HTML.
func Markdown(w io.Writer, m *matrix.Matrix, opts ...Option) error {
	m, o := gather(m, opts)
	d := &markdown{w: new(bytes.Buffer), m: m, o: o}
	word, rest, _ := verdict(m)
	d.line("## %s: %s", word, esc(rest))
	d.line("")
	if s := missing(m); s != "" {
		d.line("> %s", esc(s))
		d.line("")
	}
	if len(m.Cells) > 0 {
		d.line("Matrix %s: %s; %s.", code(m.Name), esc(m.String()), esc(clock(m)))
		d.line("")
	}
	if d.o.artifacts != "" {
		d.line("[The stored tests, with their reports](<%s>)", link(d.o.artifacts))
		d.line("")
	}
	d.unmet()
	d.changes()
	d.grids()
	if _, err := d.w.WriteTo(w); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

type markdown struct {
	w *bytes.Buffer
	m *matrix.Matrix
	o *options
}

func (d *markdown) line(format string, args ...any) { fmt.Fprintf(d.w, format+"\n", args...) }

func (d *markdown) unmet() {
	cells := unmet(d.m)
	if len(cells) == 0 {
		return
	}
	d.line("### Not as expected")
	d.line("")
	d.line("| | cell | runs | why |")
	d.line("| :-: | --- | --- | --- |")
	told := cells[:min(maxTold, len(cells))]
	for _, c := range told {
		k := cellMark(c)
		d.line("| **%s** | %s | %s | %s |", k.Symbol, code(c.Cell.ID()), esc(counts(c)), esc(why(c)))
	}
	d.line("")
	if more := len(cells) - len(told); more > 0 {
		d.line("And %d more.", more)
		d.line("")
	}
	for i, c := range told {
		if d.w.Len() > maxDetails {
			d.line("The details of %s are in the JUnit file and in the matrix's page.", text.Plural(len(told)-i, "more cell", "more cells"))
			d.line("")
			break
		}
		d.details(c)
	}
}

// details tells a cell in full, folded.
func (d *markdown) details(c *matrix.Result) {
	k, r := cellMark(c), telling(c)
	d.line("<details><summary>%s %s: %s</summary>", k.Symbol, code(c.Cell.ID()), k.Word)
	d.line("")
	if c.Why != "" {
		d.line("- %s", esc(why(c)))
	}
	for _, s := range reasons(c) {
		d.line("- %s", esc(s))
	}
	if p, steps := story(c, r); len(steps) > 0 {
		d.line("")
		d.line("What happened in seed %d (%s):", r.Seed, esc(string(p)))
		d.line("")
		for i, s := range steps[:min(maxSteps, len(steps))] {
			d.line("%d. %s", i+1, esc(text.Clip(s, maxStep)))
		}
	}
	if r != nil && r.Rerun != "" {
		d.line("")
		d.line("Again: %s", code(r.Rerun))
	}
	if path := d.o.report(r); path != "" {
		d.line("")
		d.line("Report: %s", code(path))
	}
	d.line("")
	d.line("</details>")
	d.line("")
}

func (d *markdown) changes() {
	if !d.o.compared {
		return
	}
	d.line("### Changed against %s", esc(d.o.against))
	d.line("")
	if len(d.o.changes) == 0 {
		d.line("Nothing.")
		d.line("")
		return
	}
	d.line("| | what | cell | |")
	d.line("| :-: | --- | --- | --- |")
	told := d.o.changes[:min(maxTold, len(d.o.changes))]
	for _, c := range told {
		sign, _ := c.sign()
		if sign != "" {
			sign = "**" + sign + "**"
		}
		d.line("| %s | %s | %s | %s |", sign, esc(c.Kind), code(c.Cell), esc(c.Text))
	}
	d.line("")
	if more := len(d.o.changes) - len(told); more > 0 {
		d.line("And %d more.", more)
		d.line("")
	}
}

func (d *markdown) grids() {
	for _, t := range tables(d.m) {
		n, bad := 0, 0
		for _, r := range t.Rows {
			for _, c := range r.Cells {
				if c != nil {
					n++
					if c.Outcome != matrix.AsExpected {
						bad++
					}
				}
			}
		}
		open := ""
		if bad > 0 {
			open = " open"
		}
		d.line("<details%s><summary>%s: %s, %d not as expected</summary>", open, code(t.Topology), text.Plural(n, "cell", "cells"), bad)
		d.line("")
		d.w.WriteString("| |")
		for _, f := range t.Faults {
			d.w.WriteString(" " + esc(f) + " |")
		}
		d.line("")
		d.line("| --- |%s", strings.Repeat(" :-: |", len(t.Faults)))
		for _, r := range t.Rows {
			d.w.WriteString("| " + esc(r.name()) + " |")
			for _, c := range r.Cells {
				switch {
				case c == nil:
					d.w.WriteString(" |")
				case c.Outcome == matrix.AsExpected:
					d.w.WriteString(" " + cellMark(c).Symbol + " |")
				default:
					d.w.WriteString(" **" + cellMark(c).Symbol + "** |")
				}
			}
			d.line("")
		}
		d.line("")
		d.line("</details>")
		d.line("")
	}
	if len(d.m.Cells) > 0 {
		var all []string
		for _, k := range marks() {
			all = append(all, k.Symbol+" "+k.Word)
		}
		d.line("%s", strings.Join(all, " · "))
	}
}

// esc makes foreign text inert in Markdown: punctuation becomes entities, which neither
// begin an element of Markdown or HTML nor a table cell, a link or an image; an empty
// comment keeps @somebody and #1 from turning into links.
func esc(s string) string {
	var b strings.Builder
	for _, r := range text.Plain(s) {
		switch {
		case r == '@' || r == '#':
			fmt.Fprintf(&b, "&#%d;<!-- -->", r)
		case r == ',' || r == ';' || r == '%' || r == '(' || r == ')' || r == '/' || r == '=' || r == '-' || r == '\'' || r == '?':
			b.WriteRune(r)
		case r > ' ' && r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a' || r > 'z' && r < 0x7f:
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// code is foreign text in a fixed font.
func code(s string) string { return "<code>" + esc(s) + "</code>" }

// link makes an address fit to stand between < and >.
func link(s string) string {
	return strings.NewReplacer("<", "%3C", ">", "%3E", "\\", "%5C", " ", "%20", "`", "%60", "|", "%7C").Replace(text.Plain(s))
}
