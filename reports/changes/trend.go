package changes

import (
	"fmt"
	"math"
	"strings"

	"picklock/harness/compare"
	"picklock/harness/matrix"
)

// letter stands for what a cell was in one night.
func letter(o matrix.Outcome) rune {
	switch o {
	case matrix.AsExpected:
		return '.'
	case matrix.UnexpectedViolation:
		return 'V'
	case matrix.NotReproduced:
		return 'M'
	case matrix.Unknown:
		return '?'
	case matrix.Vacuous:
		return '0'
	case matrix.Error:
		return 'E'
	case "":
		return '-'
	}
	return '!' // an outcome of a later version
}

// legend explains the letters.
const legend = ". as expected, V unexpected violation, M missed (expected, not reproduced), ? unknown, 0 vacuous, E error of picklock, - no such cell"

func letters(r *compare.Row) string {
	var b strings.Builder
	for _, p := range r.Nights {
		b.WriteRune(letter(p.Outcome))
	}
	return b.String()
}

// spark draws values as blocks, each an eighth of the largest higher than the one before:
// it begins at zero, so that a small change looks small. What was not measured is a blank.
func spark(values []float64) string {
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	var b strings.Builder
	for _, v := range values {
		if v <= 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune([]rune("▁▂▃▄▅▆▇█")[min(7, max(0, int(math.Ceil(v/top*8))-1))])
	}
	return b.String()
}

func sales(r *compare.Row) []float64 {
	out := make([]float64, len(r.Nights))
	for i, p := range r.Nights {
		out[i] = p.SalesPerS
	}
	return out
}

func speeds(t *compare.Trend) []float64 {
	out := make([]float64, len(t.Nights))
	for i, n := range t.Nights {
		out[i] = n.Speed
	}
	return out
}

// newest is the last value that was measured: "45.2/s".
func newest(values []float64) string {
	for i := len(values) - 1; i >= 0; i-- {
		switch v := values[i]; {
		case v >= 100:
			return fmt.Sprintf("%.0f/s", v)
		case v > 0:
			return fmt.Sprintf("%.3g/s", v)
		}
	}
	return ""
}

// span says what the trend spans.
func span(t *compare.Trend) string {
	if len(t.Nights) == 0 {
		return fmt.Sprintf("%s: no matrix", plain(t.Name))
	}
	return fmt.Sprintf("%s: %s, %s to %s, %s", plain(t.Name), plural(len(t.Nights), "matrix", "matrices"), moment(t.Nights[0].Started), moment(t.Nights[len(t.Nights)-1].Started), count(len(t.Cells), "cell"))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// first tells when a property was first violated. Where that was in the first matrix of
// the trend it may have been so before.
func first(f *compare.First) string {
	since := "first"
	if f.Night == 0 {
		since = "since the first matrix shown, or longer:"
	}
	return fmt.Sprintf("%s violated %s %s, in %d of %s; in %d of the %s since",
		f.Property, since, moment(f.Started), f.Violated, count(f.Of, "run"), f.Nights, plural(f.Judged, "matrix", "matrices"))
}
