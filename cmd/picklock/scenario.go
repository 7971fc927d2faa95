package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"picklock/harness"
	"picklock/harness/scenario"
	"picklock/harness/topology"
	"picklock/reports/bars"
	"picklock/reports/text"
)

func newScenario(status *int) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scenario",
		Short: "The catalogue of known failures: list, explain, reproduce",
		Args:  noCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List the scenarios", Args: exactly(0, "no arguments"),
			RunE: func(cmd *cobra.Command, _ []string) error { return listScenarios(newScreen(cmd, false)) },
		},
		&cobra.Command{
			Use: "show ID", Short: "Explain a scenario: what happens, and what prevents it",
			Example: "  picklock scenario show misdelete", Args: exactly(1, "the id of one scenario"), ValidArgsFunction: completeScenarios,
			RunE: func(cmd *cobra.Command, args []string) error { return showScenario(newScreen(cmd, false), args[0]) },
		},
		newScenarioRun(status),
	)
	return cmd
}

// scenarioFlags are the flags of scenario run.
type scenarioFlags struct {
	repeat, jobs                        int
	seed                                uint64
	root, runtime, reach, image, server string
}

func newScenarioRun(status *int) *cobra.Command {
	var f scenarioFlags
	cmd := &cobra.Command{
		Use:   "run ID...|all",
		Short: "Reproduce them: the guilty must be caught, the innocent pass",
		Long: `Reproduce scenarios on real servers: the guilty lock must violate the judged property,
explained, and the innocent one must keep it under the same fault. A scenario is
reproduced when the guilty is caught in at least 19 of 20 runs, and the innocent passes
in all of them.

On a terminal, a bar shows how far all is, and a line each test that runs; NO_COLOR takes
the colours away, TERM=dumb or CI the bars.

Exit status: 0 everything as expected, 1 an innocent lock violated its property,
2 not reproduced, vacuous or unknown, 130 interrupted, 254 wrong usage, 255 picklock
itself failed in a run.`,
		Example: `  picklock scenario run misdelete
  picklock scenario run all --repeat 20 --jobs 6`,
		ValidArgsFunction: completeScenarios,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &flagError{fmt.Errorf("%s takes the ids of scenarios, or all (see picklock scenario list)", cmd.CommandPath())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := chooseScenarios(args)
			if err != nil {
				return err
			}
			if f.repeat < 1 || f.jobs < 1 {
				return &flagError{errors.New("--repeat and --jobs must be at least 1")}
			}
			rows, err := f.run(cmd.Context(), newScreen(cmd, false), chosen)
			if err != nil {
				return err
			}
			*status = scenario.ExitCode(rows)
			return nil
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().IntVar(&f.repeat, "repeat", 1, "runs of each case, each with a seed of its own")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "seed of the first run; the next ones count up")
	cmd.Flags().IntVar(&f.jobs, "jobs", 4, "tests side by side")
	cmd.Flags().StringVar(&f.runtime, "runtime", "auto", "auto, docker or process")
	cmd.Flags().StringVar(&f.reach, "reach", "auto", "how containers are reached: auto, container or published")
	cmd.Flags().StringVar(&f.image, "image", "", "image of the nodes (default: picklock's own, built when it is missing)")
	cmd.Flags().StringVar(&f.server, "server", "", "the server to test on (see picklock list servers)")
	cmd.Flags().StringVar(&f.root, "store", "store", "folder that keeps the tests")
	return cmd
}

func (f scenarioFlags) run(ctx context.Context, s *screen, chosen []scenario.Scenario) ([]scenario.Row, error) {
	rt, why, err := topology.Select(ctx, f.runtime, topology.DockerOptions{Image: f.image, Reach: topology.Reach(f.reach)})
	if err != nil {
		return nil, err
	}
	cases := 0
	for _, x := range chosen {
		cases += len(x.Guilty) + len(x.Innocent)
	}
	s.head(fmt.Sprintf("%s, %s, %d side by side; %s", text.Plural(len(chosen), "scenario", "scenarios"), text.Plural(cases*f.repeat, "run", "runs"), f.jobs, why))
	if _, err := rt.Sweep(ctx); err != nil {
		slog.Debug("sweep", "error", err)
	}
	env := harness.Env{Runtime: rt, NoSweep: true, Sabotage: sabotaged()}
	side := s.sideBySide(ctx, bars.Options{
		Total: cases * f.repeat, Words: []bars.Word{{Word: asExpected, Colour: bars.Green}, {Word: notExpected, Colour: bars.Red}},
		Weight: float64(cases * f.repeat),
	})
	defer side.close()
	done, began := 0, time.Now()
	rows, err := scenario.RunAll(ctx, scenario.Plan{
		Scenarios: chosen, Repeat: f.repeat, Seed: f.seed, Jobs: f.jobs, Keep: side.keep,
		Test: func(ctx context.Context, r scenario.Run, o harness.Options) (harness.Outcome, error) {
			return side.test(ctx, r.Scenario+", "+sideOf(r)+" "+named(o), 1, o, env)
		},
		Options: func(o *harness.Options) { o.Root, o.Server, o.Reach, o.Image = f.root, f.server, f.reach, f.image },
		Tell: func(r scenario.Run) {
			done++
			word := asExpected
			if r.Err != nil || !r.Met {
				word = notExpected
			}
			side.ended(word)
			tellRun(side, r, done, cases*f.repeat, time.Since(began))
		},
	})
	side.close()
	fmt.Fprintln(s.out)
	return rows, errors.Join(err, printRows(s, rows))
}

// What a run of a scenario can end as.
const (
	asExpected  = "as expected"
	notExpected = "not as expected"
)

func sideOf(r scenario.Run) string {
	if r.Guilty {
		return "guilty"
	}
	return "innocent"
}

func tellRun(side *sideBySide, r scenario.Run, done, of int, took time.Duration) {
	word := "passed"
	if r.Guilty {
		word = "caught"
	}
	switch {
	case r.Err != nil:
		word = "FAILED: " + oneLine(r.Err)
	case !r.Met:
		word = "NOT " + word + ": " + r.Why
	}
	side.say(fmt.Sprintf("%4d/%d %4.0f s  ", done, of, took.Seconds()), fmt.Sprintf("%s, %s %s, seed %d: %s", r.Scenario, sideOf(r), r.Case, r.Seed, word))
	if r.Err != nil || !r.Met {
		fmt.Fprintf(side.out, "          %s\n", r.Dir)
	}
}

// printRows prints the table: how often the guilty were caught and the innocent passed,
// and the median time to the violation.
func printRows(s *screen, rows []scenario.Row) error {
	lines := [][]string{{"#", "scenario", "judged on", "caught", "passed", "median", ""}}
	for _, r := range rows {
		median := "-"
		if m := r.Median(); m >= 0 {
			median = fmt.Sprintf("%.1f s", m)
		}
		word := ""
		if !r.Reproduced() || !r.Passed() {
			word = "FAILED"
		}
		lines = append(lines, []string{fmt.Sprint(r.Scenario.Row), r.Scenario.ID, judgedOn(r.Scenario), share(r, true), share(r, false), median, word})
	}
	if err := text.Table(s.out, s.columns(), lines); err != nil {
		return err
	}
	return text.Paragraph(s.out, s.columns(), "", "caught: of the runs of the guilty lock; passed: of those of the innocent one; median: of the times to the violation")
}

func judgedOn(s scenario.Scenario) string {
	on := slices.Clone(s.Judged)
	for _, m := range s.Measured {
		on = append(on, m.Measure)
	}
	if len(on) > 1 {
		return on[0] + " …"
	}
	return strings.Join(on, ", ")
}

func share(r scenario.Row, guilty bool) string {
	met, of := r.Count(guilty)
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", met, of)
}

func listScenarios(s *screen) error {
	all, err := scenario.All()
	if err != nil {
		return err
	}
	var rows [][]string
	for _, x := range all {
		rows = append(rows, []string{fmt.Sprint(x.Row), x.ID, x.Title})
	}
	return text.Table(s.out, s.columns(), rows)
}

func showScenario(s *screen, id string) error {
	chosen, err := chooseScenarios([]string{id})
	if err != nil {
		return err
	}
	x, p := chosen[0], paragraphs{s: s}
	p.say("", fmt.Sprintf("%d %s: %s", x.Row, x.ID, x.Title))
	p.say("", "")
	p.steps(x.Happens)
	for _, part := range [][2]string{{"What prevents it:", x.Fix}, {"Note:", x.Note}} {
		if part[1] != "" {
			p.say("", "")
			p.say("", part[0])
			p.steps(part[1])
		}
	}
	p.say("", "")
	p.say("", "Source: "+x.Source)
	p.say("", "Judged on: "+strings.Join(append(slices.Clone(x.Judged), x.Measures()...), ", "))
	p.say("", "Guilty: "+strings.Join(x.Names(true), "; "))
	p.say("", "Innocent: "+strings.Join(x.Names(false), "; "))
	return p.err
}

func chooseScenarios(ids []string) ([]scenario.Scenario, error) {
	all, err := scenario.All()
	if err != nil {
		return nil, err
	}
	if slices.Contains(ids, "all") {
		return all, nil
	}
	var chosen []scenario.Scenario
	for _, id := range ids {
		at := slices.IndexFunc(all, func(s scenario.Scenario) bool { return s.ID == id })
		if at < 0 {
			return nil, harness.Unknown("scenario", id, scenarioIDs(all))
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil
}

func scenarioIDs(all []scenario.Scenario) []string {
	ids := make([]string, len(all))
	for i, s := range all {
		ids[i] = s.ID
	}
	return ids
}

func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	all, err := scenario.All()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return append(scenarioIDs(all), "all"), cobra.ShellCompDirectiveNoFileComp
}
