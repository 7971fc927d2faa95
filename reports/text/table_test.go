package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"picklock/reports/text"
)

func table(t interface{ Fatal(...any) }, width int, rows [][]string) string {
	var out strings.Builder
	if err := text.Table(&out, width, rows); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTable(t *testing.T) {
	for _, c := range []struct {
		name  string
		width int
		rows  [][]string
		want  string
	}{
		{"none", 80, nil, ""},
		{"one column", 40, [][]string{{"a"}, {"bc"}}, "a\nbc\n"},
		{"with room", 40, [][]string{{"a", "1 run", "short"}, {"bcd", "12 runs", ""}}, "a    1 run    short\nbcd  12 runs\n"},
		{"a long last cell", 40, [][]string{{"pause", "a client that holds a lock is stopped for a while"}, {"×", "y"}},
			"pause  a client that holds a lock is\n       stopped for a while\n×      y\n"},
		{"a long first cell", 40, [][]string{{"short", "1-3", "6s"}, {"a-name-that-takes-nearly-the-whole-width", "1-20", "12s"}},
			"short                          1-3   6s\na-name-that-takes-nearly-the-whole-width\n                               1-20  12s\n"},
	} {
		if got := table(t, c.width, c.rows); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.name, got, c.want)
		}
	}
}

// TestTableFits: whatever stands in a table, no line is wider than it may be, unless by a
// first cell, and no word is lost.
func TestTableFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(60, 100).Draw(t, "width")
		var rows [][]string
		var want []string
		for range rapid.IntRange(1, 6).Draw(t, "rows") {
			row := []string{
				rapid.StringMatching(`[a-z×]{0,90}`).Draw(t, "first"), rapid.StringMatching(`[0-9]{0,12}`).Draw(t, "second"),
				rapid.StringMatching(`([a-z…]{1,12} ){0,30}`).Draw(t, "last"),
			}
			rows = append(rows, row)
			want = append(want, strings.Fields(strings.Join(row, " "))...)
		}
		got := table(t, width, rows)
		if words := strings.Fields(got); strings.Join(words, " ") != strings.Join(want, " ") {
			t.Fatalf("the table has the words %q, want %q", words, want)
		}
		for line := range strings.Lines(got) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > width && strings.Contains(line, " ") {
				t.Fatalf("a line of %d columns, of %d: %q", n, width, line)
			}
		}
	})
}
