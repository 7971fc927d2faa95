package locks

import "context"

// setnxRecursive is S0's first form of the lock: whoever does not get it calls the same
// method again, without a pause, one frame deeper on the stack for each attempt.
func setnxRecursive() Spec {
	meta := Meta{
		Name:       "setnx-recursive",
		Summary:    `SETNX "1111", retried by recursion without a pause, no TTL; released by DEL`,
		Source:     "S0 ① (recursion)",
		Topologies: onePrimary(),
		NoTTL:      true,
		Promises:   lockPromises(),
		Steps:      steps(sends("SETNX"), sends("DEL"), nil),
		Weaknesses: setnxWeaknesses(),
	}
	return Spec{Meta: meta, Open: func() Maker {
		return func(c Config) Lock { return &setnxRecursiveLock{newBase(c, meta)} }
	}}
}

type setnxRecursiveLock struct{ base }

func (l *setnxRecursiveLock) Acquire(ctx context.Context) (Grant, error) {
	const value = "1111"
	if err := ctx.Err(); err != nil { // all that keeps the stack from growing on
		return Grant{Token: value}, gaveUp(err)
	}
	ok, err := l.attempt(ctx, func(ctx context.Context) (bool, error) { return l.setNX(ctx, value) })
	if ok || err != nil {
		return Grant{Token: value}, err
	}
	return l.Acquire(ctx) // Go makes no tail calls: the recursion is real
}

func (l *setnxRecursiveLock) Release(ctx context.Context) error { return l.del(ctx) }
