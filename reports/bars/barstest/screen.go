// Package barstest is a terminal for tests: it shows what a person would see in the end,
// and knows only the few control sequences that picklock has a right to send. Any other is
// an error, so that one which hides the cursor or takes the whole screen is found.
package barstest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Screen is the terminal: everything that was ever written stays, so that what scrolled
// away can be looked at too.
type Screen struct {
	columns, rows int
	lines         [][]rune
	x, y          int // y counts from the first line ever
	rest          string
	// Coloured counts the sequences that set a colour, Wrapped the rows that were so long
	// that they went on in the next.
	Coloured, Wrapped int
}

// NewScreen is an empty terminal.
func NewScreen(columns, rows int) *Screen {
	return &Screen{columns: columns, rows: rows, lines: [][]rune{nil}}
}

// Write shows text; what is broken off in the middle of a character or of a sequence is
// shown with the next. The error names a sequence that is not known.
func (s *Screen) Write(p []byte) (int, error) {
	in := s.rest + string(p)
	for len(in) > 0 {
		n, err := s.one(in)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			break
		}
		in = in[n:]
	}
	s.rest = in
	return len(p), nil
}

// one takes the first character or sequence; 0: there is not all of it yet.
func (s *Screen) one(in string) (taken int, err error) {
	switch in[0] {
	case '\r':
		s.x = 0
		return 1, nil
	case '\n':
		s.down()
		return 1, nil
	case '\x1b':
		end := strings.IndexFunc(in, func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' })
		if end < 0 {
			return 0, nil
		}
		return end + 1, s.sequence(in[1:end], in[end])
	}
	if in[0] < ' ' || in[0] == 0x7f {
		return 0, fmt.Errorf("the control character %q", in[0])
	}
	if !utf8.FullRuneInString(in) {
		return 0, nil
	}
	r, n := utf8.DecodeRuneInString(in)
	s.put(r)
	return n, nil
}

func (s *Screen) sequence(args string, what byte) error {
	number, err := strconv.Atoi(strings.TrimPrefix(args, "["))
	switch {
	case !strings.HasPrefix(args, "["):
	case what == 'm':
		if args != "[0" {
			s.Coloured++
		}
		return nil
	case what == 'A' && err == nil:
		s.y = max(s.y-number, s.top())
		return nil
	case what == 'J' && args == "[":
		s.lines = s.lines[:s.y+1]
		s.cut()
		return nil
	case what == 'K' && args == "[":
		s.cut()
		return nil
	}
	return fmt.Errorf("the control sequence %q", "\x1b"+args+string(what))
}

// top is the first row that the cursor can reach.
func (s *Screen) top() int { return max(0, len(s.lines)-s.rows) }

func (s *Screen) cut() {
	if line := s.lines[s.y]; len(line) > s.x {
		s.lines[s.y] = line[:s.x]
	}
}

func (s *Screen) down() {
	if s.y++; s.y == len(s.lines) {
		s.lines = append(s.lines, nil)
	}
}

func (s *Screen) put(r rune) {
	if s.x == s.columns {
		s.x = 0
		s.Wrapped++
		s.down()
	}
	line := s.lines[s.y]
	for len(line) <= s.x {
		line = append(line, ' ')
	}
	line[s.x] = r
	s.lines[s.y] = line
	s.x++
}

// Resize gives the terminal another size, between two writes. What stands there is not
// broken anew.
func (s *Screen) Resize(columns, rows int) { s.columns, s.rows = columns, rows }

// Lines is everything that was shown and not wiped, without spaces at its end.
func (s *Screen) Lines() []string {
	var lines []string
	for _, l := range s.lines {
		lines = append(lines, strings.TrimRight(string(l), " "))
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return slices.Clip(lines)
}

// String is Lines as one text.
func (s *Screen) String() string { return strings.Join(s.Lines(), "\n") + "\n" }
