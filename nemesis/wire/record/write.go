package record

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// The bounds of a record.
const (
	DefaultLimit  = 32 << 20 // bytes of the file: some 250,000 messages
	DefaultBuffer = 1 << 14  // messages that wait to be written: some 2 MB, and as much again on their way
	flushEvery    = 100 * time.Millisecond
	endingRoom    = 128 // bytes that are kept for the last line
)

// Options are what can be chosen of a record. Zero values are the defaults.
type Options struct {
	Limit  int64 // bytes of the file at most
	Buffer int   // messages that may wait to be written
	// Step names what a message is to the lock or the deduction under test. It is called
	// from one goroutine, away from the messages' way.
	Step func(*Message) string
	// Now is the record's clock (ns). It must be set.
	Now func() int64
}

// Writer writes the file. Add may be called from any goroutine.
type Writer struct {
	opts Options
	file *os.File

	mu      sync.Mutex
	waiting []Message // never beyond its capacity
	left    int64
	cut     int64
	closed  bool

	spare   []Message     // to take turns with waiting; only of the goroutine that writes
	wake    chan struct{} // of capacity 1: much is waiting
	stop    chan struct{}
	stopped chan struct{}

	// Only of the goroutine that writes, and of Close after it.
	buf  []byte
	size int64
	full bool
	err  error
}

// Create starts a record; a file that exists is an error.
func Create(path string, o Options) (*Writer, error) {
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	if o.Buffer == 0 {
		o.Buffer = DefaultBuffer
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("record the wire: %w", err)
	}
	w := &Writer{
		opts: o, file: f, waiting: make([]Message, 0, o.Buffer), spare: make([]Message, 0, o.Buffer),
		wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	w.buf = append(append(w.buf, header...), '\n')
	go w.run()
	return w, nil
}

// Add adds messages. It copies them and never waits for the disk: those that find no room
// are counted, and left out. After Close it does nothing.
func (w *Writer) Add(ms []Message) {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	room := min(len(ms), cap(w.waiting)-len(w.waiting))
	w.waiting = append(w.waiting, ms[:room]...)
	w.omitLocked(ms[room:])
	much := len(w.waiting) >= cap(w.waiting)/2
	w.mu.Unlock()
	if much {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

func (w *Writer) omitLocked(ms []Message) {
	if len(ms) > 0 && w.cut == 0 {
		w.cut = max(ms[0].At, ms[0].Out)
	}
	w.left += int64(len(ms))
}

// run writes what waits, again and again, until the record is closed.
func (w *Writer) run() {
	defer close(w.stopped)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.wake:
		case <-w.stop:
			w.drain()
			return
		}
		w.drain()
	}
}

// drain writes what waits now.
func (w *Writer) drain() {
	w.mu.Lock()
	ms := w.waiting
	w.waiting = w.spare
	w.mu.Unlock()
	for i := range ms {
		if !w.put(&ms[i]) {
			w.mu.Lock()
			w.omitLocked(ms[i:])
			w.mu.Unlock()
			break
		}
	}
	w.flush()
	clear(ms) // their texts
	w.spare = ms[:0]
}

// put adds a message to what is written next; not when the file is full, or broken.
func (w *Writer) put(m *Message) bool {
	if w.full || w.err != nil {
		return false
	}
	if w.opts.Step != nil {
		if m.Step = w.opts.Step(m); m.Step != "" {
			m.Script = "" // the step says more, in less
		}
	}
	before := len(w.buf)
	w.buf = append(m.AppendJSON(w.buf), '\n')
	if w.size+int64(len(w.buf)) > w.opts.Limit-endingRoom {
		w.buf, w.full = w.buf[:before], true
		return false
	}
	if len(w.buf) >= 1<<16 {
		w.flush()
	}
	return true
}

// flush hands what was put to the operating system: it then survives the end of this process.
func (w *Writer) flush() {
	if w.err != nil || len(w.buf) == 0 {
		return
	}
	n, err := w.file.Write(w.buf)
	w.size += int64(n)
	w.buf = w.buf[:0]
	if err != nil {
		w.err = fmt.Errorf("record the wire: %w", err)
	}
}

// Close writes what waits and closes the file. An error says that messages are missing
// beyond those that the file tells of.
func (w *Writer) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	w.mu.Unlock()
	close(w.stop)
	<-w.stopped
	w.buf = append(ending{at: w.opts.Now(), left: w.left, cut: w.cut}.appendJSON(w.buf), '\n')
	w.flush()
	return errors.Join(w.err, w.file.Close())
}
