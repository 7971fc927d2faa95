package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"picklock/harness/matrix"
)

func newMerge(status *int) *cobra.Command {
	var root, out string
	var also matrixReports
	cmd := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Put the parts of a matrix together that --shard has run",
		Long: `Put the parts of one matrix together: the folders that picklock matrix --shard 1/8, 2/8 and
so on have left under store/matrices. They must have the same plan: the same file, the same
flags, the same version of its defaults. No run may be in two of them, unless it is the very
same.

The whole goes to store/matrices/<name>/<start>, or to --out. What is missing is told, and
is run by picklock matrix with the same arguments, without --shard, and --resume.

Exit status: that of the whole matrix; 2 also if runs are missing and nothing worse is found;
254 if the folders do not belong together.`,
		Example: "  picklock merge shards/*/matrices/nightly/*",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &flagError{errors.New("picklock merge takes the folders of the parts of a matrix (store/matrices/<name>/<start>)")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := also.check(); err != nil {
				return err
			}
			m, err := matrix.Merge(args, root, out)
			if err != nil {
				return err
			}
			m.Store = root
			if *status, err = also.tell(newScreen(cmd, false), m.Matrix, m.Dir, root); err != nil {
				return err
			}
			if len(m.Absent) > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "missing: %s\n", m.Lacks())
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&root, "store", "store", "folder that keeps the matrices")
	cmd.Flags().StringVar(&out, "out", "", "folder for the whole matrix, in place of one in the store")
	also.flags(cmd.Flags())
	return cmd
}
