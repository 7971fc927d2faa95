package wire

import (
	"io"

	"picklock/harness/history"
	"picklock/nemesis/wire/record"
)

const (
	laneBuffer = 16 << 10 // bytes to begin with
	// streamFrom is the size from which a frame that no rule wants goes on before all of it
	// has come. Smaller ones wait: nobody can do anything with a part of a frame.
	streamFrom = 64 << 10
)

// lane carries the bytes of one direction of a connection, frame by frame.
type lane struct {
	conn  *conn
	side  Side
	from  end
	line  *line
	rules sieve
	scan  scanner
	req   request

	// What was read and not swallowed: [0,sent) has gone on, [sent,start) may go on, at
	// start begins the frame that is being read, [start,seen) has been scanned.
	buf               []byte
	sent, start, seen int
	at                int64 // ns: the latest read

	notes []record.Message // of the frames that end in [sent,start)

	label   label // of the frame that is being read
	known   bool  // the label is
	kept    bool  // the frame is large, and waits until all of it has come
	passing bool  // the frame is large, and its parts go on as they come

	raw     bool // not RESP any more: whatever a read brings is a frame
	swallow bool // nothing goes on any more, by a rule's word
	over    bool // the connection was reset
}

func newLane(c *conn, side Side) *lane {
	l := &lane{
		conn: c, side: side, scan: scanner{requests: side == Request}, buf: make([]byte, 0, laneBuffer),
		rules: sieve{proxy: c.proxy, client: c.client, node: c.node, side: side},
	}
	if side == Request {
		l.from, l.line = c.near, newLine(c.far, c.done, c.nodeGone)
	} else {
		l.from, l.line = c.far, newLine(c.near, c.done, c.pairs.stop)
	}
	l.line.rec = c.proxy.to
	return l
}

// run carries until the sender ends, or the connection does.
func (l *lane) run() {
	var err error
	for err == nil && !l.over {
		var n int
		n, err = l.from.Read(l.space())
		l.at = history.Now()
		l.buf = l.buf[:len(l.buf)+n]
		if n > 0 {
			l.take()
		}
	}
	if !l.swallow && !l.over {
		l.pass(len(l.buf)) // a frame that was not sent to its end
	}
	l.line.flush()
	switch {
	case l.over:
	case l.side == Request:
		l.conn.clientEnded(!l.swallow)
	case !l.swallow:
		l.conn.nodeEnded(err == io.EOF)
	}
}

// space makes room in the buffer. It grows with what has come, never with what was
// announced.
func (l *lane) space() []byte {
	switch {
	case len(l.buf) == cap(l.buf):
		l.buf = append(make([]byte, 0, 2*cap(l.buf)), l.buf...)
	case len(l.buf) == 0 && cap(l.buf) > streamFrom:
		l.buf = make([]byte, 0, laneBuffer)
	}
	return l.buf[len(l.buf):cap(l.buf)]
}

// take deals with what has come: frames that are complete are judged, and go on in as few
// writes as the rules allow.
func (l *lane) take() {
	for l.seen < len(l.buf) && !l.raw && !l.swallow && !l.over {
		n, ended, err := l.scan.scan(l.buf[l.seen:])
		l.seen += n
		switch {
		case err != nil:
			l.lose(err)
		case ended:
			l.complete()
		case l.seen-l.start >= streamFrom && !l.kept && !l.passing:
			l.large()
		}
	}
	if l.raw && !l.swallow && !l.over && l.start < len(l.buf) {
		l.label, l.seen = label{}, len(l.buf)
		l.judge()
		l.start = l.seen
	}
	if l.passing {
		l.start = len(l.buf)
	}
	if l.swallow || l.over {
		l.sent = len(l.buf)
		l.start, l.seen = l.sent, l.sent
	}
	l.pass(l.start)
	l.buf = l.buf[:copy(l.buf, l.buf[l.sent:])]
	l.start, l.seen, l.sent = l.start-l.sent, l.seen-l.sent, 0
}

// complete deals with a frame that is complete.
func (l *lane) complete() {
	if !l.known {
		l.name()
	}
	if l.raw {
		return // its name could not be told
	}
	if l.passing {
		l.note()
	} else {
		l.judge()
	}
	l.start = l.seen
	l.known, l.kept, l.passing = false, false, false
	l.raw = l.side == Request && l.req.role == replicate
}

// large decides about a frame that has grown large before its end: it is kept if a rule
// might want to see it whole, and else goes on as it comes.
func (l *lane) large() {
	l.kept = true
	head := l.buf[l.start:l.seen]
	if l.side == Request && !l.req.read(head) || l.side == Reply && head[0] == '|' {
		return // what it is comes later
	}
	if l.name(); !l.raw && !l.rules.wants(l.label.Command) {
		l.kept, l.passing = false, true
	}
}

// name finds out what the frame is, for itself and for the other direction.
func (l *lane) name() {
	raw := l.buf[l.start:l.seen]
	l.known = true
	if l.side == Request {
		l.req.read(raw)
		l.label = label{Command: l.req.Command, key: l.req.key}
		l.conn.pairs.request(&l.req)
		return
	}
	var err error
	if l.label, err = l.conn.pairs.reply(raw); err != nil {
		l.lose(err)
	}
}

// lose goes over to forwarding bytes as they are, from the frame that is being read.
func (l *lane) lose(err error) {
	l.raw, l.passing = true, false
	if l.side == Request {
		l.conn.pairs.lose(err)
	} else {
		l.conn.pairs.stop()
	}
	l.conn.lost(l.side, err)
}

// judge asks the rules about the frame [start,seen), and does what they say.
func (l *lane) judge() {
	if len(l.rules.inForce()) == 0 {
		l.note()
		return
	}
	c := l.conn
	f := Frame{
		Client: c.client, Node: c.node, Conn: c.number, Side: l.side, Command: l.label.Command, Key: l.label.key,
		Push: l.label.push, Raw: l.buf[l.start:l.seen:l.seen], At: l.at,
	}
	before := func() { l.pass(l.start) } // nothing waits for a later frame
	v, by := l.rules.judge(c.proxy.ctx, &f, before)
	m := l.note()
	m.decided(v, by)
	switch {
	case v.Action == Discard:
		l.ended()
		l.swallow = true
		if l.side == Reply {
			c.silence()
		}
	case v.Action == Reset:
		l.ended()
		l.over = true
		c.reset()
	case v.Delay > 0:
		l.line.send(f.Raw, l.at+int64(v.Delay), l.notes)
		l.sent, l.notes = l.seen, l.notes[:0]
	}
}

// pass lets bytes go on, up to an index in buf.
func (l *lane) pass(to int) {
	l.line.send(l.buf[l.sent:to], 0, l.notes)
	l.sent, l.notes = to, l.notes[:0]
}
