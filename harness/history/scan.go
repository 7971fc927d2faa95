package history

import (
	"bytes"
	"encoding/binary"
	"unsafe"
)

// scanner reads lines in the very form that AppendJSON gives them: the fields in its order,
// numbers of at most 18 digits, strings without escapes. That is nearly every line of a
// long history, and it costs little more than looking at the bytes. What is in another form
// it leaves to ParseEvent, which alone says what is an event and what is not: where scan
// succeeds, ParseEvent gives the same event, as a test holds.
//
// Strings and numbers that are pointed to are taken from blocks, so that a line costs no
// allocation of its own. Words that come again and again are kept once.
type scanner struct {
	b  []byte
	at int

	words  [256]string // those met last, by hashes
	text   []byte      // block for other strings; what is in it is never written again
	ints   []int64     // block for numbers
	ledger Ledger      // of the last event
}

// The order of the fields, as AppendJSON writes them.
const (
	rankOp = iota
	rankID
	rankProcess
	rankClient
	rankWorker
	rankObject
	rankGrant
	rankServer
	rankToken
	rankFence
	rankFrom
	rankValidity
	rankAttempts
	rankBelief
	rankCount
	rankBasis
	rankLeft
	rankSold
	rankCode
	rankError
	rankLedger
	rankNode
	rankNote
)

// scan reads a line without its closing brace into e; false: it is not in the usual form,
// and e is of no use. e.Ledger is valid until the next scan.
func (s *scanner) scan(line []byte, e *Event) bool {
	s.b, s.at = line, 0
	*e = Event{}
	if !s.has(`{"t":`) || !s.integer(&e.Time) || !s.has(`,"type":`) || !s.kind(&e.Type) {
		return false
	}
	for last := -1; s.at < len(s.b); {
		rank, ok := s.field(e)
		if !ok || rank <= last {
			return false
		}
		last = rank
	}
	return true
}

// field reads the next field and tells its rank.
func (s *scanner) field(e *Event) (rank int, ok bool) {
	if len(s.b)-s.at < 4 {
		return 0, false
	}
	switch s.b[s.at+2] {
	case 'o':
		if s.has(`,"op":`) {
			return rankOp, s.op(&e.Op)
		}
		return rankObject, s.has(`,"obj":`) && s.word(&e.Object)
	case 'i':
		return rankID, s.has(`,"id":`) && s.integer(&e.ID)
	case 'p':
		return rankProcess, s.has(`,"p":`) && s.integer(&e.Process)
	case 'c':
		if s.has(`,"c":`) {
			return rankClient, s.number(&e.Client)
		}
		if s.has(`,"code":`) {
			return rankCode, s.word(&e.Code)
		}
		return rankCount, s.has(`,"count":`) && s.pointer(&e.Count)
	case 'w':
		return rankWorker, s.has(`,"w":`) && s.number(&e.Worker)
	case 'g':
		return rankGrant, s.has(`,"grant":`) && s.integer(&e.Grant)
	case 't':
		return rankToken, s.has(`,"token":`) && s.string(&e.Token)
	case 'f':
		if s.has(`,"from":`) {
			return rankFrom, s.integer(&e.From)
		}
		return rankFence, s.has(`,"fence":`) && s.integer(&e.Fence)
	case 'v':
		return rankValidity, s.has(`,"validity":`) && s.integer(&e.Validity)
	case 'a':
		return rankAttempts, s.has(`,"attempts":`) && s.integer(&e.Attempts)
	case 'b':
		if s.has(`,"basis":`) {
			return rankBasis, s.pointer(&e.Basis)
		}
		return rankBelief, s.has(`,"belief":`) && s.word(&e.Belief)
	case 'l':
		if s.has(`,"left":`) {
			return rankLeft, s.pointer(&e.Left)
		}
		return rankLedger, s.entry(e)
	case 's':
		if s.has(`,"srv":`) {
			return rankServer, s.small(&e.Server)
		}
		e.Sold = true
		return rankSold, s.has(`,"sold":true`)
	case 'e':
		return rankError, s.has(`,"error":`) && s.word(&e.Error)
	case 'n':
		if s.has(`,"note":`) {
			return rankNote, s.word(&e.Note)
		}
		return rankNode, s.has(`,"node":`) && s.word(&e.Node)
	}
	return 0, false
}

// entry reads a ledger entry; basis and fence may be missing.
func (s *scanner) entry(e *Event) bool {
	l := &s.ledger
	*l = Ledger{}
	e.Ledger = l
	return s.has(`,"ledger":{"seq":`) && s.integer(&l.Seq) && s.has(`,"op":`) && s.integer(&l.Op) &&
		(!s.has(`,"basis":`) || s.pointer(&l.Basis)) &&
		s.has(`,"found":`) && s.integer(&l.Found) && s.has(`,"left":`) && s.integer(&l.Left) &&
		(!s.has(`,"fence":`) || s.integer(&l.Fence)) && s.has(`}`)
}

// has steps over what comes next, if it is this.
func (s *scanner) has(next string) bool {
	if len(s.b)-s.at < len(next) || string(s.b[s.at:s.at+len(next)]) != next {
		return false
	}
	s.at += len(next)
	return true
}

func (s *scanner) integer(out *int64) bool {
	negative := s.has("-")
	b := s.b[s.at:]
	n, v := 0, uint64(0)
	for n <= 8 && n+8 <= len(b) {
		eight, ok := digits(binary.LittleEndian.Uint64(b[n:]))
		if !ok {
			break
		}
		v = v*100_000_000 + eight
		n += 8
	}
	for n < len(b) && n <= 18 && b[n]-'0' <= 9 {
		v = v*10 + uint64(b[n]-'0')
		n++
	}
	if n == 0 || n > 18 || b[0] == '0' && n > 1 {
		return false
	}
	s.at += n
	*out = int64(v)
	if negative {
		*out = -*out
	}
	return true
}

// Bytes repeated through a word of eight.
const (
	ones  = 0x0101010101010101
	tops  = 0x80 * ones
	zeros = '0' * ones
)

// digits gives the number that eight decimal digits make, the first in the lowest byte;
// false: they are not all digits. Neighbours are joined: to two digits, to four, to eight.
func digits(w uint64) (uint64, bool) {
	if (w|(w+6*ones))&(0xf0*ones) != 3*0x10*ones || w&(0xf0*ones) != 3*0x10*ones {
		return 0, false
	}
	w -= zeros
	w = w*10 + w>>8
	return ((w&0x000000ff000000ff)*(100+1_000_000<<32) + (w>>16&0x000000ff000000ff)*(1+10_000<<32)) >> 32, true
}

func (s *scanner) number(out *int) bool {
	var v int64
	ok := s.integer(&v)
	*out = int(v)
	return ok
}

func (s *scanner) small(out *uint8) bool {
	var v int64
	ok := s.integer(&v)
	*out = uint8(v)
	return ok && int64(*out) == v
}

func (s *scanner) pointer(out **int64) bool {
	if len(s.ints) == cap(s.ints) {
		s.ints = make([]int64, 0, 4096)
	}
	s.ints = append(s.ints, 0)
	*out = &s.ints[len(s.ints)-1]
	return s.integer(*out)
}

// literal steps over a string without escapes, of printable ASCII only, and gives what is
// between its quotes.
func (s *scanner) literal() ([]byte, bool) {
	if !s.has(`"`) {
		return nil, false
	}
	n := bytes.IndexByte(s.b[s.at:], '"')
	if n < 0 {
		return nil, false
	}
	lit := s.b[s.at : s.at+n]
	s.at += n + 1
	return lit, plain(lit)
}

// plain says whether there is no backslash, no control character and nothing beyond ASCII.
func plain(b []byte) bool {
	for len(b) >= 8 {
		w := binary.LittleEndian.Uint64(b)
		slash := w ^ '\\'*ones
		// A byte of x is below n <= 0x80 exactly if this sets the top bit of some byte:
		// (x - n) &^ x, taken over all bytes at once.
		if (w|(w-' '*ones)&^w|(slash-ones)&^slash)&tops != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c < ' ' || c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

// string reads a string that is like no other, such as a token.
func (s *scanner) string(out *string) bool {
	lit, ok := s.literal()
	if ok {
		*out = s.copy(lit)
	}
	return ok
}

// textBlock is the size of a block; longer strings are on their own.
const textBlock = 64 << 10

// copy gives the bytes as a string that lies in a block.
func (s *scanner) copy(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > textBlock/16 {
		return string(b)
	}
	if cap(s.text)-len(s.text) < len(b) {
		s.text = make([]byte, 0, textBlock)
	}
	from := len(s.text)
	s.text = append(s.text, b...)
	return unsafe.String(&s.text[from], len(b))
}

// word reads a string that is likely to come again.
func (s *scanner) word(out *string) bool {
	lit, ok := s.literal()
	if !ok {
		return false
	}
	if len(lit) == 0 {
		*out = ""
		return true
	}
	slot := &s.words[uint8(len(lit))*31^lit[0]*7^lit[len(lit)/2]*3^lit[len(lit)-1]]
	if *slot != string(lit) {
		*slot = s.copy(lit)
	}
	*out = *slot
	return true
}

func (s *scanner) kind(out *Type) bool {
	switch {
	case s.has(`"invoke"`):
		*out = Invoke
	case s.has(`"ok"`):
		*out = OK
	case s.has(`"ledger"`):
		*out = LedgerEntry
	case s.has(`"fail"`):
		*out = Fail
	case s.has(`"info"`):
		*out = Info
	default:
		return s.word((*string)(out)) && *out != ""
	}
	return true
}

func (s *scanner) op(out *Op) bool {
	switch {
	case s.has(`"acquire"`):
		*out = Acquire
	case s.has(`"deduct"`):
		*out = Deduct
	case s.has(`"release"`):
		*out = Release
	case s.has(`"extend"`):
		*out = Extend
	default:
		return s.word((*string)(out))
	}
	return true
}
