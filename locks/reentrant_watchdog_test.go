package locks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"picklock/locks"
	"picklock/locks/internal/redistest"
)

// renewal lets a third of the TTL pass, and returns what became of the renewal.
func renewal(t *testing.T, clk *manual, sleepers int, renewals <-chan error) error {
	t.Helper()
	redistest.Eventually(t, 20*time.Second, "the renewals sleep", func() bool { return clk.sleepers() == sleepers })
	clk.advance(dogTTL / 3)
	select {
	case err := <-renewals:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("no renewal after TTL/3")
		return nil
	}
}

// renewed is a trace that passes on what became of each renewal.
func renewed(to chan<- error) func(context.Context) (context.Context, func(locks.Grant, error)) {
	return func(ctx context.Context) (context.Context, func(locks.Grant, error)) {
		return ctx, func(_ locks.Grant, err error) { to <- err }
	}
}

// It is renewed while any hold is left, and no longer.
func TestReentrantWatchdogRenews(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	cfg, clk, renewals := c.config(), newManual(), make(chan error, 100)
	cfg.Clock = clk
	cfg.Trace.Extend = renewed(renewals)
	l := open(t, "reentrant-watchdog", cfg)
	if l.(locks.Loser).Lost() != nil {
		t.Error("a loss signal without a grant")
	}
	for want := int64(1); want <= 3; want++ {
		if g := acquire(t, l); g.Count != want {
			t.Fatalf("count %d, want %d", g.Count, want)
		}
	}
	for left := int64(2); left >= 0; left-- {
		if err := c.plain[0].PExpire(t.Context(), cfg.Name, time.Second).Err(); err != nil {
			t.Fatal(err)
		}
		if err := renewal(t, clk, 1, renewals); err != nil {
			t.Errorf("renewal with %d holds: %v", left+1, err)
		}
		if got := c.plain[0].PTTL(t.Context(), cfg.Name).Val(); got <= time.Second {
			t.Errorf("PTTL %v after a renewal, want almost %v", got, dogTTL)
		}
		if err := l.Release(t.Context()); err != nil || l.(locks.Reentrant).Remaining() != left {
			t.Errorf("release: %v, %d left, want %d", err, l.(locks.Reentrant).Remaining(), left)
		}
	}
	if n := clk.sleepers(); n != 0 {
		t.Errorf("%d renewals still wait after the last release", n)
	}
	if left := c.everything(); left != "" {
		t.Errorf("left after the last release: %s", left)
	}
}

// Losing the lock is signalled.
func TestReentrantWatchdogLoses(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	cfg, clk, renewals := c.config(), newManual(), make(chan error, 100)
	cfg.Clock = clk
	cfg.Trace.Extend = renewed(renewals)
	l := open(t, "reentrant-watchdog", cfg)
	acquire(t, l)
	c.plain[0].Del(t.Context(), cfg.Name)
	if err := renewal(t, clk, 1, renewals); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("renewal of a lock that is gone: %v, want ErrNotHeld", err)
	}
	select {
	case <-l.(locks.Loser).Lost():
	case <-time.After(20 * time.Second):
		t.Error("no loss signal")
	}
	if err := l.Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) || c.everything() != "" {
		t.Errorf("release after the loss: %v with %q on the server; the renewal must not revive it", err, c.everything())
	}
}

// Row 14: an acquire that is sent again counts twice, the client gives back one hold, and
// the other is renewed for ever. With an id the script counts once.
func TestReentrantWatchdogResend(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	for name, guilty := range map[string]bool{"reentrant-watchdog:retry=blind": true, "reentrant-watchdog:retry=operation-id": false} {
		cfg, clk, renewals := c.config(), newManual(), make(chan error, 100)
		cfg.Clock = &awake{clk}
		cfg.Trace.Extend = renewed(renewals)
		first := true
		c.losing(func(args []any) loss {
			if first && (args[0] == "evalsha" || args[0] == "eval") {
				first = false
				return replyLost
			}
			return noLoss
		})
		l := open(t, name, cfg)
		acquire(t, l)
		c.losing(nil)
		if err := l.Release(t.Context()); err != nil {
			t.Fatalf("%s: release: %v", name, err)
		}
		left := c.plain[0].Exists(t.Context(), cfg.Name).Val() == 1
		if left != guilty || left != (l.(locks.Reentrant).Remaining() > 0) {
			t.Errorf("%s: the lock is left after its release: %v, want %v", name, left, guilty)
		}
		if !guilty {
			continue
		}
		for range 4 { // longer than the TTL
			if err := renewal(t, clk, 1, renewals); err != nil {
				t.Errorf("%s: renewal of the hold that nobody knows of: %v", name, err)
			}
		}
		c.plain[0].Del(t.Context(), cfg.Name) // which ends the renewals
		if err := renewal(t, clk, 1, renewals); !errors.Is(err, locks.ErrNotHeld) {
			t.Errorf("%s: %v, want the renewals to end", name, err)
		}
	}
}

// A nested acquire that had no answer and was not sent again: the client gives back the one
// hold that it knows of, and the server's other one is renewed for ever.
func TestReentrantWatchdogNestedReplyLost(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	cfg, clk, renewals := c.config(), newManual(), make(chan error, 100)
	cfg.Clock = &awake{clk}
	cfg.Trace.Extend = renewed(renewals)
	l := open(t, "reentrant-watchdog", cfg)
	acquire(t, l)
	c.losing(func(args []any) loss {
		if args[0] == "evalsha" || args[0] == "eval" {
			return replyLost
		}
		return noLoss
	})
	if _, err := l.Acquire(t.Context()); err == nil {
		t.Fatal("the nested acquire has an answer")
	}
	c.losing(nil)
	if err := l.Release(t.Context()); err != nil || l.(locks.Reentrant).Remaining() != 1 {
		t.Fatalf("release: %v, %d holds remain; want 1", err, l.(locks.Reentrant).Remaining())
	}
	for range 4 { // longer than the TTL
		if err := renewal(t, clk, 1, renewals); err != nil {
			t.Errorf("renewal of the hold that nobody knows of: %v", err)
		}
	}
	if c.plain[0].Exists(t.Context(), cfg.Name).Val() != 1 {
		t.Error("the lock came free")
	}
}

// awake is a manual clock on which the short pauses between two sendings take no time.
type awake struct{ *manual }

func (a *awake) Sleep(ctx context.Context, d time.Duration) error {
	if d < time.Second {
		return ctx.Err()
	}
	return a.manual.Sleep(ctx, d)
}
