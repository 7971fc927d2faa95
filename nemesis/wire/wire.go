// Package wire is a proxy between clients and nodes that understands RESP2 and RESP3 as
// far as needed to tell frames, requests, replies and pushes apart, and lets rules hold,
// delay, drop or cut them by client, node, direction, command and occurrence.
//
// Bytes go through unchanged and in order. All of them are scanned, as replies can be
// paired with requests only by whoever saw the connection from its beginning; that costs
// some 100 ns a frame, the way through the proxy some 15 µs a round trip. A test without
// faults on the wire has no proxy in its path. What is not understood (TLS, a replica's
// stream, broken RESP) is forwarded all the same: each piece of it is a frame without a
// command, which only rules for all commands match. The package knows nothing of locks,
// faults or histories, but for the clock: nemesis maps a lock's logical steps to Commands.
//
// The way of a frame: a scanner finds where it ends, a request says its name and first
// key, the pairing calls a reply by the request that it answers, the lane asks the rules,
// the line carries the bytes on in their time. A conn is two lanes, a Proxy many conns.
// Where there is a Recorder, the lane notes what each frame is and what becomes of it, and
// the line tells when it went on; that costs some 100 ns a frame, behind its back.
//
// The scanner is our own. Of the libraries that were looked at, radix v4 (RawMessage) and
// redcon (RESP.Raw) keep the exact bytes of a frame, but the first allocates what a length
// claims, fails on lines longer than its buffer, loses the bytes that it had read when
// they are not RESP, and takes attributes for values of their own; the second knows no
// RESP3 and reads a frame that comes in parts anew each time. miniredis and go-redis keep
// values, not bytes. A proxy must come through all of that without a byte changed.
package wire

import (
	"context"
	"errors"
	"time"

	"picklock/nemesis/wire/record"
)

// Side is the direction of a frame.
type Side uint8

// The sides.
const (
	Request Side = iota // from the client to the node
	Reply               // from the node to the client; pushes too
)

// String is "request" or "reply".
func (s Side) String() string {
	if s == Request {
		return "request"
	}
	return "reply"
}

// Command says which requests (or the replies to them) are meant.
type Command struct {
	Name string // in upper case: "SET", "EVAL"; "MESSAGE" for a pub/sub message to a subscriber
	// Script narrows EVAL and EVALSHA (either name means both, and their read-only kin) to
	// the script with this SHA-1, in lower-case hex; and FCALL to the function of this name.
	// Empty: any.
	Script string
}

// Frame is one RESP value on its way: a request, a reply, or a push.
type Frame struct {
	Client int    // from 0
	Node   string // name of the node
	Conn   int64  // number of the connection in this proxy
	Side   Side
	Command
	Key  string // first key of the request, where the command has one; of pub/sub the channel
	Push bool   // it answers no request
	Raw  []byte // its exact bytes; valid and read-only during the call
	At   int64  // ns, CLOCK_MONOTONIC: it was read
}

// Match says which frames a rule is about. Nil slices match everything.
type Match struct {
	Clients  []int
	Nodes    []string
	Side     Side
	Both     bool // both sides, whatever Side says
	Commands []Command
	Skip     int // so many matching frames pass before the rule works
	Limit    int // so many frames are acted on, then the rule is done; 0: no bound
}

// Action is what becomes of a frame.
type Action uint8

// The actions.
const (
	Forward Action = iota
	// Discard swallows the frame and, since a byte stream has no holes, everything behind it
	// in its direction on that connection. The peer hears nothing more and times out.
	Discard
	// Reset swallows the frame and resets the connection to the client; the connection to
	// the node is closed too.
	Reset
)

// Verdict is a rule's word on one frame.
type Verdict struct {
	Action Action
	// Delay lets the frame go on so much later than it came. Frames behind it keep their
	// order, and each keeps its own delay: a slow line, not a narrow one.
	Delay time.Duration
}

// Rule acts on matching frames. Do is called before the frame goes on, from the goroutine
// of the connection: while it runs, the frame and all behind it in its direction wait (a
// hold), and nothing else does. ctx ends when the proxy closes. A frame that is held or
// delayed goes on to the node even when the client has closed its connection by then, as
// bytes in the network do. Rules are asked in the order in which they were added; the
// first whose verdict is not a plain Forward decides.
type Rule struct {
	Match
	Do func(ctx context.Context, f Frame) Verdict
	// Fault is the number by which the record names the fault that the rule is of; 0: none.
	Fault int
}

// Recorder takes what passed the wire: messages whose fate is known. Add copies them, is
// called from many goroutines, and must not wait for anything. A *record.Writer is one.
type Recorder interface {
	Add([]record.Message)
}

// ErrClosed: the proxy is closed.
var ErrClosed = errors.New("wire is closed")
