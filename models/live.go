package models

import (
	"slices"

	"picklock/harness/history"
)

// Live counts violations while a test runs, for the line that a person watches: holds
// that began while another hold of the same lock was open, and writes to the stock whose
// basis was not found. It is a preview: Judge has the verdict. It takes events nearly in
// time order; a release that arrives late withdraws what was counted for want of it. It
// is not safe for use by several goroutines at once.
type Live struct {
	overlaps bool // the lock promises mutual exclusion
	settled  int  // of holds that are no longer looked at
	updates  int
	locks    map[string][]*liveHold
	grants   map[int64]*liveHold // open holds
}

type liveHold struct {
	span
	object         string
	client, worker int
	grant          int64
	depth          int // acquires minus releases
	real           bool
	overlapped     bool
}

// liveHolds bounds the holds of one lock that Live keeps in sight. More are open at once
// only if that many owners never release.
const liveHolds = 64

// NewLive counts overlapping holds only if p promises mutual exclusion.
func NewLive(p Params) *Live {
	return &Live{
		overlaps: slices.Contains(p.Promises, MutualExclusion),
		locks:    map[string][]*liveHold{},
		grants:   map[int64]*liveHold{},
	}
}

// Violations is the number of violations known so far.
func (l *Live) Violations() int {
	n := l.settled + l.updates
	for _, holds := range l.locks {
		for _, h := range holds {
			if h.overlapped {
				n++
			}
		}
	}
	return n
}

// Add takes the next event.
func (l *Live) Add(e history.Event) {
	switch e.Type {
	case history.LedgerEntry:
		if e.Ledger != nil && e.Ledger.Basis != nil && *e.Ledger.Basis != e.Ledger.Found {
			l.updates++
		}
	case history.OK, history.Fail, history.Info:
		if e.Op == history.Acquire && l.overlaps {
			l.acquired(e)
		}
	case history.Invoke:
		if e.Op == history.Release {
			l.released(e)
		}
	case history.Lost:
		if h := l.grants[e.Grant]; h != nil {
			l.end(h, e.Time)
		}
	case history.ClientDeath, history.ClientDown:
		for _, h := range l.grants {
			if h.client == e.Client && h.from <= e.Time {
				l.end(h, e.Time)
			}
		}
	}
}

func (l *Live) acquired(e history.Event) {
	real := e.Type == history.OK
	if e.Belief != history.BelievesHeld && (!real || e.Belief == history.BelievesNot) {
		return
	}
	if h := l.grants[e.Grant]; e.Grant != 0 && h != nil {
		h.depth++ // re-entered
		return
	}
	h := &liveHold{
		span: span{e.Time, history.Never}, object: e.Object, client: e.Client, worker: e.Worker,
		grant: e.ID, depth: 1, real: real,
	}
	l.grants[h.grant] = h
	holds := append(l.locks[h.object], h)
	for _, x := range holds {
		if x.from >= h.from {
			x.overlapped = x.overlapped || begins(x, holds)
		}
	}
	l.locks[h.object] = l.forget(holds)
}

func (l *Live) released(e history.Event) {
	if h := l.grants[e.Grant]; h != nil {
		if h.depth--; h.depth <= 0 {
			l.end(h, e.Time)
		}
	}
}

// end closes a hold and looks anew at those that began after it had ended.
func (l *Live) end(h *liveHold, t int64) {
	h.to = t
	delete(l.grants, h.grant)
	holds := l.locks[h.object]
	for _, x := range holds {
		if x.overlapped && x.from >= t {
			x.overlapped = begins(x, holds)
		}
	}
}

// begins says whether x began while another hold was open.
func begins(x *liveHold, holds []*liveHold) bool {
	for _, h := range holds {
		same := h.client == x.client && h.worker == x.worker && !(h.real && x.real)
		if h != x && !same && h.from <= x.from && x.from < h.to {
			return true
		}
	}
	return false
}

// forget drops the oldest holds once there are too many: the closed ones first.
func (l *Live) forget(holds []*liveHold) []*liveHold {
	for len(holds) > liveHolds {
		at := max(0, slices.IndexFunc(holds, func(h *liveHold) bool { return h.to != history.Never }))
		if holds[at].overlapped {
			l.settled++
		}
		delete(l.grants, holds[at].grant)
		holds = slices.Delete(holds, at, at+1)
	}
	return holds
}
