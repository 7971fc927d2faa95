package locks_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"picklock/locks"
)

// order is the keys that a handle asks for, first to last, when all are free.
func (c *cluster) order(name string, cfg locks.Config) string {
	c.t.Helper()
	c.wire.take()
	l := open(c.t, name, cfg)
	acquire(c.t, l)
	var keys []string
	for _, line := range c.wire.take() {
		keys = append(keys, strings.TrimPrefix(strings.Fields(line)[1], cfg.Name+":"))
	}
	if err := l.Release(c.t.Context()); err != nil {
		c.t.Error(err)
	}
	return strings.Join(keys, "")
}

func TestMultilockOrder(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	for name, want := range map[string]int{"multilock": 1, "multilock:order=unsorted": 6} {
		orders := map[string]bool{}
		cfg := c.config()
		cfg.Rand = rand.New(rand.NewPCG(1, 2))
		for range 50 {
			orders[c.order(name, cfg)] = true
		}
		if len(orders) != want {
			t.Errorf("%s: orders %v, want %d of three locks' six", name, orders, want)
		}
	}
}

// Row 45: two clients that each have what the other waits for. Without a TTL only giving
// up ends that; with one, the lock that was taken first ends it.
func TestMultilockDeadlock(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	for _, x := range []struct {
		name  string
		ends  bool
		after time.Duration
	}{{"multilock:ttl=none", false, 0}, {"multilock", true, 30*time.Second - 302*time.Millisecond}} {
		cfg, clk := c.config(), newTwin()
		cfg.Clock = clk
		ctx, cancel := context.WithCancel(t.Context())
		// The other one, which took its locks in the opposite order, has b and waits for a.
		c.plain[0].Set(t.Context(), cfg.Name+":b", "the other's", 0)
		naps := 0
		var held []bool // at each nap: whether it has a
		clk.asleep = func() {
			held = append(held, c.plain[0].Exists(context.Background(), cfg.Name+":a").Val() == 1)
			if naps++; naps == 1600 { // 32 s of 20 ms each
				cancel()
			}
		}
		rounds := 0
		cfg.Trace.Attempt = func() {
			if rounds++; rounds == 2 {
				cancel() // it has begun again
			}
		}
		_, err := open(t, x.name, cfg).Acquire(ctx)
		cancel()
		if !errors.Is(err, locks.ErrNotAcquired) {
			t.Errorf("%s: %v, want ErrNotAcquired: all was given back", x.name, err)
		}
		if (rounds > 1) != x.ends {
			t.Errorf("%s: %d rounds in 32 s; it lets go of what it has: want %v", x.name, rounds, x.ends)
		}
		if x.ends && clk.mono < x.after {
			t.Errorf("%s: let go after %v, want %v", x.name, clk.mono, x.after)
		}
		for i, has := range held {
			if !has {
				t.Fatalf("%s: at nap %d it did not hold its first lock: then nothing deadlocks", x.name, i)
			}
		}
		if n := c.plain[0].Exists(t.Context(), cfg.Name+":a").Val(); n != 0 {
			t.Errorf("%s: it gave up and kept its first lock", x.name)
		}
	}
}

// A grant whose first lock's TTL ended before the last one was taken is none.
func TestMultilockCountsFromItsFirstLock(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	for took, granted := range map[time.Duration]bool{29 * time.Second: true, 30 * time.Second: false} {
		cfg, clk := c.config(), newTwin()
		cfg.Clock = clk
		rounds := 0
		ctx, cancel := context.WithCancel(t.Context())
		cfg.Trace.Attempt = func() {
			if rounds++; rounds == 2 {
				cancel()
			}
		}
		c.flaws[1].losing(func(args []any) loss {
			if args[0] == "set" && rounds == 1 {
				clk.pass(took, 0)
			}
			return noLoss
		})
		g, err := open(t, "multilock", cfg).Acquire(ctx)
		c.losing(nil)
		cancel()
		if (rounds == 1) != granted || (err == nil) != granted {
			t.Errorf("the second lock took %v: %+v, %v after %d rounds; want it granted at once: %v", took, g, err, rounds, granted)
		}
	}
}

// One lock that may be left keeps everybody out, so it is not certain that nothing was
// taken; and a holder that has one left still keeps the others out.
func TestMultilockTellsTheTruth(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	losses := rapid.SampledFrom([]loss{noLoss, noLoss, requestRefused, notSent, replyLost, requestLost})
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.SampledFrom([]string{"multilock", "multilock:order=unsorted", "multilock:ttl=none"}).Draw(r, "lock")
		cfg := c.config()
		cfg.Clock = newTwin()
		carrying := func(token string) (n int) {
			for i, p := range c.plain {
				if p.Get(context.Background(), fmt.Sprintf("%s:%c", cfg.Name, 'a'+i)).Val() == token {
					n++
				}
			}
			return n
		}
		fail := func(what string) {
			for i, f := range c.flaws {
				take := losses.Draw(r, fmt.Sprintf("%s: take on node %d", what, i))
				free := losses.Draw(r, fmt.Sprintf("%s: free on node %d", what, i))
				f.losing(func(args []any) loss {
					if l := commands(take, "set", "setnx")(args); l != noLoss {
						return l
					}
					return commands(free, "evalsha")(args)
				})
			}
		}
		late := func() {
			for i, f := range c.flaws {
				for _, args := range f.arrived() {
					c.plain[i].Do(context.Background(), args...)
				}
			}
		}
		if rapid.Bool().Draw(r, "the acquire is disturbed") {
			fail("acquire")
		}
		l := open(t, name, cfg)
		g, err := l.Acquire(context.Background())
		if err != nil {
			late()
			if n := carrying(g.Token); definite(err) && n > 0 {
				r.Fatalf("acquire: %v, but %d locks are left", err, n)
			}
			c.losing(nil)
			return
		}
		for i, p := range c.plain {
			if rapid.IntRange(0, 2).Draw(r, fmt.Sprintf("node %d forgets", i)) == 0 {
				p.Del(context.Background(), fmt.Sprintf("%s:%c", cfg.Name, 'a'+i))
			}
		}
		before := carrying(g.Token)
		fail("release")
		err = l.Release(context.Background())
		now := carrying(g.Token)
		late()
		after := carrying(g.Token)
		c.losing(nil)
		switch {
		case err == nil && (before == 0 || after > 0),
			errors.Is(err, locks.ErrNotHeld) && before > 0,
			errors.Is(err, locks.ErrNoEffect) && now != before:
			r.Fatalf("release: %v, but it held %d locks, then %d, in the end %d", err, before, now, after)
		}
	})
}
