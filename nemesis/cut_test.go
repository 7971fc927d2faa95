package nemesis_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"picklock/harness/topology"
	"picklock/nemesis"
)

// fakeFailover is a world of one primary, two replicas and three Sentinels.
func fakeFailover(t *testing.T) (w nemesis.World, d *diary, nodes map[string]*fakeNode) {
	t.Helper()
	w, clients, _ := fakeWorld(t)
	nodes = map[string]*fakeNode{}
	w.Nodes = nil
	for _, name := range []string{"lock-1", "lock-2", "lock-3", "sentinel-1", "sentinel-2", "sentinel-3"} {
		n := newFakeNode(t, clients.diary, name)
		if strings.HasPrefix(name, "sentinel") {
			n.kind, n.role = topology.SentinelNode, "sentinel"
		} else if name != "lock-1" {
			n.role = "slave"
		}
		nodes[name] = n
		w.Nodes = append(w.Nodes, n)
	}
	return w, clients.diary, nodes
}

func TestCutsAreWhatTheyPromise(t *testing.T) {
	for _, c := range []struct {
		plan   nemesis.Planned
		target string
		cut    []string // "AT from FROM", sorted
	}{
		{
			nemesis.Planned{Kind: "partition-replica"}, "lock-2, lock-3 apart from lock-1",
			[]string{"lock-1 from lock-2", "lock-1 from lock-3", "lock-2 from lock-1", "lock-3 from lock-1"},
		},
		{
			nemesis.Planned{Kind: "partition-replica", Target: "lock-3"}, "lock-3 apart from lock-1",
			[]string{"lock-1 from lock-3", "lock-3 from lock-1"},
		},
		{
			nemesis.Planned{Kind: "partition-primary"}, "node lock-1",
			[]string{
				"lock-1 from lock-2", "lock-1 from lock-3", "lock-1 from sentinel-1", "lock-1 from sentinel-2", "lock-1 from sentinel-3",
				"lock-2 from lock-1", "lock-3 from lock-1", "sentinel-1 from lock-1", "sentinel-2 from lock-1", "sentinel-3 from lock-1",
			},
		},
		{
			nemesis.Planned{Kind: "isolate-node", Target: "sentinel-2"}, "node sentinel-2",
			[]string{
				"lock-1 from sentinel-2", "lock-2 from sentinel-2", "lock-3 from sentinel-2", "sentinel-1 from sentinel-2",
				"sentinel-2 from lock-1", "sentinel-2 from lock-2", "sentinel-2 from lock-3", "sentinel-2 from sentinel-1", "sentinel-2 from sentinel-3",
				"sentinel-3 from sentinel-2",
			},
		},
		{
			nemesis.Planned{Kind: "cut-one-way"}, "lock-2, lock-3 deaf to lock-1",
			[]string{"lock-2 from lock-1", "lock-3 from lock-1"},
		},
		{
			nemesis.Planned{Kind: "cut-one-way", Target: "sentinel-1", With: map[string]string{"from": "lock-1,sentinel-2"}}, "sentinel-1 deaf to lock-1, sentinel-2",
			[]string{"sentinel-1 from lock-1", "sentinel-1 from sentinel-2"},
		},
	} {
		w, d, _ := fakeFailover(t)
		faults, err := unleash(t.Context(), w, c.plan)
		if err != nil || len(faults) != 2 || !faults[1].Landed || faults[1].Proof == "" || faults[1].Healed == "" {
			t.Fatalf("%s: error %v, record %+v; want it landed and healed", c.plan.Kind, err, faults)
		}
		if faults[0].Target != c.target {
			t.Errorf("%s hit %q, want %q", c.plan.Kind, faults[0].Target, c.target)
		}
		for _, verb := range []string{"block ", "unblock "} {
			var did []string
			for _, s := range d.all() {
				if rest, ok := strings.CutPrefix(s, verb); ok {
					did = append(did, rest)
				}
			}
			if slices.Sort(did); !slices.Equal(did, c.cut) {
				t.Errorf("%s did %s%q, want %q", c.plan.Kind, verb, did, c.cut)
			}
		}
	}
}

// TestCutThatIsTooWideHasNotLanded: a cut in one direction that cuts both is another fault.
func TestCutThatIsTooWideHasNotLanded(t *testing.T) {
	w, _, nodes := fakeFailover(t)
	nodes["lock-1"].blocked["lock-2"] = true
	faults, err := unleash(t.Context(), w, nemesis.Planned{Kind: "cut-one-way", Target: "lock-2"})
	if err != nil || len(faults) != 2 || faults[1].Landed {
		t.Errorf("error %v, record %+v; lock-1 does not hear lock-2 either, so nothing was cut one way", err, faults)
	}
}

func TestCutWithoutEffectHasNotLanded(t *testing.T) {
	for _, kind := range []string{"partition-replica", "partition-primary", "isolate-node", "cut-one-way"} {
		w, _, nodes := fakeFailover(t)
		for _, n := range nodes {
			n.stuck = true
		}
		faults, err := unleash(t.Context(), w, nemesis.Planned{Kind: kind, For: time.Millisecond})
		if err != nil || len(faults) != 2 || faults[1].Landed || faults[1].Error == "" {
			t.Errorf("%s: error %v, record %+v; nodes still hear each other, so it did not land", kind, err, faults)
		}
	}
}
