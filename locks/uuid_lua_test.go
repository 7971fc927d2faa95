package locks_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"picklock/locks"
)

// Row 36: a server that forgot its scripts. Who calls by hash alone loses its releases.
func TestScriptFlush(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, frees := range map[string]bool{"uuid-lua": true, "uuid-lua:scripts=evalsha-only": false} {
		c := b.lasting()
		l := open(t, name, c)
		for range 2 { // the first release loads
			acquire(t, l)
			if err := l.Release(t.Context()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		acquire(t, l)
		if err := b.client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		err := l.Release(t.Context())
		if gone := b.client.Exists(t.Context(), c.Name).Val() == 0; gone != frees || (err == nil) != frees {
			t.Errorf("%s: freed %v, %v; want %v", name, gone, err, frees)
		}
		if !frees && (!errors.Is(err, locks.ErrNoEffect) || !errors.Is(err, locks.ErrThrown)) {
			t.Errorf("%s: %v, want ErrNoEffect, thrown: the server said that it knows no such script", name, err)
		}
	}
}

// Workers of one process load the script once, and a load that fails sends no release.
func TestScriptIsLoadedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s, _ := locks.Find("uuid-lua:scripts=evalsha-only")
	process := s.Open()
	c := b.lasting()
	first := process(c)
	acquire(t, first)
	b.wire.failing(on("script", io.EOF))
	err := first.Release(t.Context())
	b.wire.failing(nil)
	if !errors.Is(err, locks.ErrNoEffect) || !errors.Is(err, io.EOF) {
		t.Errorf("a release whose script could not be loaded: %v, want ErrNoEffect: it was not sent", err)
	}
	b.client.Del(t.Context(), c.Name)
	var wg sync.WaitGroup
	b.wire.take()
	for range 8 {
		l := process(b.lasting())
		acquire(t, l)
		wg.Go(func() {
			if err := l.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	loads := 0
	for _, line := range b.wire.take() {
		if line == "script load compare_and_delete.lua" {
			loads++
		}
	}
	if loads != 1 {
		t.Errorf("%d loads by one process, want 1", loads)
	}
}

// leaping is real time that a test can push ahead.
type leaping struct {
	clock
	ahead time.Duration
}

func (c *leaping) Now() time.Time { return time.Now().Add(c.ahead) }

// Row 16: the answer to the SET comes when the lease that it grants is over.
func TestLateGrant(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct {
		name     string
		lock     string
		delay    time.Duration
		release  error // the answer to giving it back; nil: it works
		gone     bool  // the key has expired by then
		acquired bool
		definite bool
		free     bool
	}{
		{"unchecked", "uuid-lua", 61 * time.Minute, nil, false, true, false, false},
		{"in time", "uuid-lua:elapsed=checked", 10 * time.Minute, nil, false, true, false, false},
		{"too late", "uuid-lua:elapsed=checked", time.Hour, nil, false, false, true, true},
		{"too late and expired", "uuid-lua:elapsed=checked", time.Hour, nil, true, false, true, true},
		{"giving back is refused", "uuid-lua:elapsed=checked", time.Hour, loading{}, false, false, false, false},
		{"giving back gets no answer", "uuid-lua:elapsed=checked", time.Hour, io.EOF, false, false, false, false},
		{"too late after a lost answer", "uuid-lua:elapsed=checked,retry=own-token", time.Hour, nil, false, false, false, true},
	} {
		cfg, now := b.lasting(), &leaping{}
		cfg.Clock = now
		lost := 0
		if c.lock == "uuid-lua:elapsed=checked,retry=own-token" {
			lost = 1
		}
		other := b.server.Client()
		b.wire.losing(lost, "set", nil)
		b.wire.failing(func(args []any) error {
			switch args[0] {
			case "set":
				now.ahead += c.delay
			case "evalsha":
				if c.gone {
					other.Del(context.Background(), cfg.Name)
				}
				return c.release
			}
			return nil
		})
		_, err := open(t, c.lock, cfg).Acquire(t.Context())
		b.wire.failing(nil)
		if (err == nil) != c.acquired || errors.Is(err, locks.ErrNotAcquired) != c.definite || definite(err) != c.definite {
			t.Errorf("%s: %v; want it acquired: %v, certainly not: %v", c.name, err, c.acquired, c.definite)
		}
		if free := other.Exists(t.Context(), cfg.Name).Val() == 0; free != c.free {
			t.Errorf("%s: the lock is free: %v, want %v", c.name, free, c.free)
		}
	}
}
