package history

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A journal is one worker's own record: a file that the worker maps into its memory and
// appends lines to. The pages belong to the kernel, so what was appended survives a
// SIGKILL of the worker at any instruction, and appending costs no system call. A header
// page tells how many bytes are whole; the harness follows it from outside.
const (
	journalMagic  = 0x6b636f6c6b636970 // "picklock"
	journalHeader = 4096
	journalWindow = 1 << 20 // bytes mapped at a time
)

// Journal appends to a journal. It is used by one goroutine at a time.
type Journal struct {
	file   *os.File
	header []byte
	window []byte
	index  int64 // of the window
	used   int64 // bytes of lines in all
	line   []byte
}

// CreateJournal starts a journal at path.
func CreateJournal(path string) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	j := &Journal{file: f, index: -1}
	if err := j.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", path, err), j.Close())
	}
	return j, nil
}

func (j *Journal) open() error {
	if err := j.file.Truncate(journalHeader); err != nil {
		return err
	}
	var err error
	j.header, err = unix.Mmap(int(j.file.Fd()), 0, journalHeader, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	if err := j.slide(); err != nil {
		return err
	}
	word(j.header, 0).Store(journalMagic)
	return nil
}

// slide maps the next window. Its blocks are allocated first: a full disk is then an
// error here and not a SIGBUS in the middle of a line.
func (j *Journal) slide() error {
	if j.window != nil {
		if err := unix.Munmap(j.window); err != nil {
			return err
		}
		j.window = nil
	}
	j.index++
	at := journalHeader + j.index*journalWindow
	err := unix.Fallocate(int(j.file.Fd()), 0, at, journalWindow)
	if errors.Is(err, unix.EOPNOTSUPP) {
		err = j.file.Truncate(at + journalWindow)
	}
	if err != nil {
		return err
	}
	j.window, err = unix.Mmap(int(j.file.Fd()), at, journalWindow, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	// All pages at once, rather than a fault for each in the middle of an operation. Kernels
	// before 5.14 cannot; there it only costs more.
	_ = unix.Madvise(j.window, unix.MADV_POPULATE_WRITE)
	return nil
}

// Append records the event. When it returns, the event survives the end of the process.
func (j *Journal) Append(e *Event) error {
	j.line = append(e.AppendJSON(j.line[:0]), '\n')
	for rest := j.line; len(rest) > 0; {
		at := j.used - j.index*journalWindow
		n := copy(j.window[at:], rest)
		j.used += int64(n)
		rest = rest[n:]
		if len(rest) > 0 {
			if err := j.slide(); err != nil {
				return fmt.Errorf("journal %s: %w", j.file.Name(), err)
			}
		}
	}
	word(j.header, 1).Store(uint64(j.used))
	return nil
}

// Close unmaps and closes the file; what was appended stays.
func (j *Journal) Close() error {
	var errs []error
	for _, m := range [][]byte{j.header, j.window} {
		if m != nil {
			errs = append(errs, unix.Munmap(m))
		}
	}
	j.header, j.window = nil, nil
	return errors.Join(append(errs, j.file.Close())...)
}

// word is the n-th 8-byte word of a mapped page, for use by two processes at once.
func word(page []byte, n int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&page[8*n]))
}

// Follower reads a journal while its worker writes it, or afterwards.
type Follower struct {
	file   *os.File
	header []byte
	read   int64
	buf    []byte
	event  Event
}

// Follow opens the journal at path. A worker that died before its journal was ready
// leaves a file that is too short; that is ErrNoJournal.
func Follow(path string) (*Follower, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*Follower, error) {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", path, err), f.Close())
	}
	if info, err := f.Stat(); err != nil {
		return fail(err)
	} else if info.Size() < journalHeader {
		return fail(ErrNoJournal)
	}
	header, err := unix.Mmap(int(f.Fd()), 0, journalHeader, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return fail(err)
	}
	if word(header, 0).Load() != journalMagic {
		return fail(errors.Join(ErrNoJournal, unix.Munmap(header)))
	}
	return &Follower{file: f, header: header}, nil
}

// ErrNoJournal: the file is not a journal, or not yet.
var ErrNoJournal = errors.New("not a journal")

// Next gives each event that was appended since the last call to each, in order, with the
// line that tells it. Both are valid only until each returns.
func (f *Follower) Next(each func(e *Event, line []byte) error) error {
	whole := int64(word(f.header, 1).Load())
	n := whole - f.read
	if n <= 0 {
		return nil
	}
	if int64(cap(f.buf)) < n {
		f.buf = make([]byte, n)
	}
	b := f.buf[:n]
	if _, err := f.file.ReadAt(b, journalHeader+f.read); err != nil {
		return fmt.Errorf("journal %s: %w", f.file.Name(), err)
	}
	f.read = whole
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			return fmt.Errorf("journal %s: a line does not end", f.file.Name())
		}
		var err error
		if f.event, err = ParseEvent(b[:end]); err != nil {
			return fmt.Errorf("journal %s: %w", f.file.Name(), err)
		}
		if err := each(&f.event, b[:end]); err != nil {
			return err
		}
		b = b[end+1:]
	}
	return nil
}

// Close ends the following.
func (f *Follower) Close() error {
	return errors.Join(unix.Munmap(f.header), f.file.Close())
}
