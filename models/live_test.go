package models_test

import (
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"picklock/harness/history"
	"picklock/models"
)

func TestLive(t *testing.T) {
	ok := func(at int64, client int, id int64) history.Event {
		return history.Event{Time: at, Type: history.OK, Op: history.Acquire, ID: id, Client: client, Object: "lock"}
	}
	release := func(at int64, client int, grant int64) history.Event {
		return history.Event{Time: at, Type: history.Invoke, Op: history.Release, ID: 100 + grant, Client: client, Object: "lock", Grant: grant}
	}
	with := func(e history.Event, change func(*history.Event)) history.Event { change(&e); return e }
	basis := int64(10)
	for _, c := range []struct {
		name   string
		events []history.Event
		want   int
	}{
		{"one after the other", []history.Event{ok(1, 0, 1), release(5, 0, 1), ok(6, 1, 2)}, 0},
		{"touching", []history.Event{ok(1, 0, 1), release(5, 0, 1), ok(5, 1, 2)}, 0},
		{"overlapping", []history.Event{ok(1, 0, 1), ok(4, 1, 2), release(5, 0, 1)}, 1},
		{"three at once", []history.Event{ok(1, 0, 1), ok(4, 1, 2), ok(5, 2, 3)}, 2},
		{"a release that arrives late", []history.Event{ok(1, 0, 1), ok(6, 1, 2), release(5, 0, 1)}, 0},
		{"an acquire that arrives late", []history.Event{ok(6, 1, 2), ok(1, 0, 1), release(7, 0, 1)}, 1},
		{"a death", []history.Event{ok(1, 0, 1), {Time: 3, Type: history.ClientDeath, Client: 0}, ok(4, 1, 2)}, 0},
		{"a death of an earlier life", []history.Event{ok(3, 0, 1), {Time: 2, Type: history.ClientDeath, Client: 0}, ok(4, 1, 2)}, 1},
		{"a loss", []history.Event{ok(1, 0, 1), {Time: 3, Type: history.Lost, Grant: 1}, ok(4, 1, 2)}, 0},
		{"leaves", []history.Event{with(ok(1, 0, 1), func(e *history.Event) { e.Belief = history.BelievesNot }), ok(4, 1, 2)}, 0},
		{"fails", []history.Event{ok(1, 0, 1), with(ok(4, 1, 2), func(e *history.Event) { e.Type = history.Fail })}, 0},
		{"enters all the same", []history.Event{ok(1, 0, 1), with(ok(4, 1, 2), func(e *history.Event) { e.Type, e.Belief = history.Fail, history.BelievesHeld })}, 1},
		{"re-entered", []history.Event{ok(1, 0, 1), with(ok(2, 0, 2), func(e *history.Event) { e.Grant = 1 }), release(3, 0, 1), ok(4, 1, 3), release(5, 0, 1), ok(6, 2, 4)}, 2},
		{"another lock", []history.Event{ok(1, 0, 1), with(ok(4, 1, 2), func(e *history.Event) { e.Object = "other" })}, 0},
		{"a lost update", []history.Event{{Type: history.LedgerEntry, Ledger: &history.Ledger{Basis: &basis, Found: 9}}}, 1},
		{"a write that found its basis", []history.Event{{Type: history.LedgerEntry, Ledger: &history.Ledger{Basis: &basis, Found: 10}}}, 0},
		{"a relative write", []history.Event{{Type: history.LedgerEntry, Ledger: &history.Ledger{Found: 10}}}, 0},
	} {
		l := models.NewLive(models.Params{Promises: []models.Property{models.MutualExclusion}})
		if got := preview(l, c.events); got != c.want {
			t.Errorf("%s: got %d violations, want %d: the live line would mislead", c.name, got, c.want)
		}
	}
}

// A lock that promises nothing has no holds to count; owners that never release do not
// make Live grow or forget what it counted.
func TestLiveBounds(t *testing.T) {
	for _, c := range []struct {
		promises []models.Property
		want     int
	}{{nil, 0}, {[]models.Property{models.MutualExclusion}, 999}} {
		l := models.NewLive(models.Params{Promises: c.promises})
		for i := range int64(1000) {
			l.Add(history.Event{Time: i, Type: history.OK, Op: history.Acquire, ID: i + 1, Client: int(i), Object: "lock"})
		}
		if got := l.Violations(); got != c.want {
			t.Errorf("promises %v: got %d violations, want %d", c.promises, got, c.want)
		}
	}
}

// The pictures can be drawn, are small however long the history is, and give each worker
// a line.
func TestPictures(t *testing.T) {
	w := &world{rng: rand.New(rand.NewPCG(6, 6)), doubleGrant: 0.0005, lostReply: 0.02}
	h := w.run(t, 8, 60_000*ms)
	r := models.Judge(h, simParams())
	for _, id := range []models.Property{models.LinearizableLock, models.LinearizableStock} {
		j := r.Properties[id]
		if j.Verdict != models.Violated || len(j.Pictures) != 1 {
			t.Fatalf("got %s %s with %d pictures, want it violated and drawn", id, j.Verdict, len(j.Pictures))
		}
		p := j.Pictures[0]
		if err := porcupine.Visualize(p.Model, p.Info, io.Discard); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		n := 0
		for _, partial := range p.Info.PartialLinearizationsOperations() {
			for _, ops := range partial {
				n = max(n, len(ops))
				for _, o := range ops {
					if o.ClientId < 0 || o.ClientId > 200 || o.Return < o.Call || o.Return > h.End+1 {
						t.Errorf("%s: got line %d from %d to %d, want a small line and times of the history", id, o.ClientId, o.Call, o.Return)
					}
				}
			}
		}
		if n == 0 || n > 200 {
			t.Errorf("%s: got %d operations drawn of %d, want a few", id, n, len(h.Operations))
		}
	}
}

// The cuts save time and change nothing: no verdict may depend on how finely histories are cut.
func TestCuttingDoesNotMatter(t *testing.T) {
	for seed := range uint64(6) {
		w := &world{rng: rand.New(rand.NewPCG(seed, 7)), doubleGrant: 0.002, lostReply: 0.02, death: 0.01, noLock: seed%3 == 2}
		h := w.run(t, 4, 3000*ms)
		p := models.Params{TTL: time.Second, PorcupineTimeout: 20 * time.Second}
		lock, stock, _ := models.JudgeInPieces(h, p, 1<<30, 1<<30)
		for _, size := range []int{1, 7, 64} {
			l, s, _ := models.JudgeInPieces(h, p, size, size)
			if l.Verdict != lock.Verdict || s.Verdict != stock.Verdict {
				t.Errorf("seed %d, pieces of %d: got lock %s and stock %s, want %s and %s as for the whole", seed, size, l.Verdict, s.Verdict, lock.Verdict, stock.Verdict)
			}
		}
	}
}
