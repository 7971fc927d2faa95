package reports_test

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"picklock/harness/history"
)

// plan is a made-up test: a lock with a TTL whose release deletes the key whoever owns
// it, a read-then-write deduction, one client that is stopped while it holds, and one
// that is killed.
type plan struct {
	clients, workers int
	length           time.Duration
	think, ttl       time.Duration
	pauseAt, pause   time.Duration // of the next holder after pauseAt; 0: none
	killAt           time.Duration // of the next holder after killAt; 0: none
}

func usual() plan {
	return plan{
		clients: 5, workers: 2, length: 15 * time.Second, think: 50 * time.Millisecond, ttl: time.Second,
		pauseAt: 4 * time.Second, pause: 2400 * time.Millisecond, killAt: 10 * time.Second,
	}
}

// origin is where the made-up clock stands when the load begins.
const origin = int64(8_000_000_000_000)

// world is the made-up server and its clients: a simulation by events, so that what the
// reports show has the structure of the real thing.
type world struct {
	plan
	rand   *rand.Rand
	queue  steps
	events []history.Event
	nextID int64

	owner, expires int64 // grant that has the lock, 0: free
	stock, seq     int64
	pausedClient   int
	pausedTo       int64
	deadClient     int
	fault          int
}

type worker struct {
	client, index int
	process       int64
	grant, basis  int64
	begun         int64 // invocation of what it is doing
	attempts      int64
	dead          bool
}

type step struct {
	at int64
	w  *worker
	do func(*worker, int64)
	n  int64 // order among equals
}

type steps []step

func (s steps) Len() int { return len(s) }
func (s steps) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(s[i].at, s[j].at), cmp.Compare(s[i].n, s[j].n)) < 0
}
func (s steps) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *steps) Push(x any)   { *s = append(*s, x.(step)) }
func (s *steps) Pop() any     { x := (*s)[len(*s)-1]; *s = (*s)[:len(*s)-1]; return x }

// record gives the history of the plan.
func (p plan) record(t testing.TB) *history.History {
	t.Helper()
	w := &world{plan: p, rand: rand.New(rand.NewPCG(7, 7)), stock: 100_000, pausedClient: -1, deadClient: -1}
	w.event(history.Event{Time: origin, Type: history.Begin, Client: -1})
	w.event(history.Event{Time: origin, Type: history.StockLevel, Object: "sku-0", Stock: &history.Stock{Level: w.stock}})
	for c := range p.clients {
		for i := range p.workers {
			w.later(&worker{client: c, index: i, process: int64(c*p.workers + i)}, origin, w.jitter(20*time.Millisecond), w.invokeAcquire)
		}
	}
	end := origin + int64(p.length)
	last := origin
	for w.queue.Len() > 0 {
		s := heap.Pop(&w.queue).(step)
		if s.at > end {
			break
		}
		if s.w.dead {
			continue
		}
		if s.w.client == w.pausedClient && s.at < w.pausedTo { // stopped: it goes on when it is continued
			s.at = w.pausedTo + w.jitter(time.Millisecond)
			heap.Push(&w.queue, s)
			continue
		}
		last = s.at
		s.do(s.w, s.at)
	}
	w.event(history.Event{Time: last, Type: history.StockLevel, Object: "sku-0", Stock: &history.Stock{Final: true, Level: w.stock}})
	w.event(history.Event{Time: last + 1, Type: history.End, Client: -1})
	h, err := history.Assemble(w.events)
	if err != nil {
		t.Fatalf("the made-up history contradicts itself: %v", err)
	}
	return h
}

func (w *world) event(e history.Event) { w.events = append(w.events, e) }

func (w *world) jitter(d time.Duration) int64 { return w.rand.Int64N(int64(d)) + 1 }

func (w *world) later(k *worker, now, in int64, do func(*worker, int64)) {
	w.nextID++ // steps share the operations' counter: only the order matters
	heap.Push(&w.queue, step{now + in, k, do, w.nextID})
}

func (w *world) op(k *worker, t int64, typ history.Type, op history.Op, id int64, object string) history.Event {
	return history.Event{Time: t, Type: typ, Op: op, ID: id, Process: k.process, Client: k.client, Worker: k.index, Object: object}
}

const us = int64(time.Microsecond)

func (w *world) invokeAcquire(k *worker, t int64) {
	w.nextID++
	k.grant, k.begun, k.attempts = w.nextID, t, 0
	w.event(w.op(k, t, history.Invoke, history.Acquire, k.grant, "lock:sku-0"))
	w.later(k, t, 150*us, w.attempt)
}

func (w *world) attempt(k *worker, t int64) {
	k.attempts++
	if w.owner != 0 && t < w.expires {
		w.later(k, t, int64(4*time.Millisecond)+w.jitter(4*time.Millisecond), w.attempt)
		return
	}
	w.owner, w.expires = k.grant, t+int64(w.ttl)
	from := t - 150*us
	w.later(k, t, 150*us, func(k *worker, t int64) {
		e := w.op(k, t, history.OK, history.Acquire, k.grant, "lock:sku-0")
		e.Token, e.From, e.Validity, e.Attempts = "locked", from, int64(w.ttl), k.attempts
		w.event(e)
		w.strike(k, t)
		w.later(k, t, 60*us, w.deduct)
	})
}

// strike injects the planned faults into a client that has just been granted the lock.
func (w *world) strike(k *worker, t int64) {
	since := time.Duration(t - origin)
	at := t + int64(w.think)/3
	switch {
	case w.pauseAt > 0 && since > w.pauseAt:
		w.pauseAt, w.pausedClient, w.pausedTo = 0, k.client, at+int64(w.pause)
		f := w.newFault("pause-client", k, at)
		w.event(history.Event{Time: at, Type: history.FaultStart, Client: -1, Fault: &f})
		f.End, f.Healed = w.pausedTo, "process 4711 is in state S (sleeping)"
		f.Proof = fmt.Sprintf("process 4711 is in state T (stopped); its last event is the grant %d without a release", k.grant)
		w.event(history.Event{Time: w.pausedTo, Type: history.FaultEnd, Client: -1, Fault: &f})
	case w.killAt > 0 && since > w.killAt && k.client != w.pausedClient:
		w.killAt = 0
		f := w.newFault("kill-client", k, at)
		w.event(history.Event{Time: at, Type: history.FaultStart, Client: -1, Fault: &f})
		w.later(k, t, at-t, func(k *worker, t int64) {
			w.event(history.Event{Time: t, Type: history.ClientDeath, Client: k.client})
			k.dead = true
			for i := range w.queue {
				if w.queue[i].w.client == k.client {
					w.queue[i].w.dead = true
				}
			}
			for i := range w.workers {
				n := &worker{client: k.client, index: i, process: 100 + int64(k.client*w.workers+i)}
				w.later(n, t, int64(700*time.Millisecond)+w.jitter(time.Millisecond), w.invokeAcquire)
			}
			f.End, f.Proof, f.Healed = t+int64(700*time.Millisecond), "process 4733 was reaped: signal: killed", "process 4790 is up"
			w.event(history.Event{Time: f.End, Type: history.FaultEnd, Client: -1, Fault: &f})
		})
	}
}

func (w *world) newFault(kind string, k *worker, at int64) history.Fault {
	w.fault++
	return history.Fault{N: w.fault, Kind: kind, Target: fmt.Sprintf("client %d", k.client), Client: k.client, Start: at, Landed: true}
}

func (w *world) deduct(k *worker, t int64) {
	w.nextID++
	id := w.nextID
	e := w.op(k, t, history.Invoke, history.Deduct, id, "sku-0")
	e.Grant = k.grant
	w.event(e)
	w.later(k, t, 150*us, func(k *worker, t int64) {
		k.basis = w.stock
		w.later(k, t, int64(w.think), func(k *worker, t int64) {
			basis, left := k.basis, k.basis-1
			w.event(history.Event{Time: t, Type: history.LedgerEntry, Client: -1, Object: "sku-0",
				Ledger: &history.Ledger{Seq: w.seq, Op: id, Basis: &basis, Found: w.stock, Left: left}})
			w.seq++
			w.stock = left
			w.later(k, t, 150*us, func(k *worker, t int64) {
				e := w.op(k, t, history.OK, history.Deduct, id, "sku-0")
				e.Grant, e.Basis, e.Left, e.Sold = k.grant, &basis, &left, true
				w.event(e)
				w.later(k, t, 60*us, w.release)
			})
		})
	})
}

func (w *world) release(k *worker, t int64) {
	w.nextID++
	id := w.nextID
	e := w.op(k, t, history.Invoke, history.Release, id, "lock:sku-0")
	e.Grant = k.grant
	w.event(e)
	w.later(k, t, 150*us, func(k *worker, t int64) {
		held := w.owner != 0 && t < w.expires
		w.owner = 0
		w.later(k, t, 150*us, func(k *worker, t int64) {
			e := w.op(k, t, history.OK, history.Release, id, "lock:sku-0")
			e.Grant = k.grant
			if !held {
				e.Type, e.Code, e.Error = history.Fail, history.CodeNotHeld, "the key was gone"
			}
			w.event(e)
			w.later(k, t, w.jitter(3*time.Millisecond), w.invokeAcquire)
		})
	})
}

// earliestFirst sorts operations as a reader meets them.
func earliestFirst(ops []*history.Operation) {
	slices.SortFunc(ops, func(a, b *history.Operation) int { return cmp.Compare(a.Invoke, b.Invoke) })
}
