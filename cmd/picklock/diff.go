package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"picklock/harness/compare"
	"picklock/harness/matrix"
	"picklock/reports/changes"
	"picklock/reports/text"
)

// diffFlags are the flags of diff.
type diffFlags struct{ name, root, format, out, baseline string }

func newDiff(status *int) *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff [A B]",
		Short: "Compare two matrices: what changed, and is more than luck",
		Long: `Compare two matrices, A before and B now: properties newly violated or newly valid,
rates of violations that changed beyond chance, cells that became slower or less
available beyond the noise and the machine's own shift, cells that are new, gone or
not decided any more.

A and B are each the folder of a stored matrix, its matrix.json, a baseline file, or
one of the words latest and previous, for the last two of --name in the store. Without
A and B these two are compared.

A violation where a property should hold is a fact, and one run is enough. Rates are
compared by Fisher's exact test, corrected for all of the matrix by Holm's method;
performance against the noise of runs, cells and locks, corrected by Benjamini and
Hochberg's. What the runs are too few to prove is said.

--update-baseline writes B as the new baseline, whatever differs; with B alone it
compares B with the baseline that is there.

Exit status: 0 nothing became worse, 1 a regression, 2 less is proven than before (gone,
newly valid, unknown, vacuous, error), 254 wrong usage or unreadable input.`,
		Example: `  picklock diff --name nightly
  picklock diff store/matrices/full/20261101T020000.000Z latest --name full
  picklock diff baseline.yaml latest --name nightly --format markdown
  picklock diff --name nightly --update-baseline baseline.yaml latest`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 || len(args) == 1 && f.baseline == "" {
				return &flagError{fmt.Errorf("%s takes two matrices, or none for the last two of --name, not %s", cmd.CommandPath(), text.Plural(len(args), "argument", "arguments"))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := changes.Known(f.format); err != nil {
				return &flagError{err}
			}
			a, b, err := f.sides(args)
			if err != nil {
				return unreadable(err)
			}
			d := a.Diff(b)
			if err := output(cmd.OutOrStdout(), f.out, func(w io.Writer) error { return changes.Write(w, f.format, d) }); err != nil {
				return err
			}
			if f.baseline != "" {
				if err := compare.WriteBaseline(f.baseline, b); err != nil {
					return &flagError{err}
				}
			}
			*status = d.Exit
			return nil
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&f.name, "name", "", "name of the matrices that latest and previous mean (default: the only one in the store)")
	cmd.Flags().StringVar(&f.format, "format", changes.FormatText, strings.Join(changes.Formats, ", "))
	cmd.Flags().StringVar(&f.out, "out", "", "file to write to, instead of standard output")
	cmd.Flags().StringVar(&f.baseline, "update-baseline", "", "file to write B to as the new baseline")
	cmd.Flags().StringVar(&f.root, "store", "store", "folder that keeps the matrices")
	return cmd
}

// sides reads what is to be compared.
func (f diffFlags) sides(args []string) (a, b *compare.Snapshot, err error) {
	switch len(args) {
	case 0:
		args = []string{compare.Previous, compare.Latest}
	case 1:
		if b, err = f.side(args[0]); err != nil {
			return nil, nil, err
		}
		a, err = compare.ReadBaseline(f.baseline)
		if errors.Is(err, fs.ErrNotExist) {
			return b, b, nil // the first baseline: there is nothing to differ from
		}
		return a, b, err
	}
	if a, err = f.side(args[0]); err != nil {
		return nil, nil, err
	}
	b, err = f.side(args[1])
	return a, b, err
}

func (f diffFlags) side(word string) (*compare.Snapshot, error) {
	name := f.name
	if name == "" && (word == compare.Latest || word == compare.Previous) {
		var err error
		if name, err = compare.Named(f.root); err != nil {
			return nil, fmt.Errorf("%w (see --name and --store)", err)
		}
	}
	path, err := compare.Find(f.root, name, word)
	if err != nil {
		return nil, err
	}
	return compare.Load(path)
}

// unreadable makes an error of what a user named one of usage.
func unreadable(err error) error {
	if errors.Is(err, compare.ErrBaseline) || errors.Is(err, compare.ErrNoMatrix) || errors.Is(err, compare.ErrMatrix) || errors.Is(err, matrix.ErrNotAMatrix) {
		return &flagError{err}
	}
	return err
}

// output writes to a file, or without its name to standard output.
func output(stdout io.Writer, file string, write func(io.Writer) error) error {
	if file == "" {
		return write(stdout)
	}
	f, err := os.Create(file)
	if err != nil {
		return &flagError{fmt.Errorf("--out: %w", err)}
	}
	return errors.Join(write(f), f.Close())
}
