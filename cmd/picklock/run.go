package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"picklock/harness"
	"picklock/harness/store"
)

func newRun(status *int) *cobra.Command {
	o := harness.Defaults()
	var asJSON bool
	var schedule string
	var own access
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run one test and judge it",
		Example: `  picklock run
  picklock run --lock uuid-lua --nemesis none
  picklock run --lock setnx --nemesis kill-client --ttl 1s --seed 7`,
		Args: exactly(0, "flags only"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(complete(cmd.Flags(), &o, schedule), own.apply(cmd.Flags(), &o)); err != nil {
				return err
			}
			out, err := runTest(cmd.Context(), o, newScreen(cmd, asJSON))
			if err != nil {
				return err
			}
			*status = harness.ExitCode(out.Result)
			return nil
		},
	}
	runFlags(cmd.Flags(), &o)
	own.flags(cmd.Flags(), &o)
	cmd.Flags().StringVar(&schedule, "schedule", "", "file with the exact faults, in place of --nemesis; every test keeps its own as schedule.yaml")
	for flag, values := range harness.Choices() {
		// It fails for a flag that does not exist only, and a test goes through them.
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print results.json to standard output, and nothing else")
	return cmd
}

func runFlags(f *pflag.FlagSet, o *harness.Options) {
	f.SortFlags = false
	f.StringVar(&o.Lock, "lock", o.Lock, "the lock under test (see picklock list locks)")
	f.StringVar(&o.Deduct, "deduct", o.Deduct, "how a unit is taken from the stock (see picklock list deductions)")
	f.StringVar(&o.Topology, "topology", o.Topology, "the servers (see picklock list topologies)")
	f.IntVar(&o.Replicas, "replicas", o.Replicas, "of the primary, on topology failover (default 2)")
	f.IntVar(&o.Test.Nodes, "nodes", o.Test.Nodes, "independent primaries, on topology redlock: 5 or 3 (default 5)")
	f.StringVar(&o.Server, "server", o.Server, "the server, such as redis:7.0 (see picklock list servers; default: what the runtime has)")
	f.StringArrayVar(&o.Config, "config", o.Config, "a line of redis.conf for the lock nodes, such as \"min-replicas-to-write 1\"; repeatable")
	f.StringSliceVar(&o.Nemesis, "nemesis", o.Nemesis, "the faults, separated by commas, or none (see picklock list nemeses)")
	f.Uint64Var(&o.Seed, "seed", 0, "fixes the faults and all jitter (default: drawn anew, and told)")
	duration(f, &o.TimeLimit, "time-limit", "how long the load runs")
	f.BoolVar(&o.UntilVerdict, "until-verdict", o.UntilVerdict, "end the load early, once all that is expected to be violated is proven to be")
	duration(f, &o.TTL, "ttl", "lease of the lock (default: its source's, at most a tenth of the time limit)")
	f.IntVar(&o.Clients, "clients", o.Clients, "client processes")
	f.IntVar(&o.Workers, "workers", o.Workers, "workers in each client")
	f.Int64Var(&o.Stock, "stock", o.Stock, "units of each SKU at the start")
	f.IntVar(&o.SKUs, "skus", o.SKUs, "SKUs, each with a lock of its own")
	duration(f, &o.Think, "think", "time that the business takes inside the section")
	duration(f, &o.Pause, "think-after", "time between two sales of a worker, outside the section")
	f.Float64Var(&o.Rate, "rate", o.Rate, "sales that each worker tries per second at most (0: no bound)")
	duration(f, &o.AcquireTimeout, "acquire-timeout", "how long a worker waits for the lock")
	duration(f, &o.RedisTimeout, "redis-timeout", "how long a client waits for a reply (default: 5% of the TTL)")
	duration(f, &o.Grace, "grace", "liveness: what a free lock may take beyond the TTL to be granted")
	f.IntVar(&o.MinSales, "min-sales", o.MinSales, "fewer completed sales make the test vacuous")
	f.IntVar(&o.MinContention, "min-contention", o.MinContention, "fewer pairs of contending workers make the test vacuous")
	f.StringVar(&o.Customer, "customer", o.Customer, "what the names of customers begin with; some locks use them as tokens")
	duration(f, &o.CheckTimeout, "check-timeout", "how long porcupine may take for one lock or SKU")
	checkerFlag(f, &o.Checker, o.Checker)
	f.StringVar(&o.Persistence, "persistence", o.Persistence, "of the nodes: none, everysec or always")
	f.StringVar(&o.StockOn, "stock-on", o.StockOn, "own: the stock has a node that no fault touches; lock: it shares the lock's")
	f.StringVar(&o.Runtime, "runtime", o.Runtime, "auto, docker or process")
	f.StringVar(&o.Reach, "reach", o.Reach, "how containers are reached: auto, container or published")
	f.StringVar(&o.Image, "image", o.Image, "image of the nodes (default: picklock's own, built when it is missing)")
	f.StringVar(&o.Root, "store", o.Root, "folder that keeps the tests")
}

func duration(f *pflag.FlagSet, d *store.Duration, name, help string) {
	f.DurationVar((*time.Duration)(d), name, time.Duration(*d), help)
}

// complete settles what only the command line can tell: a value that was not given from
// one that is given and wrong.
func complete(f *pflag.FlagSet, o *harness.Options, schedule string) error {
	if schedule != "" {
		if f.Changed("nemesis") {
			return &flagError{fmt.Errorf("--schedule says which faults there are: --nemesis cannot stand beside it")}
		}
		faults, err := harness.ReadSchedule(schedule)
		if err != nil {
			return err
		}
		o.Nemesis, o.Schedule, o.Explicit = nil, faults, true
	}
	for name, d := range map[string]store.Duration{"ttl": o.TTL, "redis-timeout": o.RedisTimeout} {
		if f.Changed(name) && d <= 0 {
			return &flagError{fmt.Errorf("--%s must be longer than 0, for example 1s, not %s", name, d)}
		}
	}
	if !f.Changed("seed") {
		o.Seed = uint64(rand.Uint32())
	}
	if slices.Contains(o.Nemesis, "none") {
		if len(o.Nemesis) > 1 {
			return &flagError{fmt.Errorf("--nemesis none cannot stand with other faults")}
		}
		o.Nemesis = nil
	}
	return nil
}

// runTest runs one test and shows it.
func runTest(ctx context.Context, o harness.Options, s *screen) (harness.Outcome, error) {
	o, err := harness.Plan(o)
	if err != nil {
		return harness.Outcome{}, err
	}
	rt, why, err := harness.Runtime(ctx, o)
	if err != nil {
		return harness.Outcome{}, err
	}
	s.say("%s × %s on %s, nemesis %s, TTL %s, seed %d", o.Lock, o.Deduct, o.Topology, nemeses(o.Test), o.TTL, o.Seed)
	s.say("%s", why)
	out, err := harness.Run(ctx, o, harness.Env{Runtime: rt, Progress: s.progress, Sabotage: sabotaged()})
	s.clear()
	if err != nil {
		if out.Dir != "" {
			err = fmt.Errorf("%w (what there is of the test: %s)", err, out.Dir)
		}
		return out, err
	}
	// The verdict is shown even where a report cannot be written.
	return out, errors.Join(keep(out), s.result(out))
}

func nemeses(t store.Test) string {
	if len(t.Nemesis) == 0 {
		return "none"
	}
	return strings.Join(t.Nemesis, ",")
}

func printJSON(s *screen, r any) error {
	e := json.NewEncoder(s.out)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
