package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"picklock/harness"
	"picklock/harness/matrix"
	"picklock/harness/topology"
	"picklock/reports/bars"
	"picklock/reports/text"
)

// matrixFlags are the flags of matrix.
type matrixFlags struct {
	jobs, seeds                 int
	seed                        uint64
	shard                       string
	resume, list, verbose       bool
	only, servers               []string
	root, runtime, reach, image string
	untilVerdict, newServers    bool
	reports                     matrixReports
	choices                     matrix.Choices
	part                        matrix.Shard
	again                       string // the command that resumes
}

func newMatrix(status *int) *cobra.Command {
	var f matrixFlags
	cmd := &cobra.Command{
		Use:   "matrix [FILE|" + strings.Join(matrix.Builtins(), "|") + "]",
		Short: "Run many tests, with several seeds each, and say what they show",
		Long: `Run a matrix: every cell (lock × deduction × topology × faults × server) with each of its
seeds, each judged against what is known of the lock, property by property. The matrix
is one that is built in (ladder, nightly, full) or a YAML file of your own; picklock matrix
show ladder --yaml prints one to begin with.

A cell is as expected, vacuous (it proves nothing), unknown, not reproduced (what was
expected to be violated was not), error (picklock failed) or an unexpected violation.

The matrix is kept in store/matrices/<name>/<start>, each test in the store as usual. One
that was broken off goes on with --resume: what has ended is not run again. --shard 3/8 runs
the third of eight parts, which picklock merge puts together. --shard auto takes the part
from the variables of GitLab CI, CircleCI, Buildkite, AWS Batch, Cloud Run or Azure
Pipelines, and --shard /8 the index alone, also that of an indexed Job of Kubernetes.
Without --shard no such variable is looked at.

On a terminal, a bar shows how far the matrix is, and a line each test that runs. Where the
output is no terminal, or CI or TERM=dumb is set, there are plain lines: runs that are as
expected are not told one by one (--verbose: they are), but how many there were, once a
minute. NO_COLOR takes the colours away.

Exit status: 0 everything as expected, 1 an unexpected violation, 2 otherwise (vacuous,
unknown, not reproduced), 130 interrupted, 254 wrong usage or unreadable input,
255 picklock itself failed in a run.`,
		Example: `  picklock matrix ladder
  picklock matrix nightly --jobs 4 --resume
  picklock matrix nightly --only 'uuid-lua+*' --seeds 20
  picklock matrix mine.yaml --shard 3/8`,
		ValidArgsFunction: completeMatrices,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 0 && f.list {
				return nil
			}
			return &flagError{fmt.Errorf("%s takes one matrix file, or one of %s, not %d arguments (see picklock matrix --list)",
				cmd.CommandPath(), strings.Join(matrix.Builtins(), ", "), len(args))}
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.list && len(args) == 0 {
				return listMatrices(newScreen(cmd, false))
			}
			if err := f.complete(cmd.Flags(), args[0]); err != nil {
				return err
			}
			source, err := matrix.Load(args[0])
			if err != nil {
				return err
			}
			plan, err := source.Plan(f.choices)
			if err != nil {
				return err
			}
			if f.list {
				return listCells(newScreen(cmd, false), plan, f.part)
			}
			s := newScreen(cmd, false)
			m, dir, err := f.run(cmd.Context(), s, plan)
			if err != nil {
				return err
			}
			*status, err = f.reports.tell(s, m, dir, f.root)
			return err
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().IntVar(&f.jobs, "jobs", 2*runtime.NumCPU(), "tests side by side (default: two for each processor; they mostly wait)")
	cmd.Flags().Lookup("jobs").DefValue = "0" // told above, and not the same everywhere
	cmd.Flags().IntVar(&f.seeds, "seeds", 0, "runs of each cell, each with a seed of its own (default: as the matrix says)")
	cmd.Flags().Uint64Var(&f.seed, "seed", 0, "seed of the first run of each cell; the next ones count up (default: as the matrix says)")
	cmd.Flags().StringArrayVar(&f.only, "only", nil, "run only cells whose name fits, such as 'uuid-lua+*' or '*_pause-client'; repeatable")
	cmd.Flags().StringVar(&f.shard, "shard", "", "run one part: 3/8, auto, or /8 (see above)")
	cmd.Flags().BoolVar(&f.resume, "resume", false, "go on with the newest matrix of this name and plan that was broken off")
	cmd.Flags().BoolVar(&f.list, "list", false, "list the built-in matrices, or the cells of the one named, and run nothing")
	cmd.Flags().BoolVar(&f.verbose, "verbose", false, "a line for each run, also where the output is no terminal")
	cmd.Flags().StringVar(&f.runtime, "runtime", "auto", "auto, docker or process")
	cmd.Flags().StringVar(&f.reach, "reach", "auto", "how containers are reached: auto, container or published")
	cmd.Flags().StringVar(&f.image, "image", "", "image of the nodes (default: picklock's own, built when it is missing)")
	cmd.Flags().StringSliceVar(&f.servers, "server", nil, "servers to test on in place of those that the matrix says, separated by commas (see picklock list servers)")
	cmd.Flags().StringVar(&f.root, "store", "store", "folder that keeps the tests and the matrices")
	cmd.Flags().BoolVar(&f.untilVerdict, "until-verdict", false, "end each test early, once all that is expected to be violated is proven to be")
	cmd.Flags().BoolVar(&f.newServers, "new-servers", false, "start servers for each test, also where those of an earlier one are as good as new")
	f.reports.flags(cmd.Flags())
	cmd.AddCommand(newMatrixShow())
	return cmd
}

func newMatrixShow() *cobra.Command {
	var asYAML bool
	cmd := &cobra.Command{
		Use: "show FILE|NAME", Short: "List the cells of a matrix, or print its file", Args: exactly(1, "one matrix file, or the name of a built-in matrix"),
		Example:           "  picklock matrix show nightly\n  picklock matrix show ladder --yaml > mine.yaml",
		ValidArgsFunction: completeMatrices,
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := matrix.Load(args[0])
			if err != nil {
				return err
			}
			if asYAML {
				return printSource(cmd.OutOrStdout(), args[0])
			}
			plan, err := source.Plan(matrix.Choices{})
			if err != nil {
				return err
			}
			return listCells(newScreen(cmd, false), plan, matrix.Shard{})
		},
	}
	cmd.Flags().BoolVar(&asYAML, "yaml", false, "print the file of the matrix, to make one of your own of it")
	return cmd
}

// complete checks the flags and makes them what a plan takes.
func (f *matrixFlags) complete(flags *pflag.FlagSet, name string) (err error) {
	if f.jobs < 1 {
		return &flagError{errors.New("--jobs must be at least 1")}
	}
	if flags.Changed("seeds") && f.seeds < 1 {
		return &flagError{errors.New("--seeds must be at least 1")}
	}
	for flag, said := range map[string]string{"runtime": f.runtime, "reach": f.reach} {
		if all := harness.Choices()[flag]; !slices.Contains(all, said) {
			return &flagError{fmt.Errorf("--%s must be one of %s, not %q", flag, strings.Join(all, ", "), said)}
		}
	}
	for _, p := range f.only {
		if matrix.CheckPattern(p) != nil || p == "" {
			return &flagError{fmt.Errorf("--only takes a name or a pattern such as 'uuid-lua+*', not %q", p)}
		}
	}
	if f.part, err = matrix.ParseShard(f.shard, os.Getenv); err != nil {
		return err
	}
	f.choices = matrix.Choices{Runtime: f.runtime, Reach: f.reach, Image: f.image, Servers: f.servers, Seeds: f.seeds, Only: f.only, UntilVerdict: f.untilVerdict}
	if flags.Changed("seed") {
		f.choices.Seed = &f.seed
	}
	if err := f.reports.check(); err != nil {
		return err
	}
	f.again = resumeCommand(flags, name)
	return nil
}

// resumeCommand is the command line that goes on with the matrix.
func resumeCommand(flags *pflag.FlagSet, name string) string {
	words := []string{"picklock matrix", harness.Quoted(name)}
	flags.Visit(func(f *pflag.Flag) {
		switch v := f.Value.(type) {
		case pflag.SliceValue:
			for _, s := range v.GetSlice() {
				words = append(words, "--"+f.Name, harness.Quoted(s))
			}
		default:
			switch {
			case f.Name == "resume":
			case v.String() == "true" && v.Type() == "bool":
				words = append(words, "--"+f.Name)
			case v.Type() != "bool":
				words = append(words, "--"+f.Name, harness.Quoted(v.String()))
			}
		}
	})
	return strings.Join(append(words, "--resume"), " ")
}

func (f *matrixFlags) run(ctx context.Context, s *screen, plan *matrix.Plan) (m *matrix.Matrix, dir string, err error) {
	rt, why, err := topology.Select(ctx, f.runtime, topology.DockerOptions{Image: f.image, Reach: topology.Reach(f.reach)})
	if err != nil {
		return nil, "", err
	}
	sit := matrix.Begin
	if f.resume {
		sit = matrix.Resume
	}
	st, err := sit(f.root, plan, f.part)
	if err != nil {
		return nil, "", err
	}
	todo := st.Todo()
	what := fmt.Sprintf("%s: %s, %s", plan.Name, text.Plural(len(plan.Rows), "cell", "cells"), text.Plural(st.Of(), "run", "runs"))
	if f.part.String() != "" {
		what += " in shard " + f.part.String()
	}
	if len(todo) < st.Of() {
		what += fmt.Sprintf(", of which %d have ended", st.Of()-len(todo))
	}
	s.head(fmt.Sprintf("%s, %d side by side, %s at least; %s", what, f.jobs, text.Time(plan.Waiting(todo)/time.Duration(f.jobs)), why))
	fmt.Fprintln(s.out, st.Dir)
	if _, err := rt.Sweep(ctx); err != nil {
		slog.Debug("sweep", "error", err)
	}
	servers := rt
	if !f.newServers {
		pool, err := topology.NewPool(rt, topology.PoolOptions{Idle: f.jobs})
		if err != nil {
			return nil, "", errors.Join(err, st.Close())
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			err = errors.Join(err, pool.Close(ctx))
		}()
		servers = pool
	}
	env := harness.Env{Runtime: servers, NoSweep: true, Sabotage: sabotaged()}
	side := s.sideBySide(ctx, bars.Options{
		Total: st.Of(), Words: outcomeWords(st.Matrix()),
		Weight: plan.Waiting(todo).Seconds(), Least: plan.Waiting(todo) / time.Duration(f.jobs),
	})
	defer side.close()
	t := &teller{side: side, every: s.live || f.verbose, began: time.Now(), told: time.Now(), root: f.root}
	m, err = matrix.Runner{
		Jobs: f.jobs, Keep: side.keep, Tell: t.tell,
		Test: func(ctx context.Context, o harness.Options) (harness.Outcome, error) {
			return side.test(ctx, named(o), time.Duration(o.TimeLimit).Seconds(), o, env)
		},
	}.Run(ctx, st)
	side.close()
	left := st.Left()
	if err := errors.Join(err, st.Close()); err != nil {
		return nil, "", fmt.Errorf("%w (%d of %d runs have ended; go on with: %s)", err, st.Of()-left, st.Of(), f.again)
	}
	m.Store = f.root
	fmt.Fprintln(s.out)
	return m, st.Dir, nil
}

// teller tells how a matrix goes.
type teller struct {
	side  *sideBySide
	every bool // a line for each run, not only for those that are not as expected
	root  string
	began time.Time
	told  time.Time // when something was printed last
	count map[matrix.Outcome]int
}

// silence is after how long a line tells that the matrix is alive: CI systems end jobs that
// say nothing.
const silence = time.Minute

func (t *teller) tell(r matrix.Told) {
	if t.count == nil {
		t.count = map[matrix.Outcome]int{}
	}
	t.count[r.Run.Outcome]++
	t.side.ended(string(r.Run.Outcome))
	fine := r.Run.Outcome == matrix.AsExpected
	if fine && !t.every && time.Since(t.told) < silence {
		return
	}
	t.told = time.Now()
	at := fmt.Sprintf("%4d/%d %4.0f s  ", r.Done, r.Of, time.Since(t.began).Seconds())
	switch {
	case !fine:
		t.side.say(at, fmt.Sprintf("%s, seed %d: %s: %s", r.Cell.ID(), r.Run.Seed, strings.ToUpper(string(r.Run.Outcome)), oneLine(errors.New(r.Run.Why))))
		if r.Run.Dir != "" {
			fmt.Fprintf(t.side.out, "          %s/%s\n", t.root, r.Run.Dir)
		}
	case t.every:
		t.side.say(at, fmt.Sprintf("%s, seed %d: %s", r.Cell.ID(), r.Run.Seed, r.Run.Outcome))
	default:
		var parts []string
		for _, o := range matrix.Outcomes {
			if t.count[o] > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", t.count[o], o))
			}
		}
		t.side.say(at, "runs until now: "+strings.Join(parts, ", "))
	}
}

func listMatrices(s *screen) error {
	var rows [][]string
	for _, name := range matrix.Builtins() {
		source, err := matrix.Load(name)
		if err != nil {
			return err
		}
		p, err := source.Plan(matrix.Choices{})
		if err != nil {
			return err
		}
		rows = append(rows, []string{name, text.Plural(len(p.Rows), "cell", "cells"), text.Plural(len(p.Jobs()), "run", "runs"),
			text.Time(p.Waiting(p.Jobs())) + " of waiting", source.About})
	}
	return text.Table(s.out, s.columns(), rows)
}

// listCells lists the cells of a part of a plan with the seeds that it has of them.
func listCells(s *screen, p *matrix.Plan, part matrix.Shard) error {
	jobs, err := p.Shard(part)
	if err != nil {
		return err
	}
	seeds := make([][]uint64, len(p.Rows))
	for _, j := range jobs {
		seeds[j.Row] = append(seeds[j.Row], j.Seed)
	}
	var rows [][]string
	for i, r := range p.Rows {
		if len(seeds[i]) > 0 {
			rows = append(rows, []string{r.Cell.ID(), "seeds " + spans(seeds[i]), r.Waits().String()})
		}
	}
	if err := text.Table(s.out, s.columns(), rows); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s, %s of waiting; plan %.12s\n", text.Plural(len(jobs), "run", "runs"), text.Time(p.Waiting(jobs)), p.Digest)
	return err
}

// spans writes seeds that count up as "1-20".
func spans(seeds []uint64) string {
	var parts []string
	for i := 0; i < len(seeds); {
		n := i
		for n+1 < len(seeds) && seeds[n+1] == seeds[n]+1 {
			n++
		}
		part := fmt.Sprint(seeds[i])
		if n > i {
			part += fmt.Sprintf("-%d", seeds[n])
		}
		parts, i = append(parts, part), n+1
	}
	return strings.Join(parts, ",")
}

func printSource(out io.Writer, name string) error {
	text, ok := matrix.Builtin(name)
	if !ok {
		var err error
		if text, err = os.ReadFile(name); err != nil {
			return err
		}
	}
	_, err := out.Write(text)
	return err
}

func completeMatrices(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return matrix.Builtins(), cobra.ShellCompDirectiveDefault
}
