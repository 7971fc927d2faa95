package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// errShape is what is wrong with a line that is not an event, in general words.
var errShape = errors.New("not an event")

// ParseEvent reads what AppendJSON wrote: one JSON object of the known fields, in any
// order, without a newline. It refuses unknown and repeated fields, since what it does
// not understand may be damage.
func ParseEvent(line []byte) (Event, error) {
	var e Event
	p := parser{in: line}
	var seen uint64
	err := p.object(func(key []byte) error {
		n, err := p.field(&e, key)
		if err != nil {
			return err
		}
		if seen&(1<<n) != 0 {
			return fmt.Errorf("%w: field %q stands twice", errShape, key)
		}
		seen |= 1 << n
		return nil
	})
	if err == nil && p.at != len(line) {
		err = fmt.Errorf("%w: something follows the closing brace", errShape)
	}
	if err == nil && (seen&1 == 0 || e.Type == "") {
		err = fmt.Errorf("%w: it has no time or no type", errShape)
	}
	return e, err
}

// field reads the value of one field and tells the field's number.
func (p *parser) field(e *Event, key []byte) (n int, err error) {
	var i int64
	switch string(key) {
	case "t":
		return 0, p.integer(&e.Time)
	case "type":
		return 1, p.word((*string)(&e.Type))
	case "op":
		return 2, p.word((*string)(&e.Op))
	case "id":
		return 3, p.integer(&e.ID)
	case "p":
		return 4, p.integer(&e.Process)
	case "c":
		err = p.integer(&i)
		e.Client = int(i)
		return 5, err
	case "w":
		err = p.integer(&i)
		e.Worker = int(i)
		return 6, err
	case "obj":
		return 7, p.word(&e.Object)
	case "grant":
		return 8, p.integer(&e.Grant)
	case "token":
		return 9, p.text(&e.Token)
	case "fence":
		return 10, p.integer(&e.Fence)
	case "from":
		return 11, p.integer(&e.From)
	case "validity":
		return 12, p.integer(&e.Validity)
	case "attempts":
		return 13, p.integer(&e.Attempts)
	case "belief":
		return 14, p.word(&e.Belief)
	case "count":
		e.Count = &i
		return 15, p.integer(e.Count)
	case "basis":
		e.Basis = &i
		return 16, p.integer(e.Basis)
	case "left":
		e.Left = &i
		return 17, p.integer(e.Left)
	case "sold":
		return 18, p.yes(&e.Sold)
	case "code":
		return 19, p.word(&e.Code)
	case "error":
		return 20, p.text(&e.Error)
	case "fault":
		e.Fault = new(Fault)
		return 21, p.nested(e.Fault)
	case "ledger":
		e.Ledger = new(Ledger)
		return 22, p.ledger(e.Ledger)
	case "stock":
		e.Stock = new(Stock)
		return 23, p.nested(e.Stock)
	case "note":
		return 24, p.text(&e.Note)
	case "node":
		return 25, p.text(&e.Node)
	case "srv":
		return 26, p.small(&e.Server)
	}
	return 0, fmt.Errorf("%w: unknown field %q", errShape, key)
}

func (p *parser) ledger(l *Ledger) error {
	return p.object(func(key []byte) error {
		switch string(key) {
		case "seq":
			return p.integer(&l.Seq)
		case "op":
			return p.integer(&l.Op)
		case "basis":
			l.Basis = new(int64)
			return p.integer(l.Basis)
		case "found":
			return p.integer(&l.Found)
		case "left":
			return p.integer(&l.Left)
		case "fence":
			return p.integer(&l.Fence)
		}
		return fmt.Errorf("%w: unknown field %q in the ledger entry", errShape, key)
	})
}

// parser walks over one line. Reading is the limit of checking, so it allocates only
// for strings that are not known words.
type parser struct {
	in []byte
	at int
}

func (p *parser) fail(want string) error {
	return fmt.Errorf("%w: wanted %s at byte %d", errShape, want, p.at+1)
}

func (p *parser) byte(c byte) bool {
	if p.at < len(p.in) && p.in[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) object(field func(key []byte) error) error {
	if !p.byte('{') {
		return p.fail("{")
	}
	for {
		if !p.byte('"') {
			return p.fail("a field name")
		}
		end := bytes.IndexByte(p.in[p.at:], '"')
		if end < 0 {
			return p.fail("the end of a field name")
		}
		key := p.in[p.at : p.at+end]
		p.at += end + 1
		if !p.byte(':') {
			return p.fail(":")
		}
		if err := field(key); err != nil {
			return err
		}
		if p.byte('}') {
			return nil
		}
		if !p.byte(',') {
			return p.fail(", or }")
		}
	}
}

func (p *parser) integer(out *int64) error {
	negative := p.byte('-')
	start := p.at
	var v uint64
	for p.at < len(p.in) && p.in[p.at] >= '0' && p.in[p.at] <= '9' {
		d := uint64(p.in[p.at] - '0')
		if v > (math.MaxInt64-d)/10 {
			return p.fail("a smaller number")
		}
		v = v*10 + d
		p.at++
	}
	if p.at == start || (p.in[start] == '0' && p.at > start+1) {
		return p.fail("a whole number")
	}
	*out = int64(v)
	if negative {
		*out = -*out
	}
	return nil
}

// small reads a number of one byte.
func (p *parser) small(out *uint8) error {
	var v int64
	if err := p.integer(&v); err != nil {
		return err
	}
	if v < 0 || v > math.MaxUint8 {
		return p.fail("a number from 0 to 255 before")
	}
	*out = uint8(v)
	return nil
}

func (p *parser) yes(out *bool) error {
	for _, w := range [...]string{"true", "false"} {
		if bytes.HasPrefix(p.in[p.at:], []byte(w)) {
			p.at += len(w)
			*out = w == "true"
			return nil
		}
	}
	return p.fail("true or false")
}

// raw returns the string literal at hand, quotes and all.
func (p *parser) raw() (lit []byte, plain bool, err error) {
	start := p.at
	if !p.byte('"') {
		return nil, false, p.fail("a string")
	}
	plain = true
	for ; p.at < len(p.in); p.at++ {
		switch c := p.in[p.at]; {
		case c == '"':
			p.at++
			return p.in[start:p.at], plain, nil
		case c == '\\':
			plain = false
			p.at++
		case c < ' ':
			return nil, false, p.fail("no control character")
		case c >= 0x80:
			plain = false
		}
	}
	return nil, false, p.fail("the end of a string")
}

func (p *parser) text(out *string) error {
	lit, plain, err := p.raw()
	if err != nil {
		return err
	}
	if plain {
		*out = string(lit[1 : len(lit)-1])
		return nil
	}
	if err := json.Unmarshal(lit, out); err != nil {
		return fmt.Errorf("%w: %w", errShape, err)
	}
	return nil
}

// word reads a string that is likely one of the words of the format, which then costs
// no allocation.
func (p *parser) word(out *string) error {
	start := p.at
	lit, plain, err := p.raw()
	if err != nil {
		return err
	}
	if plain {
		if w, ok := known(lit[1 : len(lit)-1]); ok {
			*out = w
			return nil
		}
	}
	p.at = start
	return p.text(out)
}

func known(b []byte) (string, bool) {
	switch string(b) { // no allocation: the compiler compares in place
	case string(Invoke):
		return string(Invoke), true
	case string(OK):
		return string(OK), true
	case string(Fail):
		return string(Fail), true
	case string(Info):
		return string(Info), true
	case string(Acquire):
		return string(Acquire), true
	case string(Release):
		return string(Release), true
	case string(Deduct):
		return string(Deduct), true
	case string(Extend):
		return string(Extend), true
	case string(LedgerEntry):
		return string(LedgerEntry), true
	case CodeNotAcquired:
		return CodeNotAcquired, true
	case CodeNotHeld:
		return CodeNotHeld, true
	}
	return "", false
}

// nested reads a rare inner object with the standard library, strictly.
func (p *parser) nested(out any) error {
	d := json.NewDecoder(bytes.NewReader(p.in[p.at:]))
	d.DisallowUnknownFields()
	if p.at >= len(p.in) || p.in[p.at] != '{' {
		return p.fail("{")
	}
	if err := d.Decode(out); err != nil {
		return fmt.Errorf("%w: %w", errShape, err)
	}
	p.at += int(d.InputOffset())
	return nil
}
