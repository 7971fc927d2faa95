package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"picklock/harness/history"
	"picklock/locks"
	"picklock/locks/deduct"
)

// worker is one thread of the application server: it chooses a SKU, acquires its lock,
// deducts, releases, and thinks.
type worker struct {
	cfg    Config
	rec    *recorder
	rand   *rand.Rand
	lockOf func(sku string, trace locks.Trace) locks.Lock
	saleOf func(sku string) deduct.Deduction
	shops  map[string]*shop
	hang   *hang
	at     string    // the SKU that is being sold
	next   time.Time // earliest start of the next sale, where the rate is bounded
}

// shop is what a worker keeps of one SKU.
type shop struct {
	sku    string
	name   string // of its lock
	lock   locks.Lock
	sale   deduct.Deduction
	holder int64 // ID of the acquire that counts as the grant now
	fence  int64 // its fencing token
}

func (w *worker) shop(sku string) *shop {
	if s := w.shops[sku]; s != nil {
		return s
	}
	s := &shop{sku: sku, name: LockName(w.cfg.Prefix, sku), sale: w.saleOf(sku)}
	s.lock = w.lockOf(sku, locks.Trace{
		Attempt: w.rec.attempt,
		Release: w.rec.release,
		Extend:  w.rec.renewal(s.name, func() int64 { return s.holder }),
	})
	w.shops[sku] = s
	return s
}

// run sells until ctx ends; the sale at hand is finished.
func (w *worker) run(ctx context.Context) error {
	for ctx.Err() == nil {
		w.sell(ctx, w.shop(SKU(w.rand.IntN(w.cfg.SKUs))))
		if err := w.rec.failed(); err != nil {
			return err
		}
		w.pace(ctx)
	}
	return nil
}

// sell is one visit of a customer. The lock is asked for in ctx; what follows a grant is
// finished whatever becomes of ctx, as a server finishes its requests before it stops.
func (w *worker) sell(ctx context.Context, s *shop) {
	grant, enters, releases := w.acquire(ctx, s, 0)
	if !enters {
		if releases {
			w.release(s, grant)
		}
		return
	}
	section, leave := w.section(s, grant)
	defer leave()
	holds := 1
	for ; holds < w.cfg.Depth; holds++ {
		if _, ok, _ := w.acquire(section, s, grant); !ok {
			break
		}
	}
	w.deduct(section, s, grant)
	for ; holds > 0; holds-- {
		w.release(s, grant)
	}
}

// acquire asks for the lock; outer is the grant that a nested acquire goes on top of.
// It tells the grant, and what the client's code does now: enters the section, or only
// releases.
func (w *worker) acquire(ctx context.Context, s *shop, outer int64) (grant int64, enters, releases bool) {
	// Giving up cancels and sets no deadline: an attempt in flight then still hears its
	// answer, and gives up for certain, within the Redis timeout.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer time.AfterFunc(w.cfg.AcquireTimeout, cancel).Stop()

	e := w.rec.invoke(history.Acquire, s.name, outer)
	if grant = outer; outer == 0 {
		grant, s.holder = e.ID, e.ID
	}
	g, err := s.lock.Acquire(w.rec.served(ctx))
	classify(&e, err)
	e.Token, e.Fence, e.Validity, e.Belief = g.Token, g.Fence, int64(g.Validity), believed(g.Belief)
	if _, ok := s.lock.(locks.Reentrant); ok && err == nil {
		e.Count = &g.Count
	}
	w.rec.complete(e)
	if outer == 0 {
		s.fence = g.Fence
	}
	switch g.Belief {
	case locks.Enters:
		return grant, true, true
	case locks.Leaves:
		return grant, false, false
	case locks.ReleasesAnyway:
		return grant, err == nil, true
	}
	return grant, err == nil, err == nil
}

// section is the context of what happens under the lock: it ends when the lock says
// that it is lost, which is recorded. leave must be called.
func (w *worker) section(s *shop, grant int64) (ctx context.Context, leave func()) {
	ctx, cancel := context.WithCancel(context.Background())
	loser, ok := s.lock.(locks.Loser)
	if !ok {
		return ctx, cancel
	}
	lost, done := loser.Lost(), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-lost:
			w.rec.lost(s.name, grant)
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); <-done }
}

func (w *worker) deduct(ctx context.Context, s *shop, grant int64) {
	w.at = s.sku
	e := w.rec.invoke(history.Deduct, s.sku, grant)
	r, err := s.sale.Deduct(ctx, deduct.Request{ID: e.ID, Fence: s.fence, Think: w.think})
	classify(&e, err)
	e.Attempts = int64(r.Tries)
	if err == nil {
		e.Basis, e.Left, e.Sold = r.Basis, r.Left, r.Sold
	}
	w.rec.complete(e)
}

func (w *worker) release(s *shop, grant int64) {
	e := w.rec.invoke(history.Release, s.name, grant)
	err := s.lock.Release(w.rec.served(context.Background()))
	classify(&e, err)
	if errors.Is(err, locks.ErrThrown) {
		e.Belief = history.ThrowsToCaller
	}
	if r, ok := s.lock.(locks.Reentrant); ok && err == nil {
		if n := r.Remaining(); n >= 0 {
			e.Count = &n
		}
	}
	w.rec.complete(e)
}

// think spends the time of the business inside the section, 20% more or less.
func (w *worker) think(ctx context.Context) error {
	err := sleep(ctx, w.jitter(w.cfg.Think))
	w.hang.stay("selling " + w.at)
	return err
}

// pace waits until the next sale may begin.
func (w *worker) pace(ctx context.Context) {
	_ = sleep(ctx, w.jitter(w.cfg.ThinkAfter)) // its end is seen by the loop
	if w.cfg.Rate <= 0 {
		return
	}
	now := time.Now()
	w.next = w.next.Add(time.Duration(float64(time.Second) / w.cfg.Rate))
	if w.next.Before(now) {
		w.next = now // what was missed is not made up for: an open queue would burst
		return
	}
	_ = sleep(ctx, w.next.Sub(now))
}

func (w *worker) jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return time.Duration(float64(d) * (0.8 + 0.4*w.rand.Float64()))
}

// sleep waits for d or until ctx ends, whose error it returns.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
