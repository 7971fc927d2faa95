package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"picklock/harness/compare"
	"picklock/reports/changes"
)

func newTrend() *cobra.Command {
	var root, format, out string
	var last int
	cmd := &cobra.Command{
		Use:   "trend [NAME]",
		Short: "Draw each cell of a matrix over the nights",
		Long: `Draw each cell over all stored matrices of a name: what became of it in each night, its
sales per second, and the night that first showed a violation of what should hold.
NAME may be left out if the store has matrices of one name only.`,
		Example: `  picklock trend nightly
  picklock trend nightly --last 90 --format html --out trend.html`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return &flagError{fmt.Errorf("%s takes one name of a matrix or none, not %d arguments", cmd.CommandPath(), len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := changes.Known(format); err != nil {
				return &flagError{err}
			}
			if last < 1 {
				return &flagError{fmt.Errorf("--last must be at least 1, not %d", last)}
			}
			name := ""
			if len(args) == 1 {
				name = args[0]
			} else {
				var err error
				if name, err = compare.Named(root); err != nil {
					return unreadable(err)
				}
			}
			t, err := compare.ReadTrend(root, name, last)
			if err != nil {
				return unreadable(err)
			}
			return output(cmd.OutOrStdout(), out, func(w io.Writer) error { return changes.WriteTrend(w, format, t) })
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().IntVar(&last, "last", 30, "matrices to show, counted from the newest")
	cmd.Flags().StringVar(&format, "format", changes.FormatText, strings.Join(changes.Formats, ", "))
	cmd.Flags().StringVar(&out, "out", "", "file to write to, instead of standard output")
	cmd.Flags().StringVar(&root, "store", "store", "folder that keeps the matrices")
	return cmd
}
