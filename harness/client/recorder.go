package client

import (
	"context"
	"sync"
	"sync/atomic"

	"picklock/harness/history"
	"picklock/locks"
)

// recorder writes one worker's operations to its journal. A worker and the renewals that
// its lock makes in the background share it, hence the mutex; it is nearly always free.
type recorder struct {
	mu      sync.Mutex
	journal *history.Journal
	silent  bool // operations are not recorded
	cfg     Config
	worker  int
	next    int    // next unused epoch
	self    thread // the worker itself
	renewer thread // the renewals that its lock makes on its own, beside it
	from    int64  // start of the last attempt of the acquire under way
	tries   int64
	freed   int64   // start of the last command that freed, of the release under way
	server  *server // that does the operation under way
	closed  bool
	broken  error        // the journal could not be written: the worker must end
	ending  atomic.Int32 // completions between the reading of the clock and the journal
}

// thread is one logical thread of the history: what it invokes, it completes before it
// invokes again.
type thread struct {
	begun bool
	epoch int
	count int64 // operations of the present process
}

func newRecorder(cfg Config, worker int) (*recorder, error) {
	r := &recorder{cfg: cfg, worker: worker, next: cfg.Epochs[worker], silent: cfg.Unrecorded, server: new(server)}
	r.begin(&r.self)
	var err error
	r.journal, err = history.CreateJournal(cfg.journal(worker))
	return r, err
}

func (r *recorder) append(e history.Event) {
	if r.silent && e.Op != "" {
		return
	}
	e.Client, e.Worker = r.cfg.Client, r.worker
	if err := r.journal.Append(&e); err != nil && r.broken == nil {
		r.broken = err
	}
}

// begin lets the thread go on as a new process.
func (r *recorder) begin(t *thread) {
	*t = thread{begun: true, epoch: r.next}
	r.next++
}

// thread is the one that does op.
func (r *recorder) thread(op history.Op) *thread {
	if op == history.Extend {
		return &r.renewer
	}
	return &r.self
}

// now spares an unrecorded run the reading of the clock, so that the benchmark shows it
// as part of the recording.
func (r *recorder) now() int64 {
	if r.silent {
		return 0
	}
	return history.Now()
}

// up tells that the worker is ready.
func (r *recorder) up() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.append(history.Event{Time: history.Now(), Type: history.ClientUp, Process: r.cfg.processID(r.worker, r.self.epoch)})
}

// told confirms an order of the harness.
func (r *recorder) told(serial, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return // the worker has ended, and the process is about to
	}
	r.append(history.Event{
		Time: history.Now(), Type: history.ClientTold, Process: r.cfg.processID(r.worker, r.self.epoch),
		Note: "order " + serial + ": " + what,
	})
}

// mark vouches that all that happened before now is in the journal: see history.Mark.
// Other times than those of completions are read while the journal is locked, so that
// nothing earlier is missing once a line has been committed. While a completion is between
// the two, there is no mark; one that begins after the look at ending has a later time.
func (r *recorder) mark() {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := history.Now()
	if r.closed || r.ending.Load() > 0 {
		return
	}
	r.append(history.Event{
		Time: at, Type: history.ClientTold, Process: r.cfg.processID(r.worker, r.self.epoch), Note: history.Mark,
	})
}

// invoke records the start of an operation and returns its completion's frame.
func (r *recorder) invoke(op history.Op, object string, grant int64) history.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.thread(op)
	if !t.begun || t.count == opsPerProcess-1 {
		r.begin(t)
	}
	t.count++
	process := r.cfg.processID(r.worker, t.epoch)
	e := history.Event{
		Type: history.Invoke, Op: op, ID: process*opsPerProcess + t.count, Process: process, Object: object, Grant: grant,
	}
	switch op {
	case history.Acquire:
		r.from, r.tries = 0, 0
	case history.Release:
		r.freed = 0
	}
	e.Time = r.now()
	r.append(e)
	return e
}

// complete records the end of an operation: e as invoke returned it, with what is known
// now. An unknown outcome ends the process: the worker goes on under a new id.
func (r *recorder) complete(e history.Event) {
	r.ending.Add(1)
	defer r.ending.Add(-1)
	at := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Time = at
	switch e.Op {
	case history.Acquire:
		e.From, e.Attempts, e.Server = r.from, r.tries, r.server.number()
	case history.Release:
		e.From, e.Server = r.freed, r.server.number()
	}
	r.append(e)
	if e.Type == history.Info {
		r.begin(r.thread(e.Op))
	}
}

// lost records that the client learned of the loss of a grant.
func (r *recorder) lost(object string, grant int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.append(history.Event{
		Time: r.now(), Type: history.Lost, Object: object, Grant: grant, Process: r.cfg.processID(r.worker, r.self.epoch),
	})
}

// attempt is the lock's trace: each attempt counts from here.
func (r *recorder) attempt() {
	r.server.forget()
	r.from = r.now()
	r.tries++
}

// release is the lock's trace of the command that frees, where it is not the release's
// only one.
func (r *recorder) release() {
	r.server.forget()
	r.freed = r.now()
}

// served is the context of a call of the lock, from which the record knows where its
// commands went.
func (r *recorder) served(ctx context.Context) context.Context {
	r.server = new(server)
	return r.server.of(ctx)
}

func (r *recorder) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return r.journal.Close()
}

func (r *recorder) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

// renewal is the lock's trace of a renewal that it makes on its own for the grant.
func (r *recorder) renewal(object string, grant func() int64) func(context.Context) (context.Context, func(locks.Grant, error)) {
	return func(ctx context.Context) (context.Context, func(locks.Grant, error)) {
		by := new(server)
		e := r.invoke(history.Extend, object, grant())
		from := e.Time
		return by.of(ctx), func(g locks.Grant, err error) {
			e.From, e.Validity, e.Server = from, int64(g.Validity), by.number()
			classify(&e, err)
			r.complete(e)
		}
	}
}
