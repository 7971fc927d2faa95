package history

import (
	"errors"
	"io"
	"os"
	"slices"
)

// Mark is the Note of a ClientTold event by which a worker vouches that its journal has
// all that happened before the event's time. The collector keeps marks to itself.
//
// A journal alone cannot tell that: a worker reads the clock, and commits the line later,
// much later if its process is stopped in between. An operation that began ten seconds ago
// may become known only now.
const Mark = "mark"

// source is one journal, as the collector reads it.
type source struct {
	*Follower
	client int   // whose it is; -1: it has no event yet
	sure   int64 // ns: all that happened before is in the journal. Never: its worker is dead
	dead   bool  // its worker was, when somebody last looked
	each   func(e *Event, line []byte) error
}

func (c *Collector) source(f *Follower) *source {
	s := &source{Follower: f, client: -1}
	s.each = func(e *Event, line []byte) error {
		s.client = e.Client
		if e.Type == ClientTold && e.Note == Mark {
			s.sure = max(s.sure, e.Time)
			return nil
		}
		return c.take(e, line)
	}
	return s
}

// ended notes that a client is dead: what its journals have by now is all.
func (c *Collector) ended(client int) {
	for _, s := range c.sources {
		s.dead = s.dead || s.client == client
	}
}

// Known gives the history as it was at one moment: every event before that moment is in
// it, and none from then on (see History.At). The moment is the End of what is returned. It
// is until, or the earliest mark of a worker that lives, whichever comes first; zero, with
// an empty history, as long as some worker has made no mark. until must not be later than
// the moment from which on ledger entries may be missing.
//
// It reads the file that was written so far, so nothing is kept in memory for its sake;
// the collector is held up only for a Poll. It must not be called after Finish.
func (c *Collector) Known(until int64) (*History, error) {
	path, size, t, err := c.known(until)
	if err != nil || t == 0 {
		return &History{}, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	h, err := loadStart(f, size)
	if err != nil {
		return nil, err
	}
	return h.At(t), nil
}

// known writes out everything that was drained, and gives the file, how much of it is
// written, and up to when (ns) nothing is missing.
func (c *Collector) known(until int64) (path string, size, t int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Whoever was dead before the journals are drained has written all that it ever will.
	dead := make(map[*source]bool, len(c.sources))
	for _, s := range c.sources {
		dead[s] = s.dead
	}
	if err := c.poll(Never); err != nil {
		return "", 0, 0, err
	}
	t = min(until, Now())
	for _, s := range c.sources {
		if dead[s] {
			s.sure = Never
		}
		t = min(t, s.sure)
	}
	path, size, err = c.out.written()
	return path, size, t, err
}

// loadStart reads the first size bytes of a history file that is still being written.
func loadStart(in io.ReaderAt, size int64) (*History, error) {
	g, _, err := gather(in, size, chunkSize)
	if err == nil {
		return g.history()
	}
	if !errors.Is(err, errStrange) {
		return nil, err
	}
	events, _, err := ReadEvents(io.NewSectionReader(in, 0, size))
	if err != nil {
		return nil, err
	}
	return Assemble(events)
}

// At is the history as it was at the moment t (ns): what began before t, and what of it had
// ended before t. An operation that was under way has no completion, and a fault no end.
// It is not Complete. h stays as it is; what did not change is shared with it.
//
// Of the ledger remains what is certain to have been written before t: all up to the last
// write of an operation that had ended before t. Behind it come writes of operations that
// began at t or later, or were under way: those may have come after t. Some before it may
// be of operations under way, too: these have an entry and no completion, as after the
// death of a client.
func (h *History) At(t int64) *History {
	cut := &History{Start: h.Start, End: t, Stock: map[string]Levels{}}
	n, _ := slices.BinarySearchFunc(h.Operations, t, func(o Operation, t int64) int {
		if o.Invoke < t {
			return -1
		}
		return 1
	})
	cut.Operations = slices.Clone(h.Operations[:n])
	var known Index
	for i := range cut.Operations {
		o := &cut.Operations[i]
		known.Put(o.ID, i)
		if o.Return >= t {
			*o = Operation{
				ID: o.ID, Process: o.Process, Client: o.Client, Worker: o.Worker,
				Op: o.Op, Object: o.Object, Grant: o.Grant, Invoke: o.Invoke, Return: Never,
			}
		}
	}
	cut.Deaths = earlier(h.Deaths, t, func(d Death) int64 { return d.Time })
	cut.Losses = earlier(h.Losses, t, func(l Loss) int64 { return l.Time })
	cut.Roles = earlier(h.Roles, t, func(r Role) int64 { return r.Time })
	cut.Faults = earlier(h.Faults, t, func(f Fault) int64 { return f.Start })
	for i := range cut.Faults {
		if f := &cut.Faults[i]; f.End >= t {
			f.End, f.Healed = 0, ""
		}
	}
	written := 0
	for i := range h.Ledger {
		at, began := known.Get(h.Ledger[i].Op)
		if !began {
			break // it came after t, and so did all behind it
		}
		if cut.Operations[at].Return != Never {
			written = i + 1
		}
	}
	cut.Ledger = h.Ledger[:written:written]
	for sku, l := range h.Stock {
		cut.Stock[sku] = Levels{Initial: l.Initial}
	}
	return cut
}

// earlier gives those of all that happened before t, in their order.
func earlier[T any](all []T, t int64, at func(T) int64) []T {
	var kept []T
	for _, x := range all {
		if at(x) < t {
			kept = append(kept, x)
		}
	}
	return kept
}
