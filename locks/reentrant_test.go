package locks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"picklock/locks"
)

func TestReentrantCounts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.config()
	l, other := open(t, "reentrant", c), open(t, "reentrant", c)
	counter := l.(locks.Reentrant)

	first := acquire(t, l)
	if err := b.client.PExpire(t.Context(), c.Name, 15*time.Second).Err(); err != nil {
		t.Fatal(err)
	}
	second, third := acquire(t, l), acquire(t, l)
	if first.Count != 1 || second.Count != 2 || third.Count != 3 || third.Token != first.Token {
		t.Errorf("counts %d %d %d, owners %q and %q; want 1 2 3 of one owner", first.Count, second.Count, third.Count, first.Token, third.Token)
	}
	if got := b.client.PTTL(t.Context(), c.Name).Val(); got <= 15*time.Second {
		t.Errorf("PTTL %v after a nested acquire, want it renewed: its grant promises a whole TTL", got)
	}
	for want := int64(2); want >= 0; want-- {
		if _, err := blocked(t, other); !errors.Is(err, locks.ErrNotAcquired) {
			t.Errorf("with %d holds left another owner got: %v, want ErrNotAcquired", want+1, err)
		}
		if err := l.Release(t.Context()); err != nil || counter.Remaining() != want {
			t.Errorf("release: %v with %d left, want %d", err, counter.Remaining(), want)
		}
	}
	if err := l.Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) || counter.Remaining() != -1 {
		t.Errorf("one release too many: %v with %d left, want ErrNotHeld and no word of it", err, counter.Remaining())
	}
	acquire(t, other)
	if again, err := blocked(t, l); !errors.Is(err, locks.ErrNotAcquired) || again.Token == first.Token {
		t.Errorf("an outermost acquire under the old owner %q (%v): its late release would free a newer hold", again.Token, err)
	}
}

// A nested acquire after the lock was lost begins to count anew, and the record shows it.
func TestReentrantAfterALoss(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.config()
	l := open(t, "reentrant", c)
	first := acquire(t, l)
	if err := b.client.Del(t.Context(), c.Name).Err(); err != nil {
		t.Fatal(err)
	}
	if g := acquire(t, l); g.Count != 1 || g.Token != first.Token {
		t.Errorf("count %d of owner %q, want 1 of the same owner %q", g.Count, g.Token, first.Token)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := l.Release(t.Context()); !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("the outer release: %v, want ErrNotHeld: the inner one freed the lock", err)
	}
	if g := acquire(t, l); g.Token == first.Token {
		t.Error("the next outermost acquire has the old owner")
	}
}

// blocked makes one attempt on a lock that somebody has.
func blocked(t *testing.T, l locks.Lock) (locks.Grant, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	return l.Acquire(ctx)
}
