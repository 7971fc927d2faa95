package grid

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"picklock/harness/matrix"
	"picklock/reports/text"
)

// The narrowest that a text is made for, and the most that a row's name and a column's
// name may take of the width.
const (
	narrowest  = 60
	nameShare  = 38 // of 80
	faultWidth = 26
)

// Text writes the matrix for a person at a terminal, at most width columns wide (60 at
// least): a grid for each topology, every cell that is not as expected with its rates, why,
// and where its test is, then what changed and the verdict as the last lines. A path stands
// alone on its line and is never broken. Without colour the text says the same.
func Text(w io.Writer, m *matrix.Matrix, width int, colour bool, opts ...Option) error {
	t := &terminal{w: bufio.NewWriter(w), width: max(width, narrowest), colour: colour}
	t.m, t.o = gather(m, opts)
	for _, x := range tables(t.m) {
		t.table(x)
	}
	t.legend()
	t.unmet()
	t.changes()
	t.closing()
	if err := t.w.Flush(); err != nil {
		return fmt.Errorf("print the matrix: %w", err)
	}
	return nil
}

type terminal struct {
	w      *bufio.Writer
	m      *matrix.Matrix
	o      *options
	width  int
	colour bool
}

func (t *terminal) line(s string) { t.w.WriteString(strings.TrimRight(s, " ") + "\n") } // an error stays for Flush

func (t *terminal) paint(code int, s string) string {
	if !t.colour {
		return s
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", code, s)
}

// wrapped writes words behind a label of the first line, later lines below its start. The
// label may be painted; its width is that of plain text.
func (t *terminal) wrapped(label string, width int, words string) {
	for i, s := range text.Wrap(words, t.width-width) {
		if i > 0 {
			label = strings.Repeat(" ", width)
		}
		t.line(label + s)
	}
}

// table draws the grid of a topology, in as many pieces as its columns need. The names of
// the faults stand above each other like stairs, each with a rule down to its column.
func (t *terminal) table(x table) {
	most := t.width * nameShare / 80
	names := make([]string, len(x.Rows))
	label := 0
	for i, r := range x.Rows {
		names[i] = text.Clip(r.name(), most)
		label = max(label, utf8.RuneCountInString(names[i]))
	}
	faults := make([]string, len(x.Faults))
	for i, f := range x.Faults {
		faults[i] = text.Clip(f, faultWidth)
	}
	title := x.Topology
	for from := 0; from < len(faults); {
		to := from
		// A name needs its column, and room to the right of it.
		for to < len(faults) && label+2+2*(to-from)+utf8.RuneCountInString(faults[to]) <= t.width {
			to++
		}
		to = max(to, from+1)
		t.line(t.paint(bold, text.Clip(title, t.width)))
		for i := from; i < to; i++ {
			t.line(strings.Repeat(" ", label+2) + t.paint(faint, strings.Repeat("│ ", i-from)) + faults[i])
		}
		for i, r := range x.Rows {
			cells, any := "", false
			for _, c := range r.Cells[from:to] {
				if c == nil {
					cells += "  "
					continue
				}
				k := cellMark(c)
				cells, any = cells+t.paint(k.Colour, k.Symbol)+" ", true
			}
			if any {
				t.line(fmt.Sprintf("%-*s  %s", label, names[i], strings.TrimRight(cells, " ")))
			}
		}
		t.line("")
		from, title = to, x.Topology+", more faults"
	}
}

// legend explains the marks that are in the grid, with their numbers.
func (t *terminal) legend() {
	n := map[string]int{}
	for i := range t.m.Cells {
		n[cellMark(&t.m.Cells[i]).Symbol]++
	}
	for _, k := range marks() {
		if n[k.Symbol] > 0 {
			label := fmt.Sprintf("%4d  %-22s", n[k.Symbol], k.Word)
			t.wrapped("  "+t.paint(k.Colour, k.Symbol)+label, 3+utf8.RuneCountInString(label), k.Says)
		}
	}
	t.line("")
}

// unmet tells each cell that is not as expected.
func (t *terminal) unmet() {
	cells := unmet(t.m)
	if len(cells) == 0 {
		return
	}
	t.line(t.paint(bold, "Not as expected"))
	for _, c := range cells {
		k := cellMark(c)
		t.wrapped("  "+t.paint(k.Colour, k.Symbol)+" ", 4, c.Cell.ID())
		t.wrapped("    ", 4, k.Word+": "+counts(c))
		t.wrapped("    ", 4, why(c))
		for _, s := range reasons(c) {
			t.wrapped("    ", 4, s)
		}
		if dir := t.o.folder(telling(c)); dir != "" {
			t.line("    " + text.Plain(dir)) // the store's root is the user's
		}
	}
	t.line("")
}

func (t *terminal) changes() {
	if !t.o.compared {
		return
	}
	if len(t.o.changes) == 0 {
		t.wrapped("", 0, "Nothing changed against "+t.o.against+".")
		t.line("")
		return
	}
	t.line(t.paint(bold, text.Clip("Changed against "+t.o.against, t.width)))
	for _, c := range t.o.changes {
		sign, class := c.sign()
		if sign == "" {
			sign = "·"
		}
		t.wrapped("  "+t.paint(map[string]int{"bad": red, "doubt": yellow, "": faint}[class], sign)+" ", 4, strings.TrimSuffix(c.Kind+": "+c.Cell, ": "))
		t.wrapped("    ", 4, c.Text)
	}
	t.line("")
}

func (t *terminal) closing() {
	if s := missing(t.m); s != "" {
		t.wrapped("", 0, s)
	}
	if s := t.m.String(); s != "" {
		t.wrapped("", 0, s+"; "+clock(t.m)+".")
	}
	word, rest, class := verdict(t.m)
	code := map[string]int{"valid": green, "violated": red, "unknown": yellow}[class]
	t.wrapped(t.paint(code, strings.ToUpper(word))+": ", utf8.RuneCountInString(word)+2, rest)
}
