package locks

import (
	"context"
	"time"
)

// setnx is SETNX in a loop and DEL in the finally block, without a TTL. S0's while loop
// sleeps 100 ms and writes "xxx"; S1 V2 is the same with 20 ms and a uuid that nobody
// compares; S4.1's is the simplest form.
//
// With retry=blind a SETNX that took the lock without an answer is refused by its own
// work when it is sent again, and the loop waits for itself; a DEL that is sent again may
// free the lock of whoever got it in between.
func setnx() Spec {
	return withOptions([]Option{retryOption("")}, func(v Values) Spec {
		retries := v["retry"] == "blind"
		known := setnxWeaknesses()
		if retries {
			known = blindDelete()
		}
		meta := Meta{
			Name:       "setnx",
			Summary:    `SETNX "xxx" every 100 ms, no TTL; released by DEL`,
			Source:     "S0 ① (while loop); S1 V2; S4.1",
			Topologies: onePrimary(),
			NoTTL:      true,
			Promises:   lockPromises(),
			Steps:      steps(sends("SETNX"), sends("DEL"), nil),
			Weaknesses: known,
		}
		return Spec{Meta: meta, Open: func() Maker {
			return func(c Config) Lock {
				l := &setnxLock{newBase(c, meta)}
				l.retries = retries
				return l
			}
		}}
	})
}

func setnxWeaknesses() expectations {
	var known expectations
	return known.will(killClient, "the dead holder's lock has no TTL and stays for ever", liveness).
		forgottenPlain().orphaned().onOneServer(traits{orphans: true, deletes: true})
}

func blindDelete() expectations {
	const why = "a DEL that is sent again frees the lock of whoever got it after the first one"
	return setnxWeaknesses().resent(why, mutualExclusion, linearizableLock, ownership, leaseExclusion).
		resent("the stock suffers from the two clients that a DEL sent twice lets in", noLostUpdate, linearizableStock, noOversell).
		stormed()
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
