package locks

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// reentrantWatchdog is reentrant whose owner is renewed as watchdog renews (S1 3.6 and 3.7
// together, which is Redisson's lock). As Redisson does, it renews until the server says
// that the last hold was given back: a hold that the client does not know of, counted by
// a script that was sent again, keeps the lock for ever.
func reentrantWatchdog() Spec {
	return withOptions(reentrant().Options, func(v Values) Spec {
		inner := reentrantWith(v)
		meta := inner.Meta
		meta.Name = "reentrant-watchdog"
		meta.Summary = "reentrant, renewed at TTL/3 in the background until the server says that it is free; with a loss signal"
		meta.Source = "S1 3.6, 3.7; S4.5"
		meta.Steps = steps(meta.Steps[StepAcquire], meta.Steps[StepRelease], map[Step][]Command{StepExtend: runs(reentrantRenew)})
		meta.Weaknesses = reentrantWatchdogWeaknesses(v["retry"])
		return Spec{Meta: meta, Open: func() Maker {
			reentrant, renew := inner.Open(), redis.NewScript(reentrantRenew)
			return func(c Config) Lock { return newReentrantDog(c, meta, reentrant, renew) }
		}}
	})
}

func reentrantWatchdogWeaknesses(retry string) expectations {
	var known expectations
	known = known.
		overlap(pauseClient, "a stopped client does not renew, and learns of its loss only when it goes on").
		forgotten()
	const lost = "the owner's count is gone while it still has holds to give back"
	for _, fault := range append(operator(), pauseClient, restartEmpty, partitionReplica, clockNode) {
		known = known.may(fault, lost, reentrancy)
	}
	known = known.resent("an acquire or a release of unknown outcome, or one that was sent again, leaves a count that the owner does not know", reentrancy)
	switch retry {
	case "none":
		const unknown = "a nested hold whose grant had no answer is not given back, and is renewed for ever"
		known = known.resent(unknown, liveness).may(noAnswer, unknown, liveness)
	case "blind":
		known = known.resent("a hold that was counted twice is renewed for ever", liveness)
	}
	return known.onOneServer(traits{expires: true, renews: true, endless: true})
}

type reentrantDog struct {
	*reentrantLock
	dog   *watchdogLock // whose renewals are this lock's
	start time.Time     // of the last attempt
}

var (
	_ Reentrant = (*reentrantDog)(nil)
	_ Loser     = (*reentrantDog)(nil)
)

func newReentrantDog(c Config, m Meta, reentrant Maker, renew *redis.Script) *reentrantDog {
	l := &reentrantDog{dog: &watchdogLock{base: newBase(c, m)}}
	l.dog.prolong = l.dog.by(renew)
	traced := c.Trace
	c.Trace.Attempt = func() {
		l.start = c.Clock.Now()
		traced.attempt()
	}
	l.reentrantLock = reentrant(c).(*reentrantLock)
	return l
}

func (l *reentrantDog) Acquire(ctx context.Context) (Grant, error) {
	nested := l.depth > 0
	g, err := l.reentrantLock.Acquire(ctx)
	switch {
	case err != nil:
	case nested:
		l.dog.watch.confirm(l.start) // the script has prolonged the lock, too
	default:
		l.keep(ctx, l.start)
	}
	return g, err
}

// keep renews in the background for the present owner, whose lease began at start.
func (l *reentrantDog) keep(ctx context.Context, start time.Time) {
	// The renewal outlives ctx, which bounds only the call.
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.dog.watch = &watch{cancel: cancel, done: make(chan struct{}), lost: make(chan struct{}), confirmed: start}
	go l.dog.keep(background, l.dog.watch, l.owner)
}

// Release gives back one hold. With what the client takes for the last one the renewals
// end, so that none comes after the release; if the server says that holds are left, they
// go on, until the server says otherwise.
func (l *reentrantDog) Release(ctx context.Context) error {
	last := l.dog.watch != nil && l.depth <= 1
	if last {
		l.dog.watch.stop()
	}
	err := l.reentrantLock.Release(ctx)
	if last && l.Remaining() > 0 {
		l.keep(ctx, l.dog.watch.end(0)) // the lease counts on
	}
	return err
}

// Lost is closed when the last grant is lost; nil before the first.
func (l *reentrantDog) Lost() <-chan struct{} { return l.dog.Lost() }
