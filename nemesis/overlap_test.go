package nemesis_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/harness/topology"
	"picklock/nemesis"
)

// overlapping runs the plan with overlaps until all faults that do not stay are over.
func overlapping(t *testing.T, w nemesis.World, plan ...nemesis.Planned) (*nemesis.Runner, []history.Fault, int64) {
	t.Helper()
	r, rec := runner(w, plan...)
	r.Overlap = true
	healed, err := r.Run(t.Context(), history.Now(), history.Now()+int64(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return r, rec.faults, healed
}

// lived finds the end of fault n on record, or its start where it has no end yet.
func lived(t *testing.T, faults []history.Fault, n int) history.Fault {
	t.Helper()
	for _, f := range slices.Backward(faults) {
		if f.N == n {
			return f
		}
	}
	t.Fatalf("fault %d is not on record: %+v", n, faults)
	return history.Fault{}
}

func TestFaultsOverlap(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	w, _, _ := fakeWorld(t)
	var mu sync.Mutex
	var active []string
	r, rec := runner(w, nemesis.Planned{Kind: "pause-node", For: time.Hour},
		nemesis.Planned{Kind: "pause-client", At: 50 * time.Millisecond, For: time.Hour})
	r.Overlap = true
	r.Active = func(s string) {
		mu.Lock()
		defer mu.Unlock()
		active = append(active, s)
		if strings.Contains(s, "pause-node node lock") && strings.Contains(s, "pause-client client 2") {
			cancel() // both work: that is enough
		}
	}
	if _, err := r.Run(ctx, history.Now(), history.Now()+int64(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	one, two := lived(t, rec.faults, 1), lived(t, rec.faults, 2)
	if !errors.Is(ctx.Err(), context.Canceled) || two.Start > one.End || two.Start < one.Start {
		t.Errorf("the second fault started at %d, the first worked from %d to %d; active faults were told as %q", two.Start, one.Start, one.End, active)
	}
	if active[len(active)-1] != "" {
		t.Errorf("active faults were told as %q; want none at the end", active)
	}
}

func TestFaultsOnOneTargetDoNotContradict(t *testing.T) {
	for _, second := range []string{"pause-node", "kill-node"} {
		w, clients, _ := fakeWorld(t)
		_, faults, _ := overlapping(t, w, nemesis.Planned{Kind: "pause-node", For: 100 * time.Millisecond},
			nemesis.Planned{Kind: second, At: 20 * time.Millisecond, For: time.Millisecond})
		if a, b := lived(t, faults, 1), lived(t, faults, 2); b.Start < a.End {
			t.Errorf("%s began at %d, while the node was paused until %d: %q", second, b.Start, a.End, clients.all())
		}
	}
}

func TestFaultWaitsForAnother(t *testing.T) {
	w, _, _ := fakeWorld(t)
	_, faults, _ := overlapping(t, w,
		nemesis.Planned{Kind: "kill-client", After: 2, Recovered: true, For: time.Millisecond},
		nemesis.Planned{Kind: "pause-node", At: 30 * time.Millisecond, For: 60 * time.Millisecond},
		nemesis.Planned{Kind: "pause-client", After: 2, For: time.Millisecond, Target: "client-0"})
	node := lived(t, faults, 2)
	if kill := lived(t, faults, 1); kill.Start < node.End {
		t.Errorf("it began at %d, before the fault for whose recovery it waited was over at %d", kill.Start, node.End)
	}
	if pause := lived(t, faults, 3); pause.Start < node.Start {
		t.Errorf("it began at %d, before the fault for which it waited, at %d", pause.Start, node.Start)
	}
}

func TestFaultLastsUntilAnotherLands(t *testing.T) {
	w, clients, node := fakeWorld(t)
	plan := []nemesis.Planned{{Kind: "pause-client", Target: "client-0", Until: 2, For: 20 * time.Millisecond},
		{Kind: "pause-node", At: 80 * time.Millisecond, For: time.Millisecond}}
	_, faults, _ := overlapping(t, w, plan...)
	client, other := lived(t, faults, 1), lived(t, faults, 2)
	if after := time.Duration(client.End - other.Start); client.Start >= other.Start || after < 20*time.Millisecond {
		t.Errorf("it worked until %v after the other fault began; want 20 ms at least: %q", after, clients.all())
	}
	node.stuck = true // the other fault never lands, and this one ends all the same
	_, faults, _ = overlapping(t, w, plan...)
	if client := lived(t, faults, 1); client.End == 0 || client.Start >= client.End {
		t.Errorf("the other fault did not land, and this one did not end: %+v", client)
	}
}

func TestFaultIsLeftOutIfTheOtherNeverLands(t *testing.T) {
	w, clients, node := fakeWorld(t)
	node.stuck = true
	_, faults, _ := overlapping(t, w, nemesis.Planned{Kind: "kill-node", For: time.Millisecond},
		nemesis.Planned{Kind: "kill-client", After: 1})
	if clients.count("kill client 2") != 0 || slices.ContainsFunc(faults, func(f history.Fault) bool { return f.N == 2 }) {
		t.Errorf("the fault before it did not land, and yet it did: %q", clients.all())
	}
}

func TestFaultThatStaysIsUndoneAfterTheLoad(t *testing.T) {
	w, clients, _ := fakeWorld(t)
	began := history.Now()
	r, faults, healed := overlapping(t, w, nemesis.Planned{Kind: "hang-worker", At: 20 * time.Millisecond},
		nemesis.Planned{Kind: "clock-client", At: 20 * time.Millisecond, Target: "client-0", With: map[string]string{"offset": "-5s"}})
	want := []string{"clock of client 0 to -5s at rate 1", "hang client 2 worker 1"}
	if did := clients.all(); !slices.Equal(sorted(did), want) {
		t.Fatalf("it did %q, want %q", did, want)
	}
	if f := lived(t, faults, 1); !f.Stays || !f.Landed || f.End != 0 || f.Target != "worker 1 of client 2" {
		t.Errorf("it is on record as %+v; want a fault that stays, without an end", f)
	}
	if healed < began+int64(20*time.Millisecond) {
		t.Error("the landing of a fault that stays does not count as the last change")
	}
	if err := r.Heal(t.Context(), nemesis.OnServers); err != nil || len(clients.all()) != 2 {
		t.Errorf("error %v, did %q; the servers' turn is not the clients'", err, clients.all())
	}
	for range 2 { // the second time there is nothing left
		if err := r.Heal(t.Context(), nemesis.OnClients); err != nil {
			t.Error(err)
		}
	}
	want = append(want, "clock of client 0 to 0s at rate 1", "unhang client 2 worker 1")
	if did := clients.all(); !slices.Equal(sorted(did), sorted(want)) {
		t.Errorf("it did %q, want %q", did, want)
	}
}

func sorted(s []string) []string { s = slices.Clone(s); slices.Sort(s); return s }

func TestHangThatHasAnEndIsHealedInTime(t *testing.T) {
	w, clients, _ := fakeWorld(t)
	_, faults, _ := overlapping(t, w, nemesis.Planned{Kind: "hang-worker", For: 10 * time.Millisecond})
	if f := lived(t, faults, 1); f.Stays || f.End == 0 || clients.count("unhang client 2 worker 1") != 1 {
		t.Errorf("it is on record as %+v, and it did %q", f, clients.all())
	}
}

func TestPanicInOneFaultLeavesNoOtherUnhealed(t *testing.T) {
	w, clients, _ := fakeWorld(t)
	r, rec := runner(w, nemesis.Planned{Kind: "pause-client", For: 100 * time.Millisecond},
		nemesis.Planned{Kind: "kill-client", Target: "client-0", For: 100 * time.Millisecond})
	r.Overlap = true
	broken := w.Seconds
	r.World.Seconds = func(ns int64) float64 { // used while a holder is caught
		if clients.count("pause client 2") > 0 {
			panic("unforeseen")
		}
		return broken(ns)
	}
	if _, err := r.Run(t.Context(), history.Now(), history.Now()+int64(time.Minute)); err != nil {
		t.Error(err)
	}
	if f := lived(t, rec.faults, 1); f.Landed || !strings.Contains(f.Error, "unforeseen") || f.End == 0 {
		t.Errorf("the fault that panicked is on record as %+v", f)
	}
	if clients.count("resume client 2") != 1 || clients.count("restart client 0") != 1 {
		t.Errorf("it did %q; want the stopped client continued and the dead one restarted", clients.all())
	}
}

func TestTargets(t *testing.T) {
	for _, c := range []struct {
		target string
		did    []string
	}{
		{"client-0,client-1", []string{"pause client 0", "pause client 1"}},
		{"all", []string{"pause client 0", "pause client 1", "pause client 2"}},
		{"waiter", []string{"pause client 1"}},
	} {
		w, clients, _ := fakeWorld(t)
		clients.waiting = []nemesis.Holding{{Client: 1, Object: "lock:a", Since: 1}}
		_, faults, _ := overlapping(t, w, nemesis.Planned{Kind: "pause-client", Target: c.target, For: time.Millisecond})
		did := clients.all()
		if paused := did[:len(did)/2]; !slices.Equal(paused, c.did) || !faults[0].Landed {
			t.Errorf("target %s: did %q, want first %q; record %+v", c.target, did, c.did, faults)
		}
	}
}

func TestNodeTargetsGoByTheirRole(t *testing.T) {
	for target, want := range map[string][]string{
		"primaries": {"node lock-1"}, "replicas": {"nodes lock-2, lock-3"}, "sentinels": {"node sentinel-1"},
		"all": {"nodes lock-1, lock-2, lock-3"}, "lock-2,sentinel-1": {"nodes lock-2, sentinel-1"},
		"minority": {"node lock-1", "node lock-2", "node lock-3"},
		"majority": {"nodes lock-1, lock-2", "nodes lock-1, lock-3", "nodes lock-2, lock-3"},
	} {
		w, clients, _ := fakeWorld(t)
		w.Nodes = nil
		for _, name := range []string{"lock-1", "lock-2", "lock-3", "sentinel-1"} {
			n := newFakeNode(t, clients.diary, name)
			if name != "lock-1" {
				n.role = "slave"
			}
			if name == "sentinel-1" {
				n.kind, n.role = topology.SentinelNode, "sentinel"
			}
			w.Nodes = append(w.Nodes, n)
		}
		_, faults, _ := overlapping(t, w, nemesis.Planned{Kind: "pause-node", Target: target, For: time.Millisecond, Pick: 5})
		if f := lived(t, faults, 1); !f.Landed || !slices.Contains(want, f.Target) {
			t.Errorf("target %s: hit %q, want one of %q", target, f.Target, want)
		}
	}
}
