package nemesis_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/nemesis"
)

// soon bounds a command that is expected to be answered; it is long, as the machine may
// be busy.
const soon = 20 * time.Second

func TestPausedClientsRequestGoesOnWhenItDoes(t *testing.T) {
	w := newWiredWorld(t)
	c := w.connect(t, 1, "lock")
	w.direct.Set(t.Context(), "a", 1, 0)
	rec, end := w.unleash(t, nemesis.Planned{Kind: "pause-client", On: "before release", Nth: 2, For: 200 * time.Millisecond})
	if err := w.connect(t, 0, "lock").Del(t.Context(), "nothing").Err(); err != nil { // the first
		t.Fatal(err)
	}
	answer := make(chan error, 1)
	go func() { answer <- c.Del(context.Background(), "a").Err() }()
	waitFor(t, "the pause", func() bool { return w.clients.count("pause client 1") == 1 })
	if n := w.direct.Exists(t.Context(), "a").Val(); n != 1 && w.clients.count("resume client 1") == 0 {
		t.Error("the request got through although its client is stopped before it")
	}
	end()
	if err := <-answer; err != nil {
		t.Errorf("the request did not go on: %v", err)
	}
	if n := w.direct.Exists(t.Context(), "a").Val(); n != 0 {
		t.Error("the request had no effect after its client went on")
	}
	f := lived(t, rec.faults, 1)
	if !f.Landed || f.Client != 1 || f.Proof != "state T; client 1's DEL to lock is held on the wire" {
		t.Errorf("it is on record as %+v", f)
	}
}

func TestKilledClientsRequestWasNeverSent(t *testing.T) {
	w := newWiredWorld(t)
	c := w.connect(t, 1, "lock")
	w.direct.Set(t.Context(), "a", 1, 0)
	rec, end := w.unleash(t, nemesis.Planned{Kind: "kill-client", On: "before release", For: time.Millisecond, Target: "client-1"})
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if err := c.Del(ctx, "a").Err(); err == nil || gaveUp(err) {
		t.Errorf("the request of a client that was killed before it: %v; want a connection that was reset", err)
	}
	end()
	if n := w.direct.Exists(t.Context(), "a").Val(); n != 1 {
		t.Error("the request of a client that was killed before it had an effect")
	}
	if did := w.clients.all(); !slices.Equal(did, []string{"pause client 1", "kill client 1", "restart client 1"}) {
		t.Errorf("it did %q", did)
	}
	if f := lived(t, rec.faults, 1); !f.Landed || f.Client != 1 {
		t.Errorf("it is on record as %+v", f)
	}
}

func TestAfterAcquireMeansThatItGranted(t *testing.T) {
	w := newWiredWorld(t)
	loser, winner := w.connect(t, 0, "lock"), w.connect(t, 1, "lock")
	w.direct.Set(t.Context(), "taken", 1, 0)
	rec, end := w.unleash(t, nemesis.Planned{Kind: "pause-client", On: "after acquire", For: time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if n, err := loser.Do(ctx, "setnx", "taken", 1).Int(); err != nil || n != 0 {
		t.Fatalf("%d, %v", n, err)
	}
	if n, err := winner.Do(ctx, "setnx", "free", 1).Int(); err != nil || n != 1 {
		t.Fatalf("%d, %v", n, err)
	}
	end()
	if f := lived(t, rec.faults, 1); f.Client != 1 {
		t.Errorf("%s was hit; want client 1, the one that was granted the lock", f.Target)
	}
}

func TestNodeFaultLetsTheFrameGoOnceItLanded(t *testing.T) {
	w := newWiredWorld(t)
	c := w.connect(t, 0, "lock")
	rec, end := w.unleash(t, nemesis.Planned{Kind: "pause-node", On: "before acquire", For: time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	if err := c.Do(ctx, "setnx", "a", 1).Err(); err != nil {
		t.Error(err)
	}
	if w.clients.count("pause node lock") != 1 {
		t.Error("the request went on before the node was paused")
	}
	end()
	if f := lived(t, rec.faults, 1); !f.Landed || f.Node != "lock" {
		t.Errorf("it is on record as %+v", f)
	}
}

func TestGrantTriggers(t *testing.T) {
	w, clients, _ := fakeWorld(t)
	r, rec := runner(w, nemesis.Planned{Kind: "pause-client", On: "granted", For: time.Millisecond})
	done := make(chan error, 1)
	go func() {
		_, err := r.Run(t.Context(), history.Now(), history.Now()+int64(20*time.Second))
		done <- err
	}()
	waitFor(t, "the search for a grant", func() bool { return clients.count("look") > 3 })
	if did := clients.all(); len(did) > 0 {
		t.Errorf("it did %q although nobody was granted a lock since it began", did)
	}
	clients.hold(append(holder(), nemesis.Holding{Client: 0, Object: "lock:b", Grant: 8, Since: history.Now()})...)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if f := lived(t, rec.faults, 1); f.Client != 0 {
		t.Errorf("%s was hit; want client 0, which was granted a lock just then", f.Target)
	}
}

func TestTriggerThatNeverComesIsNoFault(t *testing.T) {
	w := newWiredWorld(t)
	w.clients.hold()
	for _, p := range []nemesis.Planned{
		{Kind: "kill-client", On: "before release"}, {Kind: "pause-client", On: "granted"}, {Kind: "drop-reply"}, {Kind: "kill-client", On: "before renewal"},
	} {
		r, rec := runner(w.World, p)
		if _, err := r.Run(t.Context(), history.Now(), history.Now()+int64(50*time.Millisecond)); err != nil || len(rec.faults) != 0 || len(w.clients.all()) != 0 {
			t.Errorf("%s %s: error %v, record %+v, did %q; want nothing at all", p.Kind, p.On, err, rec.faults, w.clients.all())
		}
	}
}
