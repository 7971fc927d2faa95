package locks

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// reentrant counts its owner's holds in a hash (S1 3.6): field = owner, value = count. S1
// gives the mechanism and no listing; TTL and wait are those of S1's other locks. Its
// owner is a uuid per outermost acquire.
//
// A script that is sent again counts again, unless it knows its operation: with
// retry=operation-id each acquire's attempt and each release has an id, under which the
// script notes its answer.
func reentrant() Spec {
	return withOptions([]Option{
		retryOption("; operation-id sends it again with the id of its operation, which is done once", "operation-id"),
	}, reentrantWith)
}

func reentrantWith(v Values) Spec {
	once := v["retry"] == "operation-id"
	acquire, release := reentrantAcquire, reentrantRelease
	if once {
		acquire, release = reentrantAcquireOnce, reentrantReleaseOnce
	}
	meta := Meta{
		Name:       "reentrant",
		Summary:    "a hash of owner and count with a TTL, every 20 ms; acquired and released by Lua, as often as acquired",
		Source:     "S1 3.6",
		Topologies: onePrimary(),
		TTL:        30 * time.Second,
		Promises:   append(lockPromises(), reentrancy),
		Reentrant:  true,
		Steps:      steps(runs(acquire), runs(release), nil),
		Weaknesses: reentrantWeaknesses(),
	}
	return Spec{Meta: meta, Open: func() Maker {
		acquire, release := redis.NewScript(acquire), redis.NewScript(release)
		return func(c Config) Lock {
			l := &reentrantLock{base: newBase(c, meta), acquire: acquire, release: release, once: once, remaining: -1}
			l.retries = v["retry"] != "none"
			return l
		}
	}}
}

func reentrantWeaknesses() expectations {
	var known expectations
	const lost = "the owner's count is gone while it still has holds to give back"
	const resent = "an acquire or a release of unknown outcome, or one that was sent again, leaves a count that the owner does not know"
	known = known.outlived().may(pauseClient, lost, reentrancy).
		forgotten().may(restartEmpty, lost, reentrancy).resent(resent, reentrancy)
	for _, fault := range append(operator(), partitionReplica, clockNode, hangWorker) {
		known = known.may(fault, lost, reentrancy)
	}
	return known.onOneServer(traits{expires: true})
}

type reentrantLock struct {
	base
	acquire, release *redis.Script
	once             bool // an operation that is sent again is done once
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
		var err error
		count, err = l.run(ctx, l.acquire, milliseconds(l.ttl))
		if err != nil {
			return false, unacquired(ScriptNotExecuted(err), err)
		}
		return count > 0, nil
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
	l.doubt = nil
	l.Trace.release()
	n, err := l.run(ctx, l.release)
	switch {
	case err != nil:
		return thrown(l.settled(unchanged(ScriptNotExecuted(err), err)))
	case n < 0:
		return l.settled(ErrNotHeld)
	}
	l.remaining = n
	return nil
}

// run runs a script for the owner, and again while it gets no answer.
func (l *reentrantLock) run(ctx context.Context, s *redis.Script, args ...any) (n int64, err error) {
	keys, args := []string{l.Name}, append([]any{l.owner}, args...)
	if l.once {
		keys, args = append(keys, l.Name+":done:"+newToken()), append(args, milliseconds(noted))
	}
	again := 0
	_, err = l.resend(ctx, ScriptNotExecuted, func(ctx context.Context) error {
		now := args
		if l.once {
			now = append(args[:len(args):len(args)], again)
		}
		again = 1
		n, err = s.Run(ctx, l.node, keys, now...).Int64()
		return err
	})
	return n, err
}

// Remaining is what the server said at the last Release; -1: nothing.
func (l *reentrantLock) Remaining() int64 { return l.remaining }
