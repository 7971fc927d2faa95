package text

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// lastColumn is what the last column of a table gets at least, if it needs it.
const lastColumn = 30

// Table writes rows of the same number of cells in columns, two spaces apart, at most width
// wide. The last cell is broken at its words, later lines below its start; where there is
// still no room, a first cell that is too long stands alone on its line, and the others
// below it. Nothing is left out.
func Table(w io.Writer, width int, rows [][]string) error {
	if len(rows) == 0 {
		return nil
	}
	last := len(rows[0]) - 1
	widths := make([]int, last+1)
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	taken := 0 // by all columns but the last
	for _, n := range widths[:last] {
		taken += n + 2
	}
	if over := taken + min(widths[last], lastColumn) - width; over > 0 && last > 0 {
		over = min(over, max(0, widths[0]-8))
		widths[0], taken = widths[0]-over, taken-over
	}
	var out strings.Builder
	for _, row := range rows {
		for i, cell := range row[:last] {
			n := utf8.RuneCountInString(cell)
			if i == 0 && n > widths[0] {
				out.WriteString(cell + "\n")
				n, cell = 0, ""
			}
			out.WriteString(cell + strings.Repeat(" ", widths[i]-n+2))
		}
		for i, line := range Wrap(row[last], width-taken) {
			if i > 0 {
				out.WriteString(strings.Repeat(" ", taken))
			}
			out.WriteString(line + "\n")
		}
	}
	for line := range strings.Lines(out.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// Paragraph writes words behind an indent, broken so that no line is wider than width.
func Paragraph(w io.Writer, width int, indent, words string) error {
	for _, line := range Wrap(words, width-len(indent)) {
		if _, err := fmt.Fprintln(w, indent+line); err != nil {
			return err
		}
	}
	return nil
}
