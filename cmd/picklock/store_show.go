package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"picklock/harness"
	"picklock/harness/store"
	"picklock/reports"
)

func newStoreShow(root *string) *cobra.Command {
	var asJSON, watch bool
	cmd := &cobra.Command{
		Use:   "show DIR|NAME|START|latest",
		Short: "Show one stored test: its verdict, its files, how to repeat it",
		Long: `Show one stored test: its verdict, its files, and the command that repeats it. The test
is named by its folder; by its name, which means the newest of that name; by the
beginning of its start time, as in picklock store list; or it is the latest. With --watch,
a test that another picklock runs is followed until it ends, and so is a matrix, named by
its folder.`,
		Example: `  picklock store show latest
  picklock store show uuid-lua+read-write_single_pause-client
  picklock store show 20260131T180000
  picklock store show latest --watch
  picklock store show matrices/nightly/20260131T180000.000Z --watch`,
		Args: exactly(1, "one stored test"), ValidArgsFunction: completeTests(root),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := newScreen(cmd, asJSON)
			if dir, ok := matrixFolder(*root, args[0]); watch && ok {
				return watchMatrix(cmd.Context(), s, dir)
			}
			e, err := findTest(*root, args[0])
			if err != nil {
				return err
			}
			if watch && e.State == store.Running {
				if err := watchTest(cmd.Context(), s, e.Dir); err != nil || cmd.Context().Err() != nil {
					return err
				}
				if e, err = findTest(*root, string(e.Dir)); err != nil {
					return err
				}
			}
			if asJSON {
				entries := []store.Entry{e}
				if err := store.Measure(entries); err != nil {
					return err
				}
				return printJSON(s, entries[0])
			}
			return showTest(s, &e)
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "follow what another picklock runs until it ends; Ctrl-C stops watching")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what picklock store list --json says of it")
	return cmd
}

// findTest finds the one test that is meant.
func findTest(root, what string) (store.Entry, error) {
	dir := what
	if what == "latest" {
		to, err := filepath.EvalSymlinks(filepath.Join(root, what))
		if err != nil {
			return store.Entry{}, fmt.Errorf("%s: %w: nothing is the latest there", root, store.ErrNotAStore)
		}
		dir = to
	}
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		e, ok := store.Look(store.Dir(filepath.Clean(dir)))
		if ok && e.State == store.Damaged {
			return e, fmt.Errorf("%s: %w: %s", dir, store.ErrNotATest, e.Why)
		}
		if ok {
			err := referring(root, &e)
			return e, err
		}
		if info, err := os.Stat(filepath.Join(root, what)); err != nil || !info.IsDir() {
			return e, fmt.Errorf("%s: %w: it has no %s", dir, store.ErrNotATest, store.TestFile)
		}
	}
	all, err := store.List(root, store.Options{Matrices: true})
	if err != nil {
		return store.Entry{}, err
	}
	in := filepath.ToSlash(filepath.Clean(what))
	var found []store.Entry
	for _, e := range all {
		switch {
		case e.Path == in, e.Name == what, e.Run == what && what != "":
			found = []store.Entry{e} // they are newest first
		case what != "" && strings.HasPrefix(path.Base(e.Path), what):
			found = append(found, e)
			continue
		default:
			continue
		}
		break
	}
	switch {
	case len(found) == 0:
		names := make([]string, len(all))
		for i := range all {
			names[i] = all[i].Name
		}
		slices.Sort(names)
		return store.Entry{}, harness.Unknown("stored test", what, slices.Compact(names))
	case len(found) > 1:
		return store.Entry{}, &flagError{fmt.Errorf("%q can mean %d tests, among them %s and %s", what, len(found), found[0].Dir, found[1].Dir)}
	case found[0].State == store.Damaged:
		return found[0], fmt.Errorf("%s: %w: %s", found[0].Dir, store.ErrNotATest, found[0].Why)
	}
	return found[0], nil
}

// referring finds out which matrices of the store refer to a test that was named by its
// folder, if it is in the store.
func referring(root string, e *store.Entry) error {
	at, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(string(e.Dir))
	if err != nil {
		return err
	}
	in, err := filepath.Rel(at, dir)
	if err != nil || !filepath.IsLocal(in) {
		return nil // it is somewhere else
	}
	all, err := store.Matrices(root)
	for _, m := range all {
		if slices.Contains(m.Tests, filepath.ToSlash(in)) {
			e.Matrices = append(e.Matrices, m.Path)
		}
	}
	return err
}

// completeTests completes the names of the stored tests.
func completeTests(root *string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		all, err := store.List(*root, store.Options{})
		if err != nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		names := []string{"latest"}
		for i := range all {
			names = append(names, all[i].Name)
		}
		slices.Sort(names)
		return slices.Compact(names), cobra.ShellCompDirectiveDefault
	}
}

func showTest(s *screen, e *store.Entry) error {
	rerun := ""
	if e.State == store.Judged {
		r, err := e.Dir.ReadResult()
		if err != nil {
			return err
		}
		dir := string(e.Dir)
		if _, err := os.Stat(e.Dir.Path(store.ReportFile)); err != nil {
			dir = "" // there is no report
		}
		if err := reports.Terminal(s.out, r, dir, s.color); err != nil {
			return err
		}
		rerun = r.Rerun
	} else {
		t, err := e.Dir.ReadTest()
		if err != nil {
			return err
		}
		s.say("%s: %s", strings.ToUpper(string(e.State)), printable(e.Why))
		s.say("%s + %s, %s, %s, seed %d", printable(e.Lock), printable(e.Deduct), printable(e.Topology), printable(e.Fault()), e.Seed)
		rerun = harness.Rerun(*t, string(e.Dir))
	}
	for i, m := range e.Matrices {
		if i == 0 {
			s.say("\nMatrices that refer to it")
		}
		s.say("  %s", printable(m))
	}
	files, err := filesOf(e.Dir)
	if err != nil {
		return err
	}
	s.say("\nFiles in %s", printable(string(e.Dir)))
	for _, f := range files {
		s.say("  %9s  %s", f.size, printable(f.name))
	}
	s.say("\nRepeat it\n  %s", printable(rerun))
	return nil
}

type fileLine struct{ size, name string }

// filesOf lists the files of a test: those in folders as one line for each folder.
func filesOf(d store.Dir) ([]fileLine, error) {
	all, err := os.ReadDir(string(d))
	if err != nil {
		return nil, err
	}
	var lines []fileLine
	for _, f := range all {
		info, err := f.Info()
		switch {
		case os.IsNotExist(err):
		case err != nil:
			return nil, err
		case f.IsDir():
			u, err := store.Dir(d.Path(f.Name())).Use()
			if err != nil {
				return nil, err
			}
			if u.Files > 0 {
				lines = append(lines, fileLine{humanize.Bytes(uint64(u.Bytes)), fmt.Sprintf("%s/ (%s)", f.Name(), counting(u.Files, "file"))})
			}
		case !strings.HasPrefix(f.Name(), ".") && info.Mode().Type() != fs.ModeSymlink:
			lines = append(lines, fileLine{humanize.Bytes(uint64(info.Size())), f.Name()})
		}
	}
	return lines, nil
}
