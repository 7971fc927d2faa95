package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
)

// Reading is the limit of checking, so Load reads a file in chunks, several at a time, and
// turns lines straight into operations. Beyond the result it needs the chunks at hand and
// an index of some bytes per operation only. Where the record is strange it is read a second
// time, event by event (loadStrange).
//
// A million operations are 364 MB of text and take 1.2 s of processor time, shared by all
// cores, and 300 MB of memory (a busy machine of two cores; one event after the other it
// was 12 s and 3 GB). Of that time some 0.5 s is the reading of words and numbers; the
// rest, to get the bytes from the kernel, to check them, and to fill the memory of the
// result, a binary form would need as well, and to be as strict it would have to be
// checked against the text. So there is none.

// Load reads a history from its file and, where the harness died before it had taken
// everything over, from the journals that it left in journals (which need not exist).
func Load(path, journals string) (*History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	var in io.ReaderAt = f
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	if !info.Mode().IsRegular() { // a pipe has neither a size nor places
		all, err := io.ReadAll(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		in, size = bytes.NewReader(all), int64(len(all))
	}
	h, err := load(in, size, journals, chunkSize)
	switch {
	case errors.As(err, new(contradiction)):
		return nil, fmt.Errorf("%s: %w: %w", path, ErrDamaged, err)
	case errors.As(err, new(journalError)):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

// contradiction is what is wrong with events that are each in order.
type contradiction struct{ error }

func (c contradiction) Unwrap() error { return c.error }

// journalError is what is wrong with a journal. It names its file.
type journalError struct{ error }

func (j journalError) Unwrap() error { return j.error }

// load reads a history file of this size.
func load(in io.ReaderAt, size int64, journals string, chunk int64) (*History, error) {
	g, broken, err := gather(in, size, chunk)
	if errors.Is(err, errStrange) {
		return loadStrange(in, size, journals)
	}
	if err != nil {
		return nil, err
	}
	whole := g.whole
	if !whole {
		broken = ending(broken, g.lines)
		err := g.salvage(journals)
		if errors.Is(err, errStrange) {
			return loadStrange(in, size, journals)
		}
		if err != nil {
			return nil, journalError{err}
		}
	}
	h, err := g.history()
	if err != nil {
		return nil, contradiction{err}
	}
	if !whole {
		h.breaksOff(broken)
	}
	return h, nil
}

// ending says how a record of this many lines ends that has no closing event.
func ending(broken string, lines int) string {
	if broken == "" {
		return fmt.Sprintf("the record ends after line %d without its closing event", lines)
	}
	return broken
}

func (h *History) breaksOff(how string) {
	h.Broken = fmt.Sprintf("%s; judged up to %.3f s", how, h.Seconds(h.End))
}

// chunkSize is what is read at a time. It and what comes of it fit in the cache.
const chunkSize = 1 << 20

// gather reads all chunks, as many at a time as there are processors. What ReadEvents says
// of broken and of errors holds here too.
func gather(in io.ReaderAt, size, chunk int64) (g *gathering, broken string, err error) {
	g = &gathering{size: size}
	chunks := (size + chunk - 1) / chunk
	var next atomic.Int64
	var turn sync.Mutex // held to look at taken, and by the part whose turn it is
	moved := sync.NewCond(&turn)
	taken, ended := int64(0), false
	var readers sync.WaitGroup
	for range min(int64(runtime.GOMAXPROCS(0)), chunks) {
		readers.Go(func() {
			p := new(part)
			for n := next.Add(1) - 1; n < chunks; n = next.Add(1) - 1 {
				to := min((n+1)*chunk, size)
				p.read(in, size, n*chunk, to)
				turn.Lock()
				for taken < n && !ended {
					moved.Wait()
				}
				if !ended {
					broken, err = g.takeOrEnd(p, to)
					taken, ended = taken+1, err != nil || broken != ""
				}
				stop := ended
				moved.Broadcast()
				turn.Unlock()
				if stop {
					return
				}
			}
		})
	}
	readers.Wait()
	if err != nil {
		return nil, "", err
	}
	return g, broken, nil
}

// takeOrEnd takes a part over, and tells what ended it, if anything did.
func (g *gathering) takeOrEnd(p *part, upTo int64) (broken string, err error) {
	err = g.take(p, upTo)
	strange := errors.Is(err, errStrange)
	n := g.lines + 1 // the line that ended the part
	switch {
	case strange:
		return "", err
	case p.err != nil:
		return "", fmt.Errorf("line %d: %w", n, p.err)
	case p.damage != nil:
		return "", fmt.Errorf("%w: line %d: %w", ErrDamaged, n, p.damage)
	case p.torn > 0:
		return fmt.Sprintf("line %d, the last, is torn after %d bytes", n, p.torn), nil
	case p.zeros > 0:
		return fmt.Sprintf("after line %d come %d zero bytes", n-1, p.zeros), nil
	}
	return "", nil
}

// salvage adds what the journals hold beyond the file.
func (g *gathering) salvage(journals string) error {
	var more []Event
	err := eachJournal(journals, func(e *Event) error {
		if e.Type == LedgerEntry {
			return errStrange // no worker writes these
		}
		if !g.has(e) {
			more = append(more, *e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	p := new(part)
	for i := range more {
		p.add(&more[i])
	}
	return g.take(p, g.size)
}

// eachJournal gives every event of the journals in a folder.
func eachJournal(journals string, each func(e *Event) error) error {
	names, err := filepath.Glob(filepath.Join(journals, "*.journal"))
	if err != nil {
		return err
	}
	for _, name := range names {
		f, err := Follow(name)
		if errors.Is(err, ErrNoJournal) {
			continue
		}
		if err != nil {
			return err
		}
		err = f.Next(func(e *Event, _ []byte) error { return each(e) })
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
