package record

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// errShape is what is wrong with a line that is not a message, in general words.
var errShape = errors.New("not a message of the wire")

// ParseMessage reads what AppendJSON wrote, and nothing else: what is written in another
// way, though it may mean the same, was not written by picklock and may be damage.
func ParseMessage(line []byte) (Message, error) {
	var m Message
	p := parser{rest: line}
	p.word("{")
	m.At, _ = p.integer(`"t":`)
	if n, there := p.integer(`,"out":`); there {
		m.Out = n
	}
	client, hasClient := p.integer(`,"c":`)
	conn, hasConn := p.integer(`,"conn":`)
	m.Client, m.Conn = int(client), conn
	side := slices.Index(sides[:], p.text("side"))
	for _, f := range []struct {
		name string
		into *string
	}{
		{"node", &m.Node}, {"cmd", &m.Name}, {"script", &m.Script}, {"step", &m.Step}, {"key", &m.Key}, {"re", &m.Reply},
	} {
		*f.into = p.text(f.name)
	}
	fate := slices.Index(fates[:], p.text("fate"))
	fault, _ := p.integer(`,"fault":`)
	m.Fault = int(fault)
	p.word("}")
	switch {
	case p.err != nil:
		return m, p.err
	case !hasClient || !hasConn:
		return m, fmt.Errorf("%w: it has no client or no connection", errShape)
	case side < 0:
		return m, fmt.Errorf("%w: its side is none of %s", errShape, strings.Join(sides[:], ", "))
	case fate < 0:
		return m, fmt.Errorf("%w: its fate is none of %s", errShape, strings.Join(fates[1:], ", "))
	}
	m.Side, m.Fate = Side(side), Fate(fate)
	if m.At < 0 || m.Out < 0 || m.Out != 0 && m.Out < m.At || m.Client < 0 || m.Fault < 0 {
		return m, fmt.Errorf("%w: a time or a number of it cannot be", errShape)
	}
	if !bytes.Equal(m.AppendJSON(nil), line) {
		return m, fmt.Errorf("%w: picklock writes the same otherwise", errShape)
	}
	return m, nil
}

// parseEnding reads the last line.
func parseEnding(line []byte) (ending, error) {
	var e ending
	p := parser{rest: line}
	p.word("{")
	e.at, _ = p.integer(`"end":`)
	e.left, _ = p.integer(`,"left":`)
	e.cut, _ = p.integer(`,"cut":`)
	p.word("}")
	if p.err == nil && (e.at < 0 || e.left < 0 || e.cut < 0 || !bytes.Equal(e.appendJSON(nil), line)) {
		p.err = fmt.Errorf("%w, nor the end of their record", errShape)
	}
	return e, p.err
}

// parser takes the parts of a line in their order. After an error it takes nothing more.
type parser struct {
	rest []byte
	err  error
}

func (p *parser) word(w string) {
	if p.err != nil {
		return
	}
	if !bytes.HasPrefix(p.rest, []byte(w)) {
		p.err = fmt.Errorf("%w: it lacks %s before %q", errShape, w, clipBytes(p.rest))
		return
	}
	p.rest = p.rest[len(w):]
}

// integer takes a number that follows a word; there is false where the word is not next.
func (p *parser) integer(after string) (n int64, there bool) {
	if p.err != nil || !bytes.HasPrefix(p.rest, []byte(after)) {
		return 0, false
	}
	p.rest = p.rest[len(after):]
	end := 0
	for end < len(p.rest) && (p.rest[end] >= '0' && p.rest[end] <= '9' || p.rest[end] == '-') {
		end++
	}
	n, err := strconv.ParseInt(string(p.rest[:end]), 10, 64)
	if err != nil {
		p.err = fmt.Errorf("%w: no whole number of 64 bits follows %s", errShape, strings.Trim(after, `,:`))
		return 0, false
	}
	p.rest = p.rest[end:]
	return n, true
}

// text takes a field of text; empty where the field is not next.
func (p *parser) text(name string) string {
	if p.err != nil || len(p.rest) < len(name)+5 || p.rest[0] != ',' || p.rest[1] != '"' ||
		string(p.rest[2:2+len(name)]) != name || string(p.rest[2+len(name):5+len(name)]) != `":"` {
		return ""
	}
	p.rest = p.rest[len(name)+5:]
	end := bytes.IndexAny(p.rest, `"\`)
	if end >= 0 && p.rest[end] == '"' { // nothing in it is escaped
		s := p.rest[:end]
		p.rest = p.rest[end+1:]
		return p.valid(name, s)
	}
	var s []byte
	for p.err == nil {
		if len(p.rest) == 0 {
			p.err = fmt.Errorf("%w: the text of %q does not end", errShape, name)
			return ""
		}
		c := p.rest[0]
		p.rest = p.rest[1:]
		switch c {
		case '"':
			return p.valid(name, s)
		case '\\':
			s = append(s, p.escaped(name))
		default:
			s = append(s, c)
		}
	}
	return ""
}

// escaped takes what follows a backslash.
func (p *parser) escaped(name string) byte {
	if len(p.rest) > 0 && (p.rest[0] == '"' || p.rest[0] == '\\') {
		c := p.rest[0]
		p.rest = p.rest[1:]
		return c
	}
	if len(p.rest) > 4 && p.rest[0] == 'u' {
		if n, err := strconv.ParseUint(string(p.rest[1:5]), 16, 16); err == nil && n < ' ' {
			p.rest = p.rest[5:]
			return byte(n)
		}
	}
	p.err = fmt.Errorf("%w: a backslash in %q escapes what picklock would not", errShape, name)
	return 0
}

func (p *parser) valid(name string, s []byte) string {
	if !utf8.Valid(s) {
		p.err = fmt.Errorf("%w: the text of %q is no UTF-8", errShape, name)
	}
	return string(s)
}

func clipBytes(b []byte) []byte { return b[:min(len(b), 40)] }
