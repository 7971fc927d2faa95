package web

import (
	"sync"
	"sync/atomic"
	"time"
)

// How old what is shown may become. To list 10,000 tests takes some tenths of a second, so
// it is done behind the scenes, as long as somebody looks, and never takes more than a tenth
// of the time.
const (
	freshFor  = 2 * time.Second
	shareOf   = 10
	staleFor  = 10 * time.Second       // after so long unseen, a request waits for new ones,
	waitFor   = 400 * time.Millisecond // but no longer than this
	firstWait = 60 * time.Second
)

// background keeps a T that takes long to make. At most one is made at a time.
type background[T any] struct {
	make func() (T, error)
	now  func() time.Time

	have    atomic.Pointer[made[T]]
	mu      sync.Mutex
	running chan struct{} // closed when the one that is being made is there; nil: none is
	closed  bool
	all     sync.WaitGroup
}

type made[T any] struct {
	value T
	err   error
	at    time.Time
	took  time.Duration
}

// get gives what there is, and sees to it that there will be something newer.
func (b *background[T]) get() (T, error) {
	m := b.have.Load()
	wait := time.Duration(0)
	if m == nil {
		wait = firstWait
	} else {
		age := b.now().Sub(m.at)
		if age < max(freshFor, shareOf*m.took) {
			return m.value, m.err
		}
		if age > max(staleFor, 2*shareOf*m.took) {
			wait = waitFor
		}
	}
	done := b.start()
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
		}
	}
	if m = b.have.Load(); m == nil {
		var none T
		return none, errBusy
	}
	return m.value, m.err
}

// start begins to make the next one, if none is being made.
func (b *background[T]) start() (done <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running != nil || b.closed {
		if b.running == nil {
			b.running = make(chan struct{})
			close(b.running)
		}
		return b.running
	}
	running := make(chan struct{})
	b.running = running
	b.all.Go(func() {
		began := b.now()
		v, err := b.make()
		b.have.Store(&made[T]{v, err, b.now(), b.now().Sub(began)})
		b.mu.Lock()
		b.running = nil
		b.mu.Unlock()
		close(running)
	})
	return running
}

// close waits for what is being made, and lets nothing new begin.
func (b *background[T]) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.all.Wait()
}
