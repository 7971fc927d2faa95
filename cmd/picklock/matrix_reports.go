package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"picklock/harness/compare"
	"picklock/harness/matrix"
	"picklock/harness/store"
	"picklock/models"
	"picklock/reports/grid"
)

// matrixReports are the flags that say what else tells of a matrix, and against what.
type matrixReports struct {
	summary, junit string
	annotations    bool
	baseline       string
	update         bool
}

func (f *matrixReports) flags(flags *pflag.FlagSet) {
	flags.StringVar(&f.baseline, "baseline", "", "file with what each cell showed before (see picklock diff): a regression against it is status 1 too")
	flags.BoolVar(&f.update, "update-baseline", false, "write what this matrix shows to --baseline")
	flags.StringVar(&f.summary, "summary", "", "file to add a summary to, in Markdown, such as $GITHUB_STEP_SUMMARY")
	flags.StringVar(&f.junit, "junit", "", "file to write JUnit XML to, beside the one in the matrix's folder")
	flags.BoolVar(&f.annotations, "annotations", false, "print what is not as expected as GitHub's workflow commands as well")
}

func (f *matrixReports) check() error {
	if f.update && f.baseline == "" {
		return &flagError{errors.New("--update-baseline needs --baseline FILE: the file to write")}
	}
	if f.baseline == "" || f.update {
		return nil
	}
	// It is better to know now than after a night.
	if _, err := compare.ReadBaseline(f.baseline); err != nil {
		return unreadable(err)
	}
	return nil
}

// files of a matrix's folder, beside matrix.json.
const (
	gridPicture = "matrix.svg"
	gridSummary = "summary.md"
)

// tell writes the reports of a matrix into its folder and wherever the flags say, prints
// it, and gives the exit status: that of the matrix, unless the baseline makes it worse.
func (f *matrixReports) tell(s *screen, m *matrix.Matrix, dir, root string) (status int, err error) {
	d, against, err := f.compared(m, dir, root)
	if err != nil {
		return 0, err
	}
	var with []grid.Option
	if against != "" {
		with = append(with, grid.Changes(against, changesOf(d)))
	}
	nights, err := nightsBefore(m, root)
	if err != nil {
		return 0, err
	}
	with = append(with, grid.Nights(nights), grid.Artifacts(grid.ArtifactsAddress(os.Getenv)))
	placed := append(with[:len(with):len(with)], grid.StoreAt(filepath.ToSlash(filepath.Clean(root))))

	type form func(io.Writer, *matrix.Matrix, ...grid.Option) error
	for _, x := range []struct {
		file string
		form form
		with []grid.Option
	}{
		{filepath.Join(dir, grid.File), grid.HTML, with},
		{filepath.Join(dir, gridPicture), grid.SVG, with},
		{filepath.Join(dir, gridSummary), grid.Markdown, placed},
		{filepath.Join(dir, store.JUnitFile), grid.JUnit, placed},
		{f.junit, grid.JUnit, placed},
	} {
		if x.file == "" {
			continue
		}
		if err := toFile(x.file, os.O_TRUNC, func(w io.Writer) error { return x.form(w, m, x.with...) }); err != nil {
			return 0, err
		}
	}
	if f.summary != "" {
		if err := toFile(f.summary, os.O_APPEND, func(w io.Writer) error { return grid.Markdown(w, m, placed...) }); err != nil {
			return 0, err
		}
	}
	if f.annotations {
		if err := grid.Annotations(s.out, m, placed...); err != nil {
			return 0, err
		}
	}
	if err := grid.Text(s.out, m, s.width, s.color, placed...); err != nil {
		return 0, err
	}
	fmt.Fprintf(s.out, "\nReport\n  %s\n", filepath.Join(dir, grid.File))
	if f.update {
		if err := compare.UpdateBaseline(f.baseline, m); err != nil {
			return 0, &flagError{err}
		}
	}
	status = m.ExitCode()
	if f.baseline != "" && d != nil {
		status = worse(status, d.Exit)
	}
	return status, nil
}

// worse is the worse of two exit statuses: a violation, a failure of picklock, what is not
// decided.
func worse(a, b int) int {
	for _, x := range []int{exitViolated, exitHarness, exitUnknown} {
		if a == x || b == x {
			return x
		}
	}
	return exitValid
}

// compared says what changed against the baseline or else the last whole matrix of the
// same name in the store; against is empty where there is neither.
func (f *matrixReports) compared(m *matrix.Matrix, dir, root string) (d *compare.Difference, against string, err error) {
	if m.Missing > 0 {
		return nil, "", nil // a part of it says nothing of what is gone
	}
	if f.baseline != "" {
		d, err = compare.AgainstBaseline(f.baseline, m)
		if f.update && errors.Is(err, os.ErrNotExist) {
			return nil, "", nil // the first one
		}
		return d, "the baseline", unreadable(err)
	}
	was, err := before(m, dir, root)
	if was == nil || err != nil {
		return nil, "", err
	}
	d, err = compare.Diff(was, m)
	return d, "the matrix of " + was.Started.Local().Format("2006-01-02 15:04"), err
}

// before is the last whole matrix of the same name; nil: there is none. Others that cannot
// be read are no reason to keep this one from being told.
func before(m *matrix.Matrix, dir, root string) (*matrix.Matrix, error) {
	dirs, err := compare.Stored(root, m.Name)
	if err != nil {
		return nil, nil // none of this name
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		if filepath.Clean(dirs[i]) == filepath.Clean(dir) {
			continue
		}
		was, err := matrix.Read(dirs[i])
		if err == nil && was.Missing == 0 && was.Started.Before(m.Started) {
			return was, nil
		}
	}
	return nil, nil
}

func changesOf(d *compare.Difference) (all []grid.Change) {
	if d == nil {
		return nil
	}
	for _, x := range d.Items {
		text := x.Says
		if about := x.About(); about != "" {
			text = about + ": " + text
		}
		all = append(all, grid.Change{Kind: string(x.Kind), Cell: x.Cell, Text: text, Severity: string(x.Severity)})
	}
	return all
}

// nightsBefore is how each cell did in the last matrices of the same name.
func nightsBefore(m *matrix.Matrix, root string) (map[string][]grid.Night, error) {
	const drawn = 10
	dirs, err := compare.Stored(root, m.Name)
	if err != nil {
		return nil, nil // none of this name
	}
	nights := map[string][]grid.Night{}
	for _, dir := range dirs[max(0, len(dirs)-drawn-1):] {
		was, err := matrix.Read(dir)
		if err != nil || !was.Started.Before(m.Started) {
			continue
		}
		for _, c := range was.Cells {
			nights[c.Cell.ID()] = append(nights[c.Cell.ID()], night(was.Started, &c))
		}
	}
	return nights, nil
}

func night(at time.Time, c *matrix.Result) grid.Night {
	n := grid.Night{Started: at, Outcome: c.Outcome}
	most := matrix.Rate{}
	for _, id := range append(append([]models.Property{}, models.LockProperties...), models.StockProperties...) {
		if r := c.Rates[id]; r.Violated > most.Violated || most.Of == 0 {
			most = r
		}
	}
	n.Violated, n.Of = most.Violated, most.Of
	return n
}

// toFile writes a file, from its beginning (os.O_TRUNC) or at its end (os.O_APPEND).
func toFile(path string, how int, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|how, 0o644)
	if err != nil {
		return &flagError{err}
	}
	return errors.Join(write(f), f.Close())
}
