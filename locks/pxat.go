package locks

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// pxat is uuid-lua whose expiry is a moment that the client computes from its own wall
// clock (SET NX PXAT), where the others let the server count (PX). By a clock that is
// behind by more than the TTL the lock is born expired.
func pxat() Spec {
	var known expectations
	const skewed = "the client's clock is behind: the lock expires too early, or at once"
	meta := Meta{
		Name:       "pxat",
		Summary:    "SET <uuid> NX PXAT <the client's wall clock + TTL> every 100 ms; release by compare-and-delete in Lua",
		Source:     "S0 ④ with the expiry of Redis' PXAT option (redis.io, SET)",
		Topologies: onePrimary(),
		TTL:        3 * time.Second,
		Promises:   lockPromises(),
		Weaknesses: known.outlived().forgotten().mayOverlapBy(clockClient, skewed).
			may(clockClient, "the client's clock is ahead, and the lock of a holder that died stays as much longer", liveness).
			onOneServer(traits{expires: true}),
		Steps: steps(sends("SET"), runs(compareAndDelete), nil),
	}
	return Spec{Meta: meta, Open: func() Maker {
		release := redis.NewScript(compareAndDelete)
		return func(c Config) Lock { return &pxatLock{base: newBase(c, meta), release: release} }
	}}
}

type pxatLock struct {
	base
	release *redis.Script
	token   string // of the last Acquire
}

func (l *pxatLock) Acquire(ctx context.Context) (Grant, error) {
	l.token = newToken()
	err := l.poll(ctx, 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		expiry := l.Clock.Now().Add(l.ttl).UnixMilli()
		cmd := redis.NewBoolCmd(ctx, "set", l.Name, l.token, "nx", "pxat", expiry)
		_ = l.node.Process(ctx, cmd) // the error stays in cmd
		ok, err := cmd.Result()
		if err != nil {
			return false, unacquired(NotExecuted(err), err)
		}
		return ok, nil
	})
	return Grant{Token: l.token, Validity: l.ttl}, err
}

func (l *pxatLock) Release(ctx context.Context) error {
	return l.compareAndFree(ctx, l.release, l.token)
}
