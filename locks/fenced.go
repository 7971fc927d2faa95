package locks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// fenced is uuid-lua with a fencing token that grows from grant to grant (Kleppmann, How
// to do distributed locking): INCR of a counter. By default the counter is on a server
// that loses nothing, and is raised after the lock was taken, so that the later of two
// grants has the higher token. With the counter on the lock's own server both are one
// script, and the counter is lost with the lock.
func fenced() Spec {
	options := []Option{{"counter", []string{"stock", "lock"},
		"where tokens are counted: on the server that keeps the stock, after the lock was taken; or on the lock's server, in the same step"}}
	with := func(v Values) Spec {
		onLock := v["counter"] == "lock"
		meta := Meta{
			Name:       "fenced",
			Summary:    "uuid-lua that mints a fencing token (INCR) with each grant",
			Source:     "Kleppmann 2016; S0 ④",
			Topologies: onePrimary(),
			TTL:        3 * time.Second,
			Promises:   append(lockPromises(), fencingTokens),
			Weaknesses: fencedWeaknesses(onLock),
			Steps:      steps(sends("SET"), runs(compareAndDelete), nil),
		}
		if onLock {
			meta.Steps[StepAcquire] = runs(fencedAcquire)
		}
		return Spec{Meta: meta, Open: func() Maker {
			release, mint := redis.NewScript(compareAndDelete), redis.NewScript(fencedAcquire)
			return func(c Config) Lock {
				l := fencedLock{base: newBase(c, meta), release: release, counter: c.Name + ":fence"}
				if onLock {
					return &fencedOnLock{fencedLock: l, mint: mint}
				}
				return &l
			}
		}}
	}
	return withOptions(options, with)
}

func fencedWeaknesses(onLock bool) expectations {
	var known expectations
	known = known.outlived().forgotten()
	if onLock {
		const lost = "the counter is lost with the lock, and tokens that were given out are given out again"
		for _, fault := range append(promotion(), restartEmpty, powerLoss, fillMemory, flush) {
			known = known.may(fault, lost, fencingTokens)
		}
	}
	return known.onOneServer(traits{expires: true})
}

type fencedLock struct {
	base
	release *redis.Script
	counter string
	token   string // of the last Acquire
}

func (l *fencedLock) Acquire(ctx context.Context) (Grant, error) {
	l.token = newToken()
	g := Grant{Token: l.token, Validity: l.ttl}
	err := l.poll(ctx, 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		ok, err := l.setNX(ctx, l.token)
		if !ok {
			return false, err
		}
		if g.Fence, err = l.Durable.Incr(ctx, l.counter).Result(); err != nil {
			return false, l.undo(ctx, fmt.Errorf("mint a fencing token: %w", err))
		}
		return true, nil
	})
	return g, err
}

// undo gives back a lock that was taken and cannot be used because of err.
func (l *fencedLock) undo(ctx context.Context, err error) error {
	n, freeing := l.release.Run(ctx, l.node, []string{l.Name}, l.token).Int64()
	if freeing != nil {
		return errors.Join(err, fmt.Errorf("give the lock back: %w", freeing))
	}
	if n == 0 {
		err = fmt.Errorf("%w; the lock was gone by then", err)
	}
	return unacquired(true, err)
}

func (l *fencedLock) Release(ctx context.Context) error {
	return l.compareAndFree(ctx, l.release, l.token)
}

// fencedOnLock counts its tokens on the lock's server.
type fencedOnLock struct {
	fencedLock
	mint *redis.Script
}

func (l *fencedOnLock) Acquire(ctx context.Context) (Grant, error) {
	l.token = newToken()
	g := Grant{Token: l.token, Validity: l.ttl}
	err := l.poll(ctx, 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		n, err := l.mint.Run(ctx, l.node, []string{l.Name, l.counter}, l.token, milliseconds(l.ttl)).Int64()
		if err != nil {
			return false, unacquired(ScriptNotExecuted(err), err)
		}
		g.Fence = n
		return n > 0, nil
	})
	return g, err
}
