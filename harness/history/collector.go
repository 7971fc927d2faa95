package history

import (
	"errors"
	"fmt"
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
	mu        sync.Mutex
	dir       string // of the journals
	followers map[string]*Follower
	out       *Writer
	pending   []Event
	watch     func(*Event)
	synced    time.Time
}

// NewCollector writes to out what appears in the journals in dir (a file named *.journal
// each). watch, if not nil, sees each event once, worker by worker in order.
func NewCollector(dir string, out *Writer, watch func(*Event)) *Collector {
	return &Collector{dir: dir, followers: map[string]*Follower{}, out: out, watch: watch, synced: time.Now()}
}

// Record adds an event of the harness itself.
func (c *Collector) Record(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(e)
}

func (c *Collector) add(e Event) {
	c.pending = append(c.pending, e)
	if c.watch != nil {
		c.watch(&c.pending[len(c.pending)-1])
	}
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
	for _, f := range c.followers {
		if err := f.Next(func(e Event) error { c.add(e); return nil }); err != nil {
			return err
		}
	}
	slices.SortStableFunc(c.pending, func(a, b Event) int { return compare(a.Time, b.Time) })
	n := 0
	for n < len(c.pending) && c.pending[n].Time < until {
		c.out.Append(&c.pending[n])
		n++
	}
	c.pending = slices.Delete(c.pending, 0, n)
	if time.Since(c.synced) > 900*time.Millisecond {
		c.synced = time.Now()
		return c.out.Sync()
	}
	return c.out.Flush()
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// discover opens journals that have appeared.
func (c *Collector) discover() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		if filepath.Ext(name) != ".journal" || c.followers[name] != nil {
			continue
		}
		f, err := Follow(filepath.Join(c.dir, name))
		if errors.Is(err, ErrNoJournal) || errors.Is(err, fs.ErrNotExist) {
			continue // its worker is just making it, or died while it did
		}
		if err != nil {
			return err
		}
		c.followers[name] = f
	}
	return nil
}

// Finish drains the journals a last time, adds last as the closing event, closes the
// file, and then removes the journals. Call it when no worker writes any more.
func (c *Collector) Finish(last Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.poll(Never)
	c.add(last)
	c.out.Append(&last)
	err = errors.Join(err, c.out.Close())
	for _, f := range c.followers {
		err = errors.Join(err, f.Close())
	}
	clear(c.followers)
	if err != nil {
		return err // the journals stay: they may be all there is
	}
	return os.RemoveAll(c.dir)
}

// Load reads a history from its file and, where the harness died before it had taken
// everything over, from the journals that it left in journals (which need not exist).
func Load(path, journals string) (*History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	events, broken, err := ReadEvents(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	whole := len(events) > 0 && slices.ContainsFunc(events, func(e Event) bool { return e.Type == End })
	if !whole {
		if broken == "" {
			broken = fmt.Sprintf("the record ends after line %d without its closing event", len(events))
		}
		if events, err = salvage(events, journals); err != nil {
			return nil, err
		}
	}
	h, err := Assemble(events)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrDamaged, err)
	}
	if !whole {
		h.Broken = fmt.Sprintf("%s; judged up to %.3f s", broken, h.Seconds(h.End))
	}
	return h, nil
}

// salvage adds what the journals hold beyond events.
func salvage(events []Event, journals string) ([]Event, error) {
	names, err := filepath.Glob(filepath.Join(journals, "*.journal"))
	if err != nil {
		return nil, err
	}
	type key struct {
		id, time int64
		typ      Type
		client   int
	}
	have := make(map[key]bool, len(events))
	of := func(e *Event) key { return key{e.ID, e.Time, e.Type, e.Client} }
	for i := range events {
		have[of(&events[i])] = true
	}
	for _, name := range names {
		f, err := Follow(name)
		if errors.Is(err, ErrNoJournal) {
			continue
		}
		if err != nil {
			return nil, err
		}
		err = f.Next(func(e Event) error {
			if !have[of(&e)] {
				events = append(events, e)
			}
			return nil
		})
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return events, nil
}
