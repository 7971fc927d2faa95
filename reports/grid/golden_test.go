package grid_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"picklock/harness/matrix"
	"picklock/reports/grid"
	"picklock/reports/grid/gridtest"
)

var rewrite = flag.Bool("rewrite", false, "write what comes out into the golden files")

// form is one way to write a matrix; all of them are tested alike.
type form struct {
	name  string
	write func(io.Writer, *matrix.Matrix, ...grid.Option) error
}

func forms() []form {
	return []form{
		{"txt", func(w io.Writer, m *matrix.Matrix, o ...grid.Option) error { return grid.Text(w, m, 80, false, o...) }},
		{"md", grid.Markdown}, {"annotations", grid.Annotations}, {"junit.xml", grid.JUnit}, {"html", grid.HTML}, {"svg", grid.SVG},
	}
}

func written(t *testing.T, f form, m *matrix.Matrix, o ...grid.Option) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.write(&b, m, o...); err != nil {
		t.Fatalf("%s: %v", f.name, err)
	}
	return b.Bytes()
}

// compared are options with everything in them.
func compared(m *matrix.Matrix) []grid.Option {
	nights := map[string][]grid.Night{}
	for _, c := range m.Cells {
		for n := range 12 {
			nights[c.Cell.ID()] = append(nights[c.Cell.ID()], grid.Night{Started: time.Date(2026, 3, 2+n, 2, 0, 0, 0, time.UTC),
				Outcome: matrix.Outcomes[n%len(matrix.Outcomes)], Violated: n % 4, Of: 3})
		}
	}
	return []grid.Option{grid.Nights(nights), grid.Artifacts("https://ci.example/runs/7"), grid.StoreAt("out/store"), grid.Changes("the baseline", []grid.Change{
		{Kind: "slower", Cell: "uuid-lua+read-write_single_none", Text: "acquire p95 from 4.1 ms to 9.8 ms"},
		{Kind: "newly violated", Cell: "uuid-lua+read-write_single_kill-client", Text: "no-lost-update: 0 of 60 runs before, 1 of 3 now", Severity: grid.Regression},
		{Kind: "gone", Cell: "multilock+read-write_redlock_storm", Text: "the baseline has it, the matrix has not", Severity: grid.Doubt},
	})}
}

// ladder is a small matrix: the goldens of JUnit XML and the page are read by people.
func ladder() *matrix.Matrix {
	m := gridtest.Mixed(1)
	var kept []matrix.Result
	for _, c := range m.Cells {
		if c.Cell.Topology == "single" && (c.Cell.Lock == "uuid-lua" || c.Cell.Lock == "setex-del") || c.Outcome != matrix.AsExpected {
			kept = append(kept, c)
		}
	}
	m.Name, m.Cells = "ladder", kept
	m.WallS = m.Unavoidable().Seconds() * 1.21
	return m
}

// TestGolden compares each form with the file that was looked at. Rewrite the files with:
// go test ./reports/grid -run TestGolden -rewrite
func TestGolden(t *testing.T) {
	clean, broken := gridtest.Nightly(1), ladder()
	broken.Missing = 12
	for name, c := range map[string]struct {
		m    *matrix.Matrix
		opts []grid.Option
	}{
		"mixed":  {gridtest.Mixed(1), nil},
		"clean":  {clean, []grid.Option{grid.Changes("the baseline", nil)}},
		"ladder": {ladder(), compared(ladder())},
		"broken": {broken, nil},
		"empty":  {&matrix.Matrix{}, nil},
	} {
		for _, f := range forms() {
			switch {
			case f.name == "html" || f.name == "svg": // screenshots are looked at instead
				continue
			case f.name == "junit.xml" && len(c.m.Cells) > 100:
				continue
			}
			t.Run(name+"."+f.name, func(t *testing.T) {
				got := written(t, f, c.m, c.opts...)
				file := filepath.Join("testdata", name+"."+f.name)
				if *rewrite {
					if err := os.WriteFile(file, got, 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%s differs from what was looked at (see with -rewrite and git diff); it is now\n%.3000s", file, got)
				}
			})
		}
	}
}

// TestSameInSameOut: reports that differ without a reason cannot be compared.
func TestSameInSameOut(t *testing.T) {
	for _, f := range forms() {
		first := written(t, f, gridtest.Mixed(3), compared(gridtest.Mixed(3))...)
		for range 2 {
			if !bytes.Equal(first, written(t, f, gridtest.Mixed(3), compared(gridtest.Mixed(3))...)) {
				t.Errorf("%s: the same matrix gives different texts", f.name)
				break
			}
		}
	}
}

// TestTheMatrixStaysAsItIs: who writes a report must not change what it is of.
func TestTheMatrixStaysAsItIs(t *testing.T) {
	for _, make := range []func() *matrix.Matrix{func() *matrix.Matrix { return gridtest.Mixed(1) }, gridtest.Hostile} {
		m := make()
		for _, f := range forms() {
			written(t, f, m, compared(m)...)
		}
		var got, want bytes.Buffer
		dump(&got, m)
		dump(&want, make())
		if got.String() != want.String() {
			t.Error("writing reports changed the matrix")
		}
	}
}
