package changes_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"picklock/harness/compare"
	"picklock/harness/matrix"
	"picklock/models"
	"picklock/reports/changes"
)

var update = flag.Bool("update", false, "write what comes out as what should come out")

// hostile is what a server or a client could say.
const hostile = "</details><script>alert(1)</script> | ![x](http://evil/x.png) `rm` **bold** @team #1 https://evil www.evil.example\x1b[2J\u202e\n# head\n- 1. item"

// cell makes a cell with n runs, of which k violate a property.
func cell(lock, expected string, k, n int, sales float64, others ...matrix.Outcome) matrix.Result {
	var runs []matrix.Run
	for i := range n + len(others) {
		r := matrix.Run{
			Seed: uint64(i + 1), Dir: fmt.Sprintf("%s+read-write_single_pause-client/20261101T02000%d.000Z", lock, i), Rerun: "picklock run --lock " + lock + " --seed 1",
			Outcome:  matrix.AsExpected,
			Measures: models.Measures{DurationS: 20, SalesPerS: sales + float64(i), AcquireP50MS: 500 / sales, AcquireP99MS: 2000 / sales, Availability: 0.98},
		}
		j := matrix.Judged{Verdict: models.Valid, Expected: expected, Outcome: matrix.AsExpected}
		if i < k {
			j.Verdict, j.Story = models.Violated, []string{"client 1 was granted the lock", hostile}
			if expected == "valid" {
				j.Outcome, r.Outcome = matrix.UnexpectedViolation, matrix.UnexpectedViolation
			}
		} else if expected == "violated" {
			j.Outcome, r.Outcome = matrix.NotReproduced, matrix.NotReproduced
		}
		r.Properties = map[models.Property]matrix.Judged{models.NoLostUpdate: j}
		if i >= n {
			r.Outcome, r.Why, r.Properties = others[i-n], "no server: "+hostile, nil
		}
		runs = append(runs, r)
	}
	return matrix.Sum(matrix.Cell{Lock: lock, Deduct: "read-write", Topology: "single", Nemesis: []string{"pause-client"}}, runs)
}

func night(day int, cells ...matrix.Result) *matrix.Matrix {
	return &matrix.Matrix{
		Name: "nightly", Plan: fmt.Sprintf("plan-%d", day/2), Started: time.Date(2026, 11, day, 2, 0, 0, 0, time.UTC), Cells: cells,
		About: map[string]string{"redis": fmt.Sprintf("7.0.%d", day)},
	}
}

// full is a difference with all that there is to show.
func full(t *testing.T) *compare.Difference {
	t.Helper()
	a := night(1, cell("broken", "valid", 0, 3, 50), cell("gone", "valid", 0, 3, 50), cell("rate", "either", 0, 12, 50), cell("teeth", "violated", 3, 3, 50), cell("failed", "valid", 0, 3, 50), cell("slow", "valid", 0, 6, 80))
	b := night(2, cell("broken", "valid", 2, 3, 45), cell("hostile|new", "valid", 0, 3, 45), cell("rate", "either", 12, 12, 45), cell("teeth", "violated", 0, 3, 45), cell("failed", "valid", 0, 2, 45, matrix.Error), cell("slow", "valid", 0, 6, 10))
	for i := range 8 {
		a.Cells = append(a.Cells, cell(fmt.Sprintf("other-%d", i), "either", 0, 6, 60))
		b.Cells = append(b.Cells, cell(fmt.Sprintf("other-%d", i), "either", 1, 6, 54))
	}
	b.About["redis"] += hostile
	d, err := compare.Diff(a, b)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func none(t *testing.T) *compare.Difference {
	t.Helper()
	d, err := compare.Diff(night(1, cell("x", "valid", 0, 3, 50)), night(1, cell("x", "valid", 0, 3, 51)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func trend(nights int) *compare.Trend {
	var all []*matrix.Matrix
	var dirs []string
	for n := range nights {
		cells := []matrix.Result{cell("steady", "valid", 0, 3, 50+float64(n%4))}
		switch {
		case n == 2:
			cells = append(cells, cell("breaks", "valid", 0, 2, 80, matrix.Error), cell("teeth", "violated", 0, 3, 40))
		case n%3 == 2:
			cells = append(cells, cell("breaks", "valid", 1, 3, 20), cell("teeth", "violated", 3, 3, 40))
		default:
			cells = append(cells, cell("breaks", "valid", 0, 3, 80-float64(n)), cell("teeth", "violated", 3, 3, 40, matrix.Vacuous))
		}
		if n > 4 {
			cells = append(cells, cell("late-and-violated-from-its-first-night-on-with-a-name-that-is-longer-than-a-line", "valid", 1, 1, 10))
		}
		all, dirs = append(all, night(n+1, cells...)), append(dirs, fmt.Sprint(n))
	}
	return compare.NewTrend("nightly", all, dirs)
}

// golden compares what comes out with a file of testdata, or writes it there.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what comes out now; if that is right, write it with -update\n%s", file, got)
	}
}

func TestGolden(t *testing.T) {
	for file, write := range map[string]func(io.Writer) error{
		"full.txt": func(w io.Writer) error { return changes.Text(w, full(t)) }, "none.txt": func(w io.Writer) error { return changes.Text(w, none(t)) },
		"full.md": func(w io.Writer) error { return changes.Markdown(w, full(t)) }, "none.md": func(w io.Writer) error { return changes.Markdown(w, none(t)) },
		"trend.txt": func(w io.Writer) error { return changes.TrendText(w, trend(12)) }, "trend-long.txt": func(w io.Writer) error { return changes.TrendText(w, trend(90)) },
		"trend.md":       func(w io.Writer) error { return changes.TrendMarkdown(w, trend(12)) },
		"trend-none.txt": func(w io.Writer) error { return changes.TrendText(w, compare.NewTrend("nightly", nil, nil)) },
	} {
		var got bytes.Buffer
		if err := write(&got); err != nil {
			t.Fatal(err)
		}
		golden(t, file, got.Bytes())
	}
}

// pages are the pages of this package.
func pages(t *testing.T) map[string]func(io.Writer) error {
	t.Helper()
	return map[string]func(io.Writer) error{
		"full": func(w io.Writer) error { return changes.HTML(w, full(t)) }, "none": func(w io.Writer) error { return changes.HTML(w, none(t)) },
		"trend": func(w io.Writer) error { return changes.TrendHTML(w, trend(12)) },
	}
}

// TestGoldenPages compares each page to the letter, in three parts: the style sheet is the
// file that the package has of it, what is around its title, its style and what it shows is
// the same in every page, and these two have a golden file each.
func TestGoldenPages(t *testing.T) {
	style, err := os.ReadFile("page.css")
	if err != nil {
		t.Fatal(err)
	}
	parts := regexp.MustCompile(`(?s)^(.*)(<title>.*</title>\n)<style>(.*)</style>\n(.*)(<main>.*</main>\n)(.*)$`)
	for name, write := range pages(t) {
		var page bytes.Buffer
		if err := write(&page); err != nil {
			t.Fatal(err)
		}
		p := parts.FindSubmatch(page.Bytes())
		if p == nil || !bytes.Equal(p[3], style) {
			t.Fatalf("%s: the page has no title, no main part, or not the style sheet of the package\n%s", name, page.Bytes())
		}
		golden(t, name+".html", slices.Concat(p[2], p[5]))
		golden(t, "frame.html", slices.Concat(p[1], p[4], p[6]))
	}
}

// TestColumns: text fits 80 columns, but for the folders of tests, and has nothing that a
// terminal would act on.
func TestColumns(t *testing.T) {
	var b bytes.Buffer
	if err := errors.Join(changes.Text(&b, full(t)), changes.Text(&b, none(t)), changes.TrendText(&b, trend(30)), changes.TrendText(&b, trend(32)), changes.TrendText(&b, trend(100))); err != nil {
		t.Fatal(err)
	}
	for _, l := range strings.Split(b.String(), "\n") {
		if utf8.RuneCountInString(l) > 80 && !strings.Contains(l, "/20261101T") {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(l), l)
		}
		if strings.ContainsAny(l, "\x1b\u202e\r") {
			t.Errorf("a control character: %q", l)
		}
	}
}

// TestMarkdownIsText: nothing that a server said becomes markup, in a list, a table or the
// HTML of a summary.
func TestMarkdownIsText(t *testing.T) {
	var b bytes.Buffer
	if err := changes.Markdown(&b, full(t)); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, bad := range []string{"<script", "](http", "**bold", "@team", "#1 ", "https://", "www.evil", "\x1b", "\u202e", "\n# head", "hostile|"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q got through:\n%s", bad, text)
		}
	}
	if n, m := strings.Count(text, "<details>"), strings.Count(text, "</details>"); n != m || n == 0 {
		t.Errorf("%d details are opened and %d closed", n, m)
	}
	for _, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(l, "|") && strings.Count(l, "|") != 5 {
			t.Errorf("a row with another number of columns: %s", l)
		}
	}
}

var tags = regexp.MustCompile(`(?i)<(script|img|link|iframe)|\son\w+=|https?://|@import|url\(`)

// TestPages: pages are well formed, need nothing else and run no script.
func TestPages(t *testing.T) {
	for name, write := range pages(t) {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		shown := strings.NewReplacer("http://evil/x.png", "", "https://evil", "").Replace(text) // as text
		if m := tags.FindString(shown); m != "" {
			t.Errorf("%s: it holds %q", name, m)
		}
		if !strings.Contains(text, "prefers-color-scheme: dark") {
			t.Errorf("%s: it has no dark colours", name)
		}
		d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "<!DOCTYPE html>\n")))
		d.Entity = xml.HTMLEntity
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: not well formed: %v", name, err)
			}
		}
	}
}

// TestJSON: programs get all of it back.
func TestJSON(t *testing.T) {
	d := full(t)
	var b bytes.Buffer
	if err := changes.Write(&b, changes.FormatJSON, d); err != nil {
		t.Fatal(err)
	}
	var back compare.Difference
	s := json.NewDecoder(&b)
	s.DisallowUnknownFields()
	if err := s.Decode(&back); err != nil || len(back.Items) != len(d.Items) || back.Exit != 1 || back.Items[0].Kind != compare.NewlyViolated || back.Items[0].Story[1] != hostile {
		t.Errorf("it came back as %v, %+v", err, back)
	}
}

func TestKnown(t *testing.T) {
	for _, f := range changes.Formats {
		if err := errors.Join(changes.Known(f), changes.Write(io.Discard, f, none(t)), changes.WriteTrend(io.Discard, f, trend(2))); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
	if changes.Known("xml") == nil || changes.Write(io.Discard, "xml", none(t)) == nil || changes.WriteTrend(io.Discard, "xml", trend(2)) == nil {
		t.Error("xml is a format")
	}
}

// full is a disk that is.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestNotWritten: what could not be written is an error in every format.
func TestNotWritten(t *testing.T) {
	for _, f := range changes.Formats {
		if changes.Write(fullDisk{}, f, none(t)) == nil || changes.WriteTrend(fullDisk{}, f, trend(2)) == nil {
			t.Errorf("%s: nothing was written, and no error", f)
		}
	}
}
