package foreign

import (
	"bufio"
	"errors"
	"io"
)

// maxForm is how many bytes one operation may have. A line that was torn in the middle of
// a file would otherwise swallow all that follows.
const maxForm = 1 << 20

// scanner cuts a stream of EDN into operations: those at the top, or those in the one
// vector or list that is the file. It holds one at a time.
type scanner struct {
	in      *bufio.Reader
	b       *builder
	line    int
	buf     []byte
	end     byte // what closes the vector; 0: there is none, or it is closed
	opened  int  // its line
	started bool
	closed  bool
}

// next gives the next operation and the line on which it begins. The bytes are valid until
// the next call. At the end the error is io.EOF.
func (s *scanner) next() ([]byte, int, error) {
	for {
		c, err := s.byte()
		if errors.Is(err, io.EOF) && s.end != 0 {
			return nil, 0, s.b.h.errorf(s.line, "the file ends within the vector of line %d: it was cut", s.opened)
		}
		if err != nil {
			return nil, 0, err
		}
		switch {
		case white(c):
		case c == ';':
			if err := s.comment(); err != nil {
				return nil, 0, err
			}
		case s.end != 0 && c == s.end:
			s.end, s.closed = 0, true
		case s.closed:
			return nil, 0, s.b.h.errorf(s.line, "%q follows the end of the vector of line %d", c, s.opened)
		case !s.started && (c == '[' || c == '('):
			s.end, s.opened, s.started = closer(c), s.line, true
		case c == '{' || c == '#':
			s.started = true
			line := s.line
			s.buf = s.buf[:0]
			discarded, err := s.form(c, 0)
			if errors.Is(err, io.EOF) {
				return nil, 0, s.b.h.errorf(line, "the file ends within the operation of this line: it was cut")
			}
			if errors.Is(err, errLong) || errors.Is(err, errDeep) || errors.Is(err, errShape) {
				return nil, 0, s.b.h.errorf(line, "%v", err)
			}
			if err != nil {
				return nil, 0, err
			}
			if !discarded {
				return s.buf, line, nil
			}
		default:
			return nil, 0, s.b.h.errorf(s.line, "wanted an operation, a map, but found %q", c)
		}
	}
}

var (
	errLong  = errors.New("an operation is longer than 1 MiB: its end is missing")
	errShape = errors.New("brackets do not match")
)

func (s *scanner) byte() (byte, error) {
	c, err := s.in.ReadByte()
	if c == '\n' {
		s.line++
	}
	return c, err
}

// take reads one byte into the form.
func (s *scanner) take() (byte, error) {
	c, err := s.byte()
	if err != nil {
		return 0, err
	}
	if len(s.buf) >= maxForm {
		return 0, errLong
	}
	s.buf = append(s.buf, c)
	return c, nil
}

func (s *scanner) comment() error {
	for {
		c, err := s.byte()
		if err != nil || c == '\n' {
			if errors.Is(err, io.EOF) {
				return nil // the next read says so
			}
			return err
		}
	}
}

// form reads the form that begins with c, which is not yet in the buffer. A discarded one
// leaves the buffer as it was.
func (s *scanner) form(c byte, depth int) (discarded bool, err error) {
	if depth > maxDepth {
		return false, errDeep
	}
	begin := len(s.buf)
	s.buf = append(s.buf, c)
	switch {
	case closer(c) != 0:
		return false, s.bracket(closer(c))
	case c == '"':
		return false, s.text()
	case c != '#':
		return false, s.atom()
	}
	if c, err = s.take(); err != nil {
		return false, err
	}
	switch {
	case c == '{':
		return false, s.bracket('}')
	case c == '"':
		return false, s.text()
	case c == '_':
		for {
			again, err := s.after(depth)
			if err != nil {
				return false, err
			}
			if !again { // what is discarded may itself begin with a discarded form
				s.buf = s.buf[:begin]
				return true, nil
			}
		}
	case delimits(c):
		return false, errShape
	}
	if err := s.atom(); err != nil { // the tag
		return false, err
	}
	for {
		if again, err := s.after(depth); err != nil || !again {
			return false, err
		}
	}
}

// after reads the form that must follow a tag.
func (s *scanner) after(depth int) (discarded bool, err error) {
	for {
		c, err := s.byte()
		if err != nil {
			return false, err
		}
		switch {
		case white(c):
			s.buf = append(s.buf, ' ')
			if len(s.buf) >= maxForm {
				return false, errLong
			}
		case c == ';':
			if err := s.comment(); err != nil {
				return false, err
			}
		case c == ']' || c == ')' || c == '}':
			return false, errShape
		default:
			return s.form(c, depth+1)
		}
	}
}

func (s *scanner) text() error {
	for {
		c, err := s.take()
		if err != nil || c == '"' {
			return err
		}
		if c == '\\' {
			if _, err := s.take(); err != nil {
				return err
			}
		}
	}
}

// atom reads up to a delimiter, which it leaves.
func (s *scanner) atom() error {
	for {
		next, err := s.in.Peek(1)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if delimits(next[0]) {
			return nil
		}
		if _, err := s.take(); err != nil {
			return err
		}
	}
}

// bracket reads up to the end of what was opened.
func (s *scanner) bracket(end byte) error {
	stack := append(make([]byte, 0, 16), end)
	for len(stack) > 0 {
		c, err := s.take()
		if err != nil {
			return err
		}
		switch c {
		case '"':
			err = s.text()
		case '\\':
			_, err = s.take()
		case ';':
			s.buf = s.buf[:len(s.buf)-1]
			err = s.comment()
			s.buf = append(s.buf, '\n')
		case '[', '(', '{':
			if len(stack) > maxDepth {
				return errDeep
			}
			stack = append(stack, closer(c))
		case ']', ')', '}':
			if stack[len(stack)-1] != c {
				return errShape
			}
			stack = stack[:len(stack)-1]
		}
		if err != nil {
			return err
		}
	}
	return nil
}
