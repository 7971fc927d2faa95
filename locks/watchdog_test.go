package locks_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"picklock/locks"
	"picklock/locks/internal/redistest"
)

// manual is a clock that a test moves by hand.
type manual struct {
	mu      sync.Mutex
	now     time.Time
	waiting map[chan struct{}]time.Time
}

func newManual() *manual {
	return &manual{now: time.Unix(1_000_000, 0), waiting: map[chan struct{}]time.Time{}}
}

func (m *manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *manual) Sleep(ctx context.Context, d time.Duration) error {
	woken := make(chan struct{})
	m.mu.Lock()
	if d <= 0 {
		close(woken)
	} else {
		m.waiting[woken] = m.now.Add(d)
	}
	m.mu.Unlock()
	select {
	case <-woken:
		return ctx.Err()
	case <-ctx.Done():
		m.mu.Lock()
		delete(m.waiting, woken)
		m.mu.Unlock()
		return ctx.Err()
	}
}

func (m *manual) sleepers() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.waiting)
}

// advance moves the time and wakes whoever's sleep is over.
func (m *manual) advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
	for woken, at := range m.waiting {
		if !at.After(m.now) {
			close(woken)
			delete(m.waiting, woken)
		}
	}
}

// dog is a watchdog with a grant and a clock of its own.
type dog struct {
	*bench
	cfg      locks.Config
	time     *manual
	lock     locks.Lock
	renewals chan error // results of the renewals in the background
}

const dogTTL = 30 * time.Second

func newDog(t *testing.T, options ...string) *dog {
	t.Helper()
	d := &dog{bench: newBench(t), time: newManual(), renewals: make(chan error, 100)}
	d.cfg = d.config()
	d.cfg.Clock = d.time
	d.cfg.Trace.Extend = func(ctx context.Context) (context.Context, func(locks.Grant, error)) {
		return ctx, func(g locks.Grant, err error) {
			if err == nil && g.Validity != dogTTL {
				t.Errorf("a renewal promises %v, want %v", g.Validity, dogTTL)
			}
			d.renewals <- err
		}
	}
	d.lock = open(t, strings.Join(append([]string{"watchdog"}, options...), ":"), d.cfg)
	acquire(t, d.lock)
	t.Cleanup(func() { _ = d.lock.Release(context.Background()) }) // ends the goroutine; some tests did
	return d
}

// tick lets a third of the TTL pass, and waits for what comes of it.
func (d *dog) tick() error {
	d.t.Helper()
	redistest.Eventually(d.t, 10*time.Second, "the watchdog sleeps", func() bool { return d.time.sleepers() == 1 })
	d.time.advance(dogTTL / 3)
	select {
	case err := <-d.renewals:
		return err
	case <-d.lost():
		return errLost
	case <-time.After(10 * time.Second):
		d.t.Fatal("after TTL/3 there was neither a renewal nor a loss")
		return nil
	}
}

var errLost = errors.New("lost")

func (d *dog) lost() <-chan struct{} { return d.lock.(locks.Loser).Lost() }

func (d *dog) wantLost(want bool, why string) {
	d.t.Helper()
	if want {
		select {
		case <-d.lost():
		case <-time.After(10 * time.Second):
			d.t.Errorf("no loss signal: %s", why)
		}
		return
	}
	select {
	case <-d.lost():
		d.t.Errorf("a loss signal: %s", why)
	default:
	}
}

func TestWatchdogRenewsAtAThird(t *testing.T) {
	t.Parallel()
	d := newDog(t)
	for range 5 { // far longer than the TTL
		if err := d.client.PExpire(t.Context(), d.cfg.Name, dogTTL/2).Err(); err != nil {
			t.Fatal(err)
		}
		if err := d.tick(); err != nil {
			t.Fatalf("renewal: %v", err)
		}
		if got := d.client.PTTL(t.Context(), d.cfg.Name).Val(); got <= dogTTL/2 || got > dogTTL {
			t.Errorf("PTTL %v after a renewal, want almost %v", got, dogTTL)
		}
	}
	d.wantLost(false, "every renewal was confirmed")
	if err := d.lock.Release(t.Context()); err != nil {
		t.Errorf("release: %v", err)
	}
	if n := d.time.sleepers(); n != 0 {
		t.Errorf("%d goroutines still wait after the release", n)
	}
	d.time.advance(dogTTL)
	if len(d.renewals) > 0 {
		t.Error("a renewal after the release: it could revive a lock")
	}
	d.wantLost(false, "a released lock is not lost")
}

func TestWatchdogLosesWhenARenewalIsRefused(t *testing.T) {
	t.Parallel()
	d := newDog(t)
	if err := d.client.Set(t.Context(), d.cfg.Name, "another's", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := d.tick(); !errors.Is(err, locks.ErrNotHeld) && !errors.Is(err, errLost) {
		t.Fatalf("renewal of another's lock: %v, want ErrNotHeld", err)
	}
	d.wantLost(true, "the server said that the lock is another's")
	if got := d.client.PTTL(t.Context(), d.cfg.Name).Val(); got != -1 {
		t.Errorf("PTTL %v: the watchdog prolonged another's lock", got)
	}
	if err := d.lock.Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("release after the loss: %v, want ErrNotHeld", err)
	}
}

// Renewals that get no answer do not end the grant before its own deadline does.
func TestWatchdogLosesAtItsOwnDeadline(t *testing.T) {
	t.Parallel()
	d := newDog(t)
	if err := d.tick(); err != nil {
		t.Fatal(err)
	}
	d.wire.failing(on("evalsha", io.EOF))
	for i := range 2 {
		if err := d.tick(); !errors.Is(err, io.EOF) {
			t.Fatalf("renewal %d without an answer: %v", i, err)
		}
		d.wantLost(false, "two thirds of the lease at most have passed")
	}
	if err := d.tick(); !errors.Is(err, errLost) {
		t.Errorf("a whole TTL after the last confirmed renewal: %v, want the loss", err)
	}
	d.wire.failing(nil)
	if err := d.lock.Release(t.Context()); err != nil {
		t.Errorf("release after the loss: %v; the key was still there, so the truth is that it was deleted", err)
	}
}

// One unanswered renewal is made up for by the next.
func TestWatchdogSurvivesOneUnansweredRenewal(t *testing.T) {
	t.Parallel()
	d := newDog(t)
	d.wire.failing(on("evalsha", io.EOF))
	if err := d.tick(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	d.wire.failing(nil)
	for range 4 {
		if err := d.tick(); err != nil {
			t.Fatal(err)
		}
	}
	d.wantLost(false, "the later renewals were confirmed")
}

// A client that stood still past its deadline must not believe a renewal first.
func TestWatchdogAfterStandingStill(t *testing.T) {
	t.Parallel()
	d := newDog(t)
	redistest.Eventually(t, 10*time.Second, "the watchdog sleeps", func() bool { return d.time.sleepers() == 1 })
	d.time.advance(dogTTL + time.Second)
	d.wantLost(true, "the lease ran out while the client stood still")
	if len(d.renewals) > 0 {
		t.Error("it renewed a lease that had run out by its own clock")
	}
}

// A holder that never releases and asks again must not leave a renewal behind.
func TestWatchdogEndsWithTheNextAcquire(t *testing.T) {
	t.Parallel()
	d := newDog(t)
	redistest.Eventually(t, 10*time.Second, "the watchdog sleeps", func() bool { return d.time.sleepers() == 1 })
	if err := d.client.Del(t.Context(), d.cfg.Name).Err(); err != nil {
		t.Fatal(err)
	}
	old := d.lost()
	acquire(t, d.lock)
	if d.lost() == old {
		t.Error("the new grant has the old one's loss signal")
	}
	if err := d.tick(); err != nil { // which sees that exactly one goroutine sleeps
		t.Fatal(err)
	}
	d.wantLost(false, "the new grant was renewed")
}

func TestWatchdogExtend(t *testing.T) {
	t.Parallel()
	d := newDog(t)
	e := d.lock.(locks.Extender)
	redistest.Eventually(t, 10*time.Second, "the watchdog sleeps", func() bool { return d.time.sleepers() == 1 })
	if g, err := e.Extend(t.Context()); err != nil || g.Validity != dogTTL {
		t.Errorf("extend: %+v, %v", g, err)
	}
	if err := d.client.Del(t.Context(), d.cfg.Name).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Extend(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("extend of a lock that is gone: %v, want ErrNotHeld", err)
	}
	d.wantLost(true, "the server said so")
	if n := d.client.Exists(t.Context(), d.cfg.Name).Val(); n != 0 {
		t.Error("extend revived the lock")
	}
	fresh := open(t, "watchdog", d.config())
	if _, err := fresh.(locks.Extender).Extend(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("extend without a grant: %v, want ErrNotHeld", err)
	}
	if fresh.(locks.Loser).Lost() != nil {
		t.Error("a loss signal without a grant")
	}
}
