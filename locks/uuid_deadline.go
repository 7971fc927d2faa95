package locks

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// uuidDeadline is uuid-lua whose holder gives up in time: it counts its lease from the
// start of the attempt that won, by a clock that no step moves, and says that the lock is
// lost when nine tenths of the TTL are over. The last tenth is for the drift of the
// server's clock and for the holder to hear of it and stop. A yes that comes later than
// that is no grant.
func uuidDeadline() Spec {
	var known expectations
	meta := Meta{
		Name:       "uuid-deadline",
		Summary:    "uuid-lua that refuses late grants and signals its loss at nine tenths of the TTL",
		Source:     "S0 ④ with the validity of S1 4.2",
		Topologies: onePrimary(),
		TTL:        3 * time.Second,
		Promises:   lockPromises(),
		Weaknesses: known.outlived().
			losesKeys("the server loses the lock, or ends its TTL early, while the holder is in the section").
			promoted().stormed(),
		Steps: steps(sends("SET"), runs(compareAndDelete), nil),
	}
	return Spec{Meta: meta, Open: func() Maker {
		release := redis.NewScript(compareAndDelete)
		return func(c Config) Lock { return &deadlineLock{base: newBase(c, meta), release: release} }
	}}
}

type deadlineLock struct {
	base
	release *redis.Script
	token   string // of the last Acquire
	alarm   *alarm // of the last grant; nil: none yet
}

var _ Loser = (*deadlineLock)(nil)

// alarm closes lost at the deadline, unless it is stopped before.
type alarm struct {
	stop context.CancelFunc
	done chan struct{} // closed when the goroutine has ended
	lost chan struct{}
}

func (a *alarm) end() {
	if a != nil {
		a.stop()
		<-a.done
	}
}

// deadline is the lease, from the attempt on.
func (l *deadlineLock) deadline() time.Duration { return l.ttl - l.ttl/10 }

func (l *deadlineLock) Acquire(ctx context.Context) (Grant, error) {
	l.alarm.end() // of a holder that never released
	l.token = newToken()
	err := l.poll(ctx, 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		elapsed := stopwatch(l.Clock)
		ok, err := l.setNX(ctx, l.token)
		if !ok {
			return false, err
		}
		rest := l.deadline() - elapsed()
		if rest <= 0 {
			return false, l.refuse(ctx)
		}
		l.arm(ctx, rest)
		return true, nil
	})
	return Grant{Token: l.token, Validity: l.deadline()}, err
}

// refuse gives back a lock whose grant came too late. Mostly it has expired by then.
func (l *deadlineLock) refuse(ctx context.Context) error {
	if err := l.release.Run(ctx, l.node, []string{l.Name}, l.token).Err(); err != nil {
		return fmt.Errorf("give back a lock that was granted too late: %w", err)
	}
	return nil
}

// arm sets the alarm; it outlives the ctx of the Acquire.
func (l *deadlineLock) arm(ctx context.Context, rest time.Duration) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	a := &alarm{stop: stop, done: make(chan struct{}), lost: make(chan struct{})}
	l.alarm = a
	go func() {
		defer close(a.done)
		if l.Clock.Sleep(ctx, rest) == nil {
			close(a.lost)
		}
	}()
}

// Lost is closed when the last grant's deadline is over; nil before the first.
func (l *deadlineLock) Lost() <-chan struct{} {
	if l.alarm == nil {
		return nil
	}
	return l.alarm.lost
}

func (l *deadlineLock) Release(ctx context.Context) error {
	l.alarm.end()
	return l.compareAndFree(ctx, l.release, l.token)
}
