package models_test

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"picklock/harness/history"
)

// A small world of servers that copy each other, of which several may take writes at once,
// and of workers who lock and unlock one key on whatever server they are connected to. It
// knows what the record cannot: whose key each effect met. Times are ms until finish.

const (
	worldTTL     = 600
	worldSamples = 100 // between two looks at the roles; sometimes it is three times that
)

type worldServer struct {
	primary bool
	of      int   // whose replica it is
	cut     bool  // it hears nothing of that
	since   int64 // of its role
	owner   int64 // grant whose key it has; 0: none
	expires int64
	seen    string // role, as it was recorded
}

type worldWorker struct {
	next int64 // of its next step
	step func()
	at   int // server that it is connected to
}

type ownerWorld struct {
	rng     *rand.Rand
	compare bool // releases compare before they delete
	endless bool // keys have no TTL
	now     int64
	servers []worldServer
	named   int // whom newcomers are sent to
	workers []worldWorker
	h       *history.History
	id      int64
	met     map[int64]int64 // of releases and renewals that took effect: the grant whose key they met
}

func newOwnerWorld(rng *rand.Rand) *ownerWorld {
	w := &ownerWorld{
		rng: rng, compare: rng.IntN(3) == 0, endless: rng.IntN(4) == 0,
		servers: make([]worldServer, 3), workers: make([]worldWorker, 4),
		h: &history.History{Complete: true, Stock: map[string]history.Levels{}}, met: map[int64]int64{},
	}
	w.servers[0].primary = true
	for i := range w.workers {
		w.idle(i)
	}
	return w
}

func (w *ownerWorld) soon(n int64) int64 { return w.now + 1 + w.rng.Int64N(n) }
func (w *ownerWorld) oneIn(n int) bool   { return w.rng.IntN(n) == 0 }

// run lets everybody work for a while and gives the record.
func (w *ownerWorld) run() *history.History {
	sample, turn := w.rng.Int64N(worldSamples), w.soon(300)
	for w.now < 4000 {
		first := 0
		for i := range w.workers {
			if w.workers[i].next < w.workers[first].next {
				first = i
			}
		}
		w.now = min(w.workers[first].next, sample, turn)
		w.copy()
		switch w.now {
		case sample:
			w.look()
			sample += worldSamples
			if w.oneIn(4) {
				sample += 2 * worldSamples
			}
		case turn:
			w.turn()
			turn = w.soon(400)
		default:
			w.workers[first].step()
		}
	}
	return w.finish()
}

// copy brings the replicas that hear their primary up to date, mostly.
func (w *ownerWorld) copy() {
	for i := range w.servers {
		s := &w.servers[i]
		if !s.primary && !s.cut && !w.oneIn(5) {
			s.owner, s.expires = w.servers[s.of].owner, w.servers[s.of].expires
		}
	}
}

// look records the roles that have changed.
func (w *ownerWorld) look() {
	for i := range w.servers {
		s := &w.servers[i]
		role := history.Primary
		if !s.primary {
			role = "replica of " + string(rune('a'+s.of))
		}
		if w.oneIn(12) {
			role = "down" // it was stopped for a moment
		}
		if role != s.seen {
			s.seen = role
			w.h.Roles = append(w.h.Roles, history.Role{Node: string(rune('a' + i)), Server: uint8(i + 1), Time: w.now, Role: role})
		}
	}
}

// turn does something to the servers.
func (w *ownerWorld) turn() {
	i := w.rng.IntN(len(w.servers))
	s := &w.servers[i]
	switch w.rng.IntN(5) {
	case 0:
		s.cut = !s.cut
	case 1: // an operator deletes the key
		s.owner = 0
	case 2, 3: // a replica becomes primary, having been a replica long enough to be seen
		if s.primary || w.now-s.since < 4*worldSamples {
			return
		}
		s.primary, s.since, w.named = true, w.now, i
	case 4: // one that is not the new primary becomes its replica
		if i == w.named || s.primary && w.now-s.since < 4*worldSamples {
			return
		}
		if s.primary {
			s.since = w.now
		}
		s.primary, s.of, s.cut = false, w.named, false
		s.owner, s.expires = w.servers[s.of].owner, w.servers[s.of].expires
	}
}

// do lets worker i do an operation, of which effect tells the outcome, and then go on.
func (w *ownerWorld) do(i int, op history.Op, grant int64, effect func(s *worldServer, o *history.Operation), then func(o history.Operation)) {
	w.id++
	worker := &w.workers[i]
	o := history.Operation{ID: w.id, Process: int64(i), Client: i, Op: op, Object: "lock", Grant: grant, Invoke: w.now}
	worker.next, worker.step = w.soon(30), func() {
		lost := w.oneIn(20) // the answer is
		if s := &w.servers[worker.at]; !s.primary {
			o.Outcome, o.Code = history.OutcomeFail, history.CodeNoEffect
			worker.at = w.named
		} else {
			if s.owner != 0 && w.now >= s.expires {
				s.owner = 0
			}
			effect(s, &o)
		}
		o.Server = uint8(worker.at + 1)
		worker.next, worker.step = w.soon(20), func() {
			if o.Return = w.now; lost {
				o.Outcome, o.Code = history.OutcomeInfo, ""
			}
			if w.oneIn(6) {
				worker.at = w.named
			}
			w.h.Operations = append(w.h.Operations, o)
			then(o)
		}
	}
}

func (w *ownerWorld) idle(i int) {
	w.workers[i].next, w.workers[i].step = w.soon(150), func() {
		w.do(i, history.Acquire, 0, func(s *worldServer, o *history.Operation) {
			o.Outcome = history.OutcomeOK
			if !w.endless {
				o.Validity = worldTTL
			}
			if s.owner != 0 {
				o.Outcome, o.Code = history.OutcomeFail, history.CodeNotAcquired
				return
			}
			s.owner, s.expires = o.ID, w.now+worldTTL
			if w.endless {
				s.expires = history.Never
			}
		}, func(o history.Operation) {
			switch {
			case o.Outcome == history.OutcomeOK:
				w.hold(i, o.ID)
			case w.oneIn(6): // a finally block
				w.release(i, o.ID)
			default:
				w.idle(i)
			}
		})
	}
}

// hold keeps the lock for a while, sometimes for longer than its TTL.
func (w *ownerWorld) hold(i int, grant int64) {
	worker := &w.workers[i]
	worker.next = w.soon(200)
	if w.oneIn(3) {
		worker.next = w.now + worldTTL + w.rng.Int64N(200)
	}
	worker.step = func() {
		if !w.endless && w.oneIn(5) {
			w.do(i, history.Extend, grant, func(s *worldServer, o *history.Operation) {
				o.Outcome, o.Code, o.Validity = history.OutcomeFail, history.CodeNotHeld, worldTTL
				if s.owner == grant {
					o.Outcome, o.Code = history.OutcomeOK, ""
					w.met[o.ID], s.expires = s.owner, w.now+worldTTL
				}
			}, func(history.Operation) { w.release(i, grant) })
			return
		}
		w.release(i, grant)
	}
}

func (w *ownerWorld) release(i int, grant int64) {
	w.do(i, history.Release, grant, func(s *worldServer, o *history.Operation) {
		o.Outcome, o.Code = history.OutcomeFail, history.CodeNotHeld
		if s.owner != 0 && (!w.compare || s.owner == grant) {
			o.Outcome, o.Code = history.OutcomeOK, ""
			w.met[o.ID], s.owner = s.owner, 0
		}
	}, func(history.Operation) {
		if w.oneIn(5) { // once more, for want of an answer that it believes
			w.workers[i].next, w.workers[i].step = w.soon(50), func() { w.release(i, grant) }
			return
		}
		w.idle(i)
	})
}

// finish gives the record as it would have been made, in ns. Some servers are not told.
func (w *ownerWorld) finish() *history.History {
	const ms = 1e6
	for i := range w.h.Operations {
		o := &w.h.Operations[i]
		o.Invoke, o.Return, o.Validity = o.Invoke*ms, o.Return*ms, o.Validity*ms
		if o.Op == history.Acquire || w.rng.IntN(2) == 0 {
			o.From = o.Invoke
		}
		if w.oneIn(40) {
			o.Server = history.ServerSeveral
		}
	}
	for i := range w.h.Roles {
		w.h.Roles[i].Time *= ms
	}
	slices.SortStableFunc(w.h.Operations, func(a, b history.Operation) int { return cmp.Compare(a.Invoke, b.Invoke) })
	finish(w.h)
	return w.h
}
