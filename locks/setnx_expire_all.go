package locks

import (
	"context"
	"fmt"
	"time"
)

// setnxExpireAll is what S4.2 warns of: of many contenders one wins the SETNX, but each
// one's EXPIRE works, so that the lock of a dead holder is prolonged as long as anybody
// wants it. S4 gives neither TTL nor pause: S0's are used.
func setnxExpireAll() Spec {
	var known expectations
	const prolonged = "every contender's EXPIRE prolongs the lock of the dead holder"
	const uncontended = "contenders' EXPIREs keep the stopped holder's lock alive; it expires only if nobody asks for it for a TTL"
	known = known.will(killClient, prolonged, liveness).
		mayOverlap(pauseClient, uncontended).may(pauseClient, uncontended, ownership, leaseExclusion).
		misdeletesLate().forgottenPlain().orphaned().
		onOneServer(traits{expires: true, orphans: true, deletes: true, endless: true})
	meta := Meta{
		Name:       "setnx-expire-all",
		Summary:    `SETNX "lock" every 100 ms, and EXPIRE by every contender, winner or not; released by DEL`,
		Source:     "S4.2 (the warning)",
		Topologies: onePrimary(),
		TTL:        3 * time.Second,
		Promises:   lockPromises(),
		Steps:      steps(sends("SETNX"), sends("DEL"), expireStep()),
		Weaknesses: known,
	}
	return Spec{Meta: meta, Open: func() Maker {
		return func(c Config) Lock { return &setnxExpireAllLock{newBase(c, meta)} }
	}}
}

type setnxExpireAllLock struct{ base }

func (l *setnxExpireAllLock) Acquire(ctx context.Context) (Grant, error) {
	const value = "lock"
	err := l.poll(ctx, 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		ok, err := l.setNXOnly(ctx, value)
		if err != nil {
			return false, err
		}
		if ok {
			err = l.expire(ctx)
		} else if err = l.node.PExpire(ctx, l.Name, l.ttl).Err(); err != nil {
			// SETNX was refused, so whatever became of EXPIRE, this call took nothing.
			err = fmt.Errorf("%w: EXPIRE after a refused SETNX: %w", ErrNotAcquired, err)
		}
		return ok && err == nil, err
	})
	return Grant{Token: value, Validity: l.ttl}, err
}

func (l *setnxExpireAllLock) Release(ctx context.Context) error { return l.del(ctx) }
