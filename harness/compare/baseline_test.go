package compare

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"picklock/harness/matrix"
	"picklock/models"
)

const small = `# What a matrix showed, one line for each cell, property and measure: the baseline that
# later matrices are compared with. Written by picklock diff --update-baseline.
version: 1
name: "nightly"
rows:
- {cell: "x+read-write_single_none", runs: 4, vacuous: 1, seconds: 10}
- {cell: "x+read-write_single_none", property: "mutual-exclusion", expected: violated, violated: 2, of: 3}
- {cell: "x+read-write_single_none", measure: sales_per_s, median: 100, spread: 0.000, of: 3}
- {cell: "x+read-write_single_none", measure: acquire_p50_ms, median: 5, spread: 0.000, of: 3}
- {cell: "x+read-write_single_none", measure: acquire_p99_ms, median: 20, spread: 0.000, of: 3}
- {cell: "x+read-write_single_none", measure: availability, median: 0.99, spread: 0.000, of: 3}
`

func taken(t interface {
	Helper()
	Fatal(args ...any)
}, m *matrix.Matrix,
) *Snapshot {
	t.Helper()
	s, err := Take(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestBaselineText(t *testing.T) {
	s := taken(t, of(result("x", given{"violated", 2, 3}, matrix.Vacuous)))
	if got := string(s.Baseline()); got != small {
		t.Errorf("got\n%s\nwant\n%s", got, small)
	}
}

// TestBaselineOfSimulated: a matrix does not differ from its own baseline, and a slow lock
// differs from it as from the matrix.
func TestBaselineOfSimulated(t *testing.T) {
	for i := range 30 {
		r := rand.New(rand.NewPCG(uint64(i), 4))
		w := newWorld(r, 60)
		a, b := w.night(r, 5, nil), w.night(r, 5, map[string]float64{"lock-1": 3})
		base, err := ParseBaseline(taken(t, a).Baseline())
		if err != nil {
			t.Fatal(err)
		}
		if d := base.Diff(taken(t, a)); len(d.Items) != 0 || d.Speeds == 0 {
			t.Errorf("world %d: a matrix differs from its own baseline: %s", i, kinds(d))
		}
		full, against := kinds(diffed(t, a, b)), kinds(base.Diff(taken(t, b)))
		if (full == "") != (against == "") {
			t.Errorf("world %d: %q against the matrix, %q against its baseline", i, full, against)
		}
	}
}

// TestBaselineRoundTrip: what was written is read as it was, and written again it is the
// same bytes.
func TestBaselineRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := of()
		m.Name = rapid.String().Draw(t, "name")
		for i := range rapid.IntRange(0, 4).Draw(t, "cells") {
			g := given{expected: rapid.SampledFrom([]string{"valid", "violated", "either"}).Draw(t, "expected"), n: rapid.IntRange(0, 5).Draw(t, "runs")}
			g.k = rapid.IntRange(0, g.n).Draw(t, "violated")
			c := result(fmt.Sprint(i, rapid.String().Draw(t, "lock")), g, rapid.SliceOfN(rapid.SampledFrom([]matrix.Outcome{matrix.Vacuous, matrix.Unknown, matrix.Error}), 0, 3).Draw(t, "others")...)
			for n := range c.Runs {
				v := &c.Runs[n].Measures
				v.SalesPerS = rapid.Float64Range(0, 1e6).Draw(t, "sales")
				v.AcquireP50MS = rapid.Float64Range(0, 1e6).Draw(t, "p50")
				v.Availability = rapid.Float64Range(0, 1).Draw(t, "available")
				v.DurationS = rapid.Float64Range(0, 1000).Draw(t, "seconds")
			}
			m.Cells = append(m.Cells, c)
		}
		text := taken(t, m).Baseline()
		back, err := ParseBaseline(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if again := back.Baseline(); !bytes.Equal(again, text) {
			t.Fatalf("written again it is\n%s\nand was\n%s", again, text)
		}
		if d := back.Diff(taken(t, m)); len(m.Cells) > 0 && len(d.Items) != 0 {
			t.Fatalf("it differs from its own baseline: %s\n%s", kinds(d), text)
		}
	})
}

func TestBaselineErrors(t *testing.T) {
	change := func(old, new string) string {
		if !strings.Contains(small, old) {
			t.Fatalf("%q is not in the baseline", old)
		}
		return strings.Replace(small, old, new, 1)
	}
	own := `- {cell: "x+read-write_single_none", runs: 4, vacuous: 1, seconds: 10}` + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":              {"", "one document"},
		"no YAML":            {"{", "not a baseline"},
		"not UTF-8":          {"\xff", "UTF-8"},
		"another version":    {change("version: 1", "version: 2"), "line 3: not a baseline: its version must be 1"},
		"no version":         {change("version: 1\n", ""), "it has no version"},
		"no rows":            {"version: 1\nname: x\n", "it has no rows"},
		"another key":        {change("name:", "nam:"), `line 4: not a baseline: "nam" is not known`},
		"a field unknown":    {change("vacuous: 1", "vacous: 1"), "line 6: not a baseline: "},
		"a field of another": {change("expected: violated", "runs: 3, expected: violated"), "line 7: not a baseline: the row of a property"},
		"twice":              {small + own, "line 12: not a baseline: the row of x+read-write_single_none  stands there twice"},
		"no cell":            {change(own, ""), "has no row of its own"},
		"an expectation":     {change("expected: violated", "expected: maybe"), `line 7: not a baseline: expected must be valid, violated or either, not "maybe"`},
		"more than all":      {change("violated: 2", "violated: 4"), "line 7: not a baseline: violated must be from 0 to of"},
		"more than runs":     {change("of: 3", "of: 5"), "has 4 runs, but mutual-exclusion was judged in 5"},
		"no such measure":    {change("measure: sales_per_s", "measure: sales"), `line 8: not a baseline: there is no measure "sales"`},
		"no such share":      {change("median: 0.99", "median: 1.5"), "line 11: not a baseline: the median of availability cannot be 1.5"},
		"not a number":       {change("median: 100", "median: .nan"), "line 8: not a baseline: "},
		"a negative":         {change("vacuous: 1", "vacuous: -1"), "line 6: not a baseline: "},
		"more vacuous":       {change("vacuous: 1", "vacuous: 5"), "line 6: not a baseline: "},
		"two documents":      {small + "---\nversion: 1\n", "one document"},
	} {
		_, err := ParseBaseline([]byte(c.text))
		if err == nil || !errors.Is(err, ErrBaseline) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q in one line", name, err, c.want)
		}
	}
}

func TestWriteBaseline(t *testing.T) {
	file := filepath.Join(t.TempDir(), "baseline.yaml")
	m := of(result("x", given{"valid", 0, 3}))
	if err := UpdateBaseline(file, m); err != nil {
		t.Fatal(err)
	}
	d, err := AgainstBaseline(file, m)
	if err != nil || len(d.Items) != 0 || d.Cells != 1 {
		t.Errorf("against its own baseline: %v, %v", d, err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*matrix.Matrix){
		"shard 1/2 only":    func(m *matrix.Matrix) { m.Shard, m.Missing = "1/2", 3 },
		"broke off, 3 runs": func(m *matrix.Matrix) { m.Missing = 3 },
		"baseline cannot":   func(m *matrix.Matrix) { m.Cells[0].Rates[models.Fencing] = matrix.Rate{Expected: "perhaps", Of: 1} },
		"nightly has the cell x+read-write_single_none twice": func(m *matrix.Matrix) { m.Cells = append(m.Cells, m.Cells[0]) },
		"violated in 4 of 3": func(m *matrix.Matrix) {
			m.Cells[0].Rates[models.Fencing] = matrix.Rate{Expected: "valid", Violated: 4, Of: 3}
		},
	} {
		m := of(result("x", given{"valid", 1, 3}))
		change(m)
		if err := UpdateBaseline(file, m); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	after, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(before, after) {
		t.Error("what was refused was written all the same")
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind beside the baseline: %v, %v", entries, err)
	}
}

// FuzzBaseline: any text is read or refused in one line, and what is read is written and
// read again as the same.
func FuzzBaseline(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("version: 1\nname: x\nrows:\n- {cell: a, runs: 1}\n- {cell: a, property: p, expected: either, violated: 0, of: 1}\n"))
	f.Add([]byte("version: 1\nname: &a x\nrows: *a\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ParseBaseline(text)
		if err != nil {
			if !errors.Is(err, ErrBaseline) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q", err)
			}
			return
		}
		first := s.Baseline()
		again, err := ParseBaseline(first)
		if err != nil {
			t.Fatalf("what was read is written so that it cannot be read: %v\n%s", err, first)
		}
		if second := again.Baseline(); !bytes.Equal(first, second) {
			t.Fatalf("one time\n%s\nanother time\n%s", first, second)
		}
	})
}
