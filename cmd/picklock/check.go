package main

import (
	"errors"
	"io/fs"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"picklock/harness"
	"picklock/harness/store"
)

func newCheck(status *int) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check DIR",
		Short: "Judge a stored test again, offline",
		Long: `Judge a stored test again from its history, without any server, and write its results
and its report anew (unless the folder is read-only). A history that breaks off (the harness was killed, or the file was
cut) is judged up to there, and the result says so; one that is damaged elsewhere is refused.`,
		Example: "  picklock check store/latest",
		Args:    exactly(1, "the folder of one stored test"),
		RunE: func(cmd *cobra.Command, args []string) error {
			out, err := harness.Judge(store.Dir(args[0]))
			if err != nil {
				return err
			}
			*status = harness.ExitCode(out.Result)
			s := newScreen(cmd, asJSON)
			if err := keep(out); errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
				s.say("the folder cannot be written: its results and its report stay as they are")
			} else if err != nil {
				return err
			}
			return s.result(out)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print results.json to standard output, and nothing else")
	return cmd
}
