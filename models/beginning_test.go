package models_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"picklock/harness/history"
	"picklock/models"
)

// What stands in the beginning of a history stands in all of it: --until-verdict ends a
// test on such a proof, and the final judgement must not take it back.
func TestWhatABeginningViolatesStands(t *testing.T) {
	stood := map[models.Property]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := &world{
			rng:         rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 6)),
			lostReply:   rapid.SampledFrom([]float64{0, 0.02, 0.2}).Draw(t, "lost replies"),
			death:       rapid.SampledFrom([]float64{0, 0.05}).Draw(t, "deaths"),
			doubleGrant: rapid.SampledFrom([]float64{0, 0.02}).Draw(t, "double grants"),
			misdelete:   rapid.SampledFrom([]float64{0, 0.05}).Draw(t, "misdeletes"),
			noLock:      rapid.IntRange(0, 3).Draw(t, "no lock") == 0,
			silent:      rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "silent"),
			units:       rapid.Int64Range(1, 60).Draw(t, "units"),
		}
		h := w.run(t, rapid.IntRange(2, 5).Draw(t, "clients"), rapid.Int64Range(10, 400).Draw(t, "ms")*ms)
		standsIn(t, h, simParams(), stood)
	})
	for _, id := range []models.Property{
		models.MutualExclusion, models.LeaseExclusion, models.LinearizableLock, models.Ownership,
		models.LinearizableStock, models.NoLostUpdate, models.NoOversell,
	} {
		if stood[id] == 0 {
			t.Errorf("%s was violated in no beginning: the test proves nothing of it", id)
		}
	}
}

// The same for short histories in which anything happens: what no lock would do, and what
// the simulation does not have, such as renewals and nested acquires.
func TestWhatABeginningOfAnythingViolatesStands(t *testing.T) {
	for _, reentrant := range []bool{false, true} {
		stood := map[models.Property]int{}
		rapid.Check(t, func(t *rapid.T) {
			h, err := history.Assemble(anything(t, reentrant))
			if err != nil {
				t.Fatal(err)
			}
			p := simParams()
			p.Reentrant, p.Promises = reentrant, models.LockProperties
			p.TTL = 40 * time.Nanosecond
			p.Drift = time.Nanosecond
			standsIn(t, h, p, stood)
		})
		for _, id := range slices.Concat(models.LockProperties, models.StockProperties) {
			never := id == models.Liveness || id == models.Ownership && reentrant || id == models.Reentrancy && !reentrant
			if stood[id] == 0 && !never {
				t.Errorf("reentrant %t: %s was violated in no beginning: the test proves nothing of it", reentrant, id)
			}
		}
	}
}

// standsIn cuts h at each moment at which something happened, and in between, and compares.
func standsIn(t *rapid.T, h *history.History, p models.Params, stood map[models.Property]int) {
	whole := models.Judge(h, p)
	moments := map[int64]bool{}
	for _, o := range h.Operations {
		moments[o.Invoke], moments[o.Invoke+1] = true, true
		if o.Return != history.Never {
			moments[o.Return], moments[o.Return+1] = true, true
		}
	}
	all := slices.Sorted(maps.Keys(moments))
	if len(all) > 20 { // a stretch of them, for a history of many operations
		at := rapid.IntRange(0, len(all)-20).Draw(t, "moment")
		all = all[at : at+20]
	}
	for _, at := range all {
		cut := h.At(at)
		begun := models.Judge(cut, p)
		for id := range whole.Properties {
			if !begun.Stands(id, cut, p) {
				continue
			}
			stood[id]++
			if got := whole.Properties[id].Verdict; got != models.Violated {
				t.Fatalf("%s is violated in the history up to %d, but %s in all of it: %v", id, at, got, begun.Properties[id].Violations[0])
			}
		}
	}
}

// anything draws the events of a short history: each worker does one thing after the other,
// its renewals go on beside it, and what comes of it is left to chance.
func anything(t *rapid.T, reentrant bool) []history.Event {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))
	events := []history.Event{
		{Type: history.Begin, Client: -1},
		{Type: history.StockLevel, Client: -1, Object: "sku", Stock: &history.Stock{Level: rng.Int64N(4)}},
	}
	var writes []history.Event
	id := int64(0)
	pick := func(types ...history.Type) history.Type { return types[rng.IntN(len(types))] }
	// do records an operation that begins at or after at, and tells when it ended.
	do := func(client int, op history.Op, grant, at int64, done history.Event) (int64, int64) {
		id++
		from := at + rng.Int64N(6)
		to := from + 1 + rng.Int64N(12)
		e := history.Event{
			Time: from, Type: history.Invoke, Op: op, ID: id, Process: 100*id + int64(client), Client: client,
			Object: map[bool]string{true: "sku", false: "lock"}[op == history.Deduct], Grant: grant,
		}
		events = append(events, e)
		done.Time, done.Op, done.ID, done.Process, done.Client, done.Object, done.Grant = to, op, e.ID, e.Process, client, e.Object, grant
		if op != history.Deduct {
			done.From = from + rng.Int64N(to-from)
		}
		if rng.IntN(12) > 0 {
			events = append(events, done)
		}
		if op == history.Deduct && done.Type != history.Fail || op == history.Deduct && rng.IntN(8) == 0 {
			basis := rng.Int64N(4)
			writes = append(writes, history.Event{Time: from + rng.Int64N(to-from), Type: history.LedgerEntry, Client: -1, Object: "sku",
				Ledger: &history.Ledger{Op: e.ID, Basis: &basis, Found: rng.Int64N(4), Left: basis - 1, Fence: rng.Int64N(3)}})
		}
		return e.ID, to
	}
	for client := range 1 + rng.IntN(3) {
		at := rng.Int64N(10)
		for range 1 + rng.IntN(3) {
			got := history.Event{Type: pick(history.OK, history.OK, history.Fail, history.Info), Validity: 20 + rng.Int64N(60), Fence: rng.Int64N(4)}
			if rng.IntN(8) == 0 {
				got.Belief = []string{history.BelievesHeld, history.BelievesNot, history.ReleasesAnyway}[rng.IntN(3)]
			}
			grant, end := do(client, history.Acquire, 0, at, got)
			renewed := end
			for range rng.IntN(3) {
				_, renewed = do(client, history.Extend, grant, renewed, history.Event{Type: pick(history.OK, history.Fail, history.Info), Code: history.CodeNotHeld, Validity: 40})
			}
			at = end
			holds := 1
			for range rng.IntN(4) {
				count := rng.Int64N(3)
				switch what := rng.IntN(4); {
				case what == 0:
					left := rng.Int64N(4) - 1
					_, at = do(client, history.Deduct, grant, at, history.Event{Type: pick(history.OK, history.Fail, history.Info), Left: &left, Sold: rng.IntN(2) == 0})
				case what == 1 && reentrant:
					_, at = do(client, history.Acquire, grant, at, history.Event{Type: pick(history.OK, history.Fail), Validity: 40, Count: &count})
					holds++
				case what == 2 && holds > 0:
					_, at = do(client, history.Release, grant, at, history.Event{
						Type: pick(history.OK, history.OK, history.Fail, history.Info), Code: []string{history.CodeNotHeld, history.CodeNoEffect}[rng.IntN(2)], Count: &count})
					holds--
				case what == 3 && rng.IntN(4) == 0:
					events = append(events, history.Event{Time: at, Type: history.Lost, Client: client, Object: "lock", Grant: grant})
				}
			}
		}
		if rng.IntN(4) == 0 {
			events = append(events, history.Event{Time: max(at, 1) + 20, Type: history.ClientDeath, Client: client})
		}
	}
	// The ledger has the writes in their order.
	slices.SortStableFunc(writes, func(a, b history.Event) int { return int(a.Time - b.Time) })
	for i := range writes {
		writes[i].Ledger.Seq = int64(i)
	}
	return append(append(events, writes...), history.Event{Time: 1000, Type: history.End, Client: -1})
}
