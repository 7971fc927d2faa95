package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"picklock/harness"
	"picklock/harness/follow"
	"picklock/harness/matrix"
	"picklock/harness/store"
)

// watchEvery is how often the folder of what another process runs is looked at.
const watchEvery = 500 * time.Millisecond

// watchTest shows how a test goes that another process runs, until it ends or ctx does: the
// same line as picklock run has.
func watchTest(ctx context.Context, s *screen, d store.Dir) (err error) {
	folder, err := os.OpenRoot(string(d))
	if err != nil {
		return err
	}
	t := follow.Open(d, folder)
	defer func() { err = errors.Join(err, t.Close()) }()
	defer s.clear()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		now, err := t.Look()
		if err != nil || now.Over() {
			return err
		}
		switch {
		case now.Behind > 0, !now.Began, now.Ended:
			s.progress(harness.Progress{Phase: now.Phase})
		default:
			s.progress(harness.Progress{Elapsed: now.Elapsed, Limit: now.Limit, PerSecond: now.PerSecond, Fault: printable(now.Working()), Violations: now.Violations})
		}
		select {
		case <-ctx.Done():
			return nil // whoever watches may stop
		case <-tick.C:
		}
	}
}

// matrixFolder finds the folder of a matrix that is named by its path, or by its path in
// the store.
func matrixFolder(root, what string) (dir string, ok bool) {
	for _, dir := range []string{what, filepath.Join(root, what), filepath.Join(root, matrix.Folder, what)} {
		if info, err := os.Lstat(filepath.Join(dir, matrix.PlanFile)); err == nil && info.Mode().IsRegular() {
			return dir, true
		}
	}
	return "", false
}

// watchMatrix shows how a matrix goes that another process runs: a line for each run that
// ends, and how many have.
func watchMatrix(ctx context.Context, s *screen, dir string) (err error) {
	folder, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	m := follow.OpenMatrix(folder)
	defer func() { err = errors.Join(err, m.Close()) }()
	defer s.clear()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	last := time.Time{}
	for {
		now, err := m.Look()
		if err != nil {
			return err
		}
		for i := len(now.Last) - 1; i >= 0; i-- {
			if r := now.Last[i]; r.Ended.After(last) {
				s.say("%s", printable(fmt.Sprintf("%s  %s, seed %d: %s", r.Ended.Local().Format(time.TimeOnly), r.Cell, r.Seed, r.Outcome)))
				last = r.Ended
			}
		}
		line := fmt.Sprintf("%d of %d runs", now.Done, now.Total)
		for _, o := range matrix.Outcomes {
			if now.Counts[o] > 0 {
				line += fmt.Sprintf("  %d %s", now.Counts[o], o)
			}
		}
		if now.Over() || now.Still {
			s.say("%s", line)
			if now.Still {
				s.say("it is not whole, and no run has ended for some minutes: it was broken off, or waits")
			}
			return nil
		}
		s.line(line)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
