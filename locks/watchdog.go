package locks

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// watchdog is uuid-lua whose holder renews its lease in the background at a third of the
// TTL (S1 3.7, S4.5, which name the idea and Redisson). A renewal compares before it
// prolongs, so it never revives a lock that is gone. The holder learns of its loss: when a
// renewal is refused, or when its lease ran out by its own clock, counted from the start of
// the last renewal that was confirmed.
func watchdog() Spec {
	var known expectations
	meta := Meta{
		Name:       "watchdog",
		Summary:    "uuid-lua (every 20 ms) renewed at TTL/3 in the background, with a loss signal",
		Source:     "S1 3.7; S4.5",
		Topologies: single(),
		TTL:        30 * time.Second,
		Promises:   lockPromises(),
		Weaknesses: known.
			overlap(pauseClient, "a stopped client does not renew, and learns of its loss only when it goes on").
			forgotten(),
	}
	return Spec{Meta: meta, Open: func() Maker {
		release, renew := redis.NewScript(compareAndDelete), redis.NewScript(compareAndPExpire)
		return func(c Config) Lock {
			return &watchdogLock{base: newBase(c, meta), release: release, renewal: renew}
		}
	}}
}

type watchdogLock struct {
	base
	release, renewal *redis.Script
	token            string // of the last Acquire
	watch            *watch // of the last grant; nil: none yet
}

var (
	_ Extender = (*watchdogLock)(nil)
	_ Loser    = (*watchdogLock)(nil)
)

// watch is the renewal of one grant: a goroutine that Release or the next Acquire ends.
type watch struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when the goroutine has ended
	lost   chan struct{} // closed at the loss

	mu        sync.Mutex
	confirmed time.Time // start of the last confirmed renewal, or of the acquire
	gone      bool      // lost is closed
}

func (w *watch) confirm(start time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if start.After(w.confirmed) {
		w.confirmed = start
	}
}

func (w *watch) end(ttl time.Duration) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.confirmed.Add(ttl)
}

func (w *watch) lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.gone {
		w.gone = true
		close(w.lost)
	}
}

// stop ends the goroutine and waits for it. A renewal under way is let finish, so that
// its outcome is known; the client's timeouts and the rest of the lease bound it.
func (w *watch) stop() {
	w.cancel()
	<-w.done
}

func (l *watchdogLock) Acquire(ctx context.Context) (Grant, error) {
	if l.watch != nil { // a holder that never released must not renew for ever
		l.watch.stop()
	}
	l.token = newToken()
	var start time.Time
	err := l.poll(ctx, 20*time.Millisecond, func(ctx context.Context) (bool, error) {
		start = l.Clock.Now()
		return l.setNX(ctx, l.token)
	})
	if err == nil {
		// The renewal outlives ctx, which bounds only the wait for the lock.
		background, cancel := context.WithCancel(context.WithoutCancel(ctx))
		l.watch = &watch{cancel: cancel, done: make(chan struct{}), lost: make(chan struct{}), confirmed: start}
		go l.keep(background, l.watch, l.token)
	}
	return Grant{Token: l.token, Validity: l.ttl}, err
}

// keep renews until ctx ends or the lock is lost.
func (l *watchdogLock) keep(ctx context.Context, w *watch, token string) {
	defer close(w.done)
	for {
		if l.Clock.Sleep(ctx, min(l.ttl/3, w.end(l.ttl).Sub(l.Clock.Now()))) != nil {
			return
		}
		rest := w.end(l.ttl).Sub(l.Clock.Now())
		if rest <= 0 || errors.Is(l.renewInBackground(ctx, w, token, rest), ErrNotHeld) {
			w.lose()
			return
		}
	}
}

// renewInBackground waits for the answer no longer than the lease lasts: a later one
// could not keep the holder in its section.
func (l *watchdogLock) renewInBackground(ctx context.Context, w *watch, token string, rest time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rest)
	defer cancel()
	done := l.Trace.extend()
	g, err := l.renew(ctx, w, token)
	done(g, err)
	return err
}

func (l *watchdogLock) renew(ctx context.Context, w *watch, token string) (Grant, error) {
	start := l.Clock.Now()
	err := l.script(ctx, l.renewal, token, milliseconds(l.ttl))
	if err == nil {
		w.confirm(start)
	}
	return Grant{Token: token, Validity: l.ttl}, err
}

// Extend renews the lease now. Without a grant it answers ErrNotHeld.
func (l *watchdogLock) Extend(ctx context.Context) (Grant, error) {
	if l.watch == nil {
		return Grant{Token: l.token}, ErrNotHeld
	}
	g, err := l.renew(ctx, l.watch, l.token)
	if errors.Is(err, ErrNotHeld) {
		l.watch.lose()
	}
	return g, err
}

// Lost is closed when the last grant is lost; nil before the first.
func (l *watchdogLock) Lost() <-chan struct{} {
	if l.watch == nil {
		return nil
	}
	return l.watch.lost
}

func (l *watchdogLock) Release(ctx context.Context) error {
	if l.watch != nil {
		l.watch.stop()
	}
	return uncaught(l.script(ctx, l.release, l.token))
}
