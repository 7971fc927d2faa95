package wire

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"strconv"
	"strings"
)

// maxArgs is so many arguments of a request as are looked at: enough for its name, its
// script and its first key (XREADGROUP has the longest way to it).
const maxArgs = 12

// request is what a request says of itself: its first arguments.
type request struct {
	Command
	key  string
	role role
	args [][]byte // the first maxArgs at most; they point into the bytes of the request
	n    int      // so many it has
}

// read takes a request from its bytes; of one that is still on its way its first bytes
// will do. It says whether name, script and key are known by them. A request without
// arguments has the empty name.
func (r *request) read(raw []byte) (known bool) {
	r.Command, r.key, r.n, r.role, r.args = Command{}, "", 0, ordinary, r.args[:0]
	var whole bool
	if raw[0] == '*' {
		whole = r.split(raw)
	} else if whole = raw[len(raw)-1] == '\n'; whole {
		r.args = splitInline(raw, r.args)
		r.n = len(r.args)
	}
	if len(r.args) == 0 {
		return whole
	}
	c := lookup(r.args[0])
	r.Name, r.role = c.name, c.role
	r.key = c.firstKey(r.args)
	if c.script != 0 && len(r.args) > 1 {
		r.Script = scriptOf(c.script, r.args[1])
	}
	return whole || (c.script == 0 || r.Script != "") && (c.keyless() || r.key != "")
}

// split takes the arguments from an array of strings that a scanner has found in order.
// It says whether all that are looked at were there.
func (r *request) split(raw []byte) (whole bool) {
	n, rest, ok := header(raw)
	if !ok {
		return false
	}
	r.n = max(n, 0)
	for len(r.args) < min(r.n, maxArgs) {
		size, behind, ok := header(rest)
		if !ok || size < 0 || len(behind) < size+2 {
			return false
		}
		r.args = append(r.args, behind[:size])
		rest = behind[size+2:]
	}
	return true
}

// header reads the length of a string or an aggregate, and gives what is behind it.
func header(b []byte) (n int, behind []byte, ok bool) {
	end := bytes.IndexByte(b, '\n')
	if end < 3 {
		return 0, nil, false
	}
	digits := b[1 : end-1]
	minus := digits[0] == '-'
	if minus {
		digits = digits[1:]
	}
	for _, c := range digits {
		n = n*10 + int(c-'0')
	}
	if minus {
		n = -n
	}
	return n, b[end+1:], true
}

// Kinds of script arguments.
const (
	scriptBody byte = iota + 1 // its text
	scriptSHA                  // its SHA-1 in hex
	scriptName                 // the name of a function
)

func scriptOf(kind byte, arg []byte) string {
	switch kind {
	case scriptBody:
		sum := sha1.Sum(arg)
		return hex.EncodeToString(sum[:])
	case scriptSHA:
		return strings.ToLower(string(arg))
	default:
		return string(arg)
	}
}

// splitInline splits an inline command as the server does: at white space, with quotes.
// Unbalanced quotes give no arguments: the server refuses them.
func splitInline(line []byte, args [][]byte) [][]byte {
	for {
		line = bytes.TrimLeft(line, " \t\r\n\v\f\x00")
		if len(line) == 0 {
			return args
		}
		arg, rest, ok := inlineArg(line)
		if !ok {
			return args[:0]
		}
		args, line = append(args, arg), rest
	}
}

// inlineArg takes one argument off a line that begins with it.
func inlineArg(line []byte) (arg, rest []byte, ok bool) {
	var quote byte
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && isSpace(c):
			return arg, line[i:], true
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote != 0 && c == quote:
			quote = 0
			if i+1 < len(line) && !isSpace(line[i+1]) { // a closing quote must end the argument
				return nil, nil, false
			}
		case quote != 0 && c == '\\' && i+1 < len(line):
			b, n := unescape(quote, line[i+1:])
			arg = append(arg, b...)
			i += n
		default:
			arg = append(arg, c)
		}
	}
	return arg, nil, quote == 0
}

// unescape reads what follows a backslash within quotes; n is how much of it that took.
func unescape(quote byte, b []byte) (arg []byte, n int) {
	if quote == '\'' {
		if b[0] == '\'' {
			return []byte{'\''}, 1
		}
		return []byte{'\\'}, 0
	}
	if b[0] == 'x' && len(b) > 2 {
		if v, err := strconv.ParseUint(string(b[1:3]), 16, 8); err == nil {
			return []byte{byte(v)}, 3
		}
	}
	if i := strings.IndexByte("nrtba", b[0]); i >= 0 {
		return []byte{"\n\r\t\b\a"[i]}, 1
	}
	return []byte{b[0]}, 1
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' || c == 0 }
