package wire

import (
	"io"
	"sync"
	"time"

	"picklock/harness/history"
)

// maxWaiting bounds the bytes that wait on one line; more are not read until some have
// gone on. One frame may be larger.
const maxWaiting = 16 << 20

// parcel is bytes that go on at a time of their own.
type parcel struct {
	at    int64 // ns
	bytes []byte
}

// line carries bytes to one end of a connection, in order. It writes at once as long as
// nothing is delayed. Only one goroutine sends.
type line struct {
	to   io.Writer
	done <-chan struct{} // the connection has ended
	gone func()          // called when the end takes no bytes any more, at least once

	mu      sync.Mutex
	changed sync.Cond
	waiting []parcel
	size    int  // bytes that wait or are on their way out
	running bool // somebody carries the parcels out
	broken  bool // a write has failed: the end is gone
}

func newLine(to io.Writer, done <-chan struct{}, gone func()) *line {
	l := &line{to: to, done: done, gone: gone}
	l.changed.L = &l.mu
	return l
}

// send passes bytes on, not before at (ns). An end that is gone takes them and drops them.
func (l *line) send(b []byte, at int64) {
	if len(b) == 0 {
		return
	}
	l.mu.Lock()
	if !l.running && !l.broken && (at == 0 || at <= history.Now()) {
		l.mu.Unlock()
		if _, err := l.to.Write(b); err != nil {
			l.breakOff()
		}
		return
	}
	defer l.mu.Unlock()
	for l.size > 0 && l.size+len(b) > maxWaiting && !l.broken {
		l.changed.Wait()
	}
	if l.broken {
		return
	}
	l.size += len(b)
	if last := len(l.waiting) - 1; last >= 0 && l.waiting[last].at >= at {
		l.waiting[last].bytes = append(l.waiting[last].bytes, b...) // it cannot go before that one
	} else {
		l.waiting = append(l.waiting, parcel{at: at, bytes: append([]byte(nil), b...)})
	}
	if !l.running {
		l.running = true
		go l.carry()
	}
}

// carry writes the parcels when their time has come, until none waits.
func (l *line) carry() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		l.mu.Lock()
		if len(l.waiting) == 0 || l.broken {
			l.waiting, l.size, l.running = nil, 0, false
			l.changed.Broadcast()
			l.mu.Unlock()
			return
		}
		at := l.waiting[0].at
		l.mu.Unlock()
		if !l.until(timer, at) {
			l.breakOff()
			continue
		}
		l.mu.Lock()
		next := l.waiting[0]
		l.waiting[0] = parcel{}
		l.waiting = l.waiting[1:]
		l.mu.Unlock()
		if _, err := l.to.Write(next.bytes); err != nil {
			l.breakOff()
			continue
		}
		l.mu.Lock()
		l.size -= len(next.bytes)
		l.changed.Broadcast()
		l.mu.Unlock()
	}
}

// until waits for a time (ns), and says whether the connection lasted that long.
func (l *line) until(timer *time.Timer, at int64) bool {
	for {
		left := at - history.Now()
		if left <= 0 {
			return true
		}
		timer.Reset(time.Duration(left))
		select {
		case <-timer.C:
		case <-l.done:
			return false
		}
	}
}

func (l *line) breakOff() {
	l.mu.Lock()
	l.broken = true
	l.changed.Broadcast()
	l.mu.Unlock()
	l.gone()
}

// flush waits until everything that was sent is carried out, or the end is gone.
func (l *line) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.running {
		l.changed.Wait()
	}
}
