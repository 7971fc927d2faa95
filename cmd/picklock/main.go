// Command picklock tries to break Redis locks and proves from the record whether they
// kept their promises. One file per subcommand; flags and printing only.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"strings"

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"picklock/docker"
	"picklock/harness"
	"picklock/harness/client"
	"picklock/harness/foreign"
	"picklock/harness/history"
	"picklock/harness/matrix"
	"picklock/harness/store"
	"picklock/harness/topology"
	"picklock/reports/text"
)

// Exit statuses. See DESIGN.md; 0, 1 and 2 tell the verdict.
const (
	exitValid       = 0
	exitViolated    = 1
	exitUnknown     = 2
	exitInterrupted = 130
	exitUsage       = 254
	exitHarness     = 255
)

func main() {
	// Libraries do not write to stderr on their own; their errors reach us anyway.
	logging.Disable()
	docker.RedirectLog(slog.New(slog.DiscardHandler))
	topology.RunGuardIfAsked()
	if client.Asked() {
		if err := client.Run(os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// What a dying terminal or a supervisor sends is handled like Ctrl-C: heal, end
	// everything, leave nothing behind.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM, unix.SIGHUP)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

// run is main without the process: it returns the exit status.
func run(ctx context.Context, args []string) int {
	status := 0
	root := newRoot(&status)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return status
	}
	code := statusOf(ctx, err)
	fmt.Fprintf(os.Stderr, "picklock: %s\n", oneLine(err))
	return code
}

func statusOf(ctx context.Context, err error) int {
	var flags *flagError
	var file *foreign.Error
	switch {
	case errors.Is(err, harness.ErrInterrupted), ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &flags), errors.As(err, &file), errors.Is(err, harness.ErrUsage), errors.Is(err, store.ErrNotATest), errors.Is(err, matrix.ErrNotAMatrix),
		errors.Is(err, store.ErrNotAStore), errors.Is(err, store.ErrArchive),
		errors.Is(err, history.ErrDamaged), errors.Is(err, docker.ErrNoDocker), errors.Is(err, fs.ErrNotExist),
		errors.Is(err, docker.ErrNoImage), errors.Is(err, topology.ErrNoServer):
		return exitUsage
	}
	return exitHarness
}

// sabotaged: faults are made ineffective on purpose, by the tests that prove that this is
// noticed.
func sabotaged() bool { return os.Getenv("PICKLOCK_TEST_SABOTAGE") != "" }

// oneLine joins an error of several lines, so that a log keeps it together.
func oneLine(err error) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\n", "; ")), " ")
}

// flagError is an error of the command line itself.
type flagError struct{ error }

func newRoot(status *int) *cobra.Command {
	root := &cobra.Command{
		Use:   "picklock",
		Short: "Try to break Redis locks, and prove from the record whether they held",
		Long: `picklock starts Redis, lets real client processes sell stock under a lock, pauses and
kills clients and servers while they work, records everything, and proves from the
record whether the lock kept its promises.

Exit status: 0 valid, 1 violated, 2 unknown or vacuous, 130 interrupted,
254 wrong usage or unreadable input, 255 picklock itself failed.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &flagError{fmt.Errorf("%w (see %s --help)", err, cmd.CommandPath())}
	})
	root.AddCommand(newRun(status), newRerun(status), newCheck(status), newExport(), newScenario(status), newMatrix(status), newMerge(status), newDiff(status), newTrend(), newStore(), newServe(), newList(), newImage(), newDoctor(status), newVersion())
	root.SetUsageTemplate(narrowFlags(root.UsageTemplate()))
	narrowHelp(root)
	return root
}

// noCommand refuses what is not a subcommand, with the nearest one that is.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("there is no command %q", args[0])
	if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
		text += fmt.Sprintf("; did you mean %q?", s[0])
	}
	return &flagError{fmt.Errorf("%s (see %s --help)", text, cmd.CommandPath())}
}

// exactly is cobra.ExactArgs with an error that says what is wanted.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return &flagError{fmt.Errorf("%s takes %s, not %s", cmd.CommandPath(), what, text.Plural(len(args), "argument", "arguments"))}
	}
}
