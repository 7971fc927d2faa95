package locks_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"picklock/locks"
)

// faithful is what one lock's source does on the wire, in words: K is the lock's key, T its
// token.
type faithful struct {
	acquire, release []string
	value            string        // of the key, where the source writes a constant
	err              error         // of releasing what was acquired
	waits            time.Duration // between two attempts; 0: it spins
	tries            int           // attempts before it gives up by itself; 0: it waits for ctx
	refused          []string      // what an attempt sends that finds the lock taken; nil: the first of acquire
	belief           locks.Belief  // after an attempt that finds the lock taken
	whenNotHeld      error         // of releasing a lock that is gone
	thrown           bool          // that error reaches the caller
}

func conformance() map[string]faithful {
	const ms100, ms20 = 100 * time.Millisecond, 20 * time.Millisecond
	compare := []string{"evalsha compare_and_delete.lua 1 K T"}
	return map[string]faithful{
		"setnx":           {acquire: []string{"setnx K xxx"}, release: []string{"del K"}, value: "xxx", waits: ms100, whenNotHeld: locks.ErrNotHeld},
		"setnx-recursive": {acquire: []string{"setnx K 1111"}, release: []string{"del K"}, value: "1111", whenNotHeld: locks.ErrNotHeld},
		"setnx-expire": {acquire: []string{"setnx K xxx", "pexpire K 3000"}, release: []string{"del K"}, value: "xxx", waits: ms100,
			whenNotHeld: locks.ErrNotHeld},
		"setnx-expire-all": {acquire: []string{"setnx K lock", "pexpire K 3000"}, release: []string{"del K"}, value: "lock", waits: ms100,
			refused: []string{"setnx K lock", "pexpire K 3000"}, whenNotHeld: locks.ErrNotHeld},
		"setnx-once": {acquire: []string{"setnx K lock"}, release: []string{"del K"}, value: "lock", waits: ms100, tries: 2, whenNotHeld: locks.ErrNotHeld},
		"setex-del":  {acquire: []string{"set K xxx nx px 3000"}, release: []string{"del K"}, value: "xxx", waits: ms100, whenNotHeld: locks.ErrNotHeld},
		"seckill-before": {acquire: []string{"set K val nx px 10000"}, release: []string{"del K"}, value: "val", tries: 1,
			belief: locks.ReleasesAnyway, whenNotHeld: locks.ErrNotHeld},
		"seckill-wrong-key": {acquire: []string{"set K val nx px 10000"}, release: []string{"del key"}, value: "val", err: locks.ErrNoEffect, tries: 1,
			belief: locks.ReleasesAnyway, whenNotHeld: locks.ErrNoEffect},
		"seckill-after": {acquire: []string{"set K T nx px 10000"}, err: locks.ErrNoEffect, tries: 1, belief: locks.Enters,
			release: []string{"evalsha seckill_release.lua 1 K T", "eval seckill_release.lua 1 K T"}, whenNotHeld: locks.ErrNoEffect, thrown: true},
		"seckill-after-fixed": {acquire: []string{"set K T nx px 10000"}, release: []string{"evalsha seckill_release_fixed.lua 1 K T"}, tries: 1,
			belief: locks.ReleasesAnyway, whenNotHeld: locks.ErrNotHeld},
		"uuid-get-del":      {acquire: []string{"set K T nx px 3000"}, release: []string{"get K", "del K"}, waits: ms100, whenNotHeld: locks.ErrNotHeld},
		"uuid-get-del-null": {acquire: []string{"set K T nx px 30000"}, release: []string{"get K", "del K"}, waits: ms20, whenNotHeld: locks.ErrNotHeld, thrown: true},
		"uuid-lua":          {acquire: []string{"set K T nx px 3000"}, release: compare, waits: ms100, whenNotHeld: locks.ErrNotHeld},
		"jedis-spin": {acquire: []string{"set K user-1 nx px 60000"}, release: []string{"eval compare_and_delete.lua 1 K user-1"}, value: "user-1",
			whenNotHeld: locks.ErrNotHeld},
		"jedis-concat": {acquire: []string{"set K user-1 nx px 60000"}, value: "user-1", whenNotHeld: locks.ErrNotHeld,
			release: []string{"eval if redis.call('get','K')=='user-1' then     return redis.call('del','K') else     return 0 end 0"}},
		"reentrant": {acquire: []string{"evalsha reentrant_acquire.lua 1 K T 30000"}, release: []string{"evalsha reentrant_release.lua 1 K T"}, waits: ms20,
			whenNotHeld: locks.ErrNotHeld},
		"watchdog": {acquire: []string{"set K T nx px 30000"}, release: compare, waits: ms20, whenNotHeld: locks.ErrNotHeld},
	}
}

// each runs test for every lock of the seeds that has a key.
func each(t *testing.T, test func(t *testing.T, b *bench, s locks.Spec, f faithful)) {
	t.Helper()
	b := newBench(t)
	table := conformance()
	for _, s := range ofTheSeeds() {
		if inMemory(s.Name) {
			continue
		}
		f, ok := table[s.Name]
		if !ok {
			t.Errorf("%s is of the seeds, but nothing says here what it must do", s.Name)
			continue
		}
		t.Run(s.Name, func(t *testing.T) { test(t, b, s, f) })
	}
}

func TestRoundTripOnTheWire(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bench, s locks.Spec, f faithful) {
		c := b.config()
		attempts := 0
		c.Trace.Attempt = func() { attempts++ }
		l := s.Open()(c)
		b.wire.take()
		g := acquire(t, l)
		sent := b.wire.take(g.Token, "T", c.Name, "K")
		if f.value != "" {
			if g.Token != f.value {
				t.Errorf("token %q, want the source's %q", g.Token, f.value)
			}
			sent = replaceAll(sent, "T", f.value)
		}
		if !slices.Equal(sent, f.acquire) {
			t.Errorf("acquire sent %q, want %q", sent, f.acquire)
		}
		if attempts != 1 || g.Belief != locks.FollowsReply {
			t.Errorf("acquire of a free lock: %d attempts, belief %v; want 1 and none of its own", attempts, g.Belief)
		}

		err := l.Release(t.Context())
		sent = b.wire.take(g.Token, "T", c.Name, "K")
		if f.value != "" {
			sent = replaceAll(sent, "T", f.value)
		}
		if !slices.Equal(sent, f.release) {
			t.Errorf("release sent %q, want %q", sent, f.release)
		}
		if !errors.Is(err, f.err) || (f.err == nil) != (err == nil) {
			t.Errorf("release: %v, want %v", err, f.err)
		}
		left, err := b.client.Exists(t.Context(), c.Name).Result()
		if err != nil {
			t.Fatal(err)
		}
		if free := left == 0; free != (f.err == nil) {
			t.Errorf("after the release the key is gone: %v; the release's answer says %v", free, f.err == nil)
		}
	})
}

func replaceAll(lines []string, from, to string) []string {
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], from, to)
	}
	return lines
}

// A second handle does not get the lock, waits as the source waits, and gives up for
// certain.
func TestContention(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bench, s locks.Spec, f faithful) {
		c := b.config()
		holder := acquire(t, s.Open()(c))
		before, err := b.client.Dump(t.Context(), c.Name).Result()
		if err != nil {
			t.Fatal(err)
		}

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		const enough = 3
		attempts, waits := 0, &clock{}
		d := c
		d.Clock, d.User = waits, "user-2"
		d.Trace.Attempt = func() {
			if attempts++; attempts == enough {
				cancel() // while the attempt is under way: it must still be answered
			}
		}
		b.wire.take()
		g, err := s.Open()(d).Acquire(ctx)
		sent := b.wire.take(holder.Token, "T", g.Token, "T", c.Name, "K", "user-2", "user-1")
		if !errors.Is(err, locks.ErrNotAcquired) {
			t.Fatalf("a second handle: grant %+v, error %v; want ErrNotAcquired, since every attempt was refused", g, err)
		}
		if g.Belief != f.belief {
			t.Errorf("belief %v after a refusal, want %v", g.Belief, f.belief)
		}
		want := enough
		if f.tries > 0 {
			want = f.tries
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("%v does not say that the context ended", err)
		}
		if attempts != want {
			t.Errorf("%d attempts, want %d", attempts, want)
		}
		line := f.refused
		if line == nil {
			line = f.acquire[:1]
		}
		if f.value != "" {
			sent = replaceAll(sent, "T", f.value)
		}
		if all := slices.Repeat(line, want); !slices.Equal(sent, all) {
			t.Errorf("%d attempts sent %q, want %q", attempts, sent, all)
		}
		var sleeps []time.Duration
		if f.waits > 0 {
			sleeps = slices.Repeat([]time.Duration{f.waits}, want)
			if f.tries > 0 {
				sleeps = sleeps[:f.tries-1]
			}
		}
		if got := waits.slept(); !slices.Equal(got, sleeps) {
			t.Errorf("slept %v, want the source's %v", got, sleeps)
		}
		if after := b.client.Dump(t.Context(), c.Name).Val(); after != before {
			t.Errorf("the refused attempts changed the lock's value: %q, was %q", after, before)
		}
	})
}

// After a release that works, the next handle gets the lock.
func TestHandOver(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bench, s locks.Spec, f faithful) {
		c := b.config()
		first, second := s.Open()(c), s.Open()(c)
		acquire(t, first)
		if err := first.Release(t.Context()); (err == nil) != (f.err == nil) {
			t.Fatalf("release: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := second.Acquire(ctx)
		if (err == nil) != (f.err == nil) {
			t.Errorf("the next handle: %v; the release before it answered %v", err, f.err)
		}
	})
}

// Releasing a lock that expired tells the truth, and what the source does about it.
func TestReleaseOfALockThatIsGone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bench, s locks.Spec, f faithful) {
		c := b.config()
		l := s.Open()(c)
		acquire(t, l)
		if err := b.client.Del(t.Context(), c.Name).Err(); err != nil {
			t.Fatal(err)
		}
		err := l.Release(t.Context())
		if !errors.Is(err, f.whenNotHeld) || errors.Is(err, locks.ErrThrown) != f.thrown {
			t.Errorf("release of a lock that is gone: %v, want %v, thrown to the caller: %v", err, f.whenNotHeld, f.thrown)
		}
	})
}

// Releasing a lock that meanwhile belongs to somebody else: who deletes it, and who says so.
func TestReleaseOfAnothersLock(t *testing.T) {
	t.Parallel()
	deletes := []string{"setnx", "setnx-recursive", "setnx-expire", "setnx-expire-all", "setnx-once", "setex-del", "seckill-before"}
	each(t, func(t *testing.T, b *bench, s locks.Spec, f faithful) {
		c := b.config()
		late, next := s.Open()(c), s.Open()
		acquire(t, late)
		if err := b.client.Del(t.Context(), c.Name).Err(); err != nil {
			t.Fatal(err)
		}
		d := c
		d.User = "user-2"
		acquire(t, next(d))
		err := late.Release(t.Context())
		gone := b.client.Exists(t.Context(), c.Name).Val() == 0
		if want := slices.Contains(deletes, s.Name); gone != want {
			t.Errorf("the late release deleted the next holder's lock: %v, want %v as in the source", gone, want)
		}
		if gone != (err == nil) {
			t.Errorf("the lock was deleted: %v, but release answered %v", gone, err)
		}
		if !gone && !errors.Is(err, locks.ErrNotHeld) && !errors.Is(err, locks.ErrNoEffect) {
			t.Errorf("release answered %v, but it certainly left the lock as it was", err)
		}
	})
}
