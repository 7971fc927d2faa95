package locks

import (
	"context"
	"time"
)

// setnxOnce is S4's flow: try, and if somebody has the lock, sleep and try once more
// without looking at the result. A second attempt that works takes a lock that nobody uses
// or releases, and S4.1's has no TTL.
func setnxOnce() Spec {
	known := setnxWeaknesses().
		will(noFault, "a second attempt that works takes the lock for nobody, without a TTL: sales stop", liveness)
	meta := Meta{
		Name:       "setnx-once",
		Summary:    `SETNX "lock", after 100 ms one more whose result is ignored, no TTL; released by DEL`,
		Source:     "S4.1",
		Topologies: onePrimary(),
		NoTTL:      true,
		Promises:   lockPromises(),
		Steps:      steps(sends("SETNX"), sends("DEL"), nil),
		Weaknesses: known,
	}
	return Spec{Meta: meta, Open: func() Maker {
		return func(c Config) Lock { return &setnxOnceLock{newBase(c, meta)} }
	}}
}

type setnxOnceLock struct{ base }

// Acquire sleeps 100 ms between its two attempts; S4 says usleep(time) and no figure.
func (l *setnxOnceLock) Acquire(ctx context.Context) (Grant, error) {
	const value = "lock"
	g := Grant{Token: value}
	try := func(ctx context.Context) (bool, error) { return l.setNX(ctx, value) }
	if ok, err := l.attempt(ctx, try); ok || err != nil {
		return g, err
	}
	if err := l.Clock.Sleep(ctx, 100*time.Millisecond); err != nil {
		return g, gaveUp(err)
	}
	ok, err := l.attempt(ctx, try)
	if err == nil && !ok {
		err = ErrNotAcquired
	}
	if ok {
		g.Belief = Leaves
	}
	return g, err
}

func (l *setnxOnceLock) Release(ctx context.Context) error { return l.del(ctx) }
