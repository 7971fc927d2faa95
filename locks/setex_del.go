package locks

import (
	"context"
	"time"
)

// setexDel is SET NX EX in a loop, released by DEL whoever has the lock by then: S0's
// second form. S1 V3 is the same with 30 s, 20 ms and a uuid that nobody compares.
func setexDel() Spec {
	var known expectations
	meta := Meta{
		Name:       "setex-del",
		Summary:    `SET "xxx" NX with a TTL every 100 ms; released by DEL, whoever has it`,
		Source:     "S0 ②; S1 V3; S4.2",
		Topologies: onePrimary(),
		TTL:        3 * time.Second,
		Promises:   lockPromises(),
		Steps:      steps(sends("SET"), sends("DEL"), nil),
		Weaknesses: known.outlived().misdeletes().forgottenPlain().onOneServer(traits{expires: true, deletes: true}),
	}
	return Spec{Meta: meta, Open: func() Maker {
		return func(c Config) Lock { return &setexDelLock{newBase(c, meta)} }
	}}
}

type setexDelLock struct{ base }

func (l *setexDelLock) Acquire(ctx context.Context) (Grant, error) {
	const value = "xxx"
	err := l.poll(ctx, 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		return l.setNX(ctx, value)
	})
	return Grant{Token: value, Validity: l.ttl}, err
}

func (l *setexDelLock) Release(ctx context.Context) error { return l.del(ctx) }
