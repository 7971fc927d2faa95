package locks

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// seckillAfter is S2's listing "after" as printed, with two bugs. Its release script names
// a variable "in", a reserved word of Lua, so the server refuses to compile it and every
// release throws. And the branch for a lock that was not taken holds only a comment, so
// the request falls through into the section. (An exception does not: it goes straight to
// the finally block.) Key and token do travel as KEYS and ARGV, not pasted into the source.
func seckillAfter() Spec {
	var known expectations
	known = known.will(noFault, "a request that did not get the lock falls through into the section", mutualExclusion).
		stock(noFault).outlived().forgotten().onOneServer(traits{expires: true})
	meta := Meta{
		Name:       "seckill-after",
		Summary:    "one SET <uuid> NX with a TTL; enters even without the lock; its release script does not compile",
		Source:     "S2, after (as printed)",
		Topologies: onePrimary(),
		TTL:        seckillTTL,
		Promises:   lockPromises(),
		Steps:      steps(sends("SET"), runs(seckillRelease), nil),
		Weaknesses: known,
	}
	return Spec{Meta: meta, Open: func() Maker {
		release := redis.NewScript(seckillRelease)
		return func(c Config) Lock {
			return &seckillAfterLock{base: newBase(c, meta), release: release}
		}
	}}
}

type seckillAfterLock struct {
	base
	release *redis.Script
	token   string // of the last Acquire
}

func (l *seckillAfterLock) Acquire(ctx context.Context) (Grant, error) {
	l.token = newToken()
	g, err := l.once(ctx, l.token)
	if err == ErrNotAcquired { // the answer false, not an exception: that carries its cause
		g.Belief = Enters
	}
	return g, err
}

// Release sends the printed script. A server that did compile it would answer OK, which
// says nothing of what it did.
func (l *seckillAfterLock) Release(ctx context.Context) error {
	err := l.release.Run(ctx, l.node, []string{l.Name}, l.token).Err()
	if err != nil {
		return thrown(unchanged(ScriptNotExecuted(err), err))
	}
	return errors.New("the printed release script compiled, which Lua does not allow; its OK says nothing of the lock")
}
