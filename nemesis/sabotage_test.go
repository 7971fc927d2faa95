package nemesis_test

import (
	"slices"
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/nemesis"
)

// withoutDefaults are the parameters of kinds that have none by default.
func withoutDefaults(kind string) map[string]string {
	return map[string]map[string]string{"misconfigure-client": {"lock": "uuid-lua"}}[kind]
}

// onClientsOrWire are the kinds that need no servers but the one behind the proxy.
func onClientsOrWire() []nemesis.Kind {
	return slices.DeleteFunc(nemesis.All(), func(k nemesis.Kind) bool { return k.Needs.Servers })
}

// attempt runs one fault of the kind, by default target and trigger, in a busy world.
func attempt(t *testing.T, k nemesis.Kind, sabotage bool) []history.Fault {
	w := newWiredWorld(t)
	w.traffic(t)
	w.Sabotage = sabotage
	r, rec := runner(w.World, nemesis.Planned{Kind: k.Name, For: 50 * time.Millisecond, With: withoutDefaults(k.Name)})
	_, err := r.Run(t.Context(), history.Now(), history.Now()+int64(3*time.Second))
	if err != nil && !sabotage {
		t.Errorf("run: %v", err)
	}
	for _, side := range []nemesis.Side{nemesis.OnClients, nemesis.OnServers} {
		if err := r.Heal(t.Context(), side); err != nil && !sabotage {
			t.Errorf("heal: %v", err)
		}
	}
	return rec.faults
}

func TestEveryFaultOnClientsAndWireLands(t *testing.T) {
	for _, k := range onClientsOrWire() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			faults := attempt(t, k, false)
			if len(faults) != 2 || !faults[1].Landed || faults[1].Proof == "" || faults[1].Healed == "" || faults[1].End == 0 {
				t.Errorf("it is on record as %+v; want a start and an end with both proofs", faults)
			}
		})
	}
}

// A proof that is there without the effect would make a test pass that proves nothing.
func TestNoFaultLandsThatWasMadeIneffective(t *testing.T) {
	for _, k := range nemesis.All() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			for _, f := range attempt(t, k, true) {
				if f.Landed {
					t.Errorf("nothing was done, and yet it landed: %s", f.Proof)
				}
			}
		})
	}
}
