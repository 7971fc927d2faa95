package matrix

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"picklock/harness"
	"picklock/harness/store"
	"picklock/models"
)

// Runner runs what a sitting has to do.
type Runner struct {
	Jobs int // tests side by side
	// Test runs one planned test and judges it, as harness.Run does.
	Test func(context.Context, harness.Options) (harness.Outcome, error)
	// Options has the last word on a test's options that are no part of the plan; nil: nobody.
	Options func(*harness.Options)
	// Keep is called with each test that was judged, to write its reports; nil: nobody is.
	Keep func(harness.Outcome) error
	// Tell is called as each run ends, from one goroutine at a time; nil: nobody is.
	Tell func(Told)
}

// Told is a run that ended.
type Told struct {
	Cell     Cell
	Run      Run
	Done, Of int // runs of the matrix, or of its shard, this one included
}

// Run runs everything that the sitting has left to do, and writes matrix.json, also when
// ctx ends: then the tests under way are healed and ended, count as not run, and the error
// wraps harness.ErrInterrupted. That the harness fails in a test is an outcome of its run;
// an error that wraps harness.ErrUsage (no Docker, no such server) ends the matrix, which can
// then be resumed.
func (r Runner) Run(ctx context.Context, st *Sitting) (*Matrix, error) {
	if err := st.begin(r.Jobs); err != nil {
		return nil, err
	}
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	queue := make(chan Job)
	var one sync.Mutex // on st, and for Tell
	var workers sync.WaitGroup
	for range max(1, r.Jobs) {
		workers.Go(func() {
			for j := range queue {
				run, about, err := r.run(inner, st, j)
				one.Lock()
				if err == nil {
					err = r.end(st, j, run, about)
				}
				one.Unlock()
				if err != nil {
					stop(err)
				}
			}
		})
	}
	for _, j := range st.Todo() {
		if inner.Err() != nil {
			break
		}
		select {
		case queue <- j:
		case <-inner.Done():
		}
	}
	close(queue)
	workers.Wait()
	m := st.Matrix()
	err := m.Write(st.Dir)
	switch cause := context.Cause(inner); {
	case st.Left() == 0: // whatever came after the last run
	case ctx.Err() != nil:
		err = errors.Join(harness.ErrInterrupted, err)
	case cause != nil:
		err = errors.Join(cause, err)
	}
	return m, err
}

// end writes a run down and tells of it.
func (r Runner) end(st *Sitting, j Job, run Run, about map[string]string) error {
	if err := st.done(j, run, about); err != nil {
		return err
	}
	if r.Tell != nil {
		r.Tell(Told{Cell: st.Rows[j.Row].Cell, Run: run, Done: st.Of() - st.Left(), Of: st.Of()})
	}
	return nil
}

// run runs one test. The error says why it does not count: it was broken off, or nothing
// can be tested here at all.
func (r Runner) run(ctx context.Context, st *Sitting, j Job) (Run, map[string]string, error) {
	row, began := &st.Rows[j.Row], time.Now()
	out := Run{Seed: j.Seed, Started: began.UTC().Truncate(time.Millisecond)}
	o := row.Options(st.Root, j.Seed)
	if r.Options != nil {
		r.Options(&o)
	}
	o, err := harness.Plan(o)
	if err != nil {
		return out, nil, fmt.Errorf("%s, seed %d: %w", row.Cell.ID(), j.Seed, err)
	}
	test, err := r.Test(ctx, o)
	out.TookS = time.Since(began).Seconds()
	if test.Dir != "" {
		if rel, rerr := filepath.Rel(st.Root, string(test.Dir)); rerr == nil {
			out.Dir = filepath.ToSlash(rel)
		}
	}
	if err == nil {
		row.expect(test.Result)
		if r.Keep != nil {
			err = r.Keep(test)
		}
	}
	switch {
	case err == nil:
		out.WaitedS = test.Result.Measures.DurationS
		out.judge(test.Result)
		return out, test.Result.Test.About, nil
	case ctx.Err() != nil, errors.Is(err, harness.ErrInterrupted):
		return out, nil, harness.ErrInterrupted
	case errors.Is(err, harness.ErrUsage):
		return out, nil, fmt.Errorf("%s, seed %d: %w", row.Cell.ID(), j.Seed, err)
	}
	out.fail(err)
	return out, nil, nil
}

// expect puts the row's expectations in the place of what is known of the lock.
func (r Row) expect(t *store.Result) {
	for _, x := range r.Expect {
		for i := range t.Expected {
			e := &t.Expected[i]
			if e.Property != x.Property {
				continue
			}
			got := models.Unknown
			if j := t.Properties[models.Property(e.Property)]; j != nil {
				got = j.Verdict
			}
			e.Expected, e.Why = x.Verdict, x.Why
			e.Met = outcome(x.Verdict, got) == AsExpected
		}
	}
}
