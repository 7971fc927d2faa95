package locks_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"picklock/locks"
)

// Tokens grow from grant to grant; a counter on the lock's server starts anew with it.
func TestFencedTokensGrow(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	for name, survives := range map[string]bool{"fenced": true, "fenced:counter=lock": false} {
		cfg := c.config()
		var last int64
		for range 5 {
			l := open(t, name, cfg)
			g, err := l.Acquire(patient(t))
			if err != nil || g.Fence <= last {
				t.Fatalf("%s: token %d after %d, %v; want a higher one", name, g.Fence, last, err)
			}
			last = g.Fence
			if err := l.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.plain[0].Del(t.Context(), cfg.Name, cfg.Name+":fence").Err(); err != nil { // it lost its memory
			t.Fatal(err)
		}
		g, err := open(t, name, cfg).Acquire(patient(t))
		if err != nil || (g.Fence > last) != survives {
			t.Errorf("%s: token %d after %d when the lock's server lost its memory, %v; want a higher one: %v", name, g.Fence, last, err, survives)
		}
	}
}

// The lock comes first: a client that takes it over from one that stands still between
// the two steps gets the lower token, and is not yet back when the other gets the higher.
func TestFencedTakesTheLockFirst(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	cfg := c.config()
	var overtaking locks.Grant
	stop := true
	c.clients[0].AddHook(&gate{"set", func(next func() error) error {
		err := next()
		if stop {
			stop = false
			// Its SET was executed; before its INCR the TTL ends and another client takes over.
			c.plain[0].Del(context.Background(), cfg.Name)
			var oerr error
			if overtaking, oerr = open(t, "fenced", cfg).Acquire(patient(t)); oerr != nil {
				t.Errorf("the client that takes over: %v", oerr)
			}
		}
		return err
	}})
	slow, err := open(t, "fenced", cfg).Acquire(patient(t))
	if err != nil || overtaking.Fence == 0 || slow.Fence <= overtaking.Fence {
		t.Errorf("tokens %d and then %d, %v: want each counter value once, in the order of the INCRs", overtaking.Fence, slow.Fence, err)
	}
}

// A lock without a token is useless, and is given back.
func TestFencedWithoutACounter(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	for _, x := range []struct {
		incr, free loss
		definite   bool
	}{{replyLost, noLoss, true}, {requestRefused, noLoss, true}, {replyLost, requestLost, false}, {notSent, replyLost, false}} {
		cfg := c.config()
		c.fault.losing(commands(x.incr, "incr"))
		c.losing(commands(x.free, evals()...))
		g, err := open(t, "fenced", cfg).Acquire(patient(t))
		c.losing(nil)
		c.fault.losing(nil)
		if err == nil || definite(err) != x.definite {
			t.Errorf("INCR %d, giving back %d: %v, want definite: %v", x.incr, x.free, err, x.definite)
		}
		if x.incr == replyLost && !errors.Is(err, io.EOF) {
			t.Errorf("%v does not carry its cause", err)
		}
		if n := c.carrying(cfg.Name, g.Token); definite(err) && n > 0 {
			t.Errorf("%v, but the lock is there", err)
		}
	}
}
