package locks_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/locks"
)

// cut stops a node from following its primary.
func (c *cluster) cut(i int) {
	c.t.Helper()
	if err := c.servers[i].Client().ReplicaOf(c.t.Context(), "NO", "ONE").Err(); err != nil {
		c.t.Fatal(err)
	}
}

// Rows 32 and 33: with fewer replicas than it needs the lock is given back, unless the
// answer is not looked at.
func TestWaitAckedNeedsItsReplicas(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	c.replicate()
	for following := 2; following >= 0; following-- {
		if following < 2 {
			c.cut(following + 1)
		}
		for name, needs := range map[string]int{
			"wait-acked": 1, "wait-acked:acks=2": 2, "wait-acked:checked=no": 0, "wait-acked:acks=2,checked=no": 0,
		} {
			cfg := c.config()
			switch {
			case needs == 0:
				cfg.TTL = 10 * time.Second // WAIT waits in vain, for a second
			case needs <= following:
				cfg.TTL = roomy // the acknowledgement comes, however late
			}
			ctx, cancel := context.WithCancel(t.Context())
			cfg.Trace.Attempt = cancel
			g, err := open(t, name, cfg).Acquire(ctx)
			cancel()
			granted := needs <= following
			if (err == nil) != granted || !granted && !errors.Is(err, locks.ErrNotAcquired) {
				t.Errorf("%s with %d replicas: %v, want it granted: %v", name, following, err, granted)
			}
			if n := c.carrying(cfg.Name, g.Token); (n == 1) != granted {
				t.Errorf("%s with %d replicas: %v, but the lock is there: %v", name, following, err, n == 1)
			}
		}
	}
}

// A refused lock is asked for again, and granted when the replicas are back.
func TestWaitAckedTriesAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.replicate()
	c.cut(1)
	cfg, attempts := c.config(), 0
	cfg.Trace.Attempt = func() {
		if attempts++; attempts == 2 {
			c.clients, c.plain, c.flaws = append(c.clients, c.servers[1].Client()), append(c.plain, c.servers[1].Client()), append(c.flaws, &flaw{})
			c.replicate()
		}
	}
	if _, err := open(t, "wait-acked", cfg).Acquire(patient(t)); err != nil || attempts < 2 {
		t.Errorf("%v after %d attempts, want the lock after the first was refused", err, attempts)
	}
}

// A WAIT without an answer: the lock is given back, and only its deletion proves that.
func TestWaitWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.replicate()
	for _, x := range []struct {
		name     string
		free     loss
		gone     bool // the lock is gone before it is given back
		definite bool
	}{
		{"wait-acked", noLoss, false, true}, {"wait-acked:checked=no", noLoss, false, true},
		{"wait-acked", noLoss, true, false}, {"wait-acked", replyLost, false, false}, {"wait-acked", requestRefused, false, false},
	} {
		cfg := c.config()
		c.losing(func(args []any) loss {
			if args[0] == "wait" && x.gone {
				c.plain[0].Del(context.Background(), cfg.Name)
			}
			if l := commands(requestLost, "wait")(args); l != noLoss {
				return l
			}
			return commands(x.free, evals()...)(args)
		})
		_, err := open(t, x.name, cfg).Acquire(patient(t))
		c.losing(nil)
		if err == nil || definite(err) != x.definite || !errors.Is(err, io.EOF) {
			t.Errorf("%s, giving back %d, gone %v: %v, want definite: %v, with its cause", x.name, x.free, x.gone, err, x.definite)
		}
	}
}

// unpinned is a client that cannot keep to one connection.
type unpinned struct{ redis.UniversalClient }

func TestWaitNeedsAConnectionOfItsOwn(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	cfg := c.config()
	cfg.Nodes = []redis.UniversalClient{unpinned{c.clients[0]}}
	if _, err := open(t, "wait-acked", cfg).Acquire(patient(t)); !errors.Is(err, locks.ErrNotAcquired) || c.everything() != "" {
		t.Errorf("%v with %q on the server, want ErrNotAcquired and nothing", err, c.everything())
	}
}
