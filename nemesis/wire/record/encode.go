package record

import (
	"strconv"
	"unicode/utf8"
)

// header is the first line of a file.
const header = `{"picklock-wire":1}`

// AppendJSON appends the message as one line of the file, without a newline. What is zero
// is left out, but for the time, the client and the connection. Bytes of texts that are no
// UTF-8 become U+FFFD.
func (m *Message) AppendJSON(b []byte) []byte {
	b = append(b, `{"t":`...)
	b = strconv.AppendInt(b, m.At, 10)
	if m.Out != 0 {
		b = append(b, `,"out":`...)
		b = strconv.AppendInt(b, m.Out, 10)
	}
	b = append(b, `,"c":`...)
	b = strconv.AppendInt(b, int64(m.Client), 10)
	b = append(b, `,"conn":`...)
	b = strconv.AppendInt(b, m.Conn, 10)
	b = appendText(b, "side", m.Side.String())
	b = appendText(b, "node", m.Node)
	b = appendText(b, "cmd", m.Name)
	b = appendText(b, "script", m.Script)
	b = appendText(b, "step", m.Step)
	b = appendText(b, "key", m.Key)
	b = appendText(b, "re", m.Reply)
	b = appendText(b, "fate", m.Fate.String())
	if m.Fault != 0 {
		b = append(b, `,"fault":`...)
		b = strconv.AppendInt(b, int64(m.Fault), 10)
	}
	return append(b, '}')
}

// ending is the last line of a file.
type ending struct{ at, left, cut int64 }

func (e ending) appendJSON(b []byte) []byte {
	b = append(b, `{"end":`...)
	b = strconv.AppendInt(b, e.at, 10)
	b = append(b, `,"left":`...)
	b = strconv.AppendInt(b, e.left, 10)
	b = append(b, `,"cut":`...)
	b = strconv.AppendInt(b, e.cut, 10)
	return append(b, '}')
}

func appendText(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':', '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', '0'+c>>4, hex[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r) // U+FFFD for what is none
			i += size
			continue
		}
		i++
	}
	return append(b, '"')
}

const hex = "0123456789abcdef"
