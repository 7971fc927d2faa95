package foreign

import (
	"bytes"
	"errors"
	"fmt"
)

// maxDepth is how deep values may nest.
const maxDepth = 200

var (
	errEnd  = errors.New("there is nothing more")
	errOpen = errors.New("it ends within a value")
	errDeep = fmt.Errorf("values nest deeper than %d", maxDepth)
)

// parser finds where the forms of EDN begin and end. What an atom means is left to the EDN
// library, which reads no lines and no streams.
type parser struct {
	in []byte
	at int
}

// next gives the next form, past white space, comments and what is discarded; errEnd if
// there is none.
func (p *parser) next() ([]byte, error) {
	if err := p.skip(0); err != nil {
		return nil, err
	}
	if p.at == len(p.in) {
		return nil, errEnd
	}
	start := p.at
	err := p.pass(0)
	return p.in[start:p.at], err
}

func white(c byte) bool {
	return c == ' ' || c == ',' || c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\v'
}

// delimits says whether an atom ends before c.
func delimits(c byte) bool {
	return c <= '}' && (white(c) || c == '"' || c == ';' || c == '[' || c == ']' || c == '(' || c == ')' || c == '{' || c == '}' || c == '\\')
}

func closer(c byte) byte {
	switch c {
	case '[':
		return ']'
	case '(':
		return ')'
	case '{':
		return '}'
	}
	return 0
}

func (p *parser) skip(depth int) error {
	for p.at < len(p.in) {
		switch c := p.in[p.at]; {
		case white(c):
			p.at++
		case c == ';':
			if n := bytes.IndexByte(p.in[p.at:], '\n'); n >= 0 {
				p.at += n
			} else {
				p.at = len(p.in)
			}
		case c == '#' && p.at+1 < len(p.in) && p.in[p.at+1] == '_':
			p.at += 2
			if err := p.inner(depth); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// inner passes over a form that must follow.
func (p *parser) inner(depth int) error {
	if depth >= maxDepth {
		return errDeep
	}
	if err := p.skip(depth + 1); err != nil {
		return err
	}
	if p.at == len(p.in) {
		return errOpen
	}
	return p.pass(depth + 1)
}

// pass passes over the form at hand.
func (p *parser) pass(depth int) error {
	c := p.in[p.at]
	if c == '#' {
		p.at++
		if p.at == len(p.in) {
			return errOpen
		}
		switch c = p.in[p.at]; c {
		case '{', '"':
		case '#':
			p.at++
			p.atom()
			return nil
		default:
			if len(p.atom()) == 0 {
				return fmt.Errorf("unexpected %q behind #", c)
			}
			return p.inner(depth)
		}
	}
	switch c {
	case '"':
		return p.passText()
	case '\\':
		p.at = min(p.at+2, len(p.in))
		p.atom()
		return nil
	case '[', '(', '{':
		return p.passBracket(closer(c), depth)
	case ']', ')', '}':
		return fmt.Errorf("unexpected %q", c)
	}
	p.atom()
	return nil
}

func (p *parser) passText() error {
	for p.at++; p.at < len(p.in); p.at++ {
		switch p.in[p.at] {
		case '"':
			p.at++
			return nil
		case '\\':
			p.at++
		}
	}
	p.at = len(p.in)
	return errOpen
}

func (p *parser) passBracket(end byte, depth int) error {
	if depth >= maxDepth {
		return errDeep
	}
	for p.at++; ; {
		if err := p.skip(depth + 1); err != nil {
			return err
		}
		if p.at == len(p.in) {
			return errOpen
		}
		if p.in[p.at] == end {
			p.at++
			return nil
		}
		if err := p.pass(depth + 1); err != nil {
			return err
		}
	}
}

// atom takes everything up to a delimiter.
func (p *parser) atom() []byte {
	start := p.at
	for p.at < len(p.in) && !delimits(p.in[p.at]) {
		p.at++
	}
	return p.in[start:p.at]
}
