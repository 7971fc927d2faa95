package nemesis

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// countedClients are so many clients, some of which hold.
type countedClients struct {
	Clients
	n       int
	holding []Holding
}

func (c countedClients) Count() int                  { return c.n }
func (c countedClients) Holders() ([]Holding, error) { return c.holding, nil }

// TestSides: whatever is drawn, every client is on exactly one side, so many as was asked
// for are near the primary, and one that holds a lock is among them.
func TestSides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := countedClients{n: rapid.IntRange(1, 9).Draw(t, "clients")}
		if rapid.Bool().Draw(t, "held") {
			c.holding = []Holding{{Client: rapid.IntRange(0, c.n-1).Draw(t, "holder")}}
		}
		count := rapid.IntRange(0, 10).Draw(t, "count") // 0: half
		want, word := min(count, c.n), strconv.Itoa(count)
		if count == 0 {
			want, word = max(1, c.n/2), half
		}
		near, far := World{Clients: c}.sides(Planned{Pick: rapid.Uint64().Draw(t, "pick"), With: map[string]string{"count": word}})
		all := slices.Sorted(slices.Values(slices.Concat(near, far)))
		if len(near) != want || !slices.Equal(all, World{Clients: c}.allClients()) {
			t.Fatalf("%d clients, count %s: got %v near and %v far, want %d near and everybody once", c.n, word, near, far, want)
		}
		if len(c.holding) > 0 && !slices.Contains(near, c.holding[0].Client) {
			t.Fatalf("client %d holds and is not near the primary: %v", c.holding[0].Client, near)
		}
	})
}

// TestFreshHolder: the hold with most time left counts, unless a frame triggered.
func TestFreshHolder(t *testing.T) {
	w := World{Clients: countedClients{n: 3, holding: []Holding{{Client: 0, Since: 1}, {Client: 1, Since: 3}, {Client: 2, Since: 2}}}}
	if h, ok := w.freshHolder(); !ok || h.Client != 1 {
		t.Errorf("got client %d, %t; want 1, who was granted its lock last", h.Client, ok)
	}
	w.Hit = &Hit{}
	if h, ok := w.freshHolder(); !ok || h.Client != 0 {
		t.Errorf("got client %d, %t; want 0, whose frame triggered", h.Client, ok)
	}
	if h, ok := (World{Clients: countedClients{}}).freshHolder(); ok {
		t.Errorf("got %+v, want nobody", h)
	}
}
