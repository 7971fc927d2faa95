package changes

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"

	"picklock/harness/compare"
)

// Markdown writes a difference for the page of a CI job, as GitHub and GitLab show it.
func Markdown(w io.Writer, d *compare.Difference) error {
	m := page{bufio.NewWriter(w)}
	word, rest := headline(d)
	m.printf("## %s: %s\n\n%s\n", escaped(word), escaped(rest), escaped(compared(d)))
	m.list("Not the same on both sides", d.About)
	all := kinds(d)
	if len(all) > 0 {
		m.printf("\n| | cell | about | what |\n| --- | --- | --- | --- |\n")
	}
	for _, k := range all {
		for i := range k.Items {
			it := &k.Items[i]
			m.printf("| %s %s | %s | %s | %s |\n", k.Symbol(), escaped(string(k.Kind)), escaped(it.Cell), escaped(about(it)), escaped(it.Says))
		}
		if k.More > 0 {
			m.printf("| %s %s | and %d more | | |\n", k.Symbol(), escaped(string(k.Kind)), k.More)
		}
	}
	for _, k := range all {
		for i := range k.Items {
			m.evidence(&k.Items[i])
		}
	}
	if len(d.Machine) > 0 {
		var lines []string
		for _, s := range d.Machine {
			lines = append(lines, shift(s))
		}
		m.list("All cells together", append(lines, wholesale))
	}
	m.list("To know", d.Notes)
	if err := m.w.Flush(); err != nil {
		return fmt.Errorf("print the difference: %w", err)
	}
	return nil
}

type page struct{ w *bufio.Writer }

func (m page) printf(format string, args ...any) { fmt.Fprintf(m.w, format, args...) } // an error stays for Flush

func (m page) list(title string, all []string) {
	if len(all) == 0 {
		return
	}
	m.printf("\n**%s**\n\n", escaped(title))
	for _, s := range all {
		m.printf("- %s\n", escaped(s))
	}
}

// evidence tells a violation step by step, and how to see it again.
func (m page) evidence(i *compare.Item) {
	if i.Severity == compare.Note || len(i.Story) == 0 && i.Rerun == "" {
		return
	}
	seed := ""
	if i.Seed != nil {
		seed = fmt.Sprintf(", seed %d", *i.Seed)
	}
	m.printf("\n<details><summary>%s: %s%s</summary>\n\n", escaped(i.Cell), escaped(string(i.Kind)+" "+about(i)), seed)
	for n, s := range i.Story {
		m.printf("%d. %s\n", n+1, escaped(s))
	}
	if i.Rerun != "" {
		m.printf("\n%s\n", fenced(i.Rerun))
	}
	m.printf("\n</details>\n")
}

// escaped is foreign text in one line of Markdown that is nothing but text. What would
// mean something is written as an entity (CommonMark 6.2), which also holds inside the
// HTML of a summary, where a backslash would not.
func escaped(s string) string {
	var b strings.Builder
	all := []rune(strings.Join(strings.Fields(plain(s)), " "))
	for i, r := range all {
		switch {
		case strings.ContainsRune("\\`*_{}[]#~$<>&|@", r),
			i == 0 && strings.ContainsRune("-+=", r),                           // a list or a rule
			r == ':' && next(all, i) != ' ' && !unicode.IsDigit(next(all, i)),  // https://, :emoji:
			(r == '.' || r == ')') && next(all, i) == ' ' && numbered(all[:i]), // a numbered list
			r == '.' && i >= 3 && strings.EqualFold(string(all[i-3:i]), "www"):
			fmt.Fprintf(&b, "&#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// next is the rune after the one at i; a space at the end.
func next(all []rune, i int) rune {
	if i+1 < len(all) {
		return all[i+1]
	}
	return ' '
}

// numbered: only digits stand before.
func numbered(before []rune) bool {
	for _, r := range before {
		if r < '0' || r > '9' {
			return false
		}
	}
	return len(before) > 0
}

// fenced is foreign text as a block of code, in a fence that it cannot close.
func fenced(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "\n" + plain(s) + "\n" + fence
}
