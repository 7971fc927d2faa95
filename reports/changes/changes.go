// Package changes shows what harness/compare found: the difference between two matrices,
// and the trend of many. As text for a terminal, as Markdown for the page of a CI job, as
// JSON for programs, and as one HTML file that needs nothing else.
//
// Whatever comes from a server or a client (stories, reasons, versions) is foreign text:
// control characters are taken out of it everywhere, and it is escaped where it would mean
// something.
package changes

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"picklock/harness/compare"
)

// The formats.
const (
	FormatText     = "text"
	FormatMarkdown = "markdown"
	FormatJSON     = "json"
	FormatHTML     = "html"
)

// Formats are all of them.
var Formats = []string{FormatText, FormatMarkdown, FormatJSON, FormatHTML}

// Known refuses a format that there is not.
func Known(format string) error {
	if !slices.Contains(Formats, format) {
		return fmt.Errorf("there is no format %q; there are %s", format, strings.Join(Formats, ", "))
	}
	return nil
}

// Write writes a difference in a format.
func Write(w io.Writer, format string, d *compare.Difference) error {
	return writeAs(w, format, d, Text, Markdown, HTML)
}

// WriteTrend writes a trend in a format.
func WriteTrend(w io.Writer, format string, t *compare.Trend) error {
	return writeAs(w, format, t, TrendText, TrendMarkdown, TrendHTML)
}

func writeAs[T any](w io.Writer, format string, v T, text, markdown, html func(io.Writer, T) error) error {
	switch format {
	case FormatText:
		return text(w, v)
	case FormatMarkdown:
		return markdown(w, v)
	case FormatHTML:
		return html(w, v)
	case FormatJSON:
		return asJSON(w, v)
	}
	return Known(format)
}

func asJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

// most is how many items of a kind, notes and doubts, are shown; JSON has them all.
// Regressions are always shown.
const most = 40

// kind is the items of one kind and severity.
type kind struct {
	Kind     compare.Kind
	Severity compare.Severity
	Items    []compare.Item
	More     int // that are not shown
}

// kinds groups the items, in their order.
func kinds(d *compare.Difference) []kind {
	var out []kind
	for _, i := range d.Items {
		if n := len(out); n == 0 || out[n-1].Kind != i.Kind || out[n-1].Severity != i.Severity {
			out = append(out, kind{Kind: i.Kind, Severity: i.Severity})
		}
		k := &out[len(out)-1]
		if i.Severity != compare.Regression && len(k.Items) == most {
			k.More++
			continue
		}
		k.Items = append(k.Items, i)
	}
	return out
}

// Symbol stands for a severity where there is no colour.
func (k kind) Symbol() string { return symbol(k.Severity) }

func symbol(s compare.Severity) string {
	switch s {
	case compare.Regression:
		return "✗"
	case compare.Doubt:
		return "?"
	}
	return "·"
}

// headline is the verdict in a word, and what it rests on.
func headline(d *compare.Difference) (word, rest string) {
	switch d.Exit {
	case 1:
		return "Regression", d.String()
	case 2:
		return "Less is proven than before", d.String()
	}
	if len(d.Items) > 0 {
		return "No regression", d.String()
	}
	return "No difference", d.String()
}

// compared says what was compared with what.
func compared(d *compare.Difference) string {
	return fmt.Sprintf("Before: %s. Now: %s. %s on both sides; %s and %s compared.",
		side(d.A), side(d.B), count(d.Cells, "cell"), count(d.Rates, "rate"), count(d.Speeds, "measure"))
}

func side(s compare.Side) string {
	when := "baseline"
	if !s.Started.IsZero() {
		when = moment(s.Started)
	}
	return fmt.Sprintf("%s, %s (%s)", plain(s.Name), when, count(s.Runs, "run"))
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// shift tells what the whole machine did in one measure.
func shift(s compare.Shift) string {
	if s.Measure == compare.Availability {
		return fmt.Sprintf("%s: %+.1f points (median of %s)", measure(s.Measure), 100*s.By, count(s.Cells, "cell"))
	}
	return fmt.Sprintf("%s: %+.0f%% (median of %s)", measure(s.Measure), 100*s.By, count(s.Cells, "cell"))
}

// wholesale is what a reader must know of the machine's own shift.
const wholesale = "What changes all cells alike cannot be told from a slower machine."

// measure is a measure in words.
func measure(m compare.Measure) string {
	switch m {
	case compare.SalesPerS:
		return "sales per second"
	case compare.AcquireP50MS:
		return "acquire, median"
	case compare.AcquireP99MS:
		return "acquire, 99%"
	}
	return string(m)
}

// about is what an item is about, in words.
func about(i *compare.Item) string {
	if i.Measure != "" {
		return measure(i.Measure)
	}
	return string(i.Property)
}

// plain takes out what a terminal or a page would act on.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || r&0xfffe == 0xfffe || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return '·'
		}
		return r
	}, s)
}
