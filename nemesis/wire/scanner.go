package wire

import (
	"bytes"
	"errors"
	"math"
)

// The bounds of what is understood. A connection that goes beyond them is not broken: its
// bytes are forwarded as they are.
const (
	maxBulk     = 512 << 20 // bytes of one string or line: the server's default (proto-max-bulk-len)
	maxElements = math.MaxInt32
	maxDigits   = 10       // of a length: enough for both
	maxDepth    = 1024     // aggregates within aggregates; a script's reply can be deep
	maxInline   = 64 << 10 // bytes of an inline command: the server's bound
)

// errProtocol: these bytes are not RESP as Redis and Valkey speak it.
var errProtocol = errors.New("not understood as RESP")

// state is what a scanner expects next.
type state uint8

const (
	atType   state = iota // the type byte of a value
	atSign                // the first character of a length, perhaps a minus
	atDigits              // more digits of it, or its CR
	atLenLF               // its LF
	atBulk                // the bytes of a string
	atBulkCR              // the CR behind them
	atBulkLF              // and the LF
	atLine                // the rest of a line
)

// scanner finds where the values of one direction of a connection end. It is fed the
// bytes as they come, in any pieces, looks at each once and keeps none. An attribute
// belongs to the value behind it. Streamed strings and aggregates are not understood: no
// server sends them.
type scanner struct {
	requests bool // arrays of strings and inline commands, as clients send them

	state  state
	kind   byte    // type of the value; 0: an inline command
	minus  bool    // its length is negative
	digits int     // so many digits of the length are read
	n      int64   // the length; then what is still to come of the string; of a line: what came
	last   byte    // the latest byte of a line
	open   []int64 // for each open aggregate, the values still to come
}

// scan reads on in b. It returns how many bytes it took: all of them, or up to the end of
// the value, when that ended. After an error the scanner is of no more use.
func (s *scanner) scan(b []byte) (n int, ended bool, err error) {
	for n < len(b) && !ended && err == nil {
		switch s.state {
		case atType:
			if s.requests && len(s.open) == 0 && b[n] != '*' {
				if !isText(b[n]) {
					return n, false, errProtocol // TLS, for one, must not wait here for the end of a line
				}
				s.kind, s.n, s.last, s.state = 0, 0, 0, atLine // an inline command has no type byte
				continue
			}
			err = s.begin(b[n])
			n++
		case atSign, atDigits:
			err = s.digit(b[n])
			n++
		case atLenLF:
			if b[n] != '\n' {
				return n, false, errProtocol
			}
			n++
			ended, err = s.length()
		case atBulk:
			step := min(s.n, int64(len(b)-n))
			n += int(step)
			if s.n -= step; s.n == 0 {
				s.state = atBulkCR
			}
		case atBulkCR:
			if b[n] != '\r' {
				return n, false, errProtocol
			}
			n++
			s.state = atBulkLF
		case atBulkLF:
			if b[n] != '\n' {
				return n, false, errProtocol
			}
			n++
			ended = s.end()
		case atLine:
			var step int
			step, ended, err = s.line(b[n:])
			n += step
		}
	}
	return n, ended, err
}

// isText: an inline command may begin so.
func isText(c byte) bool { return c >= ' ' && c <= '~' || c >= '\t' && c <= '\r' }

// begin takes the type byte of a value.
func (s *scanner) begin(c byte) error {
	s.kind, s.minus, s.digits, s.n, s.last = c, false, 0, 0, 0
	if s.requests && (c == '*') != (len(s.open) == 0) {
		return errProtocol
	}
	switch c {
	case '$', '*':
		s.state = atSign
		return nil
	case '!', '=', '~', '%', '|', '>':
		s.state = atSign
	case '+', '-', ':', '_', '#', ',', '(':
		s.state = atLine
	default:
		return errProtocol
	}
	if s.requests {
		return errProtocol
	}
	return nil
}

// digit takes a character of a length.
func (s *scanner) digit(c byte) error {
	switch {
	case c >= '0' && c <= '9' && s.digits < maxDigits:
		s.n = s.n*10 + int64(c-'0')
		s.digits++
		s.state = atDigits
	case c == '-' && s.state == atSign:
		s.minus = true
		s.state = atDigits
	case c == '\r' && s.digits > 0:
		s.state = atLenLF
	default:
		return errProtocol
	}
	return nil
}

// length acts on a length that is complete.
func (s *scanner) length() (ended bool, err error) {
	if s.minus { // a null of RESP2; as a request an array of nothing
		if s.n != 1 || (s.kind != '*' && s.kind != '$') || (s.requests && s.kind == '$') {
			return false, errProtocol
		}
		return s.end(), nil
	}
	values := s.n
	switch s.kind {
	case '$', '!', '=':
		if s.n > maxBulk {
			return false, errProtocol
		}
		if s.state = atBulk; s.n == 0 {
			s.state = atBulkCR
		}
		return false, nil
	case '%':
		values = 2 * s.n
	case '|':
		values = 2*s.n + 1 // and the value that it belongs to
	}
	if s.n > maxElements || len(s.open) == maxDepth {
		return false, errProtocol
	}
	if values == 0 {
		return s.end(), nil
	}
	s.open = append(s.open, values)
	s.state = atType
	return false, nil
}

// line takes bytes up to the end of a line.
func (s *scanner) line(b []byte) (n int, ended bool, err error) {
	end := bytes.IndexByte(b, '\n')
	if n = end + 1; end < 0 {
		n = len(b)
	}
	if s.n += int64(n); s.n > maxBulk || (s.kind == 0 && s.n > maxInline) {
		return 0, false, errProtocol
	}
	if end < 0 {
		s.last = b[n-1]
		return n, false, nil
	}
	if end > 0 {
		s.last = b[end-1]
	}
	if s.kind != 0 && s.last != '\r' { // inline commands may end with a bare LF
		return 0, false, errProtocol
	}
	return n, s.end(), nil
}

// end notes that a value ended, and tells whether that ended the outermost one.
func (s *scanner) end() bool {
	s.state = atType
	for top := len(s.open) - 1; top >= 0; top-- {
		if s.open[top]--; s.open[top] > 0 {
			return false
		}
		s.open = s.open[:top]
	}
	return true
}
