// Package foreign reads histories that other harnesses wrote, so that picklock can be the
// checker alone, and writes picklock's histories for others.
//
// In goes a file in one of the Formats, out comes a History: operations in the order of the
// file, which is the real-time order, as in Jepsen. Times in the file are not looked at.
// A History knows nothing of locks or registers until it is asked for the operations of a
// Model (Locks, Registers), or judged by one (Judge). A file that is not what it says to be
// is an *Error with file, line and reason; nothing in it is guessed.
//
// # Formats
//
// EDN is Jepsen's: one map a line, or one vector or list of maps over many lines, with the
// keys :process, :type, :f, :value and :error; maps may be tagged (#jepsen.history.Op).
// Operations of the process :nemesis are left out.
//
// JSONL is one JSON object a line, for everybody; see jsonl.go.
//
// Porcupine is the two formats of porcupine's own test data: Jepsen's log of an etcd
// register, and key-value maps. Which of them is told from the first line.
//
// # What an answer says
//
// An operation that ended ok did happen. One that ended info, or never ended, may have
// happened at any time after its invocation, or never. One that ended fail did not happen.
// Beyond that, harnesses differ in what an answer proves; see Rules.
package foreign

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"picklock/harness/history"
)

// Format names a form of histories.
type Format string

// The formats.
const (
	EDN       Format = "edn"
	JSONL     Format = "jsonl"
	Porcupine Format = "porcupine"
)

// Formats are all of them.
func Formats() []Format { return []Format{EDN, JSONL, Porcupine} }

// Error says why a file is not a history.
type Error struct {
	File   string
	Line   int    // from 1
	Reason string // one line
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason) }

// Op is an operation: an invocation and its completion, if there is one.
type Op struct {
	Process   Value // a number or a string
	F         string
	Key       Value // of a field of its own; Jepsen's tuples are still in the values
	Invoked   Value
	Completed Value
	Error     Value // of the completion
	Client    Value // who did it, where a field outside of the value says so
	Outcome   history.Outcome
	// Call and Return are positions in the file, counted in events, so that no two are the
	// same. Return is history.Never without a completion.
	Call, Return  int64
	Line, EndLine int // EndLine is 0 without a completion
}

// Says is what a kind of answer proves.
type Says uint8

// The choices.
const (
	Nothing   Says = iota
	IfItSays       // only where the error names the reason
	Something      // always
)

// Rules are what answers prove, beyond what all harnesses agree on.
type Rules struct {
	// NilRead: a read of nil found nothing. Otherwise it says nothing, as in Knossos.
	NilRead bool
	// FailedCAS: a failed compare-and-set found another value than the expected one. In
	// Knossos it says nothing. Errors that name the reason are :cas-failed, :mismatch and
	// :compare-failed.
	FailedCAS Says
	// NotHeld: a release that failed because its owner did not hold the lock proves that,
	// for locks that know owners. In Knossos it says nothing. Errors that name the reason
	// are :not-held, :not-owner, :not-lock-owner and :not-permit-owner.
	NotHeld bool
}

// rules of each format: those of its own checkers. Only NotHeld is stricter than Knossos,
// for that is what a lost lock shows up as.
func (f Format) rules() Rules {
	switch f {
	case EDN:
		return Rules{NotHeld: true}
	case Porcupine:
		return Rules{NilRead: true, FailedCAS: Something, NotHeld: true}
	}
	return Rules{NilRead: true, FailedCAS: IfItSays, NotHeld: true}
}

// History is a foreign history.
type History struct {
	File   string
	Format Format
	Rules  Rules // those of the format; a caller may change them before asking for more
	Ops    []Op  // by Call
}

// Read reads a history from r. name is what errors call the file. Apart from those of r
// itself, all errors are *Error.
func Read(r io.Reader, name string, format Format) (*History, error) {
	b := newBuilder(name, format)
	in := bufio.NewReaderSize(r, 1<<16)
	start, err := in.Peek(3)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if string(start) == "\xEF\xBB\xBF" { // a byte order mark, as editors leave it
		_, _ = in.Discard(3) // they are in the buffer
	}
	switch format {
	case EDN:
		err = readEDN(in, b)
	case JSONL:
		err = readJSONL(in, b)
	case Porcupine:
		err = readPorcupine(in, b)
	default:
		err = fmt.Errorf("unknown format %q: there are %v", format, Formats())
	}
	if err != nil {
		return nil, err
	}
	return b.h, nil
}

func (h *History) errorf(line int, format string, args ...any) *Error {
	return &Error{File: h.File, Line: line, Reason: oneLine(fmt.Sprintf(format, args...))}
}

// oneLine makes a reason fit for a terminal, whatever the file has put into it.
func oneLine(reason string) string {
	reason = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(reason, "\uFFFD"))
	if r := []rune(reason); len(r) > 300 {
		reason = string(r[:300]) + "..."
	}
	return reason
}
