package locks

import (
	"context"
	"fmt"
)

// seckillWrongKey is S2's listing "before" as printed: it locks "key:<id>", but its finally
// block deletes the literal "key". The lock stays until its TTL ends.
func seckillWrongKey() Spec {
	var known expectations
	meta := Meta{
		Name:       "seckill-wrong-key",
		Summary:    `one SET "val" NX with a TTL, no waiting; finally deletes another key, so the TTL alone frees the lock`,
		Source:     "S2, before (as printed)",
		Topologies: onePrimary(),
		TTL:        seckillTTL,
		Promises:   lockPromises(),
		Steps:      steps(sends("SET"), sends("DEL"), nil),
		Weaknesses: known.outlived().forgotten().onOneServer(traits{expires: true}),
	}
	return Spec{Meta: meta, Open: func() Maker {
		return func(c Config) Lock { return &seckillWrongKeyLock{newBase(c, meta)} }
	}}
}

// wrongKey is what S2's finally block deletes.
const wrongKey = "key"

type seckillWrongKeyLock struct{ base }

func (l *seckillWrongKeyLock) Acquire(ctx context.Context) (Grant, error) {
	return l.once(ctx, seckillValue)
}

// Release leaves the lock as it was, whatever comes of deleting the other key; an error
// of that is thrown all the same.
func (l *seckillWrongKeyLock) Release(ctx context.Context) error {
	if l.Name == wrongKey { // then it is the right one
		return l.del(ctx)
	}
	n, err := l.node.Del(ctx, wrongKey).Result()
	if err != nil {
		return thrown(unchanged(true, err))
	}
	return fmt.Errorf("%w: deleted %q (%d keys) instead of %q", ErrNoEffect, wrongKey, n, l.Name)
}
