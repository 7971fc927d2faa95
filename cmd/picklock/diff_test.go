package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"picklock/harness/compare"
	"picklock/harness/matrix"
	"picklock/models"
)

// stored writes a matrix of ten cells into the store of dir, and returns its folder. In
// cell 4, k of 3 runs violate what should hold.
func stored(t *testing.T, dir, name string, day, k int, change func(*matrix.Matrix)) string {
	t.Helper()
	m := &matrix.Matrix{Name: name, Plan: "p", Started: time.Date(2026, 11, day, 2, 0, 0, 0, time.UTC), About: map[string]string{"redis": "7.0"}}
	for i := range 10 {
		var runs []matrix.Run
		for n := range 3 {
			v, o := models.Valid, matrix.AsExpected
			if i == 4 && n < k {
				v, o = models.Violated, matrix.UnexpectedViolation
			}
			runs = append(runs, matrix.Run{
				Seed: uint64(n + 1), Outcome: o, Rerun: "picklock run --seed 1", Dir: "test/start",
				Properties: map[models.Property]matrix.Judged{models.NoLostUpdate: {Verdict: v, Expected: "valid", Outcome: o, Story: []string{"it was lost"}}},
				Measures:   models.Measures{DurationS: 10, SalesPerS: 100, AcquireP50MS: 5, AcquireP99MS: 20, Availability: 0.99},
			})
		}
		m.Cells = append(m.Cells, matrix.Sum(matrix.Cell{Lock: fmt.Sprintf("lock-%d", i), Deduct: "read-write", Topology: "single"}, runs))
	}
	if change != nil {
		change(m)
	}
	folder := filepath.Join(dir, "store", matrix.Folder, name, m.Started.Format("20060102T150405.000Z"))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := m.Write(folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

// drop leaves out the last cell.
func drop(m *matrix.Matrix) { m.Cells = m.Cells[:len(m.Cells)-1] }

func TestDiff(t *testing.T) {
	dir := t.TempDir()
	first, second := stored(t, dir, "nightly", 1, 0, nil), stored(t, dir, "nightly", 2, 2, nil)
	stored(t, dir, "nightly", 3, 0, drop)
	if err := os.MkdirAll(filepath.Join(dir, "store", matrix.Folder, "nightly", "20261104T020000.000Z"), 0o755); err != nil { // has just begun
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args   []string
		status int
		want   string
	}{
		"the same":            {[]string{first, first}, 0, "NO DIFFERENCE"},
		"a regression":        {[]string{first, second}, 1, "no-lost-update: violated in 2 of 3 runs, violated in 0 of 3 runs before"},
		"a file":              {[]string{filepath.Join(first, matrix.File), second}, 1, "REGRESSION: 1 regression\n"},
		"the last two":        {nil, 2, "gone"},
		"the last two, named": {[]string{"--name", "nightly"}, 2, "lock-9+read-write_single_none"},
		"by their words":      {[]string{"previous", "latest"}, 2, "LESS IS PROVEN"},
		"one by its word":     {[]string{second, "latest"}, 2, "gone"},
		"markdown":            {[]string{first, second, "--format", "markdown"}, 1, "## Regression: 1 regression\n"},
		"html":                {[]string{first, second, "--format", "html"}, 1, "<h1>Regression</h1>"},
	} {
		r := picklock(t, dir, nil, append([]string{"diff"}, c.args...)...)
		if r.status != c.status || !strings.Contains(r.stdout, c.want) || r.stderr != "" {
			t.Errorf("%s: want status %d and %q: %s", name, c.status, c.want, r)
		}
	}
	r := picklock(t, dir, nil, "diff", first, second, "--format", "json", "--out", "d.json")
	var d compare.Difference
	if err := json.Unmarshal([]byte(read(t, filepath.Join(dir, "d.json"))), &d); err != nil || r.status != 1 || r.stdout != "" || d.Exit != 1 || len(d.Items) != 1 {
		t.Errorf("--out d.json: %v, %+v, %s", err, d, r)
	}
}

func TestDiffWrongUsage(t *testing.T) {
	dir := t.TempDir()
	first := stored(t, dir, "nightly", 1, 0, nil)
	if err := os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte("version: 1\nname: x\nrows:\n- {cell: a, runs: many}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "other.json"), []byte(`{"verdict": "valid"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	part := stored(t, dir, "part", 1, 0, func(m *matrix.Matrix) { m.Shard, m.Missing = "1/2", 3 })
	twice := stored(t, dir, "twice", 1, 0, func(m *matrix.Matrix) { m.Cells[1] = m.Cells[0] })
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"one argument":       {[]string{first}, "takes two matrices"},
		"three arguments":    {[]string{first, first, first}, "takes two matrices"},
		"no such folder":     {[]string{first, "nowhere"}, "there is no matrix or baseline nowhere"},
		"another folder":     {[]string{first, dir}, "it has no matrix.json"},
		"another file":       {[]string{first, "other.json"}, "neither a name nor cells"},
		"a damaged baseline": {[]string{"bad.yaml", first}, "bad.yaml: line 4: not a baseline"},
		"a format":           {[]string{first, first, "--format", "xml"}, `there is no format "xml"`},
		"several names":      {nil, "has nightly, part, twice; one must be named"},
		"no such name":       {[]string{"--name", "weekly"}, `no matrix named "weekly"; it has nightly, part, twice`},
		"a path for a name":  {[]string{"--name", "../x"}, "a name is one word"},
		"only one":           {[]string{"--name", "nightly"}, "so there is no previous one"},
		"an empty store":     {[]string{"--store", "empty"}, "the store empty has none"},
		"a shard":            {[]string{part, "--update-baseline", "b.yaml"}, "merge the shards first"},
		"a cell twice":       {[]string{first, twice}, "contradicts itself: twice has the cell lock-0+"},
		"an unwritable file": {[]string{first, first, "--out", "no/such/file"}, "--out: "},
	} {
		r := picklock(t, dir, nil, append([]string{"diff"}, c.args...)...)
		if r.status != 254 || !strings.Contains(r.stderr, c.want) || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s: want status 254 and %q in one line: %s", name, c.want, r)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "b.yaml")); err == nil {
		t.Error("the baseline of a shard was written")
	}
}

// TestDiffBaseline: a baseline is made, met, missed, and updated.
func TestDiffBaseline(t *testing.T) {
	dir := t.TempDir()
	good, bad := stored(t, dir, "nightly", 1, 0, nil), stored(t, dir, "nightly", 2, 1, nil)
	run := func(status int, args ...string) ran {
		t.Helper()
		r := picklock(t, dir, nil, append([]string{"diff"}, args...)...)
		if r.status != status {
			t.Errorf("want status %d: %s", status, r)
		}
		return r
	}
	file := filepath.Join(dir, "baseline.yaml")
	run(0, good, "--update-baseline", "baseline.yaml")
	first := read(t, file)
	run(0, "baseline.yaml", good)
	run(1, "baseline.yaml", bad)
	run(0, good, "--update-baseline", "baseline.yaml")
	if again := read(t, file); again != first {
		t.Errorf("the same matrix changed the baseline:\n%s", again)
	}
	run(1, bad, "--update-baseline", "baseline.yaml")
	var changed []string
	was, is := strings.Split(first, "\n"), strings.Split(read(t, file), "\n")
	for i := range is {
		if len(was) == len(is) && was[i] != is[i] {
			changed = append(changed, is[i])
		}
	}
	want := `- {cell: "lock-4+read-write_single_none", property: "no-lost-update", expected: valid, violated: 1, of: 3}`
	if len(changed) != 1 || changed[0] != want {
		t.Errorf("the update changed %q, want only %s", changed, want)
	}
	run(0, "baseline.yaml", bad)
}

func TestTrend(t *testing.T) {
	dir := t.TempDir()
	for day, k := range []int{0, 0, 1, 0, 3} {
		stored(t, dir, "nightly", day+1, k, nil)
	}
	for name, c := range map[string]struct {
		args   []string
		status int
		want   []string
	}{
		"the only name": {nil, 0, []string{"lock-4+read-write_single_none\n  ..V.V", "no-lost-update violated first 2026-11-03 02:00 UTC, in 1 of 3 runs", "100/s"}},
		"by its name":   {[]string{"nightly", "--last", "3"}, 0, []string{"  V.V  ", "3 matrices"}},
		"markdown":      {[]string{"--format", "markdown"}, 0, []string{"| `..V.V` |"}},
		"html":          {[]string{"--format", "html"}, 0, []string{"<svg ", "<polyline "}},
		"json":          {[]string{"--format", "json"}, 0, []string{`"first": [`}},
		"no such name":  {[]string{"weekly"}, 254, []string{`no matrix named "weekly"; it has nightly`}},
		"none at all":   {[]string{"--last", "0"}, 254, []string{"--last must be at least 1"}},
		"two names":     {[]string{"a", "b"}, 254, []string{"takes one name"}},
		"a format":      {[]string{"--format", "x"}, 254, []string{"there is no format"}},
	} {
		r := picklock(t, dir, nil, append([]string{"trend"}, c.args...)...)
		for _, want := range c.want {
			if r.status != c.status || !strings.Contains(r.stdout+r.stderr, want) {
				t.Errorf("%s: want status %d and %q: %s", name, c.status, want, r)
			}
		}
	}
}
