package changes

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"picklock/harness/compare"
	"picklock/reports/text"
)

// columns is how wide the text for a terminal gets.
const columns = 80

// Text writes a difference for a person at a terminal, at most 80 columns wide but for
// the folders of tests, which stand alone on their lines and are never broken.
func Text(w io.Writer, d *compare.Difference) error {
	t := printer{bufio.NewWriter(w)}
	word, rest := headline(d)
	t.wrapped(strings.ToUpper(word)+": ", rest)
	t.wrapped("", compared(d))
	t.list("Not the same on both sides", d.About)
	for _, k := range kinds(d) {
		t.line("")
		t.wrapped(k.Symbol()+" ", string(k.Kind))
		for i := range k.Items {
			t.item(&k.Items[i])
		}
		if k.More > 0 {
			t.line(fmt.Sprintf("  and %d more: see --format json", k.More))
		}
	}
	if len(d.Machine) > 0 {
		var all []string
		for _, s := range d.Machine {
			all = append(all, shift(s))
		}
		t.list("All cells together", append(all, wholesale))
	}
	t.list("To know", d.Notes)
	if err := t.w.Flush(); err != nil {
		return fmt.Errorf("print the difference: %w", err)
	}
	return nil
}

type printer struct{ w *bufio.Writer }

func (t printer) line(s string) { t.w.WriteString(strings.TrimRight(s, " ") + "\n") } // an error stays for Flush

// wrapped writes foreign text behind a label of the first line, later lines below its start.
func (t printer) wrapped(label, s string) {
	width := utf8.RuneCountInString(label)
	for i, l := range text.Wrap(plain(s), columns-width) {
		if i > 0 {
			label = strings.Repeat(" ", width)
		}
		t.line(label + l)
	}
}

func (t printer) list(title string, all []string) {
	if len(all) == 0 {
		return
	}
	t.line("")
	t.line(title)
	for _, s := range all {
		t.wrapped("  - ", s)
	}
}

func (t printer) item(i *compare.Item) {
	cell := i.Cell
	if cell == "" {
		cell = "the matrix"
	}
	t.wrapped("  ", cell)
	says := i.Says
	if a := about(i); a != "" {
		says = a + ": " + says
	}
	t.wrapped("    ", says)
	if i.Severity == compare.Note {
		return
	}
	for n, s := range i.Story {
		t.wrapped(fmt.Sprintf("      %d. ", n+1), s)
	}
	if i.Seed != nil && i.Dir != "" {
		t.line(fmt.Sprintf("      seed %d, in the store:", *i.Seed))
		t.line("      " + plain(i.Dir))
	}
}
