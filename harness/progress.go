package harness

import (
	"context"
	"slices"
	"sync"
	"time"

	"picklock/harness/history"
	"picklock/models"
)

// Progress tells how a test goes.
type Progress struct {
	Phase      string        // what is being done, in words; empty while the load runs
	Elapsed    time.Duration // since the load began
	Limit      time.Duration
	PerSecond  float64 // operations completed in the last moments
	Fault      string  // the fault that works now; empty: none
	Violations int     // seen so far, by a first look; the checkers have the last word
}

func (e Env) progress(p Progress) {
	if e.Progress != nil {
		e.Progress(p)
	}
}

// gauge watches the record for the live line.
type gauge struct {
	mu    sync.Mutex
	live  *models.Live
	done  int // operations completed
	fault string
	kinds map[string]bool // of the faults that were injected
}

func newGauge(p models.Params) *gauge {
	return &gauge{live: models.NewLive(p), kinds: map[string]bool{}}
}

func (g *gauge) see(e *history.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.live.Add(*e)
	switch e.Type {
	case history.OK, history.Fail, history.Info:
		g.done++
	case history.FaultStart:
		g.kinds[e.Fault.Kind] = true
	}
}

// injected says whether a fault of each of these kinds was.
func (g *gauge) injected(kinds []string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !slices.ContainsFunc(kinds, func(k string) bool { return !g.kinds[k] })
}

func (g *gauge) setFault(s string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fault = s
}

func (g *gauge) read() (done, violations int, fault string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.done, g.live.Violations(), g.fault
}

// tell reports progress until ctx ends.
func (s *session) tell(ctx context.Context) {
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	before, at := 0, time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			done, violations, fault := s.gauge.read()
			s.env.progress(Progress{
				Elapsed: time.Duration(history.Now() - s.start), Limit: time.Duration(s.test.TimeLimit),
				PerSecond: float64(done-before) / now.Sub(at).Seconds(), Fault: fault, Violations: violations,
			})
			before, at = done, now
		}
	}
}
