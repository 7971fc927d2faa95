package nemesis_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/topology"
	"picklock/locks"
	"picklock/nemesis"
)

// playWith starts two players of a lock of the registry on all the nodes.
func playWith(t *testing.T, lock locks.Spec, ttl, hold time.Duration, nodes []topology.Node) *players {
	t.Helper()
	p := &players{holding: map[int]nemesis.Holding{}}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range 2 {
		var clients []redis.UniversalClient
		for _, n := range nodes {
			clients = append(clients, redis.NewClient(impatient(n.Addr())))
		}
		l := lock.Open()(locks.Config{Nodes: clients, Name: lockKey, User: fmt.Sprint(i), TTL: ttl, Clock: sleeper{}, Rand: rand.New(rand.NewPCG(1, uint64(i)))})
		all.Go(func() {
			defer func() {
				for _, c := range clients {
					_ = c.Close()
				}
			}()
			for ctx.Err() == nil {
				if _, err := l.Acquire(ctx); err != nil {
					continue
				}
				p.hold(i)
				pause(ctx, hold)
				p.giveBack(i)
				_ = l.Release(context.WithoutCancel(ctx)) // perhaps it is lost
				pause(ctx, time.Millisecond)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		all.Wait()
	})
	return p
}

// sleeper is the true time.
type sleeper struct{}

func (sleeper) Now() time.Time { return time.Now() }

func (sleeper) Sleep(ctx context.Context, d time.Duration) error {
	pause(ctx, d)
	return ctx.Err()
}

// TestRealSeveralKeys takes its keys from a lock that has several, none of which is called
// as it is: two on one server, or one on each of three.
func TestRealSeveralKeys(t *testing.T) {
	t.Parallel()
	lock, _ := locks.Find("multilock")
	for _, shape := range []struct {
		nodes        []topology.NodeSpec
		target       string
		names        []string
		del, evicted []string
	}{
		{topology.Single("lock", topology.PersistNone), "", []string{"lock"},
			[]string{"DEL lock:played:a lock:played:b at lock answered 2"}, []string{"lock announced that it evicted lock:played:a, lock:played:b"}},
		{topology.Redlock(3, "lock", topology.PersistNone), "lock-2", []string{"lock-1", "lock-2", "lock-3"},
			[]string{"DEL lock:played:b at lock-2 answered 1"}, []string{"lock-2 announced that it evicted lock:played:b;"}},
	} {
		t.Run(fmt.Sprint(len(shape.names)), func(t *testing.T) {
			t.Parallel()
			nodes := start(t, topology.Plan{Nodes: shape.nodes})
			w := over(nodes, playWith(t, lock, 5*time.Second, 40*time.Millisecond, nodes))
			w.Keys = func(object, node string) []string {
				return lock.Keys(object, slices.Index(shape.names, node), len(shape.names))
			}
			for _, c := range []struct {
				plan nemesis.Planned
				want []string
			}{
				{nemesis.Planned{Kind: "delete-key", Target: shape.target}, shape.del},
				{nemesis.Planned{Kind: "flush", Target: shape.target}, []string{"FLUSHALL at lock", "and 0 after"}},
				{nemesis.Planned{Kind: "fill-memory", Target: shape.target, With: map[string]string{"policy": "allkeys-lru"}}, shape.evicted},
				{nemesis.Planned{Kind: "fill-memory", Target: shape.target, With: map[string]string{"policy": "allkeys-random"}}, shape.evicted},
				{nemesis.Planned{Kind: "fill-memory", Target: shape.target, With: map[string]string{"policy": "volatile-ttl"}}, shape.evicted},
			} {
				t.Run(c.plan.Kind+fmt.Sprint(c.plan.With), func(t *testing.T) {
					land(t, w, c.plan, append(c.want, "no release recorded")...)
					fizzle(t, w, c.plan)
				})
			}
		})
	}
}
