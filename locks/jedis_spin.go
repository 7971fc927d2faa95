package locks

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// jedisSpin is S3's setnx: the value is the id of the user who asks, waiters spin without
// a pause for up to 30 s, and an exception is turned into "did not get it", so that it is
// simply tried again. The result of the release is ignored. Here the release passes key
// and value as KEYS and ARGV; jedis-concat pastes them as printed.
func jedisSpin() Spec {
	meta := Meta{
		Name:       "jedis-spin",
		Summary:    "SET <user id> NX PX 60000, spinning without a pause, errors ignored; compare-and-delete in Lua",
		Source:     "S3 (setnx; the script's idea, with ARGV)",
		Topologies: onePrimary(),
		TTL:        60 * time.Second,
		Promises:   lockPromises(),
		Steps:      steps(sends("SET"), runs(compareAndDelete), nil),
		Weaknesses: jedisWeaknesses(),
	}
	return Spec{Meta: meta, Open: func() Maker {
		release := redis.NewScript(compareAndDelete)
		return func(c Config) Lock {
			return &jedisSpinLock{jedis: jedis{newBase(c, meta)}, release: release}
		}
	}}
}

func jedisWeaknesses() expectations {
	var known expectations
	const late = "a release that timed out is executed when the server goes on, and frees the same user's next lock: the token is the user's id"
	return known.outlived().forgotten().
		mayOverlap(pauseNode, late).may(pauseNode, late, leaseExclusion, ownership).
		onOneServer(traits{expires: true, deletes: true})
}

// jedisPatience is S3's timeout: how long a user tries.
const jedisPatience = 30 * time.Second

// jedis is the acquire that S3's two locks share.
type jedis struct{ base }

func (l *jedis) Acquire(ctx context.Context) (Grant, error) {
	g := Grant{Token: l.User, Validity: l.ttl}
	// An attempt of unknown outcome may have taken the lock, or may do so yet. The source goes
	// on as if it had not; the record must not.
	var unknown error
	for end := l.Clock.Now().Add(jedisPatience); !l.Clock.Now().After(end) && ctx.Err() == nil; {
		ok, err := l.attempt(ctx, func(ctx context.Context) (bool, error) {
			return l.send(ctx, l.User, l.ttl)
		})
		if ok {
			return g, nil
		}
		if err != nil && !NotExecuted(err) && unknown == nil {
			unknown = err
		}
	}
	switch {
	case unknown != nil:
		return g, fmt.Errorf("one attempt ended unknown, the others got nothing: %w", unknown)
	case ctx.Err() != nil:
		return g, gaveUp(ctx.Err())
	}
	return g, fmt.Errorf("%w within %v", ErrNotAcquired, jedisPatience)
}

type jedisSpinLock struct {
	jedis
	release *redis.Script
}

// Release evaluates the script with EVAL, as Jedis does. The source ignores what comes of
// it, errors included.
func (l *jedisSpinLock) Release(ctx context.Context) error {
	return l.free(ctx, func(ctx context.Context) *redis.Cmd {
		return l.release.Eval(ctx, l.node, []string{l.Name}, l.User)
	})
}
