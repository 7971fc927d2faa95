package nemesis_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/history"
	"picklock/nemesis"
)

// unanswered is how long a client waits that is to hear nothing.
const unanswered = 300 * time.Millisecond

// during runs one fault while the client acts: act is called again and again until the
// fault is over.
func during(t *testing.T, w *wiredWorld, p nemesis.Planned, act func(n int)) history.Fault {
	t.Helper()
	r, rec := runner(w.World, p)
	done := make(chan error, 1)
	go func() {
		_, err := r.Run(t.Context(), history.Now(), history.Now()+int64(20*time.Second))
		done <- err
	}()
	for n := 0; ; n++ {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return lived(t, rec.faults, 1)
		default:
			act(n)
		}
	}
}

// within sends a command with a bounded wait for its reply.
func within(t *testing.T, d time.Duration, c *redis.Client, args ...any) error {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return c.Do(ctx, args...).Err()
}

// gaveUp says whether nothing was heard in time.
func gaveUp(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

func TestDroppedReplyOfADoneStep(t *testing.T) {
	w := newWiredWorld(t)
	c := w.connect(t, 0, "lock")
	lost := 0
	f := during(t, w, nemesis.Planned{Kind: "drop-reply", Pick: 1}, func(n int) {
		key := fmt.Sprint("lock:", n)
		if err := within(t, unanswered, c, "setnx", key, 1); gaveUp(err) {
			lost++
			if w.direct.Exists(t.Context(), key).Val() != 1 {
				t.Error("the step of which the reply was dropped was not done")
			}
		}
	})
	if !f.Landed || lost != 1 || f.Proof != "the reply of lock to client 0's SETNX was dropped" {
		t.Errorf("%d replies were lost; on record is %+v", lost, f)
	}
}

func TestDroppedRequestIsNotDone(t *testing.T) {
	w := newWiredWorld(t)
	c := w.connect(t, 0, "lock")
	lost := 0
	f := during(t, w, nemesis.Planned{Kind: "drop-request", On: "before acquire"}, func(n int) {
		key := fmt.Sprint("lock:", n)
		if err := within(t, unanswered, c, "setnx", key, 1); gaveUp(err) {
			lost++
			if w.direct.Exists(t.Context(), key).Val() != 0 {
				t.Error("the request that was dropped was carried out")
			}
		}
	})
	if !f.Landed || lost != 1 {
		t.Errorf("%d requests were lost; on record is %+v", lost, f)
	}
}

func TestDelayedRequestArrivesAfterItsClientGaveUp(t *testing.T) {
	w := newWiredWorld(t)
	c := w.connect(t, 0, "lock")
	var late string
	f := during(t, w, nemesis.Planned{Kind: "delay-request", With: map[string]string{"by": "1s"}, For: time.Millisecond}, func(n int) {
		key := fmt.Sprint("lock:", n)
		if err := within(t, unanswered, c, "setnx", key, 1); gaveUp(err) {
			late = key
		}
	})
	if !f.Landed || late == "" || f.End-f.Start < int64(time.Second) {
		t.Fatalf("late: %q; on record is %+v, want it healed when the delayed request had gone on", late, f)
	}
	waitFor(t, "the delayed request", func() bool { return w.direct.Exists(t.Context(), late).Val() == 1 })
}

func TestDelayedReply(t *testing.T) {
	w := newWiredWorld(t)
	c := w.connect(t, 0, "lock")
	var longest time.Duration
	f := during(t, w, nemesis.Planned{Kind: "delay-reply", With: map[string]string{"by": "2ttl"}}, func(n int) {
		began := time.Now()
		if err := within(t, soon, c, "setnx", fmt.Sprint("lock:", n), 1); err != nil {
			t.Error(err)
		}
		longest = max(longest, time.Since(began))
	})
	if !f.Landed || longest < 2*w.TTL {
		t.Errorf("the longest answer took %s, want at least %s; on record is %+v", longest, 2*w.TTL, f)
	}
}

func TestPartitionedClientIsHeardAfterwards(t *testing.T) {
	w := newWiredWorld(t)
	cut, other, stock := w.connect(t, 2, "lock"), w.connect(t, 0, "lock"), w.connect(t, 2, "stock")
	key, lost := "", 0
	f := during(t, w, nemesis.Planned{Kind: "partition-client", For: time.Second}, func(n int) {
		k := fmt.Sprint("lock:", n)
		if err := within(t, unanswered, cut, "setnx", k, 1); gaveUp(err) {
			if lost++; lost == 1 {
				key = k
			}
		}
		for name, c := range map[string]*redis.Client{"another client": other, "the stock": stock} {
			if err := within(t, soon, c, "ping"); err != nil {
				t.Errorf("%s was cut off too: %v", name, err)
			}
		}
	})
	if !f.Landed || f.Client != 2 || lost == 0 {
		t.Fatalf("%d requests of the holder did not get through; on record is %+v", lost, f)
	}
	waitFor(t, "what was sent while the link was down", func() bool { return w.direct.Exists(t.Context(), key).Val() == 1 })
}

func TestSlowLineDelaysEachWay(t *testing.T) {
	for _, p := range []nemesis.Planned{
		{Kind: "slow-wire", Target: "client-1"}, {Kind: "slow-node", Target: "lock"},
	} {
		w := newWiredWorld(t)
		c := w.connect(t, 1, "lock")
		p.With, p.For = map[string]string{"delay": "50ms"}, 300*time.Millisecond
		var longest time.Duration
		f := during(t, w, p, func(int) {
			began := time.Now()
			if err := within(t, soon, c, "ping"); err != nil {
				t.Error(err)
			}
			longest = max(longest, time.Since(began))
		})
		if !f.Landed || longest < 100*time.Millisecond {
			t.Errorf("%s: the longest answer took %s, want at least 100ms; on record is %+v", p.Kind, longest, f)
		}
	}
}

func TestResetConnections(t *testing.T) {
	for _, p := range []nemesis.Planned{{Kind: "reset-connection", Target: "client-1"}, {Kind: "reset-connection", Target: "client-1", On: "before acquire"}} {
		w := newWiredWorld(t)
		c, other := w.connect(t, 1, "lock"), w.connect(t, 0, "lock")
		broken := 0
		f := during(t, w, p, func(n int) {
			if err := within(t, soon, c, "setnx", fmt.Sprint("lock:", n), 1); err != nil && !gaveUp(err) {
				broken++
			}
			if err := within(t, soon, other, "setnx", fmt.Sprint("other:", n), 1); err != nil {
				t.Errorf("another client's connection broke: %v", err)
			}
		})
		// go-redis notices some resets of idle connections before it uses them.
		if !f.Landed || p.On != "" && broken != 1 {
			t.Errorf("%s: %d commands failed; on record is %+v", p.On, broken, f)
		}
	}
}

func TestOnlySoManyFrames(t *testing.T) {
	w := newWiredWorld(t)
	c := w.connect(t, 0, "lock")
	slow := 0
	p := nemesis.Planned{Kind: "delay-reply", Nth: 3, With: map[string]string{"count": "2", "by": "200ms"}, For: 2 * time.Second}
	f := during(t, w, p, func(n int) {
		began := time.Now()
		if err := within(t, soon, c, "setnx", fmt.Sprint("lock:", n), 1); err != nil {
			t.Error(err)
		}
		if time.Since(began) >= 200*time.Millisecond {
			slow++
		}
	})
	if want := "the rule is gone; it was delayed by 200ms 2 in all"; f.Healed != want || slow < 2 {
		t.Errorf("%d replies were slow; healed: %q, want %q", slow, f.Healed, want)
	}
}
