package locks_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"picklock/locks"
)

// giveUp ends the context at the n-th attempt to take the lock, and counts them.
func giveUp(t *testing.T, c *locks.Config, n int) (context.Context, *int) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	attempts := new(int)
	c.Trace.Attempt = func() {
		if *attempts++; *attempts == n {
			cancel()
		}
	}
	return ctx, attempts
}

// wantUnknown: the call may have taken effect, and its error must not deny it.
func wantUnknown(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || definite(err) || !errors.Is(err, io.EOF) {
		t.Errorf("%s: %v; want an error that proves nothing and carries the lost answer's", what, err)
	}
}

// Row 13: the SET took the lock, its answer is lost, and it is refused by its own work when
// it is sent again. The client goes on as if somebody else had the lock; the record does not.
func TestBlindAcquireIsRefusedByItself(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct{ lock, command string }{{"setnx:retry=blind", "setnx"}, {"uuid-lua:retry=blind", "set"}} {
		cfg := b.lasting()
		ctx, attempts := giveUp(t, &cfg, 3)
		b.wire.take()
		b.wire.losing(1, c.command, nil)
		_, err := open(t, c.lock, cfg).Acquire(ctx)
		wantUnknown(t, c.lock, err)
		if sent := b.wire.take(); *attempts != 3 || len(sent) != 4 {
			t.Errorf("%s: %d attempts that sent %q, want 3, of which the first was sent twice", c.lock, *attempts, sent)
		}
		if b.client.Exists(t.Context(), cfg.Name).Val() != 1 {
			t.Errorf("%s: the key is not there: nothing was tested", c.lock)
		}
		if slept := b.clock.slept(); !slices.Contains(slept, 8*time.Millisecond) {
			t.Errorf("%s: slept %v, want go-redis' 8 ms before the second try", c.lock, slept)
		}
	}
}

// The same lock that asks whose key it is finds its own token and accepts it.
func TestOwnTokenIsAccepted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const name = "uuid-lua:retry=own-token"
	c := b.lasting()
	attempts := 0
	c.Trace.Attempt = func() { attempts++ }
	l := open(t, name, c)
	b.wire.take()
	b.wire.losing(1, "set", nil)
	g := acquire(t, l)
	want := []string{"set K T nx px 3600000", "set K T nx px 3600000", "get K"}
	if sent := b.wire.take(c.Name, "K", g.Token, "T"); !slices.Equal(sent, want) || attempts != 1 {
		t.Errorf("sent %q in %d attempts, want %q in one: the lease counts from its start", sent, attempts, want)
	}
	if got := b.client.Get(t.Context(), c.Name).Val(); got != g.Token {
		t.Errorf("granted the token %q, the key has %q", g.Token, got)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Errorf("release of the grant: %v", err)
	}

	// Somebody else's lock is not taken for one's own, and a lost refusal stays unknown.
	acquire(t, open(t, "uuid-lua", c))
	d := c
	ctx, _ := giveUp(t, &d, 2)
	b.wire.losing(1, "set", nil)
	_, err := open(t, name, d).Acquire(ctx)
	wantUnknown(t, "another's lock", err)

	// Nor is anything accepted without an answer to the question.
	c = b.lasting()
	b.wire.losing(1, "set", func() { b.wire.fail = on("get", loading{}) })
	_, err = open(t, name, c).Acquire(t.Context())
	b.wire.failing(nil)
	if err == nil || definite(err) {
		t.Errorf("a GET that is refused: %v; the SET before it did take the lock", err)
	}
}

// A command is sent four times at most; what the last answer says cannot deny the others.
func TestTriesAreBoundedAndNotForgotten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	unsent := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for _, c := range []struct {
		name  string
		lost  int   // answers
		then  error // of the tries after that; nil: they work
		sent  int
		wants func(error) bool
	}{
		{"no answer at all", 100, nil, 4, func(err error) bool { return errors.Is(err, io.EOF) && !definite(err) }},
		{"refused after a lost answer", 1, loading{}, 2, func(err error) bool { return errors.Is(err, io.EOF) && !definite(err) }},
		{"refused at once", 0, loading{}, 1, func(err error) bool { return errors.Is(err, locks.ErrNotAcquired) }},
		{"nobody there, ever", 0, unsent, 4, func(err error) bool { return errors.Is(err, locks.ErrNotAcquired) }},
		{"nobody there after a lost answer", 1, unsent, 4, func(err error) bool { return errors.Is(err, io.EOF) && !definite(err) }},
	} {
		cfg := b.lasting()
		left := c.lost
		b.wire.failing(func([]any) error {
			if left > 0 {
				left--
				return io.EOF
			}
			return c.then
		})
		b.wire.take()
		_, err := open(t, "uuid-lua:retry=blind", cfg).Acquire(t.Context())
		b.wire.failing(nil)
		if sent := b.wire.take(); len(sent) != c.sent || err == nil || !c.wants(err) {
			t.Errorf("%s: sent %q, %v; want %d tries", c.name, sent, err, c.sent)
		}
	}
}

// Row 12: a release that was done and is sent again is answered "not held". What the
// client is told is false, and the record says so.
func TestBlindReleaseIsToldNotHeld(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct {
		lock, command string
		told          bool
	}{
		{"setnx:retry=blind", "del", true},
		{"uuid-lua:retry=blind", "evalsha", true},
		{"uuid-lua:retry=own-token", "evalsha", true},
		{"uuid-lua:retry=blind,release=idempotent", "evalsha", false},
		{"reentrant:retry=blind", "evalsha", true},
		{"reentrant:retry=operation-id", "evalsha", false},
	} {
		cfg := b.lasting()
		l := open(t, c.lock, cfg)
		acquire(t, l)
		b.wire.losing(1, c.command, nil)
		err := l.Release(t.Context())
		if c.told {
			wantUnknown(t, c.lock, err)
		}
		if errors.Is(err, locks.ErrToldNotHeld) != c.told || (err == nil) == c.told || errors.Is(err, locks.ErrThrown) {
			t.Errorf("%s: %v; want it told not held: %v", c.lock, err, c.told)
		}
		if b.client.Exists(t.Context(), cfg.Name).Val() != 0 {
			t.Errorf("%s: the first try did not free the lock", c.lock)
		}
		// Of a lock that is gone for certain, "not held" is the truth.
		acquire(t, l)
		b.client.Del(t.Context(), cfg.Name)
		if err := l.Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) || errors.Is(err, locks.ErrToldNotHeld) {
			t.Errorf("%s: release of a lock that is gone: %v, want ErrNotHeld", c.lock, err)
		}
		// Without any answer it is unknown, and thrown.
		acquire(t, l)
		b.wire.failing(on(c.command, io.EOF))
		err = l.Release(t.Context())
		b.wire.failing(nil)
		wantUnknown(t, c.lock, err)
		if !errors.Is(err, locks.ErrThrown) || errors.Is(err, locks.ErrToldNotHeld) {
			t.Errorf("%s: a release without an answer: %v, want it thrown", c.lock, err)
		}
	}
}

// A DEL that is sent again frees the lock of whoever got it after the first. The trace
// tells the try that did it.
func TestBlindDelFreesAnothersLock(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := b.server.Client()
	for name, guilty := range map[string]bool{"setnx:retry=blind": true, "uuid-lua:retry=blind": false, "uuid-lua:retry=blind,release=idempotent": false} {
		c := b.lasting()
		taken, freedAfter := false, false
		c.Trace.Release = func() { freedAfter = taken }
		l := open(t, name, c)
		acquire(t, l)
		next := func() {
			taken = true
			if ok, err := other.SetNX(context.Background(), c.Name, "another's", 0).Result(); err != nil || !ok {
				t.Errorf("%s: the next holder: %v, %v", name, ok, err)
			}
		}
		command := "evalsha"
		if strings.HasPrefix(name, "setnx") {
			command = "del"
		}
		b.wire.losing(1, command, next)
		err := l.Release(t.Context())
		gone := other.Exists(t.Context(), c.Name).Val() == 0
		if gone != guilty {
			t.Errorf("%s: the next holder's lock was freed: %v, want %v", name, gone, guilty)
		}
		if guilty && (err != nil || !freedAfter) {
			t.Errorf("%s: %v, traced after the next holder's grant: %v; want the record to show the theft", name, err, freedAfter)
		}
		if strings.Contains(name, "idempotent") && (err != nil || freedAfter) {
			t.Errorf("%s: %v, traced after the next holder's grant: %v; it was the first try that freed the lock", name, err, freedAfter)
		}
	}
}

// The notes of what was done do not stay for ever.
func TestNotesExpire(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{"uuid-lua:release=idempotent", "reentrant:retry=operation-id"} {
		c := b.lasting()
		l := open(t, name, c)
		acquire(t, l)
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		keys := b.client.Keys(t.Context(), c.Name+":*").Val()
		if len(keys) == 0 {
			t.Errorf("%s left no note", name)
		}
		for _, k := range keys {
			if ttl := b.client.PTTL(t.Context(), k).Val(); ttl <= 0 || ttl > time.Minute {
				t.Errorf("%s: the note %s lives for %v", name, k, ttl)
			}
		}
	}
}

// Every release marks the moment from which on it can have freed the lock: after the
// compare of those that compare first, and before the command that frees.
func TestReleaseIsTraced(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b *bench, s locks.Spec, f faithful) {
		c := b.lasting()
		var before [][]string
		c.Trace.Release = func() { before = append(before, b.wire.take(c.Name, "K")) }
		l := s.Open()(c)
		acquire(t, l)
		b.wire.take()
		_ = l.Release(t.Context()) // its error is TestRoundTripOnTheWire's
		want := 1
		if f.err != nil {
			want = 0 // it frees nothing
		}
		if len(before) != want {
			t.Fatalf("%d marks, want %d", len(before), want)
		}
		if want == 1 && !slices.Equal(before[0], f.release[:len(f.release)-1]) {
			t.Errorf("marked after %q, want it directly before the last of %q", before[0], f.release)
		}
	})
}
