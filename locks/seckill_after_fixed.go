package locks

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// seckillAfterFixed is seckill-after with its two bugs mended. It still makes one attempt
// and releases in finally, which harms nobody now: the script compares first.
func seckillAfterFixed() Spec {
	var known expectations
	meta := Meta{
		Name:       "seckill-after-fixed",
		Summary:    "one SET <uuid> NX with a TTL, no waiting; compare-and-delete in finally, also when not acquired",
		Source:     "S2, after (with its script and its fall-through mended)",
		Topologies: onePrimary(),
		TTL:        seckillTTL,
		Promises:   lockPromises(),
		Steps:      steps(sends("SET"), runs(seckillReleaseFixed), nil),
		Weaknesses: known.outlived().forgotten().onOneServer(traits{expires: true}),
	}
	return Spec{Meta: meta, Open: func() Maker {
		release := redis.NewScript(seckillReleaseFixed)
		return func(c Config) Lock {
			return &seckillAfterFixedLock{base: newBase(c, meta), release: release}
		}
	}}
}

type seckillAfterFixedLock struct {
	base
	release *redis.Script
	token   string // of the last Acquire
}

func (l *seckillAfterFixedLock) Acquire(ctx context.Context) (Grant, error) {
	l.token = newToken()
	return l.once(ctx, l.token)
}

func (l *seckillAfterFixedLock) Release(ctx context.Context) error {
	return l.compareAndFree(ctx, l.release, l.token)
}
