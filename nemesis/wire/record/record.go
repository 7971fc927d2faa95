// Package record is the record of what passed the wire: its messages, and the file that
// keeps them beside the history of a test.
//
// In go messages as the proxy saw them, in the order in which their fates were known; out
// come those of a span of time, in the order in which they came. The package knows nothing
// of proxies, locks or faults: a step is a word and a fault a number that others gave. Of
// what a request carried the record has the command's name and its first key, never an
// argument; of a reply its kind, and its value only where the command has a key.
//
// The file (wire.jsonl) has a message a line and is written in the background. It is
// bounded: what would go beyond that, or comes faster than it can be written, is counted
// and left out, for no message may ever wait for its record.
package record

import "errors"

// Side is what a message is, and with that its direction.
type Side uint8

// The sides.
const (
	Request Side = iota // from the client to the node
	Reply               // from the node to the client
	Push                // as well, but it answers nothing: a message of pub/sub
)

var sides = [...]string{"request", "reply", "push"}

// String is "request", "reply" or "push".
func (s Side) String() string { return sides[s] }

// Fate is what became of a message, where it did not just go on.
type Fate uint8

// The fates.
const (
	Passed  Fate = iota // it went on as soon as it could
	Held                // a rule kept it back for a while, and all behind it; then it went on
	Delayed             // a rule let it go on later than it came
	Dropped             // a rule swallowed it, and all that came behind it on its connection
	Reset               // a rule swallowed it and reset the connection; without a command: the connection was reset at rest
	Lost                // whom it was for was gone before it could go on
	Refused             // without a command: the node could not be reached, and the client's connection was reset
)

var fates = [...]string{"", "held", "delayed", "dropped", "reset", "lost", "refused"}

// String is the fate's word in the file; empty: it passed.
func (f Fate) String() string { return fates[f] }

// Message is one message on the wire. Texts are clipped to MaxText bytes.
type Message struct {
	At     int64  // ns, CLOCK_MONOTONIC: the proxy had all of it
	Out    int64  // ns: it went on; 0: it never did
	Client int    // from 0
	Node   string // name of the node
	Conn   int64  // number of the connection
	Side   Side
	Name   string // of the command, in upper case; of a push its kind; empty: not known
	Script string // of a script its SHA-1, of a function its name; empty where there is a step
	Step   string // what the lock or the deduction under test calls the command: "acquire"; empty: nothing
	Key    string // first key of the command, or channel
	// Reply is what a reply says, in RESP's signs: "+OK", ":1", "-ERR no such key", "$text",
	// "*3" (an array of three), "_" (null). "$(17 bytes)" is a text that is not told. Of
	// requests without a key errors are their first word, and texts are not told.
	Reply string
	Fate  Fate
	Fault int // number of the fault whose rule decided; 0: none
}

// MaxText bounds each text of a message, in bytes.
const MaxText = 128

// Clip gives a text that fits into a message. A text that was cut ends in "…".
func Clip(s string) string {
	if len(s) <= MaxText {
		return s
	}
	return string(append([]byte(s[:MaxText-len("…")]), "…"...)) // it does not keep the rest alive
}

// Log is what was read from a file, or a part of it.
type Log struct {
	Messages []Message // by At
	// Left counts the messages of the whole test that are not in the file, Cut is when the
	// first of them went on or ended (ns; 0: none is missing).
	Left int64
	Cut  int64
	// Whole: the file was written to its end. Otherwise the harness was killed, and the
	// last messages may be missing.
	Whole bool
}

// ErrDamaged says that a file is not as it was written, other than by a torn tail.
var ErrDamaged = errors.New("the record of the wire is damaged")
