package locks

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// uuidGetDel writes a uuid and compares it in the client before it deletes: two commands,
// between which the TTL may end and somebody else take the lock (S0's third form).
func uuidGetDel() Spec {
	meta := Meta{
		Name:       "uuid-get-del",
		Summary:    "SET <uuid> NX with a TTL every 100 ms; release by GET, compare in the client, DEL",
		Source:     "S0 ③; S4.3",
		Topologies: onePrimary(),
		TTL:        3 * time.Second,
		Promises:   lockPromises(),
		Steps:      steps(sends("SET"), sends("DEL"), compareStep()),
		Weaknesses: uuidGetDelWeaknesses(),
	}
	return Spec{Meta: meta, Open: func() Maker {
		return func(c Config) Lock { return &uuidGetDelLock{base: newBase(c, meta)} }
	}}
}

func uuidGetDelWeaknesses() expectations {
	var known expectations
	const gap = "a holder stopped between GET and DEL deletes the lock of whoever has it when it goes on"
	const late = "a DEL that timed out is executed when the server goes on, perhaps after the lock expired and went to another"
	const forgot = "the server forgets between GET and DEL, and the DEL frees the new holder's lock"
	return known.outlived().may(pauseClient, gap, ownership, leaseExclusion).
		forgotten().may(restartEmpty, forgot, ownership).
		mayOverlap(pauseNode, late).may(pauseNode, late, ownership, leaseExclusion).
		onOneServer(traits{expires: true, deletes: true})
}

type uuidGetDelLock struct {
	base
	token string // of the last Acquire
}

func (l *uuidGetDelLock) Acquire(ctx context.Context) (Grant, error) {
	l.token = newToken()
	err := l.poll(ctx, 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		return l.setNX(ctx, l.token)
	})
	return Grant{Token: l.token, Validity: l.ttl}, err
}

func (l *uuidGetDelLock) Release(ctx context.Context) error {
	value, err := l.read(ctx)
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	if err != nil || value != l.token { // uuid.equals(null) is false
		return ErrNotHeld
	}
	return l.del(ctx)
}

// read is the GET of a release. Whatever error it ends with, the DEL behind it was not
// sent, so the lock was left as it was. redis.Nil comes through for a key that is gone.
func (b *base) read(ctx context.Context) (string, error) {
	value, err := b.node.Get(ctx, b.Name).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", thrown(unchanged(true, err))
	}
	return value, err
}
