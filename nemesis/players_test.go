package nemesis_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/history"
	"picklock/nemesis"
)

// players are clients that take and give back one lock on real servers, all the time. They
// record what client processes record: a grant after its reply, a release before its
// request. What a fault does to clients is not for them.
type players struct {
	nemesis.Clients
	mu      sync.Mutex
	holding map[int]nemesis.Holding
	grants  int64
}

const lockKey = "lock:played"

// play starts a player for each connection. They take the lock for the TTL, hold it and
// give it back, until the test is over.
func play(t *testing.T, ttl, hold time.Duration, connections ...redis.UniversalClient) *players {
	t.Helper()
	p := &players{holding: map[int]nemesis.Holding{}}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i, c := range connections {
		all.Go(func() {
			for ctx.Err() == nil {
				p.turn(ctx, i, c, ttl, hold)
				pause(ctx, time.Millisecond)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		all.Wait()
		for _, c := range connections {
			_ = c.Close()
		}
	})
	return p
}

func (p *players) turn(ctx context.Context, i int, c redis.UniversalClient, ttl, hold time.Duration) {
	if ok, err := c.SetNX(ctx, lockKey, i, ttl).Result(); err != nil || !ok {
		return
	}
	p.hold(i)
	pause(ctx, hold)
	p.giveBack(i)
	c.Eval(ctx, fmt.Sprintf("if redis.call('get', KEYS[1]) == '%d' then return redis.call('del', KEYS[1]) end return 0", i), []string{lockKey})
}

func (p *players) hold(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grants++
	p.holding[i] = nemesis.Holding{Client: i, Object: lockKey, Grant: p.grants, Since: history.Now()}
}

func (p *players) giveBack(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.holding, i)
}

func (p *players) Count() int { return 4 }

func (p *players) Holders() ([]nemesis.Holding, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []nemesis.Holding
	for _, h := range p.holding {
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b nemesis.Holding) int { return int(a.Since - b.Since) })
	return all, nil
}

// granted is how often the lock was granted so far.
func (p *players) granted() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.grants
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// impatient are the options of a player's connection.
func impatient(addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, MaxRetries: -1, Protocol: 2, ContextTimeoutEnabled: true, DisableIdentity: true,
		DialTimeout: 200 * time.Millisecond, ReadTimeout: 200 * time.Millisecond, WriteTimeout: 200 * time.Millisecond,
	}
}
