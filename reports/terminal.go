package reports

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"picklock/harness/store"
	"picklock/models"
	"picklock/reports/text"
)

// columns is how wide the text for a terminal gets.
const columns = 80

// The colours of a terminal, as the numbers of its palette.
const (
	red    = 31
	green  = 32
	yellow = 33
	bold   = 1
	faint  = 2
)

// Terminal writes the verdict for a person at a terminal, at most 80 columns wide: a row
// per property, what was expected, the first violation step by step, and the path of the
// report in dir, which stands alone on its line and is never broken; where dir is empty,
// there is no report. Without colour the text says the same; control characters in foreign
// text are taken out.
func Terminal(w io.Writer, r *store.Result, dir string, colour bool) error {
	t := &terminal{w: bufio.NewWriter(w), colour: colour}
	t.head(r)
	t.table(r)
	t.expected(r)
	t.story(r)
	if dir != "" {
		t.line("")
		t.line(t.paint(bold, "Report"))
		t.line("  " + plain(filepath.Join(dir, ReportFile)))
	}
	if err := t.w.Flush(); err != nil {
		return fmt.Errorf("print the verdict: %w", err)
	}
	return nil
}

type terminal struct {
	w      *bufio.Writer
	colour bool
}

func (t *terminal) line(s string) { t.w.WriteString(s + "\n") } // an error stays for Flush

func (t *terminal) paint(code int, s string) string {
	if !t.colour {
		return s
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", code, s)
}

// wrapped writes text behind a label of the first line, later lines below its start.
// The label may be painted; its width is that of plain text.
func (t *terminal) wrapped(label string, width int, words string) {
	for i, s := range text.Wrap(plain(words), columns-width) {
		if i > 0 {
			label = strings.Repeat(" ", width)
		}
		t.line(strings.TrimRight(label+s, " "))
	}
}

func (t *terminal) head(r *store.Result) {
	word, rest := headline(r)
	code := verdictColour(r.Verdict)
	if r.Vacuous && r.Verdict == models.Valid {
		code = yellow
	}
	t.wrapped(t.paint(code, strings.ToUpper(word))+": ", len(word)+2, rest)
	t.wrapped("", 0, recipe(&r.Test))
	if r.Vacuous {
		t.wrapped(t.paint(yellow, "Vacuous")+": ", 9, strings.Join(r.VacuousWhy, "; "))
	}
	if r.Broken != "" {
		t.wrapped(t.paint(yellow, "The record breaks off")+": ", 23, r.Broken)
	}
}

func (t *terminal) table(r *store.Result) {
	ps := properties(r)
	if len(ps) == 0 {
		return
	}
	width := 0
	for _, p := range ps {
		width = max(width, utf8.RuneCountInString(plain(string(p))))
	}
	width = min(width, 30)
	t.line("")
	for _, p := range ps {
		j := r.Properties[p]
		count := ""
		if j.Count > 0 {
			count = fmt.Sprintf("%d×", j.Count)
		}
		text := j.Note
		if _, breach := promise(p); breach != "" && j.Verdict == models.Violated {
			text = breach // a note on it stands in the report
		}
		mark := t.paint(verdictColour(j.Verdict), fmt.Sprintf("%s %-8s", symbol(j.Verdict), plain(string(j.Verdict))))
		label := fmt.Sprintf("  %s  %-*s %5s  ", mark, width, plain(string(p)), count)
		t.wrapped(label, 2+10+2+width+1+5+2, text)
	}
}

func (t *terminal) expected(r *store.Result) {
	sentence, _, unmet := expectation(r)
	if sentence == "" {
		return
	}
	t.line("")
	if len(unmet) == 0 {
		t.line(t.paint(green, sentence))
		return
	}
	t.line(t.paint(red, sentence))
	for _, s := range unmet {
		t.wrapped("  - ", 4, s)
	}
}

func (t *terminal) story(r *store.Result) {
	v, found := first(r)
	if !found {
		return
	}
	t.line("")
	t.line(t.paint(bold, fmt.Sprintf("What broke first: %s at %.3f s", plain(string(v.Property)), v.StartS)))
	for i, s := range v.Story {
		label := fmt.Sprintf("  %d. ", i+1)
		t.wrapped(t.paint(faint, label), len(label), s)
	}
}

func verdictColour(v models.Verdict) int {
	switch v {
	case models.Valid:
		return green
	case models.Violated:
		return red
	}
	return yellow
}
