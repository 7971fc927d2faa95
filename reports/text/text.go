// Package text makes what servers, clients and users wrote fit for a terminal, for XML and
// for tables. It knows nothing of locks and results.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Plain takes control characters out of s, which could move the cursor, forge a line or
// make XML invalid: each becomes a dot, as do format characters such as those that turn
// the direction of writing.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || r&0xfffe == 0xfffe || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return '·'
		}
		return r
	}, s)
}

// Lines is Plain for text of several lines, which stay.
func Lines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = Plain(l)
	}
	return strings.Join(lines, "\n")
}

// Wrap breaks text at spaces into lines of at most width characters (20 at least), and
// words that are longer than that anywhere. There is always at least one line.
func Wrap(text string, width int) []string {
	width = max(width, 20)
	var lines []string
	line := ""
	used := 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		if used > 0 && used+1+n > width {
			lines, line, used = append(lines, line), "", 0
		}
		for n > width {
			head := string([]rune(word)[:width])
			lines, word = append(lines, head), word[len(head):]
			n -= width
		}
		if used > 0 {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+n
	}
	return append(lines, line)
}

// Clip shortens s to width characters; an ellipsis at its end says that something is missing.
func Clip(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:max(0, width-1)]) + "…"
}

// Plural counts: "1 cell", "3 cells".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Time is a time as a person says it: "45 s", "12 min", "3.5 h".
func Time(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}
