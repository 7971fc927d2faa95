package harness

import (
	"slices"

	"picklock/harness/store"
	"picklock/locks"
	"picklock/locks/deduct"
	"picklock/models"
)

// Expect compares what was judged with what is known of the lock and the deduction under
// the test's faults, property by property, so that an expected overlap never hides a
// new lost update.
func Expect(t *store.Test, judged map[models.Property]*models.Judgement) []store.Expected {
	lock, ok := locks.Find(t.Lock)
	if !ok {
		return nil
	}
	sale, ok := deduct.Find(t.Deduct)
	if !ok {
		return nil
	}
	known := append(slices.Clone(lock.Weaknesses), sale.Expect...)
	var out []store.Expected
	for _, p := range order(judged) {
		e := store.Expected{Property: string(p), Expected: "valid"}
		for _, w := range known {
			if w.Property != string(p) || w.MinClients > t.Clients || !slices.Contains(conditions(t), w.Fault) {
				continue
			}
			if slices.Contains(models.StockProperties, p) && !sale.NeedsLock && !slices.Contains(sale.Expect, w) {
				continue // the stock is safe whatever becomes of the lock
			}
			// Without any lock, writes that undo others are certain to do so.
			certain := !w.May || (len(lock.Promises) == 0 && sale.Blind && p != models.NoOversell)
			switch {
			case certain:
				e.Expected, e.Why = "violated", w.Why
			case e.Expected == "valid":
				e.Expected, e.Why = "either", w.Why
			}
		}
		got := judged[p].Verdict
		e.Met = e.Expected == string(got) || (e.Expected == "either" && got != models.Unknown)
		out = append(out, e)
	}
	return out
}

// conditions are the faults that weaknesses may name: contention is always there, and a
// killed node has also lost its memory, unless it syncs before each reply. (With everysec
// the page cache keeps what was written, but a slow sync holds writes back for up to two
// seconds.)
func conditions(t *store.Test) []string {
	c := append([]string{"none"}, t.Nemesis...)
	if t.Persistence != "always" && slices.Contains(t.Nemesis, "kill-node") {
		c = append(c, "restart-empty")
	}
	return c
}

// order lists the judged properties as DESIGN.md does.
func order(judged map[models.Property]*models.Judgement) []models.Property {
	var out []models.Property
	for _, p := range slices.Concat(models.LockProperties, models.StockProperties) {
		if judged[p] != nil {
			out = append(out, p)
		}
	}
	return out
}
