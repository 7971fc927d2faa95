package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"olympos.io/encoding/edn"
)

// Value is a value of a history in one form: EDN with single spaces, whatever the file's
// format. Values are equal where Clojure calls them equal: lists are vectors, the entries
// of maps and sets are in order, 1N is 1. The empty Value is nil, and what is not there.
type Value string

// String gives the value as EDN.
func (v Value) String() string {
	if v == "" {
		return "nil"
	}
	return string(v)
}

func (v Value) number() bool {
	return v != "" && (v[0] >= '0' && v[0] <= '9' || v[0] == '-' && len(v) > 1 && v[1] >= '0' && v[1] <= '9') &&
		!strings.ContainsAny(string(v), ".eEM")
}

func (v Value) text() bool   { return strings.HasPrefix(string(v), `"`) }
func (v Value) isMap() bool  { return strings.HasPrefix(string(v), "{") }
func (v Value) vector() bool { return strings.HasPrefix(string(v), "[") }

// integer gives a number that fits.
func (v Value) integer() (int64, bool) {
	if !v.number() {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	return n, err == nil
}

// plain gives the text of a string.
func (v Value) plain() (string, bool) {
	if !v.text() {
		return "", false
	}
	if !strings.Contains(string(v), `\`) {
		return string(v[1 : len(v)-1]), true
	}
	got, err := decodeAtom([]byte(v))
	s, ok := got.(string)
	return s, ok && err == nil
}

// elements gives those of a vector.
func (v Value) elements() []Value {
	if !v.vector() {
		return nil
	}
	var out []Value
	p := parser{in: []byte(v[1 : len(v)-1])}
	for {
		raw, err := p.next()
		if err != nil { // the end: a Value is well-formed
			return out
		}
		out = append(out, nilValue(string(raw)))
	}
}

// field gives a field of a map with keywords for keys, or nil.
func (v Value) field(name string) Value {
	if !v.isMap() {
		return ""
	}
	p := parser{in: []byte(v[1 : len(v)-1])}
	for {
		key, err := p.next()
		if err != nil {
			return ""
		}
		one, err := p.next()
		if err != nil {
			return ""
		}
		if len(key) > 0 && key[0] == ':' && string(key[1:]) == name {
			return nilValue(string(one))
		}
	}
}

func nilValue(text string) Value {
	if text == "nil" {
		return ""
	}
	return Value(text)
}

// canonical gives the one form of a value from its EDN; nil is empty.
func canonical(raw []byte) (Value, error) {
	if plainAtom(raw) {
		return nilValue(string(raw)), nil
	}
	out, err := appendCanonical(nil, raw, 0)
	return nilValue(string(out)), err
}

// plainAtom says whether an atom is in its one form already: a short number, or a keyword,
// symbol or string without anything special.
func plainAtom(raw []byte) bool {
	if len(raw) == 0 {
		return false
	}
	c, rest := raw[0], raw[1:]
	switch {
	case c >= '1' && c <= '9':
		return len(raw) <= 18 && all(rest, func(c byte) bool { return c >= '0' && c <= '9' })
	case c == '0' || c == '-' || c == '+':
		return len(raw) == 1 && c == '0'
	case c == '"':
		return len(rest) > 0 && all(rest[:len(rest)-1], func(c byte) bool { return c >= ' ' && c < 0x7f && c != '"' && c != '\\' }) &&
			rest[len(rest)-1] == '"'
	case c == ':':
		return len(rest) > 0 && all(rest, letter)
	}
	return letter(c) && all(rest, letter)
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c == '-' }

func all(b []byte, is func(byte) bool) bool {
	for _, c := range b {
		if !is(c) {
			return false
		}
	}
	return true
}

func appendCanonical(out, raw []byte, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	switch raw[0] {
	case '[', '(':
		parts, err := canonicalParts(raw[1:len(raw)-1], depth)
		if err != nil {
			return nil, err
		}
		return bracket(out, "[", parts, "]"), nil
	case '{':
		parts, err := canonicalParts(raw[1:len(raw)-1], depth)
		if err != nil {
			return nil, err
		}
		if len(parts)%2 != 0 {
			return nil, errors.New("a map has a key without a value")
		}
		pairs := make([][2]string, len(parts)/2)
		for i := range pairs {
			pairs[i] = [2]string{parts[2*i], parts[2*i+1]}
		}
		slices.SortFunc(pairs, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
		for i, p := range pairs {
			if i > 0 && pairs[i-1][0] == p[0] {
				return nil, fmt.Errorf("a map has the key %s twice", p[0])
			}
			parts[2*i], parts[2*i+1] = p[0], p[1]
		}
		return bracket(out, "{", parts, "}"), nil
	case '#':
		return appendDispatch(out, raw, depth)
	}
	return appendAtom(out, raw)
}

// appendDispatch takes what begins with #: sets, tagged values, regular expressions and
// the numbers that are none.
func appendDispatch(out, raw []byte, depth int) ([]byte, error) {
	switch raw[1] {
	case '{':
		parts, err := canonicalParts(raw[2:len(raw)-1], depth)
		if err != nil {
			return nil, err
		}
		slices.Sort(parts)
		for i := range parts {
			if i > 0 && parts[i-1] == parts[i] {
				return nil, fmt.Errorf("a set has %s twice", parts[i])
			}
		}
		return bracket(out, "#{", parts, "}"), nil
	case '"', '#':
		return append(out, raw...), nil
	}
	p := parser{in: raw, at: 1}
	tag := p.atom()
	value, err := p.next()
	if err != nil {
		return nil, err
	}
	out = append(append(append(out, '#'), tag...), ' ')
	return appendCanonical(out, value, depth+1)
}

func canonicalParts(inside []byte, depth int) ([]string, error) {
	var parts []string
	p := parser{in: inside}
	for {
		raw, err := p.next()
		if errors.Is(err, errEnd) {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		one, err := appendCanonical(nil, raw, depth+1)
		if err != nil {
			return nil, err
		}
		parts = append(parts, string(one))
	}
}

func bracket(out []byte, open string, parts []string, end string) []byte {
	out = append(out, open...)
	for i, p := range parts {
		if i > 0 {
			out = append(out, ' ')
		}
		out = append(out, p...)
	}
	return append(out, end...)
}

func appendAtom(out, raw []byte) ([]byte, error) {
	if plainAtom(raw) {
		return append(out, raw...), nil
	}
	if n, ok := bigInteger(raw); ok {
		return append(out, n...), nil
	}
	got, err := decodeAtom(raw)
	if err != nil {
		return nil, err
	}
	switch x := got.(type) {
	case string:
		return appendText(out, x), nil
	case float64:
		if raw[len(raw)-1] == 'M' {
			return append(out, raw...), nil // a decimal: as many digits as it is written with
		}
		text := strconv.FormatFloat(x, 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		return append(out, text...), nil
	}
	return append(out, raw...), nil // keywords, symbols, characters
}

// bigInteger gives the digits of a whole number of any size.
func bigInteger(raw []byte) (string, bool) {
	digits := bytes.TrimSuffix(raw, []byte("N"))
	body := bytes.TrimLeft(digits, "+-")
	if len(digits)-len(body) > 1 || len(body) == 0 || len(body) > 1 && body[0] == '0' || len(body) > 10_000 ||
		!all(body, func(c byte) bool { return c >= '0' && c <= '9' }) {
		return "", false
	}
	n, ok := new(big.Int).SetString(string(digits), 10)
	if !ok {
		return "", false
	}
	return n.String(), true
}

// decodeAtom asks the EDN library for what stands alone. A panic of its is an error.
func decodeAtom(raw []byte) (v any, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("%.40q is not EDN: %v", raw, x)
		}
	}()
	if err := edn.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("%.40q is not EDN: %w", raw, err)
	}
	return v, nil
}

// appendText writes a string as EDN.
func appendText(out []byte, s string) []byte {
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, `\n`...)
		case '\t':
			out = append(out, `\t`...)
		case '\r':
			out = append(out, `\r`...)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
