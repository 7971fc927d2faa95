package locks_test

import (
	"errors"
	"os"
	"testing"

	"picklock/locks"
)

// Row 14: an acquire, or a release, that was done without an answer is sent again.
func TestReentrantResent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, twice := range map[string]int64{"reentrant:retry=blind": 1, "reentrant:retry=operation-id": 0} {
		c := b.lasting()
		l := open(t, name, c)
		counter := l.(locks.Reentrant)
		b.wire.losing(1, "evalsha", nil)
		g := acquire(t, l)
		if g.Count != 1+twice {
			t.Errorf("%s: count %d after an acquire that was sent twice, want %d", name, g.Count, 1+twice)
		}
		if g := acquire(t, l); g.Count != 2+twice {
			t.Errorf("%s: count %d after the nested acquire, want %d", name, g.Count, 2+twice)
		}
		b.wire.losing(1, "evalsha", nil)
		err := l.Release(t.Context())
		if want := int64(1); err != nil || counter.Remaining() != want { // blind: 3 less 2
			t.Errorf("%s: %v with %d left after a release that was sent twice, want %d", name, err, counter.Remaining(), want)
		}
		if err := l.Release(t.Context()); err != nil || counter.Remaining() != 0 {
			t.Errorf("%s: the last release: %v with %d left", name, err, counter.Remaining())
		}
	}

	// Counted twice and released once: the lock stays.
	c := b.lasting()
	l := open(t, "reentrant:retry=blind", c)
	b.wire.losing(1, "evalsha", nil)
	acquire(t, l)
	if err := l.Release(t.Context()); err != nil || l.(locks.Reentrant).Remaining() != 1 {
		t.Errorf("release: %v with %d left, want 1", err, l.(locks.Reentrant).Remaining())
	}
	if _, err := blocked(t, open(t, "reentrant", c)); !errors.Is(err, locks.ErrNotAcquired) {
		t.Errorf("the next owner: %v, want ErrNotAcquired: nobody knows of the second count", err)
	}
}

// An operation's first try may come after its second was answered: it must change nothing.
func TestLateFirstTry(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	source := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	acquire, release := source("reentrant_acquire_once.lua"), source("reentrant_release_once.lua")
	run := func(script, operation string, args ...any) int64 {
		n, err := b.client.Eval(t.Context(), script, []string{"lock", "lock:done:" + operation}, args...).Int64()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	steps := []struct {
		what   string
		script string
		op     string
		args   []any
		want   int64
	}{
		{"A acquires", acquire, "a1", []any{"A", 60000, 60000, 0}, 1},
		{"late first try of the same", acquire, "a1", []any{"A", 60000, 60000, 0}, 1},
		{"B's second try is refused", acquire, "b1", []any{"B", 60000, 60000, 1}, 0},
		{"A's nested acquire", acquire, "a2", []any{"A", 60000, 60000, 0}, 2},
		{"A gives back", release, "a3", []any{"A", 60000, 0}, 1},
		{"the same again", release, "a3", []any{"A", 60000, 1}, 1},
		{"B's release is refused", release, "b2", []any{"B", 60000, 1}, -1},
		{"A gives back the last", release, "a4", []any{"A", 60000, 0}, 0},
		{"the same again", release, "a4", []any{"A", 60000, 1}, 0},
		{"B's first try comes now", acquire, "b1", []any{"B", 60000, 60000, 0}, 0},
		{"A's first try comes once more", acquire, "a1", []any{"A", 60000, 60000, 0}, 1},
	}
	for _, s := range steps {
		if got := run(s.script, s.op, s.args...); got != s.want {
			t.Errorf("%s: %d, want %d", s.what, got, s.want)
		}
	}
	if n := b.client.Exists(t.Context(), "lock").Val(); n != 0 {
		t.Error("a late try took the lock for somebody who does not know")
	}
}
