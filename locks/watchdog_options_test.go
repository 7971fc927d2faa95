package locks_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"picklock/locks"
	"picklock/locks/internal/redistest"
)

// Row 20: a holder that is never told works on without a lock, and goes on asking.
func TestWatchdogThatIgnoresErrors(t *testing.T) {
	t.Parallel()
	d := newDog(t, "errors=ignored")
	d.wire.failing(on("evalsha", io.EOF))
	for range 5 { // longer than the TTL
		if err := d.tick(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	d.wire.failing(nil)
	if err := d.client.Set(t.Context(), d.cfg.Name, "another's", 0).Err(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.tick(); !errors.Is(err, locks.ErrNotHeld) {
			t.Fatalf("renewal of another's lock: %v, want ErrNotHeld: that is what the server said", err)
		}
	}
	if _, err := d.lock.(locks.Extender).Extend(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
		t.Error(err)
	}
	d.wantLost(false, "this one ignores what becomes of its renewals")
}

// Row 21: a capped watchdog lets the lock of a worker that hangs go.
func TestWatchdogCap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options string
		lost    bool
	}{{"cap=2", true}, {"cap=2,errors=ignored", false}} {
		d := newDog(t, c.options)
		for range 2 {
			if err := d.tick(); err != nil {
				t.Fatal(err)
			}
		}
		if !c.lost {
			redistest.Eventually(t, 10*time.Second, "nobody sleeps: the renewals are over", func() bool { return d.time.sleepers() == 0 })
			d.wantLost(false, "it tells nobody")
			continue
		}
		redistest.Eventually(t, 10*time.Second, "the watchdog sleeps", func() bool { return d.time.sleepers() == 1 })
		d.time.advance(dogTTL - dogTTL/10 - time.Second)
		d.wantLost(false, "nine tenths of the last renewal's lease are not over")
		if d.time.sleepers() != 1 {
			t.Error("it renewed more often than its cap allows")
		}
		d.time.advance(time.Second)
		d.wantLost(true, "nine tenths of the last renewal's lease are over")
		if len(d.renewals) > 0 {
			t.Error("a renewal beyond the cap")
		}
	}
}

// Row 22: what a renewal does to a lock that is gone, and to one that is another's by now.
func TestWatchdogRenewals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		renew           string
		sends           []string
		revives, steals bool
	}{
		{"compare", []string{"evalsha compare_and_pexpire.lua 1 K T 30000"}, false, false},
		{"set", []string{"psetex K 30000 T"}, true, true},
		{"set-xx", []string{"evalsha set_xx.lua 1 K T 30000"}, false, true},
	} {
		b := newBench(t)
		cfg := b.config()
		cfg.Clock = newManual()
		l := open(t, "watchdog:renew="+c.renew, cfg)
		t.Cleanup(func() { _ = l.Release(t.Context()) }) // ends its goroutine
		g := acquire(t, l)
		b.wire.take()
		extend := func() error { _, err := l.(locks.Extender).Extend(t.Context()); return err }
		if err := b.client.PExpire(t.Context(), cfg.Name, dogTTL/2).Err(); err != nil {
			t.Fatal(err)
		}
		b.wire.take()
		if err := extend(); err != nil {
			t.Errorf("%s: %v", c.renew, err)
		}
		if sent := b.wire.take(cfg.Name, "K", g.Token, "T"); !slices.Equal(sent, c.sends) {
			t.Errorf("%s: sent %q, want %q", c.renew, sent, c.sends)
		}
		if got := b.client.PTTL(t.Context(), cfg.Name).Val(); got <= dogTTL/2 || got > dogTTL {
			t.Errorf("%s: PTTL %v after a renewal, want almost %v", c.renew, got, dogTTL)
		}
		b.client.Del(t.Context(), cfg.Name)
		err := extend()
		if back := b.client.Exists(t.Context(), cfg.Name).Val() == 1; back != c.revives || (err == nil) != c.revives || errors.Is(err, locks.ErrNotHeld) == c.revives {
			t.Errorf("%s: revived a lock that is gone: %v, %v; want %v", c.renew, back, err, c.revives)
		}
		b.client.Set(t.Context(), cfg.Name, "another's", 0)
		err = extend()
		if stolen := b.client.Get(t.Context(), cfg.Name).Val() == g.Token; stolen != c.steals || (err == nil) != c.steals {
			t.Errorf("%s: wrote over another's lock: %v, %v; want %v", c.renew, stolen, err, c.steals)
		}
		command := strings.Fields(c.sends[0])[0]
		for _, e := range []struct {
			err      error
			definite bool
		}{{io.EOF, false}, {loading{}, true}} {
			b.wire.failing(on(command, e.err))
			err = extend()
			b.wire.failing(nil)
			if err == nil || definite(err) != e.definite || errors.Is(err, locks.ErrNotHeld) {
				t.Errorf("%s: a renewal that ends with %v: %v, want it definite: %v", c.renew, e.err, err, e.definite)
			}
		}
	}
}
