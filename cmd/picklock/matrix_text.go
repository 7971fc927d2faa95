package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"picklock/harness/matrix"
)

// printMatrix prints a line for each cell, what is wrong with those that are not as
// expected, and how many there are of each kind. Every line fits 80 columns but those that
// name a folder.
func printMatrix(out io.Writer, m *matrix.Matrix, dir string) error {
	const name = 80 - 2 - 20 - 2 - 7 // beside the longest outcome and 999/999
	for _, c := range m.Cells {
		id := c.Cell.ID()
		if len(id) > name {
			id = id[:name-3] + "..."
		}
		word := string(c.Outcome)
		if c.Outcome != matrix.AsExpected {
			word = strings.ToUpper(word)
		}
		if _, err := fmt.Fprintf(out, "%-*s  %-20s %7s\n", name, id, word, fmt.Sprintf("%d/%d", c.Counts[matrix.AsExpected], len(c.Runs))); err != nil {
			return err
		}
		for _, line := range wrapped(c.Why, 74) {
			if _, err := fmt.Fprintf(out, "      %s\n", line); err != nil {
				return err
			}
		}
	}
	text := fmt.Sprintf("\n%d cells: %s\n%s", len(m.Cells), m, inWords(time.Duration(m.WallS*1e9)))
	if wait := m.Unavoidable(); wait > 0 {
		text += fmt.Sprintf(", %.2f times the %s that had to be waited, %d side by side", m.WallS/wait.Seconds(), inWords(wait), m.Jobs)
	}
	if m.Missing > 0 && m.Shard == "" {
		text += fmt.Sprintf("\n%d runs are missing", m.Missing)
	}
	_, err := fmt.Fprintf(out, "%s\n%s\n", text, dir)
	return err
}

// wrapped breaks a text into lines of so many columns; a longer word is a line of its own.
func wrapped(text string, columns int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > columns {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
