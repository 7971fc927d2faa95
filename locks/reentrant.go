package locks

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// reentrant counts its owner's holds in a hash (S1 3.6): field = owner, value = count. S1
// gives the mechanism and no listing; TTL and wait are those of S1's other locks. Its
// owner is a uuid per outermost acquire.
func reentrant() Spec {
	var known expectations
	const lost = "the owner's count is gone while it still has holds to give back"
	const resent = "an acquire or a release of unknown outcome leaves a count that the owner does not know"
	known = known.outlived().may(pauseClient, lost, reentrancy).
		forgotten().may(restartEmpty, lost, reentrancy).may(killNode, resent, reentrancy).may(pauseNode, resent, reentrancy)
	meta := Meta{
		Name:       "reentrant",
		Summary:    "a hash of owner and count with a TTL, every 20 ms; acquired and released by Lua, as often as acquired",
		Source:     "S1 3.6",
		Topologies: single(),
		TTL:        30 * time.Second,
		Promises:   append(lockPromises(), reentrancy),
		Reentrant:  true,
		Weaknesses: known,
	}
	return Spec{Meta: meta, Open: func() Maker {
		acquire, release := redis.NewScript(reentrantAcquire), redis.NewScript(reentrantRelease)
		return func(c Config) Lock {
			return &reentrantLock{base: newBase(c, meta), acquire: acquire, release: release, remaining: -1}
		}
	}}
}

type reentrantLock struct {
	base
	acquire, release *redis.Script
	owner            string
	depth            int   // holds that the client has yet to give back, as it believes
	remaining        int64 // see Remaining
}

var _ Reentrant = (*reentrantLock)(nil)

func (l *reentrantLock) Acquire(ctx context.Context) (Grant, error) {
	if l.depth == 0 {
		l.owner = newToken()
	}
	var count int64
	err := l.poll(ctx, 20*time.Millisecond, func(ctx context.Context) (bool, error) {
		n, err := l.acquire.Run(ctx, l.node, []string{l.Name}, l.owner, milliseconds(l.ttl)).Int64()
		if err != nil {
			return false, unacquired(ScriptNotExecuted(err), err)
		}
		count = n
		return n > 0, nil
	})
	if err == nil {
		l.depth++
	}
	return Grant{Token: l.owner, Validity: l.ttl, Count: count}, err
}

// Release gives back one hold. The client counts down whatever the answer: its code
// leaves one level of its nesting.
func (l *reentrantLock) Release(ctx context.Context) error {
	l.depth = max(0, l.depth-1)
	l.remaining = -1
	n, err := l.release.Run(ctx, l.node, []string{l.Name}, l.owner).Int64()
	switch {
	case err != nil:
		return thrown(unchanged(ScriptNotExecuted(err), err))
	case n < 0:
		return ErrNotHeld
	}
	l.remaining = n
	return nil
}

// Remaining is what the server said at the last Release; -1: nothing.
func (l *reentrantLock) Remaining() int64 { return l.remaining }
