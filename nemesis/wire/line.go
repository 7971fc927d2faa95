package wire

import (
	"io"
	"sync"
	"time"

	"picklock/harness/history"
	"picklock/nemesis/wire/record"
)

// maxWaiting bounds the bytes that wait on one line; more are not read until some have
// gone on. One frame may be larger.
const maxWaiting = 16 << 20

// parcel is bytes that go on at a time of their own.
type parcel struct {
	at    int64 // ns
	bytes []byte
	notes []record.Message // of the messages that end in these bytes
}

// line carries bytes to one end of a connection, in order. It writes at once as long as
// nothing is delayed. Only one goroutine sends.
type line struct {
	to   io.Writer
	done <-chan struct{} // the connection has ended
	gone func()          // called when the end takes no bytes any more, at least once
	rec  Recorder        // nil: none

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

// send passes bytes on, not before at (ns), and records the messages that end in them. An
// end that is gone takes them and drops them.
func (l *line) send(b []byte, at int64, notes []record.Message) {
	if len(b) == 0 {
		return
	}
	l.mu.Lock()
	if !l.running && !l.broken && (at == 0 || at <= history.Now()) {
		l.mu.Unlock()
		var out int64
		if len(notes) > 0 {
			out = history.Now()
		}
		_, err := l.to.Write(b)
		if err != nil {
			l.breakOff()
		}
		l.record(notes, out, err == nil)
		return
	}
	defer l.mu.Unlock()
	for l.size > 0 && l.size+len(b) > maxWaiting && !l.broken {
		l.changed.Wait()
	}
	if l.broken {
		l.record(notes, 0, false)
		return
	}
	l.size += len(b)
	if last := len(l.waiting) - 1; last >= 0 && l.waiting[last].at >= at {
		l.waiting[last].bytes = append(l.waiting[last].bytes, b...) // it cannot go before that one
		l.waiting[last].notes = append(l.waiting[last].notes, notes...)
	} else {
		l.waiting = append(l.waiting, parcel{at, append([]byte(nil), b...), append([]record.Message(nil), notes...)})
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
			for _, p := range l.waiting {
				l.record(p.notes, 0, false)
			}
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
		out := history.Now()
		_, err := l.to.Write(next.bytes)
		l.record(next.notes, out, err == nil)
		if err != nil {
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

// record tells what became of messages: they went on at out (ns), or could not.
func (l *line) record(notes []record.Message, out int64, went bool) {
	if len(notes) == 0 {
		return
	}
	for i := range notes {
		if notes[i].Out = out; !went {
			notes[i].Out, notes[i].Fate = 0, record.Lost
		}
	}
	l.rec.Add(notes)
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
