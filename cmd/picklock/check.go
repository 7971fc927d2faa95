package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"picklock/harness"
	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/reports"
)

func newCheck(status *int) *cobra.Command {
	var asJSON bool
	var checker, into string
	var most unpackFlag
	var other foreignFlags
	cmd := &cobra.Command{
		Use:   "check DIR|FILE",
		Short: "Judge a stored test, or another harness's history, offline",
		Long: `Judge a stored test again from its history, without any server, and write its results
and its report anew (unless the folder is read-only). A history that breaks off (the harness was killed, or the file was
cut) is judged up to there, and the result says so; one that is damaged elsewhere is refused.

An archive of picklock store export is judged in the same way; nothing is written then,
unless --out names a store to keep it in.

With --format and --model it judges a file that another harness wrote: Jepsen's EDN, the
logs of porcupine's tests, or one JSON object a line. Nothing is written then.

Exit status: 0 valid, 1 violated, 2 unknown or vacuous, 254 unreadable, 255 the checkers
disagree.`,
		Example: `  picklock check store/latest
  picklock check --checker both store/latest
  picklock check found.tar.zst
  picklock check --format edn --model owner-mutex history.edn`,
		Args: exactly(1, "the folder or the archive of one stored test, or with --format one file"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if foreign, err := other.asked(cmd.Flags()); err != nil {
				return err
			} else if foreign {
				if checker != "" {
					return &flagError{errors.New("--checker is for picklock's own histories: it cannot stand beside --format")}
				}
				if into != "" {
					return &flagError{errors.New("--out is for picklock's own archives: it cannot stand beside --format")}
				}
				*status, err = other.judge(cmd, args[0], asJSON)
				return err
			}
			if checker != "" && !slices.Contains(harness.Checkers(), checker) {
				return &flagError{fmt.Errorf("--checker must be one of %s, not %q", strings.Join(harness.Checkers(), ", "), checker)}
			}
			limits, err := most.limits()
			if err != nil {
				return err
			}
			from, err := openSource(args[0], into, limits)
			if err != nil {
				return err
			}
			defer func() { err = from.close(err) }()
			lean(from.dir)
			var draft *reports.Draft
			out, err := harness.Judge(from.dir, checker, func(h *history.History) {
				if from.tmp == "" {
					draft = reports.Begin(h)
				}
			})
			if err != nil {
				return err
			}
			*status = harness.ExitCode(out.Result)
			s := newScreen(cmd, asJSON)
			if from.tmp != "" { // the folder goes; the archive stays as it is
				out.Dir, out.Result.Rerun = "", harness.Rerun(out.Result.Test, from.archive)
				return s.result(out)
			}
			if err := keepDraft(out, draft); errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
				s.say("the folder cannot be written: its results and its report stay as they are")
			} else if err != nil {
				return err
			}
			return s.result(out)
		},
	}
	checkerFlag(cmd.Flags(), &checker, "")
	other.add(cmd.Flags())
	cmd.Flags().StringVar(&into, "out", "", "of an archive: a store to put it into, with its results and its report made anew")
	most.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print results.json to standard output, and nothing else")
	return cmd
}

// lean lets memory grow without collections while a check is so small that it ends before
// it has 900 MiB: they take longer than the check itself, and have the system map memory
// that nobody has written to yet. A larger one does as always.
func lean(dir store.Dir) {
	if st, err := os.Stat(dir.Path(store.HistoryFile)); err == nil && st.Size() < 500e6 {
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(900 << 20)
	}
}

// checkerFlag adds the choice of the checker.
func checkerFlag(f *pflag.FlagSet, to *string, given string) {
	f.StringVar(to, "checker", given, "who decides linearizability: fast (near-linear, with porcupine's second opinion on violations),\nporcupine, or both, which must agree")
}
