package locks

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// uuidGetDelNull is S1 V4: uuid-get-del, but it asks the value that it read whether it
// equals the token. When the key is gone that value is null, and a null pointer exception
// leaves the finally block: the sale was made, the caller sees an error.
func uuidGetDelNull() Spec {
	meta := Meta{
		Name:       "uuid-get-del-null",
		Summary:    "SET <uuid> NX with a TTL every 20 ms; release by GET, compare (throws on a missing key), DEL",
		Source:     "S1 V4",
		Topologies: onePrimary(),
		TTL:        30 * time.Second,
		Promises:   lockPromises(),
		Steps:      steps(sends("SET"), sends("DEL"), compareStep()),
		Weaknesses: uuidGetDelWeaknesses(),
	}
	return Spec{Meta: meta, Open: func() Maker {
		return func(c Config) Lock { return &uuidGetDelNullLock{base: newBase(c, meta)} }
	}}
}

type uuidGetDelNullLock struct {
	base
	token string // of the last Acquire
}

func (l *uuidGetDelNullLock) Acquire(ctx context.Context) (Grant, error) {
	// S1 writes key + uuid without dashes + thread id; the uuid alone makes it unique.
	l.token = l.Name + strings.ReplaceAll(newToken(), "-", "")
	err := l.poll(ctx, 20*time.Millisecond, func(ctx context.Context) (bool, error) {
		return l.setNX(ctx, l.token)
	})
	return Grant{Token: l.token, Validity: l.ttl}, err
}

func (l *uuidGetDelNullLock) Release(ctx context.Context) error {
	value, err := l.read(ctx)
	switch {
	case errors.Is(err, redis.Nil):
		return thrown(ErrNotHeld)
	case err != nil:
		return err
	case !strings.EqualFold(value, l.token): // equalsIgnoreCase
		return ErrNotHeld
	}
	return l.del(ctx)
}
