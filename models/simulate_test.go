package models_test

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"picklock/harness/history"
	"picklock/models"
)

const ms = int64(time.Millisecond)

// world is a small simulation in virtual time: clients of one worker each sell stock under
// a lock with a TTL, over a slow network that loses replies; clients die. By itself it is
// correct; its flaws can be switched on. It knows what really happened.
type world struct {
	rng    *rand.Rand
	now    int64
	end    int64 // no new acquires from here on
	queue  timers
	timers int64
	events []history.Event
	ledger []history.Event
	ids    int64
	lives  []int // of each client; what an earlier life had in mind is void

	lostReply   float64 // probability, of any reply
	death       float64 // of a client, in its section
	doubleGrant float64 // the server grants a lock that is held
	misdelete   float64 // the server deletes a lock for somebody who failed to acquire it
	noLock      bool
	silent      float64 // probability that a client reports no sale although it wrote
	units       int64   // stock at the start; 0: a million

	owner   int64 // grant that holds the lock; 0: free
	expires int64
	level   int64
	fences  map[int64]int64 // fencing token by grant; their number is the counter

	lostUpdates int // the truth
}

const (
	simTTL     = int64(time.Second)
	simTimeout = 20 * ms // of a reply; longer than any delay
)

type timer struct {
	at, n int64
	run   func()
}

type timers []timer

func (q timers) Len() int { return len(q) }
func (q timers) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].n < q[j].n
}
func (q timers) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *timers) Push(x any)   { *q = append(*q, x.(timer)) }
func (q *timers) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

func (w *world) after(d int64, f func()) {
	w.timers++
	heap.Push(&w.queue, timer{w.now + d, w.timers, f})
}

// hop is what the network takes for one way.
func (w *world) hop() int64 {
	if w.rng.IntN(20) == 0 {
		return 1 + w.rng.Int64N(8*ms)
	}
	return 1 + w.rng.Int64N(ms/2)
}

func (w *world) lucky(p float64) bool { return p > 0 && w.rng.Float64() < p }

func (w *world) record(e history.Event) {
	e.Time = w.now
	w.events = append(w.events, e)
}

// run lets the clients work until end and gives the history.
func (w *world) run(t interface{ Fatalf(string, ...any) }, clients int, end int64) *history.History {
	w.level, w.end, w.lives, w.fences = cmp.Or(w.units, 1_000_000), end, make([]int, clients), map[int64]int64{}
	w.record(history.Event{Type: history.Begin, Client: -1})
	w.record(history.Event{Type: history.StockLevel, Client: -1, Object: "sku", Stock: &history.Stock{Level: w.level}})
	for c := range clients {
		w.after(w.hop(), func() { w.loop(c, 0) })
	}
	for w.queue.Len() > 0 {
		x := heap.Pop(&w.queue).(timer)
		w.now = x.at
		x.run()
	}
	w.events = append(w.events, w.ledger...)
	w.record(history.Event{Type: history.StockLevel, Client: -1, Object: "sku", Stock: &history.Stock{Final: true, Level: w.level}})
	w.record(history.Event{Type: history.End, Client: -1})
	h, err := history.Assemble(w.events)
	if err != nil {
		t.Fatalf("the simulation made a history that contradicts itself: %v", err)
	}
	return h
}

// loop is a client's life: acquire, deduct, release, think.
func (w *world) loop(c, life int) {
	if w.lives[c] != life || w.now >= w.end {
		return
	}
	if w.noLock {
		w.deduct(c, life, 0, func() { w.after(w.hop(), func() { w.loop(c, life) }) })
		return
	}
	w.acquire(c, life)
}

// op records an invocation and gives what completes it.
func (w *world) op(c, life int, op history.Op, object string, grant int64) (id int64, complete func(history.Event)) {
	w.ids++
	e := history.Event{Type: history.Invoke, Op: op, ID: w.ids, Process: int64(1000*c + life), Client: c, Object: object, Grant: grant}
	w.record(e)
	return e.ID, func(done history.Event) {
		if w.lives[c] != life {
			return // nobody is there to hear
		}
		done.Op, done.ID, done.Process, done.Client, done.Object, done.Grant = e.Op, e.ID, e.Process, e.Client, e.Object, e.Grant
		w.record(done)
	}
}

// call sends a request, which takes effect at the server after one hop, and hands its
// reply to then after another, or nil if the reply was lost.
func (w *world) call(effect func() any, then func(reply any)) {
	lost := w.lucky(w.lostReply)
	sent := w.now
	w.after(w.hop(), func() {
		reply := effect()
		if lost {
			w.after(sent+simTimeout-w.now, func() { then(nil) })
			return
		}
		w.after(w.hop(), func() { then(reply) })
	})
}

func (w *world) acquire(c, life int) {
	id, complete := w.op(c, life, history.Acquire, "lock", 0)
	attempts := int64(0)
	var try func()
	try = func() {
		if w.lives[c] != life {
			return
		}
		attempts++
		from := w.now
		w.call(func() any {
			if w.owner != 0 && w.now < w.expires && !w.lucky(w.doubleGrant) {
				return false
			}
			w.owner, w.expires = id, w.now+simTTL
			w.fences[id] = int64(len(w.fences)) + 1
			return true
		}, func(reply any) {
			switch {
			case reply == nil:
				complete(history.Event{Type: history.Info, From: from, Attempts: attempts})
				w.after(w.hop(), func() { w.loop(c, life) })
			case reply.(bool):
				complete(history.Event{Type: history.OK, From: from, Validity: simTTL, Attempts: attempts, Fence: w.fences[id]})
				w.section(c, life, id)
			case w.now < w.end:
				if attempts > 3 && w.lucky(w.misdelete) {
					complete(history.Event{Type: history.Fail, Code: history.CodeNotAcquired, From: from, Attempts: attempts, Belief: history.ReleasesAnyway})
					w.release(c, life, id, true)
					return
				}
				w.after(w.rng.Int64N(3*ms), try)
			default:
				complete(history.Event{Type: history.Fail, Code: history.CodeNotAcquired, From: from, Attempts: attempts})
			}
		})
	}
	try()
}

func (w *world) section(c, life int, grant int64) {
	if w.lives[c] != life {
		return
	}
	if w.lucky(w.death) {
		w.after(w.rng.Int64N(10*ms), func() {
			w.lives[c]++
			w.record(history.Event{Type: history.ClientDeath, Client: c})
			w.after(50*ms, func() { w.loop(c, life+1) })
		})
	}
	w.deduct(c, life, grant, func() { w.release(c, life, grant, false) })
}

// deduct reads, thinks and writes; the write is blind and so much faster than the TTL
// that a correct lock protects it.
func (w *world) deduct(c, life int, grant int64, then func()) {
	id, complete := w.op(c, life, history.Deduct, "sku", grant)
	w.call(func() any { return w.level }, func(reply any) {
		if w.lives[c] != life {
			return
		}
		if reply == nil {
			complete(history.Event{Type: history.Fail, Code: history.CodeNotDone})
			then()
			return
		}
		basis := reply.(int64)
		w.after(w.rng.Int64N(2*ms), func() {
			if w.lives[c] != life {
				return
			}
			left := basis - 1
			w.call(func() any {
				if w.level != basis {
					w.lostUpdates++
				}
				w.ledger = append(w.ledger, history.Event{Type: history.LedgerEntry, Client: -1, Object: "sku",
					Ledger: &history.Ledger{Seq: int64(len(w.ledger)), Op: id, Basis: &basis, Found: w.level, Left: left, Fence: w.fences[grant]}})
				w.level = left
				return true
			}, func(reply any) {
				if reply == nil {
					complete(history.Event{Type: history.Info})
				} else {
					complete(history.Event{Type: history.OK, Basis: &basis, Left: &left, Sold: !w.lucky(w.silent)})
				}
				if w.lives[c] == life {
					then()
				}
			})
		})
	})
}

// release deletes the lock if it is the caller's, or in any case.
func (w *world) release(c, life int, grant int64, blind bool) {
	_, complete := w.op(c, life, history.Release, "lock", grant)
	w.call(func() any {
		if w.owner == 0 || w.now >= w.expires || w.owner != grant && !blind {
			return false
		}
		w.owner = 0
		return true
	}, func(reply any) {
		switch {
		case reply == nil:
			complete(history.Event{Type: history.Info})
		case reply.(bool):
			complete(history.Event{Type: history.OK})
		default:
			complete(history.Event{Type: history.Fail, Code: history.CodeNotHeld})
		}
		w.after(w.rng.Int64N(5*ms), func() { w.loop(c, life) })
	})
}

// simParams judge what the simulated lock promises.
func simParams() models.Params {
	return models.Params{
		Promises: []models.Property{models.MutualExclusion, models.LeaseExclusion, models.LinearizableLock, models.Ownership, models.Liveness, models.Fencing},
		TTL:      time.Duration(simTTL), Drift: 5 * time.Millisecond, MinSales: -1, MinContention: -1,
	}
}

// A correct lock is never accused, whatever replies are lost and whoever dies.
func TestCorrectLockIsNeverAccused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{
			rng:       rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)),
			lostReply: rapid.SampledFrom([]float64{0, 0.01, 0.1}).Draw(t, "lost replies"),
			death:     rapid.SampledFrom([]float64{0, 0.02, 0.2}).Draw(t, "deaths"),
		}
		h := w.run(t, rapid.IntRange(1, 5).Draw(t, "clients"), rapid.Int64Range(10, 4000).Draw(t, "ms")*ms)
		r := models.Judge(h, simParams())
		for id, j := range r.Properties {
			if j.Verdict == models.Violated {
				t.Fatalf("got %s violated by a correct lock, want a false alarm never: %v", id, j.Violations[0])
			}
			nothing := id == models.Fencing && r.Measures.Grants == 0
			if j.Verdict == models.Unknown && id != models.Liveness && !nothing {
				t.Fatalf("got %s unknown (%s), want it decided", id, j.Note)
			}
		}
		if w.lostUpdates > 0 {
			t.Fatalf("the simulated lock lost %d updates: it is not correct", w.lostUpdates)
		}
		if live := models.NewLive(simParams()); preview(live, w.events) != 0 {
			t.Fatalf("got %d violations in the live preview of a correct lock, want none", live.Violations())
		}
	})
}

// preview feeds events as they arrive: nearly in order.
func preview(l *models.Live, events []history.Event) int {
	for _, e := range events {
		l.Add(e)
	}
	return l.Violations()
}

// overlaps counts the believed holds of the simulation that began within another, by
// comparing all with all.
func overlaps(h *history.History) int {
	type hold struct{ from, to int64 }
	var holds []hold
	for _, a := range h.Operations {
		if a.Op != history.Acquire || a.Outcome != history.OutcomeOK {
			continue
		}
		x := hold{a.Return, h.End}
		for _, o := range h.Operations {
			if o.Op == history.Release && o.Grant == a.ID {
				x.to = min(x.to, o.Invoke)
			}
		}
		for _, d := range h.Deaths {
			if d.Client == a.Client && d.Time >= a.Return {
				x.to = min(x.to, d.Time)
			}
		}
		holds = append(holds, x)
	}
	n := 0
	for i, x := range holds {
		for k, y := range holds {
			if i != k && x.to > x.from && y.to > y.from && (y.from < x.from || y.from == x.from && k < i) && x.from < y.to {
				n++
				break
			}
		}
	}
	return n
}

// A lock that is granted twice is caught exactly when two clients were inside together.
func TestDoubleGrantIsCaught(t *testing.T) {
	caught := 0
	rapid.Check(t, func(t *rapid.T) {
		w := &world{
			rng:         rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2)),
			lostReply:   rapid.SampledFrom([]float64{0, 0.01}).Draw(t, "lost replies"),
			death:       rapid.SampledFrom([]float64{0, 0.02}).Draw(t, "deaths"),
			doubleGrant: rapid.SampledFrom([]float64{0.001, 0.02}).Draw(t, "double grants"),
		}
		h := w.run(t, rapid.IntRange(2, 5).Draw(t, "clients"), 1000*ms)
		r := models.Judge(h, simParams())
		n := overlaps(h)
		if got := r.Properties[models.MutualExclusion].Count; got != n {
			t.Fatalf("got %d overlapping holds, want %d: the sweep must find what comparing all with all finds", got, n)
		}
		if got := preview(models.NewLive(simParams()), w.events) - w.lostUpdates; got != n {
			t.Fatalf("got %d overlapping holds in the live preview, want %d", got, n)
		}
		if n == 0 {
			return
		}
		caught++
		for _, id := range []models.Property{models.LeaseExclusion, models.LinearizableLock} {
			if j := r.Properties[id]; j.Verdict != models.Violated {
				t.Fatalf("got %s %s, want violated: %d holds overlapped within their leases", id, j.Verdict, n)
			}
		}
		if r.Verdict != models.Violated {
			t.Fatalf("got verdict %s, want violated", r.Verdict)
		}
	})
	if caught == 0 {
		t.Error("no case had overlapping holds: the test proves nothing")
	}
}

// Lost updates are caught exactly as they happened, and the counter model agrees.
func TestLostUpdatesAreCaught(t *testing.T) {
	caught := 0
	rapid.Check(t, func(t *rapid.T) {
		w := &world{rng: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3)), noLock: true,
			lostReply: rapid.SampledFrom([]float64{0, 0.02}).Draw(t, "lost replies")}
		h := w.run(t, rapid.IntRange(1, 5).Draw(t, "clients"), 300*ms)
		p := simParams()
		p.Promises = nil
		r := models.Judge(h, p)
		if got := r.Properties[models.NoLostUpdate].Count; got != w.lostUpdates {
			t.Fatalf("got %d lost updates, want %d", got, w.lostUpdates)
		}
		if got := preview(models.NewLive(p), w.events); got != w.lostUpdates {
			t.Fatalf("got %d violations in the live preview, want %d lost updates", got, w.lostUpdates)
		}
		want := models.Valid
		if w.lostUpdates > 0 {
			want = models.Violated
			caught++
		}
		if got := r.Properties[models.LinearizableStock].Verdict; got != want {
			t.Fatalf("got linearizable-stock %s with %d lost updates, want %s", got, w.lostUpdates, want)
		}
	})
	if caught == 0 {
		t.Error("no case lost an update: the test proves nothing")
	}
}

// A blind delete by somebody who failed to acquire is always an ownership violation when
// the owner's lease covered it.
func TestMisdeleteIsCaught(t *testing.T) {
	caught := 0
	rapid.Check(t, func(t *rapid.T) {
		w := &world{rng: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 4)), misdelete: 0.02}
		h := w.run(t, 4, 1000*ms)
		want := 0
		for _, o := range h.Operations {
			if o.Op != history.Release || o.Outcome != history.OutcomeOK {
				continue
			}
			for _, a := range h.Operations {
				if a.ID == o.Grant && a.Outcome == history.OutcomeFail && heldThroughout(h, o) {
					want++
				}
			}
		}
		got := 0
		for _, v := range models.Judge(h, simParams()).Properties[models.Ownership].Violations {
			if v.Kind != "foreign-release" {
				t.Fatalf("got kind %q, want foreign-release", v.Kind)
			}
			got++
		}
		if want > 0 {
			caught++
		}
		if want > 0 && got == 0 {
			t.Fatalf("got no ownership violation, want some: %d deletes hit a lock that its owner held", want)
		}
	})
	if caught == 0 {
		t.Error("no case deleted a lock that was held: the test proves nothing")
	}
}

// heldThroughout says whether another grant was inside during all of o.
func heldThroughout(h *history.History, o history.Operation) bool {
	for _, a := range h.Operations {
		if a.Op != history.Acquire || a.Outcome != history.OutcomeOK || a.ID == o.Grant || a.Return >= o.Invoke {
			continue
		}
		inside := true
		for _, r := range h.Operations {
			if r.Op == history.Release && r.Grant == a.ID && r.Invoke <= o.Return {
				inside = false
			}
		}
		if inside && o.Return < a.From+simTTL-5*ms {
			return true
		}
	}
	return false
}

// Long histories with many unknown operations and one late violation are decided: this is
// what makes porcupine search for ever if it is given them whole.
func TestLongHistoriesAreDecided(t *testing.T) {
	for _, flaw := range []float64{0, 0.0005} {
		w := &world{rng: rand.New(rand.NewPCG(5, 5)), lostReply: 0.05, death: 0.01, doubleGrant: flaw}
		h := w.run(t, 10, 200_000*ms)
		p := simParams()
		p.PorcupineTimeout = 20 * time.Second
		r := models.Judge(h, p)
		want := models.Valid
		if flaw > 0 {
			want = models.Violated
		}
		for _, id := range []models.Property{models.LinearizableLock, models.LinearizableStock} {
			if j := r.Properties[id]; j.Verdict == models.Unknown || id == models.LinearizableLock && j.Verdict != want {
				t.Errorf("got %s %s of %d operations (%s), want it decided, and the lock %s", id, j.Verdict, len(h.Operations), j.Note, want)
			}
		}
	}
}
