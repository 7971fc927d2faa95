package compare

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"picklock/harness/matrix"
	"picklock/models"
)

// on dates a matrix.
func on(day int, cells ...matrix.Result) *matrix.Matrix {
	m := of(cells...)
	m.Started = time.Date(2026, 11, day, 2, 0, 0, 0, time.UTC)
	return m
}

func TestTrend(t *testing.T) {
	fine, bad := result("x", given{"valid", 0, 3}), result("x", given{"valid", 2, 3})
	known := result("y", given{"violated", 3, 3})
	slow := result("x", given{"valid", 0, 3})
	for i := range slow.Runs {
		slow.Runs[i].Measures.SalesPerS = 50
	}
	// In no order, as a caller may have them.
	tr := NewTrend("nightly", []*matrix.Matrix{on(4, bad), on(1, fine, known), on(3, bad, known), on(2, slow, known), on(5, fine)}, []string{"4", "1", "3", "2", "5"})
	if len(tr.Nights) != 5 || len(tr.Cells) != 2 {
		t.Fatalf("%d nights of %d cells", len(tr.Nights), len(tr.Cells))
	}
	for i, dir := range []string{"1", "2", "3", "4", "5"} {
		if tr.Nights[i].Dir != dir {
			t.Errorf("night %d is %s", i, tr.Nights[i].Dir)
		}
	}
	x, y := tr.Cells[0], tr.Cells[1]
	if len(x.First) != 1 || x.First[0].Property != models.MutualExclusion || x.First[0].Night != 2 || x.First[0].Violated != 2 || x.First[0].Of != 3 ||
		x.First[0].Nights != 2 || x.First[0].Judged != 3 || !x.First[0].Started.Equal(tr.Nights[2].Started) || *x.First[0].Seed != 2 || len(x.First[0].Story) != 1 {
		t.Errorf("the first violation of x: %+v, want the third night, 2 of 3 runs, in 2 of 3 nights", x.First)
	}
	if len(y.First) != 0 {
		t.Errorf("a violation that is expected is told as new: %+v", y.First)
	}
	if y.Nights[3].Outcome != "" || y.Nights[2].Outcome == "" {
		t.Errorf("y was in the first three nights: %+v", y.Nights)
	}
	if x.Nights[1].SalesPerS != 50 || x.Nights[0].SalesPerS < 99.9 {
		t.Errorf("sales of x: %+v", x.Nights)
	}
	if s := tr.Nights[1].Speed; math.Abs(s-math.Sqrt(0.5)) > 0.01 { // one of two cells at half its speed
		t.Errorf("the machine's speed in the second night is %g", s)
	}
}

func TestStored(t *testing.T) {
	root := t.TempDir()
	if names, err := Names(filepath.Join(root, "none")); err != nil || len(names) != 0 {
		t.Errorf("a store that there is not: %v, %v", names, err)
	}
	if _, err := Named(root); !errors.Is(err, ErrNoMatrix) {
		t.Errorf("an empty store: %v", err)
	}
	dirs := map[string]string{}
	for _, s := range []string{"20261102T020000.000Z", "20261101T020000.000Z", "20261110T020000.000Z"} {
		dir := filepath.Join(root, matrix.Folder, "nightly", s)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := on(1, result("x", given{"valid", 0, 1})).Write(dir); err != nil {
			t.Fatal(err)
		}
		dirs[s] = dir
	}
	if name, err := Named(root); err != nil || name != "nightly" {
		t.Errorf("the only name: %q, %v", name, err)
	}
	for word, want := range map[string]string{Latest: "20261110T020000.000Z", Previous: "20261102T020000.000Z"} {
		if got, err := Find(root, "nightly", word); err != nil || got != dirs[want] {
			t.Errorf("%s is %s, %v; want %s", word, got, err, want)
		}
	}
	if got, err := Find(root, "nightly", "a/path"); err != nil || got != "a/path" {
		t.Errorf("a path became %s, %v", got, err)
	}
	for _, name := range []string{"", ".", "..", "a/b", `a\b`, "weekly"} {
		if _, err := Stored(root, name); !errors.Is(err, ErrNoMatrix) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if tr, err := ReadTrend(root, "nightly", 2); err != nil || len(tr.Nights) != 2 {
		t.Errorf("the last two: %+v, %v", tr, err)
	}
	if err := os.WriteFile(filepath.Join(dirs["20261101T020000.000Z"], matrix.File), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadTrend(root, "nightly", 0); !errors.Is(err, matrix.ErrNotAMatrix) {
		t.Errorf("a damaged matrix is passed over: %v", err)
	}
	if _, err := Load(filepath.Join(root, "nowhere")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a path that there is not: %v", err)
	}
}
