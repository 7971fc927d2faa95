package locks

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// uuidLua is the form that the seeds arrive at: a uuid as value, compared and deleted by
// the server in one script. S1 V5 is the same with 30 s and 20 ms.
func uuidLua() Spec {
	var known expectations
	meta := Meta{
		Name:       "uuid-lua",
		Summary:    "SET <uuid> NX with a TTL every 100 ms; release by compare-and-delete in Lua",
		Source:     "S0 ④; S1 V5; S4.4",
		Topologies: single(),
		TTL:        3 * time.Second,
		Promises:   lockPromises(),
		Weaknesses: known.outlived().forgotten(),
	}
	return Spec{Meta: meta, Open: func() Maker {
		release := redis.NewScript(compareAndDelete)
		return func(c Config) Lock {
			return &uuidLuaLock{base: newBase(c, meta), release: release}
		}
	}}
}

type uuidLuaLock struct {
	base
	release *redis.Script
	token   string // of the last Acquire
}

func (l *uuidLuaLock) Acquire(ctx context.Context) (Grant, error) {
	l.token = newToken()
	err := l.poll(ctx, 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		return l.setNX(ctx, l.token)
	})
	return Grant{Token: l.token, Validity: l.ttl}, err
}

func (l *uuidLuaLock) Release(ctx context.Context) error {
	return uncaught(l.script(ctx, l.release, l.token))
}
