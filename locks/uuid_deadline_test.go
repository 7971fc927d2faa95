package locks_test

import (
	"errors"
	"testing"
	"time"

	"picklock/locks"
	"picklock/locks/internal/redistest"
)

// monotonicManual is a manual clock whose wall clock steps apart from it.
type monotonicManual struct {
	*manual
	began time.Time
	step  time.Duration
}

func newMonotonicManual() *monotonicManual {
	m := newManual()
	return &monotonicManual{manual: m, began: m.Now()}
}

func (m *monotonicManual) Now() time.Time           { return m.manual.Now().Add(m.step) }
func (m *monotonicManual) Monotonic() time.Duration { return m.manual.Now().Sub(m.began) }

// The loss is signalled at nine tenths of the TTL, counted from the attempt, whatever the
// wall clock does; and not at all after a release.
func TestDeadlineIsSignalled(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	cfg, clk := c.config(), newMonotonicManual()
	cfg.Clock, cfg.TTL = clk, 10*time.Second
	l := open(t, "uuid-deadline", cfg)
	loser := l.(locks.Loser)
	if loser.Lost() != nil {
		t.Error("a loss signal without a grant")
	}
	c.losing(func([]any) loss { clk.advance(2 * time.Second); return noLoss }) // the reply takes so long
	acquire(t, l)
	c.losing(nil)
	clk.step = -time.Hour
	asleep := func() bool { return clk.sleepers() == 1 }
	redistest.Eventually(t, 20*time.Second, "it waits for its deadline", asleep)
	clk.advance(6900 * time.Millisecond)
	select {
	case <-loser.Lost():
		t.Error("lost 8.9 s after the attempt, want 9 s")
	default:
	}
	clk.advance(200 * time.Millisecond)
	select {
	case <-loser.Lost():
	case <-time.After(20 * time.Second):
		t.Error("no loss signal 9.1 s after the attempt")
	}
	if err := l.Release(t.Context()); err != nil {
		t.Errorf("release after the loss: %v; the server still had it", err)
	}

	acquire(t, l)
	redistest.Eventually(t, 20*time.Second, "it waits for its deadline", asleep)
	lost := loser.Lost()
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if clk.sleepers() != 0 {
		t.Error("it still waits after the release")
	}
	clk.advance(time.Minute)
	select {
	case <-lost:
		t.Error("a lock that was released is not lost")
	default:
	}

	acquire(t, l)
	redistest.Eventually(t, 20*time.Second, "it waits for its deadline", asleep)
	c.plain[0].Del(t.Context(), cfg.Name)
	acquire(t, l) // without a release
	redistest.Eventually(t, 20*time.Second, "only the new grant waits", asleep)
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Row 16: a yes that comes after the deadline is no grant, and is given back.
func TestDeadlineRefusesLateGrants(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	for _, x := range []struct {
		free     loss
		attempts int
		err      bool
	}{{noLoss, 2, false}, {replyLost, 1, true}} {
		cfg, clk := c.config(), newTwin()
		cfg.Clock, cfg.TTL = clk, 10*time.Second
		attempts := 0
		cfg.Trace.Attempt = func() { attempts++ }
		c.losing(func(args []any) loss {
			if args[0] == "set" && attempts == 1 {
				clk.pass(9*time.Second, -time.Hour)
			}
			return commands(x.free, evals()...)(args)
		})
		l := open(t, "uuid-deadline", cfg)
		_, err := l.Acquire(patient(t))
		c.losing(nil)
		if attempts != x.attempts || (err != nil) != x.err || definite(err) {
			t.Errorf("giving back %d: %v after %d attempts, want %d, and an unknown outcome: %v", x.free, err, attempts, x.attempts, x.err)
		}
		if err := l.Release(t.Context()); err != nil && !errors.Is(err, locks.ErrNotHeld) {
			t.Error(err)
		}
	}
}
