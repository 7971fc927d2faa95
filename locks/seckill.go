package locks

import (
	"context"
	"time"
)

// S2's locks make one attempt and do not wait. Their release stands in a finally block
// around everything, the acquire included, so it runs also when the lock was not taken.

// seckillTTL is what S2's listings give.
const seckillTTL = 10 * time.Second

// seckillValue is what S2's listing "before" writes, whoever asks.
const seckillValue = "val"

// once makes S2's one attempt. It is always made, even when ctx is over: there is no loop
// that could look at ctx first.
func (b *base) once(ctx context.Context, value string) (Grant, error) {
	g := Grant{Token: value, Validity: b.ttl}
	ok, err := b.attempt(ctx, func(ctx context.Context) (bool, error) { return b.setNX(ctx, value) })
	if err == nil && !ok {
		err = ErrNotAcquired
	}
	if err != nil {
		g.Belief = ReleasesAnyway
	}
	return g, err
}
