package models_test

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"picklock/models"
)

// What is said of plain grants from what their groups keep of them is what their operations
// say: with locks that work and locks that fail, lost replies and deaths.
func TestPlainGrantsAreAsTheirOperations(t *testing.T) {
	plain, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		flaw := func(name string) float64 { return rapid.SampledFrom([]float64{0, 0, 0.05, 0.3}).Draw(t, name) }
		w := &world{
			rng:         rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)),
			lostReply:   flaw("lost replies"),
			death:       flaw("deaths"),
			doubleGrant: flaw("double grants"),
			misdelete:   flaw("misdeletes"),
		}
		h := w.run(t, rapid.IntRange(1, 8).Draw(t, "clients"), 2*simTTL)
		fields, operations, n, of := models.EachWay(h, simParams())
		plain, all = plain+n, all+of
		if fields != operations {
			t.Fatalf("by the groups' fields:\n%s\nby their operations:\n%s", fields, operations)
		}
	})
	if plain == 0 || plain == all {
		t.Errorf("%d of %d grants were plain: nothing was compared", plain, all)
	}
}
