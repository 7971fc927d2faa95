package nemesis_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/harness/topology"
	"picklock/nemesis"
)

// record keeps what a runner writes to the history.
type record struct {
	mu     sync.Mutex
	faults []history.Fault // their starts and ends, in order
}

func (r *record) add(e history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, *e.Fault)
}

// runner carries the plan out on the world and keeps the record.
func runner(w nemesis.World, plan ...nemesis.Planned) (*nemesis.Runner, *record) {
	rec := &record{}
	return &nemesis.Runner{World: w, Plan: plan, Log: slog.New(slog.DiscardHandler), Record: rec.add}, rec
}

// unleash runs one fault of the kind on the world and returns what the record says of it.
func unleash(ctx context.Context, w nemesis.World, p nemesis.Planned) ([]history.Fault, error) {
	r, rec := runner(w, p)
	_, err := r.Run(ctx, history.Now(), history.Now()+int64(2*time.Hour))
	return rec.faults, err
}

func TestFaultsLandAndHeal(t *testing.T) {
	for _, c := range []struct {
		kind string
		did  []string
	}{
		{"pause-client", []string{"pause client 2", "resume client 2"}},
		{"kill-client", []string{"pause client 2", "kill client 2", "restart client 2"}},
		{"pause-node", []string{"pause node lock", "resume node lock", "moved lock"}},
		{"kill-node", []string{"kill node lock", "start node lock", "moved lock"}},
	} {
		w, clients, _ := fakeWorld(t)
		faults, err := unleash(t.Context(), w, nemesis.Planned{Kind: c.kind, For: time.Millisecond})
		if err != nil {
			t.Errorf("%s: %v", c.kind, err)
		}
		if did := clients.all(); !slices.Equal(did, c.did) {
			t.Errorf("%s did %q, want %q", c.kind, did, c.did)
		}
		if len(faults) != 2 || !faults[1].Landed || faults[1].Proof == "" || faults[1].Healed == "" || faults[1].End < faults[1].Start+int64(time.Millisecond) {
			t.Errorf("%s is on record as %+v; want a start and an end with both proofs", c.kind, faults)
		}
	}
}

func TestHolderThatSlipsAwayIsLetGo(t *testing.T) {
	w, clients, _ := fakeWorld(t)
	clients.slips = 2
	faults, err := unleash(t.Context(), w, nemesis.Planned{Kind: "pause-client", For: time.Millisecond})
	if err != nil || len(faults) != 2 || !faults[1].Landed {
		t.Fatalf("error %v, faults %+v; want one that landed on the third try", err, faults)
	}
	if n := clients.count("pause client 2"); n != 3 || clients.count("resume client 2") != 3 {
		t.Errorf("it did %q: each stop in vain must be undone", clients.all())
	}
}

func TestNoHolderIsNoFault(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // instead of waiting for the whole search
	w, clients, _ := fakeWorld(t)
	clients.hold()
	if faults, err := unleash(ctx, w, nemesis.Planned{Kind: "kill-client"}); err != nil || len(faults) != 0 {
		t.Errorf("error %v, faults %+v; nothing was done, so nothing must be on record", err, faults)
	}
}

func TestFaultWithoutEffectIsOnRecordAsSuch(t *testing.T) {
	for _, kind := range []string{"pause-node", "kill-node"} {
		w, _, node := fakeWorld(t)
		node.stuck = true
		faults, _ := unleash(t.Context(), w, nemesis.Planned{Kind: kind, For: time.Millisecond})
		if len(faults) != 2 || faults[0].Landed || faults[1].Landed || faults[0].Error == "" {
			t.Errorf("%s had no effect and is on record as %+v; a fault without proof did not land", kind, faults)
		}
	}
}

func TestHealedWhenTheTestIsBrokenOff(t *testing.T) {
	for kind, heal := range map[string]string{
		"pause-client": "resume client 2", "kill-client": "restart client 2", "pause-node": "resume node lock", "kill-node": "start node lock",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		w, clients, _ := fakeWorld(t)
		began := time.Now()
		_, err := unleash(ctx, w, nemesis.Planned{Kind: kind, For: time.Hour})
		cancel()
		if err != nil || clients.count(heal) != 1 || time.Since(began) > 10*time.Second {
			t.Errorf("%s, broken off: error %v, did %q in %s; want it healed at once", kind, err, clients.all(), time.Since(began))
		}
	}
}

func TestHealingThatFailsIsAnError(t *testing.T) {
	broken := errors.New("broken")
	for kind, heal := range map[string]string{"pause-client": "resume client 2", "kill-node": "start node lock"} {
		w, clients, _ := fakeWorld(t)
		clients.fail[heal] = broken
		faults, err := unleash(t.Context(), w, nemesis.Planned{Kind: kind})
		if !errors.Is(err, broken) || len(faults) != 2 || faults[1].End != 0 {
			t.Errorf("%s: error %v, record %+v; want the error, and a fault without an end", kind, err, faults)
		}
	}
}

func TestFaultIsLeftOutBeforeTheTail(t *testing.T) {
	w, clients, _ := fakeWorld(t)
	r, rec := runner(w, nemesis.Planned{Kind: "kill-node", For: time.Second})
	if _, err := r.Run(t.Context(), history.Now(), history.Now()+int64(time.Millisecond)); err != nil || len(clients.all()) > 0 || len(rec.faults) > 0 {
		t.Errorf("error %v, did %q, record %+v; a fault that would reach into the tail must not begin", err, clients.all(), rec.faults)
	}
}

func TestQuietTimeBetweenFaultsIsKept(t *testing.T) {
	const gap = 40 * time.Millisecond
	w, _, node := fakeWorld(t)
	node.slow = time.Now().Add(60 * time.Millisecond)
	w.Nodes = []topology.Node{node}
	r, rec := runner(w, nemesis.Planned{Kind: "kill-node", For: time.Millisecond},
		nemesis.Planned{Kind: "kill-node", At: time.Millisecond + gap, For: time.Millisecond})
	if _, err := r.Run(t.Context(), history.Now(), history.Now()+int64(time.Minute)); err != nil || len(rec.faults) != 4 {
		t.Fatalf("error %v, faults %+v", err, rec.faults)
	}
	if quiet := time.Duration(rec.faults[2].Start - rec.faults[1].End); quiet < gap {
		t.Errorf("the second fault came %s after the first, which was late; planned were %s", quiet, gap)
	}
}
