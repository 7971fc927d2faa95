package history

import (
	"bufio"
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"slices"
)

// part reads one chunk of a history file into operations and what else there is. It is
// used again for other chunks.
//
// Each line carries the checksum of all lines up to it. A part takes the checksum before
// its own first line from the text of the line before that, and checks its own lines from
// there. If the parts before it found every line of theirs right, then that text is what
// they reckoned, and so the whole file is checked as if it had been read in one go. If
// not, theirs is the first damage, and what this part found does not count.
type part struct {
	scanner scanner
	buf     []byte
	event   Event
	slots   [1 << slotBits]int32 // where in ops an operation was invoked, plus one, by a hash of its ID

	lines  int // whole lines that were read
	ops    []Operation
	late   []Event // completions whose invocation was not found in this part
	ledger []LedgerLine
	times  []int64 // theirs
	rare   []Event // everything else
	end    int64   // the latest time of an operation's event

	// What ended the part before the end of its chunk, with the next line.
	damage error // the line is no event, or not this one
	err    error // it could not be read
	torn   int   // the file ends with this many bytes of a line that is no event
	zeros  int   // the file ends with this many zero bytes
}

const slotBits = 12

// lineLimit is the length of the longest line in bytes.
const lineLimit = 64 << 20

// before is how many bytes before a chunk are read with it: the checksum of a line that
// ends there.
const before = 16

// read reads the lines of in that begin in the chunk [from, to).
func (p *part) read(in io.ReaderAt, size, from, to int64) {
	p.reset()
	base := max(0, from-before)
	if !p.fetch(in, size, base, to-base+4096) {
		return
	}
	at, sum := int(from-base), uint32(0)
	if from > 0 {
		// A line begins in the chunk if the newline before it is at from-1 or later.
		end := bytes.IndexByte(p.buf[at-1:min(len(p.buf), int(to-1-base))], '\n')
		if end < 0 {
			return
		}
		at += end
		sum = sumBefore(p.buf[:at])
	}
	for base+int64(at) < min(to, size) {
		end := bytes.IndexByte(p.buf[at:], '\n')
		for end < 0 && base+int64(len(p.buf)) < size {
			if len(p.buf)-at >= lineLimit {
				p.err = bufio.ErrBufferFull
				return
			}
			known := len(p.buf)
			if !p.fetch(in, size, base, 2*int64(known)) {
				return
			}
			if end = bytes.IndexByte(p.buf[known:], '\n'); end >= 0 {
				end += known - at
			}
		}
		last := end < 0
		if last {
			end = len(p.buf) - at
		}
		if end >= lineLimit {
			p.err = bufio.ErrBufferFull
			return
		}
		line := p.buf[at : at+end]
		next, err := p.line(line, sum)
		switch {
		case err == nil:
			p.lines++
			sum = next
		case last && len(bytes.TrimRight(line, "\x00")) == 0:
			p.zeros = len(line)
			return
		case last:
			p.torn = len(line)
			return
		default:
			p.damage = err
			return
		}
		at += end + 1
	}
}

func (p *part) reset() {
	clear(p.slots[:])
	clear(p.late)
	clear(p.rare)
	p.buf, p.lines, p.end = p.buf[:0], 0, 0
	p.damage, p.err, p.torn, p.zeros = nil, nil, 0, 0
	p.ops, p.late, p.ledger, p.times, p.rare = p.ops[:0], p.late[:0], p.ledger[:0], p.times[:0], p.rare[:0]
}

// fetch makes buf the n bytes at base, or as many as there are; those that it has stay.
func (p *part) fetch(in io.ReaderAt, size, base, n int64) bool {
	known := len(p.buf)
	p.buf = slices.Grow(p.buf, int(min(n, size-base))-known)[:min(n, size-base)]
	got, err := in.ReadAt(p.buf[known:], base+int64(known))
	if got == len(p.buf)-known {
		return true
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // somebody cut the file meanwhile
	}
	p.err = err
	return false
}

// sumBefore is the checksum that the text of the line that ends text carries; anything if
// it carries none.
func sumBefore(text []byte) uint32 {
	end := len(text) - len("\"}\n")
	if end < 8 {
		return 0
	}
	sum, _ := parseSum(text[end-8 : end])
	return sum
}

// parseSum reads a checksum as appendSum writes it.
func parseSum(b []byte) (sum uint32, ok bool) {
	for _, c := range b {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c-'a' <= 5:
			c -= 'a' - 10
		default:
			return 0, false
		}
		sum = sum<<4 | uint32(c)
	}
	return sum, true
}

// line takes one line, of which sum is the checksum of all lines before, and gives the
// checksum after it.
func (p *part) line(line []byte, sum uint32) (uint32, error) {
	e := &p.event
	if cut := len(line) - crcTail; cut > 0 && string(line[cut:cut+len(crcField)]) == crcField && string(line[len(line)-2:]) == `"}` {
		next := crc32.Update(sum, castagnoli, line[:cut])
		if have, ok := parseSum(line[cut+len(crcField) : len(line)-2]); ok && have == next && p.scanner.scan(line[:cut], e) {
			p.add(e)
			return next, nil
		}
	}
	slow, next, err := parseLine(line, sum)
	if err != nil {
		return 0, err
	}
	*e = slow
	p.add(e)
	return next, nil
}

// slot is where a part remembers an operation. Another may take its place: then the
// completion is found later.
func (p *part) slot(id int64) *int32 {
	return &p.slots[uint64(id)*0x9e3779b97f4a7c15>>(64-slotBits)]
}

func (p *part) add(e *Event) {
	switch e.Type {
	case Invoke:
		p.end = max(p.end, e.Time)
		p.ops = append(p.ops, invoked(e))
		*p.slot(e.ID) = int32(len(p.ops))
	case OK, Fail, Info:
		p.end = max(p.end, e.Time)
		if at := *p.slot(e.ID); at > 0 && completes(&p.ops[at-1], e) {
			complete(&p.ops[at-1], e)
			return
		}
		p.late = append(p.late, *e)
	case LedgerEntry:
		if e.Ledger == nil {
			p.rare = append(p.rare, *e)
			return
		}
		p.ledger = append(p.ledger, LedgerLine{e.Object, *e.Ledger})
		p.times = append(p.times, e.Time)
	default:
		p.rare = append(p.rare, *e)
	}
}

// completes says whether e is what o waits for, with nothing strange about it.
func completes(o *Operation, e *Event) bool {
	return o.ID == e.ID && o.Return == Never && o.Invoke <= e.Time && e.Time < Never &&
		o.Op == e.Op && o.Process == e.Process && o.Client == e.Client
}
