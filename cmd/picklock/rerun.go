package main

import (
	"math/rand/v2"

	"github.com/spf13/cobra"

	"picklock/harness"
	"picklock/harness/store"
)

func newRerun(status *int) *cobra.Command {
	var asJSON, another bool
	var root, runtime string
	cmd := &cobra.Command{
		Use:   "rerun DIR|FILE",
		Short: "Repeat a stored test: the same lock, seed, flags and faults",
		Long: `Repeat a stored test: the same lock, deduction, topology, seed and flags, and the very
schedule of faults that it ran, whatever this version would draw from the seed.`,
		Example: "  picklock rerun store/latest",
		Args:    exactly(1, "the folder or the archive of one stored test"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := storedTest(args[0])
			if err != nil {
				return err
			}
			o := harness.Again(*t, root)
			if runtime != "" {
				o.Runtime = runtime
			}
			if another {
				o.Seed = uint64(rand.Uint32())
			}
			out, err := runTest(cmd.Context(), o, newScreen(cmd, asJSON))
			if err != nil {
				return err
			}
			*status = harness.ExitCode(out.Result)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print results.json to standard output, and nothing else")
	cmd.Flags().BoolVar(&another, "new-seed", false, "draw all jitter anew; the faults stay as they were")
	cmd.Flags().StringVar(&root, "store", "store", "folder that keeps the tests")
	cmd.Flags().StringVar(&runtime, "runtime", "", "auto, docker or process (default: as stored)")
	return cmd
}

// storedTest is what a test was to do that is stored in a folder or an archive.
func storedTest(path string) (t *store.Test, err error) {
	from, err := openSource(path, "", store.Limits{})
	if err != nil {
		return nil, err
	}
	defer func() { err = from.close(err) }()
	return from.dir.ReadTest()
}
