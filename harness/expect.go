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
//
// unanswered says that some acquire or release ended without its outcome known. That a lock without
// a TTL is orphaned by a SETNX whose reply did not come is a weakness of the lock, whether
// a fault held the reply back or the machine stood still.
func Expect(t *store.Test, judged map[models.Property]*models.Judgement, unanswered bool) []store.Expected {
	lock, ok := locks.Find(t.Lock)
	if !ok {
		return nil
	}
	sale, ok := deduct.Find(t.Deduct)
	if !ok {
		return nil
	}
	known := append(slices.Clone(lock.Weaknesses), sale.Expect...)
	under := conditions(t)
	if unanswered {
		under[noAnswer] = false
	}
	fenced := sale.Fenced && slices.Contains(lock.Promises, string(models.Fencing))
	var out []store.Expected
	for _, p := range order(judged) {
		e := store.Expected{Property: string(p), Expected: "valid"}
		for _, w := range known {
			sure, applies := under[w.Fault]
			if w.Property != string(p) || w.MinClients > t.Clients || !applies {
				continue
			}
			if slices.Contains(models.StockProperties, p) && (!sale.NeedsLock || fenced) && !slices.Contains(sale.Expect, w) {
				continue // the stock is safe whatever becomes of the lock
			}
			// Without any lock, writes that undo others are certain to do so.
			certain := !w.May && sure || (len(lock.Promises) == 0 && sale.Blind && p != models.NoOversell)
			switch {
			case certain:
				e.Expected, e.Why = "violated", w.Why
			case e.Expected == "valid":
				e.Expected, e.Why = "either", w.Why
			}
		}
		if p == models.Fencing && !sale.Fenced && len(t.Schedule) > 0 && e.Expected == "valid" {
			e.Expected, e.Why = "either", "the deduction sends its token with the write, but the stock does not look at it: a late holder's write is accepted"
		}
		got := judged[p].Verdict
		e.Met = e.Expected == string(got) || (e.Expected == "either" && got != models.Unknown)
		out = append(out, e)
	}
	return out
}

// noAnswer is the condition of that name in the weaknesses of locks.
const noAnswer = "no-answer"

// conditions are the faults that weaknesses may name, and whether the test is sure to
// bring them about. Contention is always there. A schedule that was given, or that is a
// storm, has its own times and targets, so nothing is sure under it.
//
// Some faults bring others about. A killed node has also lost its memory, unless it
// syncs before each reply (with everysec the page cache keeps what was written, but a slow
// sync holds writes back for up to two seconds). Where Sentinels watch, whatever takes
// the primary away may promote a replica that has not heard of the lock.
func conditions(t *store.Test) map[string]bool {
	c := map[string]bool{"none": true}
	drawn := !t.Explicit && !slices.Contains(t.Nemesis, storm)
	kinds := slices.Clone(t.Nemesis)
	for _, p := range t.Schedule {
		kinds = append(kinds, p.Kind)
	}
	for _, k := range kinds {
		c[k] = drawn
		if t.Persistence != "always" && (k == "kill-node" || k == "power-loss") {
			c["restart-empty"] = c["restart-empty"] || drawn && k == "kill-node"
		}
		if t.Topology == "failover" && contains(takesPrimary(), k) {
			c["stale-promotion"] = c["stale-promotion"] || k == "stale-promotion" && drawn
		}
	}
	return c
}

// takesPrimary lists the faults after which Sentinels may promote a replica.
func takesPrimary() []string {
	return []string{"kill-node", "pause-node", "power-loss", "failover", "stale-promotion",
		"partition-primary", "partition-replica", "isolate-node", "cut-one-way", "fill-memory", "clock-node"}
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
