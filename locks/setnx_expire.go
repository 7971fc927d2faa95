package locks

import (
	"context"
	"fmt"
	"time"
)

// setnxExpire gives the key its TTL with a second command: S0's first way to set one. A
// client that dies between the two leaves a lock for ever. The TTL and the wait are those
// of the listing that S0 derives from it.
func setnxExpire() Spec {
	var known expectations
	known = known.may(killClient, "a holder that dies between SETNX and EXPIRE leaves a lock without a TTL", liveness).
		outlived().misdeletes().forgottenPlain().orphaned().
		onOneServer(traits{expires: true, orphans: true, deletes: true})
	meta := Meta{
		Name:       "setnx-expire",
		Summary:    `SETNX "xxx" every 100 ms, then EXPIRE by the winner as a second command; released by DEL`,
		Source:     "S0 ① (first way to set a TTL); S4.1",
		Topologies: onePrimary(),
		TTL:        3 * time.Second,
		Promises:   lockPromises(),
		Steps:      steps(sends("SETNX"), sends("DEL"), expireStep()),
		Weaknesses: known,
	}
	return Spec{Meta: meta, Open: func() Maker {
		return func(c Config) Lock { return &setnxExpireLock{newBase(c, meta)} }
	}}
}

type setnxExpireLock struct{ base }

func (l *setnxExpireLock) Acquire(ctx context.Context) (Grant, error) {
	const value = "xxx"
	err := l.poll(ctx, 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		ok, err := l.setNXOnly(ctx, value)
		if ok {
			err = l.expire(ctx)
		}
		return ok && err == nil, err
	})
	return Grant{Token: value, Validity: l.ttl}, err
}

func (l *setnxExpireLock) Release(ctx context.Context) error { return l.del(ctx) }

// setNXOnly takes the key without a TTL, although the lock has one.
func (b *base) setNXOnly(ctx context.Context, value string) (bool, error) {
	ok, err := b.send(ctx, value, 0)
	if err != nil {
		return false, unacquired(NotExecuted(err), err)
	}
	return ok, nil
}

// expire gives the key its TTL after SETNX took it. When that fails the source throws out
// of its acquire although the lock is taken, and nothing releases it: even an answer that
// proves that EXPIRE did nothing is no ErrNotAcquired.
func (b *base) expire(ctx context.Context) error {
	if err := b.node.PExpire(ctx, b.Name, b.ttl).Err(); err != nil {
		return fmt.Errorf("SETNX took the lock, then EXPIRE failed: %w", err)
	}
	return nil
}
