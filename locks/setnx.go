package locks

import (
	"context"
	"time"
)

// setnx is SETNX in a loop and DEL in the finally block, without a TTL. S0's while loop
// sleeps 100 ms and writes "xxx"; S1 V2 is the same with 20 ms and a uuid that nobody
// compares; S4.1's is the simplest form.
func setnx() Spec {
	meta := Meta{
		Name:       "setnx",
		Summary:    `SETNX "xxx" every 100 ms, no TTL; released by DEL`,
		Source:     "S0 ① (while loop); S1 V2; S4.1",
		Topologies: single(),
		NoTTL:      true,
		Promises:   lockPromises(),
		Weaknesses: setnxWeaknesses(),
	}
	return Spec{Meta: meta, Open: func() Maker {
		return func(c Config) Lock { return &setnxLock{newBase(c, meta)} }
	}}
}

func setnxWeaknesses() expectations {
	var known expectations
	return known.will(killClient, "the dead holder's lock has no TTL and stays for ever", liveness).
		forgottenPlain().orphaned()
}

type setnxLock struct{ base }

func (l *setnxLock) Acquire(ctx context.Context) (Grant, error) {
	const value = "xxx"
	err := l.poll(ctx, 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		return l.setNX(ctx, value)
	})
	return Grant{Token: value}, err
}

func (l *setnxLock) Release(ctx context.Context) error { return l.del(ctx) }
