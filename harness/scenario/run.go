package scenario

import (
	"context"
	"slices"
	"sync"

	"picklock/harness"
)

// Plan is what to run.
type Plan struct {
	Scenarios []Scenario
	Repeat    int    // runs of each case, with seeds from Seed on
	Seed      uint64 // of the first run
	Jobs      int    // tests side by side
	// Test runs one planned test and judges it, as harness.Run does; the run says which one
	// it is.
	Test func(context.Context, Run, harness.Options) (harness.Outcome, error)
	// Options has the last word on what the tests have in common: store, runtime, server.
	Options func(*harness.Options)
	// Keep is called with each finished test, to write its reports; nil: nobody is.
	Keep func(harness.Outcome) error
	// Tell is called as each run ends, from one goroutine at a time; nil: nobody is.
	Tell func(Run)
}

// Run is one run of one case.
type Run struct {
	Scenario string
	Case     string // lock and deduction
	Guilty   bool
	Seed     uint64
	Dir      string // the test's folder
	Verdict
	Err error // the harness failed
}

// Row sums a scenario up.
type Row struct {
	Scenario Scenario
	Runs     []Run // in the order of cases and seeds
}

// Count tells how many runs of a side there were and how many did what they should.
func (r Row) Count(guilty bool) (met, of int) {
	for _, run := range r.Runs {
		if run.Guilty == guilty {
			of++
			if run.Err == nil && run.Met {
				met++
			}
		}
	}
	return met, of
}

// Reproduced reports whether the guilty were caught often enough: in 19 of 20 runs.
func (r Row) Reproduced() bool {
	met, of := r.Count(true)
	return met*20 >= of*19
}

// Passed reports whether the innocent passed every time.
func (r Row) Passed() bool {
	met, of := r.Count(false)
	return met == of
}

// Median is the middle of the times to the first violation, in seconds; -1: there was none.
func (r Row) Median() float64 {
	var after []float64
	for _, run := range r.Runs {
		if run.Guilty && run.Err == nil && run.After >= 0 {
			after = append(after, run.After)
		}
	}
	if len(after) == 0 {
		return -1
	}
	slices.Sort(after)
	return after[len(after)/2]
}

// ExitCode is 0 if everything was as expected, 1 if an innocent case violated a judged
// property, 255 if the harness failed in a run, 2 otherwise (not reproduced, vacuous,
// unknown).
func ExitCode(rows []Row) int {
	code := 0
	for _, r := range rows {
		for _, run := range r.Runs {
			switch {
			case run.Err == nil && run.Violated:
				return 1
			case run.Err != nil:
				code = 255
			}
		}
		if code == 0 && (!r.Reproduced() || !r.Passed()) {
			code = 2
		}
	}
	return code
}

// RunAll runs the plan, so many tests side by side, and sums it up by scenario. When ctx
// ends, the tests under way are healed and ended, the others left out, and the error says
// so. A harness error of one run does not end the others.
func RunAll(ctx context.Context, p Plan) ([]Row, error) {
	rows := make([]Row, len(p.Scenarios))
	type job struct {
		row, at int
		c       Case
	}
	var jobs []job
	for seed := range p.Repeat {
		for i, s := range p.Scenarios {
			for n, c := range slices.Concat(s.Guilty, s.Innocent) {
				jobs = append(jobs, job{i, len(rows[i].Runs), c})
				rows[i].Scenario = s
				rows[i].Runs = append(rows[i].Runs, Run{
					Scenario: s.ID, Case: s.name(c), Guilty: n < len(s.Guilty), Seed: p.Seed + uint64(seed),
				})
			}
		}
	}
	queue := make(chan job)
	var tell sync.Mutex
	var workers sync.WaitGroup
	for range max(1, p.Jobs) {
		workers.Go(func() {
			for j := range queue {
				r := p.one(ctx, rows[j.row].Scenario, j.c, rows[j.row].Runs[j.at])
				tell.Lock()
				rows[j.row].Runs[j.at] = r
				if p.Tell != nil && ctx.Err() == nil {
					p.Tell(r)
				}
				tell.Unlock()
			}
		})
	}
	for _, j := range jobs {
		select {
		case queue <- j:
		case <-ctx.Done():
		}
	}
	close(queue)
	workers.Wait()
	if ctx.Err() != nil {
		return rows, harness.ErrInterrupted
	}
	return rows, nil
}

func (p Plan) one(ctx context.Context, s Scenario, c Case, r Run) Run {
	o := s.options(c, r.Seed)
	if p.Options != nil {
		p.Options(&o)
	}
	o, err := harness.Plan(o)
	if err != nil {
		r.Err = err
		return r
	}
	out, err := p.Test(ctx, r, o)
	r.Dir = string(out.Dir)
	if err == nil && p.Keep != nil {
		err = p.Keep(out)
	}
	if err != nil {
		r.Err = err
		return r
	}
	r.Verdict = s.shown(c).judge(out.Result, r.Guilty)
	return r
}
