package locks

import "context"

// seckillBefore is S2's listing "before" as its text describes it: the finally block
// deletes the lock, also when this request never had it.
func seckillBefore() Spec {
	const why = "a request that did not get the lock deletes it in its finally block"
	var known expectations
	known = known.overlap(noFault, why).will(noFault, why, ownership, leaseExclusion).onOneServer(traits{expires: true, deletes: true})
	meta := Meta{
		Name:       "seckill-before",
		Summary:    `one SET "val" NX with a TTL, no waiting; DEL in finally, also when not acquired`,
		Source:     "S2, before (as its text describes it)",
		Topologies: onePrimary(),
		TTL:        seckillTTL,
		Promises:   lockPromises(),
		Steps:      steps(sends("SET"), sends("DEL"), nil),
		Weaknesses: known,
	}
	return Spec{Meta: meta, Open: func() Maker {
		return func(c Config) Lock { return &seckillBeforeLock{newBase(c, meta)} }
	}}
}

type seckillBeforeLock struct{ base }

func (l *seckillBeforeLock) Acquire(ctx context.Context) (Grant, error) {
	return l.once(ctx, seckillValue)
}

func (l *seckillBeforeLock) Release(ctx context.Context) error { return l.del(ctx) }
