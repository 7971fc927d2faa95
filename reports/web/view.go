package web

import (
	"fmt"
	"html/template"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"picklock/harness/matrix"
	"picklock/harness/store"
	"picklock/reports/text"
)

// frame is what all pages have.
type frame struct {
	Title string
	At    string // which of the links on top is this page's
}

type errorPage struct {
	frame
	Status int
	Text   string
}

// loadPages reads the templates: each in the frame.
func (h *Handler) loadPages() error {
	h.pages = map[string]*template.Template{}
	frame, err := template.New("frame.tmpl").Funcs(template.FuncMap{"plain": text.Plain}).ParseFS(assets, "assets/frame.tmpl")
	if err != nil {
		return err
	}
	for _, name := range []string{"list", "test", "compare", "matrices", "matrix", "error"} {
		t, err := frame.Clone()
		if err != nil {
			return err
		}
		if h.pages[name], err = t.ParseFS(assets, "assets/"+name+".tmpl"); err != nil {
			return err
		}
	}
	return nil
}

// mark is a verdict or an outcome: a word with a sign, so that no colour is needed, and the
// class of the style sheet.
type mark struct{ Sign, Word, Class string }

// markOf is what a list says of a test.
func markOf(e *store.Entry) mark {
	if e.State == store.Running {
		return mark{"▸", "running", "going"}
	}
	return markOfWord(e.Word())
}

func markOfWord(w store.Word) mark {
	m := mark{"?", string(w), "unknown"}
	switch w {
	case store.WordValid:
		m.Sign, m.Class = "✓", "valid"
	case store.WordViolated:
		m.Sign, m.Class = "✗", "violated"
	case store.WordDamaged:
		m.Sign, m.Class = "!", "violated"
	case store.WordVacuous:
		m.Sign = "∅"
	case store.WordUnfinished:
		m.Sign = "…"
	}
	return m
}

func markOfOutcome(o matrix.Outcome) mark {
	m := mark{"?", string(o), "unknown"}
	switch o {
	case matrix.AsExpected:
		m.Sign, m.Class = "✓", "valid"
	case matrix.UnexpectedViolation:
		m.Sign, m.Class = "✗", "violated"
	case matrix.Error:
		m.Sign, m.Class = "!", "violated"
	case matrix.NotReproduced:
		m.Sign = "≠"
	case matrix.Vacuous:
		m.Sign = "∅"
	case "":
		m.Word = "not told"
	}
	return m
}

// address makes the path of an address from names.
func address(names ...string) string {
	var b strings.Builder
	for _, n := range names {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(n))
	}
	return b.String()
}

// under is the address of what is at p in the store, with slashes.
func under(first, p string, more ...string) string {
	return address(append(append([]string{first}, strings.Split(p, "/")...), more...)...)
}

// when tells a moment, in UTC.
func when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// startOf is when an entry started: as it says, or else as its folder is named.
func startOf(e *store.Entry) string {
	if !e.Started.IsZero() {
		return when(e.Started)
	}
	if at, ok := store.Stamped(path.Base(e.Path)); ok {
		return at
	}
	return path.Base(e.Path)
}

// seconds tells a length of time.
func seconds(s float64) string {
	switch {
	case s <= 0:
		return ""
	case s < 100:
		return fmt.Sprintf("%.1f s", s)
	case s < 7200:
		return fmt.Sprintf("%.0f min", s/60)
	}
	return fmt.Sprintf("%.1f h", s/3600)
}

func utoa(n uint64) string { return strconv.FormatUint(n, 10) }

func clip(s string, n int) string { return text.Clip(text.Plain(strings.ToValidUTF8(s, "·")), n) }

// counted tells a number of things: "1 test", "1,234 tests".
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
