package locks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"picklock/locks"
)

// definite reports whether err is one of the errors that prove something.
func definite(err error) bool {
	return errors.Is(err, locks.ErrNotAcquired) || errors.Is(err, locks.ErrNotHeld) || errors.Is(err, locks.ErrNoEffect)
}

// on fails the commands of that name.
func on(command string, err error) func([]any) error {
	return func(args []any) error {
		if strings.EqualFold(fmt.Sprint(args[0]), command) {
			return err
		}
		return nil
	}
}

// loading is a server's refusal: nothing was executed.
type loading struct{}

func (loading) Error() string { return "LOADING Redis is loading the dataset in memory" }
func (loading) RedisError()   {}

// swallows are the locks whose source turns exceptions into false.
func swallows(name string) bool { return strings.HasPrefix(name, "jedis-") }

// An acquire whose reply is lost is unknown, and one that the server refused is not.
func TestAcquireWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bench, s locks.Spec, f faithful) {
		defer b.wire.failing(nil)
		first := strings.Fields(f.acquire[0])[0]
		for _, c := range []struct {
			name string
			err  error
			want bool // definite
		}{{"lost", io.EOF, false}, {"refused", loading{}, true}} {
			b.wire.failing(on(first, c.err))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cfg, attempts := b.config(), 0
			cfg.Trace.Attempt = func() {
				if attempts++; attempts == 3 {
					cancel()
				}
			}
			g, err := s.Open()(cfg).Acquire(ctx)
			if err == nil || definite(err) != c.want {
				t.Errorf("%s: %v, want definite: %v", c.name, err, c.want)
			}
			if want := !swallows(s.Name); want != (attempts == 1) {
				t.Errorf("%s: %d attempts; an exception leaves the source's loop: %v", c.name, attempts, want)
			}
			if !swallows(s.Name) && !errors.Is(err, c.err) {
				t.Errorf("%s: %v does not carry its cause", c.name, err)
			}
			finally := f.belief == locks.ReleasesAnyway || f.belief == locks.Enters
			if got := g.Belief == locks.ReleasesAnyway; got != finally {
				t.Errorf("%s: belief %v; an exception goes to the finally block: %v", c.name, g.Belief, finally)
			}
		}
	})
}

func TestReleaseWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bench, s locks.Spec, f faithful) {
		for _, command := range f.release {
			for _, c := range []struct {
				name string
				err  error
				want bool // definite
			}{{"lost", io.EOF, false}, {"refused", loading{}, true}} {
				first := strings.Fields(command)[0]
				l := s.Open()(b.config())
				acquire(t, l)
				b.wire.failing(on(first, c.err))
				err := l.Release(t.Context())
				b.wire.failing(nil)
				// A lost GET, or a lost DEL of another key, proves that the lock was left alone.
				want := c.want || first == "get" || s.Name == "seckill-wrong-key"
				if err == nil || definite(err) != want || errors.Is(err, locks.ErrNotHeld) {
					t.Errorf("%s %s: %v, want definite: %v", first, c.name, err, want)
				}
				if !errors.Is(err, c.err) {
					t.Errorf("%s %s: %v does not carry its cause", first, c.name, err)
				}
				if got := errors.Is(err, locks.ErrThrown); got == swallows(s.Name) {
					t.Errorf("%s %s: thrown to the caller: %v, want %v", first, c.name, got, !got)
				}
			}
		}
	})
}

// S0 and S4: a winner whose EXPIRE fails has taken the lock and throws all the same.
func TestExpireThatFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{"setnx-expire", "setnx-expire-all"} {
		for _, cause := range []error{io.EOF, loading{}} {
			c := b.config()
			b.wire.failing(on("pexpire", cause))
			_, err := open(t, name, c).Acquire(t.Context())
			b.wire.failing(nil)
			if err == nil || definite(err) || !errors.Is(err, cause) {
				t.Errorf("%s: %v; SETNX did take the lock, so nothing is definite", name, err)
			}
			if got := b.client.PTTL(t.Context(), c.Name).Val(); got != -1 {
				t.Errorf("%s: PTTL %v, want -1: taken, without a TTL", name, got)
			}
		}
	}
	c := b.config()
	acquire(t, open(t, "setnx-expire-all", c))
	b.wire.failing(on("pexpire", io.EOF))
	_, err := open(t, "setnx-expire-all", c).Acquire(t.Context())
	if !errors.Is(err, locks.ErrNotAcquired) {
		t.Errorf("a loser whose EXPIRE fails: %v, want ErrNotAcquired: its SETNX was refused", err)
	}
}

// S4.2: the losers' EXPIREs prolong a lock whose owner is gone.
func TestLosersProlong(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, prolongs := range map[string]bool{"setnx-expire-all": true, "setnx-expire": false} {
		c := b.lasting()
		acquire(t, open(t, name, c))
		if err := b.client.PExpire(t.Context(), c.Name, 30*time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		c.Trace.Attempt = cancel
		if _, err := open(t, name, c).Acquire(ctx); !errors.Is(err, locks.ErrNotAcquired) {
			t.Fatal(err)
		}
		if got := b.client.PTTL(t.Context(), c.Name).Val() > 30*time.Minute; got != prolongs {
			t.Errorf("%s: a loser prolonged the lock: %v, want %v", name, got, prolongs)
		}
	}
}

// S3 turns exceptions into "did not get it", so an attempt that did take the lock without
// an answer keeps its own user out. The record must not call that a certain failure.
func TestJedisGoesOnAfterAnUnknownAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.config()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	attempts := 0
	c.Trace.Attempt = func() {
		attempts++
		switch attempts {
		case 1:
			b.wire.failing(on("set", io.EOF))
		case 2:
			b.wire.failing(nil)
			if err := b.server.Client().Set(t.Context(), c.Name, c.User, time.Minute).Err(); err != nil {
				t.Error(err) // as if the first attempt had been executed
			}
		case 4:
			cancel()
		}
	}
	_, err := open(t, "jedis-spin", c).Acquire(ctx)
	if attempts != 4 || err == nil || definite(err) || !errors.Is(err, io.EOF) {
		t.Errorf("%d attempts, %v; want 4 and the unknown one's error", attempts, err)
	}
	b.client.Del(t.Context(), c.Name)
	b.wire.failing(on("set", io.EOF))
	c.Trace.Attempt = func() {
		if attempts++; attempts == 6 {
			b.wire.failing(nil)
		}
	}
	if _, err := open(t, "jedis-spin", c).Acquire(t.Context()); err != nil {
		t.Errorf("an attempt that works after an unknown one: %v, want the lock", err)
	}
}

// jumpy is a clock whose every reading is ten seconds later.
type jumpy struct {
	clock
	now time.Time
}

func (j *jumpy) Now() time.Time {
	j.now = j.now.Add(10 * time.Second)
	return j.now
}

func TestJedisGivesUpAfterItsSeeds30Seconds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.config()
	acquire(t, open(t, "jedis-spin", c))
	attempts := 0
	c.Clock, c.Trace.Attempt = &jumpy{now: time.Now()}, func() { attempts++ }
	_, err := open(t, "jedis-spin", c).Acquire(t.Context())
	if !errors.Is(err, locks.ErrNotAcquired) || attempts != 3 {
		t.Errorf("%v after %d attempts, want ErrNotAcquired after 3 (at 10, 20 and 30 s)", err, attempts)
	}
}

// S3 pastes key and user into the script: a quote breaks it, and nothing is released.
func TestJedisConcatWithAQuote(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, want := range map[string]error{"jedis-concat": locks.ErrNoEffect, "jedis-spin": nil} {
		c := b.config()
		c.User = "O'Brien"
		l := open(t, name, c)
		acquire(t, l)
		err := l.Release(t.Context())
		if !errors.Is(err, want) || (want == nil && err != nil) {
			t.Errorf("%s: release for the user %s: %v, want %v", name, c.User, err, want)
		}
	}
	c := b.config()
	acquire(t, open(t, "jedis-concat", c))
	c.User = "' or '1'=='1" // makes the condition of the pasted script ('' or true)
	if err := open(t, "jedis-concat", c).Release(t.Context()); err != nil {
		t.Errorf("a user id that is Lua: %v, want the other's lock deleted, as the pasting allows", err)
	}
}

// S4: the second attempt's result is ignored; when it works the lock is taken for nobody.
func TestSetnxOnceLeavesWhatItsRetryTook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.config()
	holder := open(t, "setnx-once", c)
	acquire(t, holder)
	waits := &clock{asleep: func(int) {
		if err := holder.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}}
	c.Clock = waits
	g, err := open(t, "setnx-once", c).Acquire(t.Context())
	if err != nil || g.Belief != locks.Leaves {
		t.Errorf("a retry that works: %v, belief %v; want a grant that is left", err, g.Belief)
	}
	if got := b.client.PTTL(t.Context(), c.Name).Val(); got != -1 {
		t.Errorf("PTTL %v, want -1: the lock is orphaned for ever", got)
	}
}

// S0: each attempt is one frame deeper on the stack.
func TestSetnxRecursiveRecurses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, recursive := range map[string]bool{"setnx-recursive": true, "setnx": false} {
		c := b.config()
		acquire(t, open(t, name, c))
		ctx, cancel := context.WithCancel(t.Context())
		var depths []int
		c.Clock = &hasty{}
		c.Trace.Attempt = func() {
			depths = append(depths, runtime.Callers(0, make([]uintptr, 1000)))
			if len(depths) == 50 {
				cancel()
			}
		}
		if _, err := open(t, name, c).Acquire(ctx); !errors.Is(err, locks.ErrNotAcquired) {
			t.Fatalf("%s: %v", name, err)
		}
		if grown := depths[49] - depths[0]; (grown >= 49) != recursive {
			t.Errorf("%s: the stack grew by %d frames over 50 attempts, recursive: %v", name, grown, recursive)
		}
	}
}

// hasty is real time without waiting.
type hasty struct{}

func (*hasty) Now() time.Time                                   { return time.Now() }
func (*hasty) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// S0 ③: between GET and DEL the lock may expire and go to somebody else.
func TestGapBetweenGetAndDel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := b.server.Client()
	for name, guilty := range map[string]bool{"uuid-get-del": true, "uuid-get-del-null": true, "uuid-lua": false} {
		c := b.config()
		l := open(t, name, c)
		acquire(t, l)
		b.wire.failing(func(args []any) error {
			if word := fmt.Sprint(args[0]); word == "del" || word == "evalsha" { // the step that frees the lock
				return other.Set(context.Background(), c.Name, "another's", 0).Err()
			}
			return nil
		})
		err := l.Release(t.Context())
		b.wire.failing(nil)
		gone := other.Exists(t.Context(), c.Name).Val() == 0
		if gone != guilty || (err == nil) != guilty {
			t.Errorf("%s: another's lock was deleted: %v (release: %v), want %v", name, gone, err, guilty)
		}
	}
}

func TestLocksInMemory(t *testing.T) {
	t.Parallel()
	cfg := func(name string) locks.Config { return locks.Config{Name: name, Clock: &clock{}} }
	s, _ := locks.Find("none")
	maker, attempts := s.Open(), 0
	c := cfg("a")
	c.Trace.Attempt = func() { attempts++ }
	for range 2 {
		acquire(t, maker(c))
	}
	if err := maker(c).Release(t.Context()); err != nil || attempts != 2 {
		t.Errorf("none: release %v, %d attempts; want everybody to enter, once each", err, attempts)
	}

	s, _ = locks.Find("local-mutex")
	process := s.Open()
	first, second := process(cfg("a")), process(cfg("a"))
	acquire(t, first)
	acquire(t, process(cfg("b")))  // another name
	acquire(t, s.Open()(cfg("a"))) // another process
	ctx, cancel := context.WithCancel(t.Context())
	c = cfg("a")
	c.Trace.Attempt = cancel
	if _, err := process(c).Acquire(ctx); !errors.Is(err, locks.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
		t.Errorf("local-mutex: a second worker of the process: %v, want ErrNotAcquired when ctx ends", err)
	}
	if err := second.Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) || !errors.Is(err, locks.ErrThrown) {
		t.Errorf("local-mutex: release by another worker: %v, want Java's exception", err)
	}
	got := make(chan error, 1)
	go func() { _, err := second.Acquire(t.Context()); got <- err }()
	if err := first.Release(t.Context()); err != nil {
		t.Errorf("local-mutex: release: %v", err)
	}
	select {
	case err := <-got:
		if err != nil {
			t.Errorf("local-mutex: the waiter: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("local-mutex: the waiter did not get the released lock")
	}
}

// A context that is over before the call makes no attempt, except where the source has no
// loop that could look at it.
func TestContextThatIsOver(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bench, s locks.Spec, f faithful) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c := b.config()
		b.wire.take()
		_, err := s.Open()(c).Acquire(ctx)
		sent := b.wire.take()
		if looks := f.tries == 0; looks && (!errors.Is(err, locks.ErrNotAcquired) || len(sent) > 0) {
			t.Errorf("%v after sending %q, want ErrNotAcquired and nothing sent", err, sent)
		} else if !looks && (err != nil || !slices.ContainsFunc(sent, func(s string) bool { return strings.HasPrefix(s, "set") })) {
			t.Errorf("%v after sending %q, want the source's one attempt", err, sent)
		}
	})
}

// Row 50: S3's token is the user's id, so a release that is executed late frees the lock
// that the same user has taken since.
func TestLateReleaseOfTheSameUser(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, guilty := range map[string]bool{"jedis-spin": true, "jedis-concat": true, "uuid-lua": false} {
		c := b.lasting()
		earlier, later := open(t, name, c), open(t, name, c)
		acquire(t, earlier)
		b.client.Del(t.Context(), c.Name) // its TTL ends
		acquire(t, later)
		err := earlier.Release(t.Context())
		if gone := b.client.Exists(t.Context(), c.Name).Val() == 0; gone != guilty || (err == nil) != guilty {
			t.Errorf("%s: the user's next lock was freed: %v (release: %v), want %v", name, gone, err, guilty)
		}
	}
}
