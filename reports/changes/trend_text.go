package changes

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"picklock/harness/compare"
)

// beside is how many nights fit twice in a line: once as letters, once as blocks.
const beside = 32

// below is how many fit once.
const below = columns - 4

// TrendText writes a trend for a person at a terminal, at most 80 columns wide: for each
// cell a letter and a block per night, oldest first.
func TrendText(w io.Writer, t *compare.Trend) error {
	out := printer{bufio.NewWriter(w)}
	out.wrapped("", span(t))
	out.wrapped("", legend)
	out.wrapped("", "Blocks: sales per second, from 0 to the cell's largest.")
	if len(t.Nights) > 0 {
		out.line("")
		out.line("all cells together")
		out.rows(strings.Repeat(" ", len(t.Nights)), spark(speeds(t)), "")
	}
	for i := range t.Cells {
		r := &t.Cells[i]
		out.line("")
		out.wrapped("", r.Cell)
		out.rows(letters(r), spark(sales(r)), newest(sales(r)))
		for n := range r.First {
			out.wrapped("  ✗ ", first(&r.First[n]))
		}
	}
	if err := out.w.Flush(); err != nil {
		return fmt.Errorf("print the trend: %w", err)
	}
	return nil
}

// rows writes letters and blocks side by side, or if there are too many below each other.
func (t printer) rows(letters, blocks, last string) {
	if len(letters) <= beside {
		t.line("  " + letters + "  " + blocks + "  " + last)
		return
	}
	all, high := []rune(letters), []rune(blocks)
	for at := 0; at < len(all); at += below {
		end := min(len(all), at+below)
		if strings.TrimSpace(string(all[at:end])) != "" {
			t.line("  " + string(all[at:end]))
		}
		t.line("  " + string(high[at:end]))
	}
	if last != "" {
		t.line("  " + last)
	}
}

// TrendMarkdown writes a trend for the page of a CI job.
func TrendMarkdown(w io.Writer, t *compare.Trend) error {
	m := page{bufio.NewWriter(w)}
	m.printf("## %s\n\n%s\n\n| cell | nights | sales per second | last |\n| --- | --- | --- | --- |\n", escaped(span(t)), escaped(legend))
	if len(t.Nights) > 0 {
		m.printf("| all cells together | | %s | |\n", blocks(spark(speeds(t))))
	}
	var firsts []string
	for i := range t.Cells {
		r := &t.Cells[i]
		m.printf("| %s | `%s` | %s | %s |\n", escaped(r.Cell), letters(r), blocks(spark(sales(r))), newest(sales(r)))
		for n := range r.First {
			firsts = append(firsts, r.Cell+": "+first(&r.First[n]))
		}
	}
	m.list("Violated though it should hold", firsts)
	if err := m.w.Flush(); err != nil {
		return fmt.Errorf("print the trend: %w", err)
	}
	return nil
}

// blocks keeps the blanks of a sparkline: Markdown would join them.
func blocks(s string) string { return strings.ReplaceAll(s, " ", "&nbsp;") }
