package locks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"picklock/locks"
	"picklock/locks/internal/redistest"
)

// carrying is the number of nodes that hold the token under the key.
func (c *cluster) carrying(key, token string) (n int) {
	for _, v := range c.values(key) {
		if v == token {
			n++
		}
	}
	return n
}

// Whatever becomes of single commands, an error that claims something certain is right,
// also when what was lost on the way arrives in the end.
func TestRedlockTellsTheTruth(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 5)
	losses := rapid.SampledFrom([]loss{noLoss, noLoss, requestRefused, notSent, replyLost, requestLost})
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.SampledFrom([]string{
			"redlock", "redlock:quorum=2", "redlock:partial=keep", "redlock:order=parallel", "redlock:quorum=2,partial=keep",
		}).Draw(r, "lock")
		quorum := 3
		if strings.Contains(name, "quorum=2") {
			quorum = 2
		}
		all := func(what string) (out []loss) {
			for i := range c.flaws {
				out = append(out, losses.Draw(r, fmt.Sprintf("%s on node %d", what, i)))
			}
			return out
		}
		sets, frees := all("SET"), all("EVALSHA")
		fail := func(sets, frees []loss) {
			for i, f := range c.flaws {
				f.losing(func(args []any) loss {
					switch strings.ToLower(fmt.Sprint(args[0])) {
					case "set":
						return sets[i]
					case "evalsha":
						return frees[i]
					}
					return noLoss
				})
			}
		}
		// late lets arrive what was lost on its way.
		late := func() {
			for i, f := range c.flaws {
				for _, args := range f.arrived() {
					c.plain[i].Do(context.Background(), args...) // a refusal is what NX is for
				}
			}
		}
		cfg := c.config()
		cfg.Clock, cfg.TTL = newTwin(), roomy
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		cfg.Trace.Attempt = cancel
		yes := 0
		for _, l := range sets {
			if l == noLoss {
				yes++
			}
		}

		fail(sets, frees)
		l := open(t, name, cfg)
		g, err := l.Acquire(ctx)
		if (err == nil) != (yes >= quorum) {
			r.Fatalf("acquire: %v after %d of 5 said yes", err, yes)
		}
		if err != nil {
			late()
			if n := c.carrying(cfg.Name, g.Token); definite(err) && n >= quorum {
				r.Fatalf("acquire: %v, but the token is on %d nodes", err, n)
			}
			return
		}

		// Some nodes forget before the release.
		for i, p := range c.plain {
			if rapid.IntRange(0, 3).Draw(r, fmt.Sprintf("node %d forgets", i)) == 0 {
				p.Del(context.Background(), cfg.Name)
			}
		}
		before := c.carrying(cfg.Name, g.Token)
		was := fmt.Sprint(c.values(cfg.Name))
		frees = all("release")
		fail(sets, frees)
		err = l.Release(context.Background())
		untouched := fmt.Sprint(c.values(cfg.Name)) == was
		late()
		after := c.carrying(cfg.Name, g.Token)
		switch {
		case err == nil:
			if before < quorum || after >= quorum {
				r.Fatalf("release: ok, but the token was on %d nodes and is on %d", before, after)
			}
		case errors.Is(err, locks.ErrNotHeld):
			if before >= quorum {
				r.Fatalf("release: %v, but the token was on %d nodes", err, before)
			}
		case errors.Is(err, locks.ErrNoEffect):
			if !untouched {
				r.Fatalf("release: %v, but the nodes held %s and hold %v", err, was, c.values(cfg.Name))
			}
		}
	})
	c.losing(nil)
}

// Without any loss the answers are certain, and so must the lock's be.
func TestRedlockIsCertainWhereItCanBe(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 5)
	for taken := range 6 { // nodes that another client has
		cfg := c.config()
		cfg.TTL = roomy
		ctx, cancel := context.WithCancel(t.Context())
		cfg.Trace.Attempt = cancel
		for _, p := range c.plain[:taken] {
			p.Set(t.Context(), cfg.Name, "another's", 0)
		}
		l := open(t, "redlock", cfg)
		g, err := l.Acquire(ctx)
		if want := taken <= 2; want != (err == nil) || !want && !errors.Is(err, locks.ErrNotAcquired) {
			t.Errorf("%d of 5 taken: %v, want it granted: %v", taken, err, want)
		}
		if n := c.carrying(cfg.Name, g.Token); err != nil && n != 0 {
			t.Errorf("%d of 5 taken: the failed attempt left its token on %d nodes", taken, n)
		}
		if err == nil {
			for _, p := range c.plain[:4] {
				p.Del(t.Context(), cfg.Name)
			}
			if err := l.Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
				t.Errorf("release after all but one node forgot: %v, want ErrNotHeld", err)
			}
		}
		cancel()
	}
}

// Row 43: with a minority of the nodes dead it is available, with a majority it is not, and
// says so for certain: nothing could be sent.
func TestRedlockWithDeadNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 5)
	for dead := range 4 {
		if dead > 0 {
			c.servers[dead-1].Kill()
		}
		cfg := c.config()
		cfg.TTL = roomy
		ctx, cancel := context.WithCancel(t.Context())
		attempts := 0
		cfg.Trace.Attempt = func() {
			// A client that had connections finds out with the first attempt that they are dead.
			if attempts++; attempts == 3 {
				cancel()
			}
		}
		_, err := open(t, "redlock", cfg).Acquire(ctx)
		cancel()
		if want := dead <= 2; want != (err == nil) {
			t.Errorf("%d of 5 nodes dead: %v, want it granted: %v", dead, err, want)
		}
	}
	cfg := c.config()
	cfg.TTL = roomy
	ctx, cancel := context.WithCancel(t.Context())
	cfg.Trace.Attempt = cancel
	if _, err := open(t, "redlock", cfg).Acquire(ctx); !errors.Is(err, locks.ErrNotAcquired) {
		t.Errorf("3 of 5 nodes dead, and the client knows: %v, want ErrNotAcquired", err)
	}
}

// Row 26: what a client believes of a grant whose replies took longer than the TTL, while
// its wall clock stepped back.
func TestRedlockClocks(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 5)
	const ttl, drift = roomy, 6*time.Second + 2*time.Millisecond
	for _, x := range []struct {
		name       string
		took, step time.Duration // during the acquire
		validity   time.Duration // 0: not granted
	}{
		{"redlock", 0, 0, ttl - drift},
		{"redlock", 2 * time.Second, 0, ttl - drift}, // counted from the attempt
		{"redlock", ttl - drift, 0, 0},
		{"redlock", 2 * time.Second, -time.Hour, ttl - drift},
		{"redlock", 2 * time.Second, time.Hour, ttl - drift},
		{"redlock", 2 * ttl, -time.Hour, 0},
		{"redlock:clock=wall", 2 * time.Second, 0, ttl - drift},
		{"redlock:clock=wall", 2 * time.Second, time.Hour, 0},
		{"redlock:clock=wall", 2 * ttl, 0, 0},
		{"redlock:clock=wall", 2 * ttl, -time.Hour, ttl - drift + time.Hour}, // the lock's word, and wrong
	} {
		cfg, clk := c.config(), newTwin()
		cfg.Clock, cfg.TTL = clk, roomy
		ctx, cancel := context.WithCancel(t.Context())
		cfg.Trace.Attempt = cancel
		var once sync.Once
		c.losing(func(args []any) loss {
			once.Do(func() { clk.pass(x.took, x.step) })
			return noLoss
		})
		g, err := open(t, x.name, cfg).Acquire(ctx)
		c.losing(nil)
		cancel()
		if x.validity == 0 {
			if n := c.carrying(cfg.Name, g.Token); !errors.Is(err, locks.ErrNotAcquired) || n > 0 {
				t.Errorf("%s, %v in which the wall clock stepped %v: %v with %d nodes taken; want it given back", x.name, x.took, x.step, err, n)
			}
		} else if err != nil || g.Validity != x.validity {
			t.Errorf("%s, %v in which the wall clock stepped %v: %v, %v; want validity %v", x.name, x.took, x.step, g.Validity, err, x.validity)
		}
	}
}

// What a failed attempt leaves behind, and how long it waits before the next.
func TestRedlockPartialAndDelay(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 5)
	for _, x := range []struct {
		name        string
		left        int
		least, most time.Duration
		distinct    bool
	}{
		{"redlock", 0, 0, 200 * time.Millisecond, true},
		{"redlock:partial=keep", 2, 0, 200 * time.Millisecond, true},
		{"redlock:delay=fixed", 0, 100 * time.Millisecond, 100 * time.Millisecond, false},
		{"redlock:delay=none", 0, 0, 0, false},
	} {
		cfg, clk := c.config(), newTwin()
		cfg.Clock, cfg.TTL = clk, roomy
		for _, p := range c.plain[:3] {
			p.Set(t.Context(), cfg.Name, "another's", 0)
		}
		ctx, cancel := context.WithCancel(t.Context())
		attempts := 0
		cfg.Trace.Attempt = func() {
			if attempts++; attempts == 6 {
				cancel()
			}
		}
		g, err := open(t, x.name, cfg).Acquire(ctx)
		if !errors.Is(err, locks.ErrNotAcquired) {
			t.Errorf("%s: %v; what is left on a minority is no lock", x.name, err)
		}
		if n := c.carrying(cfg.Name, g.Token); n != x.left {
			t.Errorf("%s: its token is left on %d nodes, want %d", x.name, n, x.left)
		}
		seen := map[time.Duration]bool{}
		for _, d := range clk.sleeps {
			seen[d] = true
			if d < x.least || d > x.most {
				t.Errorf("%s: waited %v, want %v to %v", x.name, d, x.least, x.most)
			}
		}
		if len(clk.sleeps) != 6 || (len(seen) > 1) != x.distinct {
			t.Errorf("%s: waited %v after 6 attempts, at random: want %v", x.name, clk.sleeps, x.distinct)
		}
	}
}

// Row 42: a node that does not answer costs a client its own timeout, TTL/20, or the whole
// TTL. Either way the grant counts the time.
func TestRedlockNodeTimeout(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 4)
	hold := redistest.Client(t, redistest.Fake(t, func(args []string) string {
		if args[0] == "SET" || args[0] == "set" {
			return redistest.Hold
		}
		return ""
	}))
	for name, ttl := range map[string]time.Duration{"redlock": 20 * time.Second, "redlock:timeout=long": time.Second} {
		cfg := c.config()
		cfg.Nodes = append(c.clients[:2:2], hold, c.clients[2], c.clients[3])
		cfg.TTL = ttl
		ctx, cancel := context.WithCancel(t.Context())
		cfg.Trace.Attempt = cancel
		start := time.Now()
		_, err := open(t, name, cfg).Acquire(ctx)
		waited := time.Since(start)
		cancel()
		if name == "redlock" && (err != nil || waited < ttl/20) {
			t.Errorf("%s: %v after %v, want it granted by the four others after TTL/20", name, err, waited)
		}
		if name != "redlock" && (!errors.Is(err, locks.ErrNotAcquired) || waited < ttl) {
			t.Errorf("%s: %v after %v, want it refused: waiting for one node took the whole TTL", name, err, waited)
		}
	}
}

// Asked in turn, each node hears of it after the one before has answered; asked at the
// same time, a node that does not answer keeps none of the others waiting.
func TestRedlockOrder(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 5)
	for name, together := range map[string]bool{"redlock": false, "redlock:order=parallel": true} {
		var mu sync.Mutex
		under, most := 0, 0
		all := make(chan struct{})
		for _, client := range c.clients {
			client.AddHook(&gate{"set", func(next func() error) error {
				mu.Lock()
				if under++; under > most {
					most = under
				}
				if under == 5 {
					close(all)
				}
				mu.Unlock()
				if together {
					<-all // each is under way before one is answered
				}
				err := next()
				mu.Lock()
				under--
				mu.Unlock()
				return err
			}})
		}
		cfg := c.config()
		cfg.TTL = roomy
		if _, err := open(t, name, cfg).Acquire(patient(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if want := map[bool]int{false: 1, true: 5}[together]; most != want {
			t.Errorf("%s: %d nodes were asked at the same time, want %d", name, most, want)
		}
		for i, s := range c.servers { // without the gates
			c.clients[i] = s.Client()
		}
	}
}

// gate is around each command of that name.
type gate struct {
	command string
	pass    func(next func() error) error
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != g.command {
			return next(ctx, cmd)
		}
		return g.pass(func() error { return next(ctx, cmd) })
	}
}
