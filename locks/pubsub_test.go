package locks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/locks"
	"picklock/locks/internal/redistest"
)

// waiter acquires in the background.
type waiter struct {
	lock locks.Lock
	err  chan error
	stop context.CancelFunc
}

// wait starts a waiter and returns when its subscription is there and its second attempt,
// which follows on the confirmation, was refused.
func (c *cluster) wait(name string, cfg locks.Config) *waiter {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	w := &waiter{err: make(chan error, 1), stop: cancel}
	tried := make(chan struct{}, 1000)
	client := c.servers[0].Client()
	client.AddHook(&gate{"evalsha", func(next func() error) error {
		defer func() { tried <- struct{}{} }() // it is answered
		return next()
	}})
	cfg.Nodes = []redis.UniversalClient{client}
	w.lock = open(c.t, name, cfg)
	go func() { _, err := w.lock.Acquire(ctx); w.err <- err }()
	for range 2 {
		select {
		case <-tried:
		case <-time.After(20 * time.Second):
			c.t.Fatalf("%s: the waiter did not try again when its subscription was confirmed", name)
		}
	}
	return w
}

func (w *waiter) result(t *testing.T) error {
	t.Helper()
	select {
	case err := <-w.err:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("the waiter still sleeps")
		return nil
	}
}

// subscribers is how many listen to the lock's channel.
func (c *cluster) subscribers(cfg locks.Config) int64 {
	return c.plain[0].PubSubNumSub(context.Background(), cfg.Name+":unlock").Val()[cfg.Name+":unlock"]
}

// The release's message wakes a waiter long before the TTL would.
func TestPubsubWakes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	for _, name := range []string{"pubsub", "pubsub:poll=no"} {
		cfg := c.config()
		cfg.TTL = roomy
		holder := open(t, name, cfg)
		acquire(t, holder)
		w := c.wait(name, cfg)
		if err := holder.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.result(t); err != nil {
			t.Errorf("%s: the waiter: %v, want the lock when it was released", name, err)
		}
		redistest.Eventually(t, 20*time.Second, "no subscription is left", func() bool { return c.subscribers(cfg) == 0 })
	}
}

// Row 38: without a message a waiter that polls finds the lock free, when the TTL is over
// that the server told it.
func TestPubsubPolls(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	cfg := c.config()
	cfg.TTL = time.Second
	acquire(t, open(t, "pubsub", cfg)) // and never released: the key expires without a message
	if _, err := open(t, "pubsub", cfg).Acquire(patient(t)); err != nil {
		t.Errorf("%v, want the lock when the TTL was over", err)
	}
}

// One that does not poll sleeps beside the free lock, until its context ends.
func TestPubsubLostMessage(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	cfg := c.config()
	cfg.TTL = roomy
	acquire(t, open(t, "pubsub:poll=no", cfg))
	w := c.wait("pubsub:poll=no", cfg)
	if err := c.plain[0].Del(t.Context(), cfg.Name).Err(); err != nil { // no message
		t.Fatal(err)
	}
	if !errors.Is(later(w.err), errAsleep) {
		t.Error("the waiter woke without a message")
	}
	w.stop()
	if err := w.result(t); !errors.Is(err, locks.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v when its context ended, want ErrNotAcquired", err)
	}
}

var errAsleep = errors.New("asleep")

// later is what came by a moment later: the time only gives a wrong lock the chance to be
// caught.
func later(c <-chan error) error {
	select {
	case err := <-c:
		return err
	case <-time.After(200 * time.Millisecond):
		return errAsleep
	}
}

// A waiter whose subscription breaks says so: it has taken nothing.
func TestPubsubBrokenSubscription(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	cfg := c.config()
	cfg.TTL = roomy
	acquire(t, open(t, "pubsub", cfg))
	w := c.wait("pubsub", cfg)
	if n, err := c.plain[0].ClientKillByFilter(t.Context(), "TYPE", "pubsub").Result(); err != nil || n != 1 {
		t.Fatalf("cut %d subscriptions, %v; want the waiter's", n, err)
	}
	if err := w.result(t); !errors.Is(err, locks.ErrNotAcquired) || errors.Is(err, context.Canceled) {
		t.Errorf("%v, want ErrNotAcquired for a reason of its own", err)
	}
}

// A release that finds another's lock wakes nobody.
func TestPubsubReleaseOfAnothersLock(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	cfg := c.config()
	l := open(t, "pubsub", cfg)
	acquire(t, l)
	if err := c.plain[0].Set(t.Context(), cfg.Name, "another's", 0).Err(); err != nil {
		t.Fatal(err)
	}
	listener := c.plain[0].Subscribe(t.Context(), cfg.Name+":unlock")
	defer listener.Close()
	if _, err := listener.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("release: %v, want ErrNotHeld", err)
	}
	c.plain[0].Publish(t.Context(), cfg.Name+":unlock", "the test's")
	if m, err := listener.Receive(t.Context()); err != nil || m.(*redis.Message).Payload != "the test's" {
		t.Errorf("the first message is %v, %v; the release must not publish", m, err)
	}
}
