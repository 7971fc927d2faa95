package history

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// holdback is how far behind the present the file is written, so that its lines are in
// the order of their times even when a worker is interrupted between reading the clock
// and committing its line. Later lines still are written: readers sort.
const holdback = 50 * time.Millisecond

// Collector gathers the journals of all workers, and the harness's own events, into one
// history file, and lets somebody watch. Its methods may be called from several
// goroutines.
type Collector struct {
	mu      sync.Mutex
	dir     string             // of the journals
	sources map[string]*source // by file name
	out     *Writer
	pending []line // not written yet
	text    []byte // theirs
	spare   []byte // what was text before
	watch   func(*Event)
	synced  time.Time
}

// line is an event that waits to be written: its time, and its place in the text.
type line struct {
	time     int64
	from, to int
}

// NewCollector writes to out what appears in the journals in dir (a file named *.journal
// each). watch, if not nil, sees each event once, worker by worker in order.
func NewCollector(dir string, out *Writer, watch func(*Event)) *Collector {
	return &Collector{dir: dir, sources: map[string]*source{}, out: out, watch: watch, synced: time.Now()}
}

// Record adds an event of the harness itself.
func (c *Collector) Record(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(e)
}

func (c *Collector) add(e Event) {
	from := len(c.text)
	c.text = e.AppendJSON(c.text)
	c.pending = append(c.pending, line{e.Time, from, len(c.text)})
	if e.Type == ClientDeath || e.Type == ClientDown {
		c.ended(e.Client)
	}
	if c.watch != nil {
		c.watch(&e)
	}
}

// take adds an event of a journal, whose line serves as it is.
func (c *Collector) take(e *Event, text []byte) error {
	from := len(c.text)
	c.text = append(c.text, text...)
	c.pending = append(c.pending, line{e.Time, from, len(c.text)})
	if c.watch != nil {
		c.watch(e)
	}
	return nil
}

// Poll drains all journals: whatever was committed before the call has been watched when
// it returns. It writes what is old enough, and syncs once a second.
func (c *Collector) Poll() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.poll(Now() - int64(holdback))
}

func (c *Collector) poll(until int64) error {
	if err := c.discover(); err != nil {
		return err
	}
	for _, s := range c.sources {
		if err := s.Next(s.each); err != nil {
			return err
		}
	}
	slices.SortStableFunc(c.pending, func(a, b line) int { return cmp.Compare(a.time, b.time) })
	n := 0
	for n < len(c.pending) && c.pending[n].time < until {
		c.out.AppendLine(c.text[c.pending[n].from:c.pending[n].to])
		n++
	}
	c.forget(n)
	if time.Since(c.synced) > 900*time.Millisecond {
		c.synced = time.Now()
		return c.out.Sync()
	}
	return c.out.Flush()
}

// forget drops the first n pending lines and moves the text of the others together.
func (c *Collector) forget(n int) {
	c.pending = slices.Delete(c.pending, 0, n)
	kept := c.spare[:0]
	for i := range c.pending {
		l := &c.pending[i]
		from := len(kept)
		kept = append(kept, c.text[l.from:l.to]...)
		l.from, l.to = from, len(kept)
	}
	c.text, c.spare = kept, c.text
}

// discover opens journals that have appeared.
func (c *Collector) discover() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		if filepath.Ext(name) != ".journal" || c.sources[name] != nil {
			continue
		}
		f, err := Follow(filepath.Join(c.dir, name))
		if errors.Is(err, ErrNoJournal) || errors.Is(err, fs.ErrNotExist) {
			continue // its worker is just making it, or died while it did
		}
		if err != nil {
			return err
		}
		c.sources[name] = c.source(f)
	}
	return nil
}

// Finish drains the journals a last time, adds last as the closing event, closes the
// file, and then removes the journals. Call it when no worker writes any more.
func (c *Collector) Finish(last Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(last)
	err := errors.Join(c.poll(Never), c.out.Close())
	for _, s := range c.sources {
		err = errors.Join(err, s.Close())
	}
	clear(c.sources)
	if err != nil {
		return err // the journals stay: they may be all there is
	}
	return os.RemoveAll(c.dir)
}
