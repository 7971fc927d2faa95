package wire

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"picklock/harness/history"
	"picklock/nemesis/wire/record"
)

// heldFrom is how long a rule must keep a frame back for that to be a hold in the record. A
// rule that looks and lets go takes far less.
const heldFrom = int64(500 * time.Microsecond)

// noted is what was noted of a frame; without a message nothing is recorded.
type noted struct{ *record.Message }

// note notes the frame that has been read to its end. It goes on, or is given up, with the
// bytes that it ends in.
func (l *lane) note() noted {
	c := l.conn
	if c.proxy.to == nil {
		return noted{}
	}
	l.notes = append(l.notes, record.Message{})
	m := &l.notes[len(l.notes)-1]
	m.At, m.Client, m.Node, m.Conn = l.at, c.client, c.node, c.number
	m.Name, m.Script, m.Key = record.Clip(l.label.Name), record.Clip(l.label.Script), record.Clip(l.label.key)
	switch {
	case l.side == Request:
		return noted{m}
	case l.label.push:
		m.Side = record.Push
	default:
		m.Side = record.Reply
	}
	// Of what is not understood nothing is told, nor of a frame whose beginning has gone.
	if !l.raw && !l.passing && (!l.label.push || l.label.Name == "") {
		m.Reply = told(l.buf[l.start:l.seen], l.label.key != "")
	}
	return noted{m}
}

// decided notes what the rules said.
func (n noted) decided(v Verdict, how judging) {
	if n.Message == nil {
		return
	}
	switch {
	case v.Action == Discard:
		n.Fate, n.Fault = record.Dropped, how.fault
	case v.Action == Reset:
		n.Fate, n.Fault = record.Reset, how.fault
	case v.Delay > 0:
		n.Fate, n.Fault = record.Delayed, how.fault
	case how.held >= heldFrom:
		n.Fate, n.Fault = record.Held, how.fault
	}
}

// ended records a frame that goes no further.
func (l *lane) ended() {
	if len(l.notes) > 0 {
		l.conn.proxy.to.Add(l.notes)
		l.notes = l.notes[:0]
	}
}

// note records what became of the connection, other than by a frame.
func (c *conn) note(fate record.Fate) {
	if c.proxy.to != nil {
		c.proxy.to.Add([]record.Message{{At: history.Now(), Client: c.client, Node: c.node, Conn: c.number, Fate: fate}})
	}
}

// maxTold bounds the texts of replies that are told, in bytes: a token, a level, not a page.
const maxTold = 64

// told says in RESP's signs what a reply says, for the record; see record.Message. What a
// request without a key is answered may be a secret (only commands that are known have a
// key): of that only the kind is told.
func told(raw []byte, open bool) string {
	value := skipAttributes(raw)
	if len(value) == 0 {
		return ""
	}
	if s, usual := usualReply(value); usual {
		return s
	}
	line, rest, _ := bytes.Cut(value[1:], []byte("\r\n"))
	kind := string(value[:1])
	switch value[0] {
	case '_':
		return "_"
	case ':', '#', ',', '(':
		return record.Clip(kind + string(line))
	case '+':
		if open {
			return record.Clip(kind + string(line))
		}
		return kind + "(" + strconv.Itoa(len(line)) + " bytes)"
	case '-', '!':
		if value[0] == '!' {
			line = rest
		}
		line, _, _ = bytes.Cut(line, []byte("\r\n"))
		if !open {
			line, _, _ = bytes.Cut(line, []byte(" "))
		}
		return record.Clip("-" + string(line))
	case '$', '=':
		n, _ := strconv.Atoi(string(line))
		switch {
		case n < 0:
			return "_"
		case open && n <= maxTold && len(rest) >= n:
			return "$" + string(rest[:n])
		}
		return "$(" + strconv.Itoa(n) + " bytes)"
	}
	if strings.HasPrefix(string(line), "-") {
		return "_"
	}
	return record.Clip(kind + string(line))
}

// usualReply knows most replies by heart, which saves their copies.
func usualReply(value []byte) (string, bool) {
	switch string(value) {
	case "+OK\r\n":
		return "+OK", true
	case "$-1\r\n", "*-1\r\n", "_\r\n":
		return "_", true
	case ":0\r\n":
		return ":0", true
	case ":1\r\n":
		return ":1", true
	case "+QUEUED\r\n":
		return "+QUEUED", true
	case "+PONG\r\n":
		return "+PONG", true
	}
	return "", false
}
