package locks

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// watchdog is uuid-lua whose holder renews its lease in the background at a third of the
// TTL (S1 3.7, S4.5, which name the idea and Redisson). A renewal compares before it
// prolongs, so it never revives a lock that is gone. The holder learns of its loss: when a
// renewal is refused, or when its lease ran out by its own clock, counted from the start of
// the last renewal that was confirmed. Its options are the ways to get this wrong, and the
// one that ends the renewals of a worker that hangs.
func watchdog() Spec {
	return withOptions([]Option{
		{"errors", []string{"lost", "ignored"}, "renewals that fail or are refused: lost tells the holder before its lease ends; ignored never does"},
		{"cap", []string{"none", "2", "5"}, "how many times a grant is renewed"},
		{"renew", []string{"compare", "set", "set-xx"}, "compare prolongs only the own token; set writes it (SET PX, sent as PSETEX); set-xx writes it over whatever token is there (SET XX PX, in a script)"},
	}, watchdogWith)
}

func watchdogWith(v Values) Spec {
	renewals := map[string][]Command{"compare": runs(compareAndPExpire), "set": sends("PSETEX"), "set-xx": runs(setXX)}
	meta := Meta{
		Name:       "watchdog",
		Summary:    "uuid-lua (every 20 ms) renewed at TTL/3 in the background, with a loss signal",
		Source:     "S1 3.7; S4.5",
		Topologies: onePrimary(),
		TTL:        30 * time.Second,
		Promises:   lockPromises(),
		Steps:      steps(sends("SET"), runs(compareAndDelete), map[Step][]Command{StepExtend: renewals[v["renew"]]}),
		Weaknesses: watchdogWeaknesses(v),
	}
	most, _ := strconv.Atoi(v["cap"]) // "none": 0
	return Spec{Meta: meta, Open: func() Maker {
		release := redis.NewScript(compareAndDelete)
		compare, setXX := redis.NewScript(compareAndPExpire), redis.NewScript(setXX)
		return func(c Config) Lock {
			l := &watchdogLock{base: newBase(c, meta), release: release, deaf: v["errors"] == "ignored", most: most}
			switch v["renew"] {
			case "set":
				l.prolong = l.set
			case "set-xx":
				l.prolong = l.by(setXX)
			default:
				l.prolong = l.by(compare)
			}
			return l
		}
	}}
}

func watchdogWeaknesses(v Values) expectations {
	var known expectations
	known = known.
		overlap(pauseClient, "a stopped client does not renew, and learns of its loss only when it goes on").
		forgotten()
	if v["errors"] == "ignored" {
		for _, fault := range append(unanswered(), killNode, pauseNode) {
			known = known.mayOverlap(fault, "renewals that fail are ignored, and the holder works on without a lock")
		}
	}
	if v["renew"] != "compare" {
		const why = "a renewal that comes late writes over the token of whoever has the lock by then"
		for _, fault := range append(unanswered(), pauseClient, pauseNode, restartEmpty, clockNode, flush, deleteKey, fillMemory, hangWorker) {
			known = known.mayOverlap(fault, why).may(fault, why, ownership, leaseExclusion)
		}
	}
	return known.onOneServer(traits{expires: true, renews: true, endless: v["cap"] == "none"})
}

type watchdogLock struct {
	base
	release *redis.Script
	prolong func(ctx context.Context, token string) error // sends a renewal
	deaf    bool                                          // what becomes of renewals is ignored
	most    int                                           // renewals of a grant; 0: no bound
	token   string                                        // of the last Acquire
	watch   *watch                                        // of the last grant; nil: none yet
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
	// A holder that is told at the very end of its lease is told too late: the next one may
	// be granted the lock while the news is on its way. Hence the last tenth.
	rest := func() time.Duration { return w.end(l.ttl - l.ttl/10).Sub(l.Clock.Now()) }
	for n := 0; ; n++ {
		spent := l.most > 0 && n >= l.most
		pause := l.ttl / 3
		switch {
		case spent && l.deaf:
			return
		case spent:
			pause = rest()
		case !l.deaf:
			pause = min(pause, rest())
		}
		if l.Clock.Sleep(ctx, pause) != nil {
			return
		}
		lost := !l.deaf && rest() <= 0
		if !lost && !spent {
			lost = errors.Is(l.renewInBackground(ctx, w, token, rest()), ErrNotHeld) && !l.deaf
		}
		if lost {
			w.lose()
			return
		}
	}
}

// renewInBackground waits for the answer no longer than the lease lasts: a later one
// could not keep the holder in its section. A deaf one does not think of that.
func (l *watchdogLock) renewInBackground(ctx context.Context, w *watch, token string, rest time.Duration) error {
	ctx = context.WithoutCancel(ctx)
	if !l.deaf {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, rest)
		defer cancel()
	}
	ctx, done := l.Trace.extend(ctx)
	g, err := l.renew(ctx, w, token)
	done(g, err)
	return err
}

// by renews with a script that answers 1 when it did.
func (l *watchdogLock) by(s *redis.Script) func(context.Context, string) error {
	return func(ctx context.Context, token string) error {
		return evaluated(l.script(ctx, s, token, milliseconds(l.ttl)))
	}
}

// set renews with SET PX, whatever the key is by now. It goes as PSETEX, which is the same
// command by a name that no acquire has, so that the two can be told apart on the wire.
func (l *watchdogLock) set(ctx context.Context, token string) error {
	if err := l.node.Do(ctx, "psetex", l.Name, milliseconds(l.ttl), token).Err(); err != nil {
		return unchanged(NotExecuted(err), err)
	}
	return nil
}

func (l *watchdogLock) renew(ctx context.Context, w *watch, token string) (Grant, error) {
	start := l.Clock.Now()
	err := l.prolong(ctx, token)
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
	if errors.Is(err, ErrNotHeld) && !l.deaf {
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
	return l.compareAndFree(ctx, l.release, l.token)
}
