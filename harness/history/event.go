// Package history is the record of a test: what every worker did and what every fault
// hit, in real-time order, and its form on disk.
//
// In go events (a line each in history.jsonl), out comes a History: operations (an
// invocation paired with its completion), deaths, losses, faults, the stock and its
// ledger. The package knows nothing of locks or of Redis: it holds their words as
// opaque strings and numbers and judges nothing.
//
// All times are CLOCK_MONOTONIC in nanoseconds, read in the process where the event
// happened. On one machine that clock is shared by all processes and no fault moves it.
package history

import "math"

// Type says what an event is.
type Type string

// The types of events. Invoke, OK, Fail and Info belong to operations.
const (
	Invoke Type = "invoke" // recorded before the first byte is sent
	OK     Type = "ok"     // it did happen; recorded after the last byte was read
	Fail   Type = "fail"   // it certainly did not happen
	Info   Type = "info"   // it may or may not have happened, now or later

	Lost Type = "lost" // the client learned that it no longer holds Grant

	Begin       Type = "begin"        // first event of a history: the load starts
	End         Type = "end"          // last event: the history is whole
	ClientUp    Type = "client-up"    // a client process began to work
	ClientDown  Type = "client-down"  // a client process ended as it was told to
	ClientDeath Type = "client-death" // proven death: nothing of the client ran after Time
	ClientTold  Type = "client-told"  // a client confirms an order of the nemesis (Note): its clock was moved, a worker hangs
	NodeRole    Type = "node-role"    // Node was observed in a role that differs from the one before (Note: "primary", "replica of lock-1", "down")
	FaultStart  Type = "fault-start"  // a fault was injected (Fault)
	FaultEnd    Type = "fault-end"    // the same fault was recovered (Fault)
	LedgerEntry Type = "ledger"       // one write to the stock, in the stock node's order (Ledger)
	StockLevel  Type = "stock"        // the level of one SKU before or after the load (Stock)
)

// Op is the kind of an operation.
type Op string

// The kinds of operations.
const (
	Acquire Op = "acquire"
	Extend  Op = "extend"
	Release Op = "release"
	Deduct  Op = "deduct"
)

// Codes say in one word why an operation ended Fail; they carry what the reply proved.
const (
	CodeNotAcquired = "not-acquired" // acquire: somebody else has the lock
	CodeNotHeld     = "not-held"     // release, extend: the server says that the caller does not hold the lock
	CodeNoEffect    = "no-effect"    // release, extend: the lock was left as it was, whoever holds it
	CodeNotDone     = "not-done"     // deduct: the stock was certainly not written
)

// Beliefs: what the client's code went on to do where that is not what the reply said.
const (
	BelievesHeld    = "enters"   // acquire did not succeed; the client enters the section all the same
	BelievesNot     = "leaves"   // acquire succeeded; the client goes away without using or releasing it
	ReleasesAnyway  = "releases" // acquire did not succeed; the client stays out, but its finally block releases
	ThrowsToCaller  = "throws"   // release: an error reached the caller, who takes the sale for failed
	believesDefault = ""         // it believes the reply
)

// Numbers of servers. Where several nodes can be the lock's server by turns, they are numbered
// from 1, and an operation says which of them it was done on: a node keeps its number for the
// whole history.
const (
	ServerUnknown uint8 = 0   // the record does not say
	ServerSeveral uint8 = 255 // its commands went to several, and any of them may have done it
	LastServer    uint8 = 254
)

// Never is the return of an operation that has no known completion.
const Never int64 = math.MaxInt64

// Event is one line of a history. Which fields are set depends on Type and Op; the
// zero value of a field means "not said".
type Event struct {
	Time    int64  // ns, CLOCK_MONOTONIC
	Type    Type   //
	Op      Op     // of operations
	ID      int64  // of operations: unique in the history, the same for invocation and completion
	Process int64  // Jepsen's process: the logical thread; a worker gets a new one after Info
	Client  int    // from 0; -1 where no client is meant
	Worker  int    // from 0, within its client
	Object  string // the lock's name (acquire, extend, release, lost) or the SKU (deduct, ledger, stock)
	Grant   int64  // extend, release, lost, deduct: ID of the acquire that they belong to; 0: none
	// Server is, of completions of acquire, extend and release, the number of the node that
	// answered; of node-role, that of Node. See ServerUnknown.
	Server uint8

	// Completions of acquire and extend.
	Token    string // what the lock wrote as its value
	Fence    int64  // fencing token; 0: none
	From     int64  // ns: start of the attempt that decided (for acquire the last one); leases count from here
	Validity int64  // ns: the lease that the lock promises, counted from From; 0: no end
	Attempts int64  // attempts made
	Belief   string // one of the beliefs
	Count    *int64 // reentrant locks: holds that the owner has left after this call, as the server says

	// Completions of deduct.
	Basis *int64 // the level that the client computed from; nil for relative writes
	Left  *int64 // the level that the client's reply or arithmetic says is left; nil: nothing was written
	Sold  bool   // the client may report the unit as sold

	Code  string // of Fail: one of the codes. Of Info of a release: CodeNotHeld, if that was the last answer, to a try after one that had none
	Error string // of Fail and Info: the error in words

	Fault  *Fault  // fault-start, fault-end
	Ledger *Ledger // ledger
	Stock  *Stock  // stock
	Node   string  // node-role: the node
	Note   string  // begin, end, client-*, node-role: what else there is to say
}

// Fault is one injected fault as the history tells it.
type Fault struct {
	N      int    `json:"n"`      // number of the fault in the test, from 1
	Kind   string `json:"kind"`   // e.g. "pause-client"
	Target string `json:"target"` // e.g. "client 3" or "node lock"
	Client int    `json:"client"` // the client hit, or -1
	Node   string `json:"node,omitempty"`
	Start  int64  `json:"start"`            // ns: the injection began to work
	End    int64  `json:"end,omitempty"`    // ns: recovered for certain; 0: not known
	Landed bool   `json:"landed"`           // the effect was observed
	Seen   int64  `json:"seen,omitempty"`   // ns: when it was observed; 0: not said
	Stays  bool   `json:"stays,omitempty"`  // it is undone only after the load: what follows its landing is judged as the quiet tail
	Undone int64  `json:"undone,omitempty"` // ns: of one that stays, when undoing it began; 0: not said
	Proof  string `json:"proof,omitempty"`
	Healed string `json:"healed,omitempty"` // proof of recovery
	Error  string `json:"error,omitempty"`  // why it did not land or recover
}

// Ledger is one write to the stock, appended by the stock node in the same atomic step.
type Ledger struct {
	Seq   int64  `json:"seq"`             // position in the ledger, from 0
	Op    int64  `json:"op"`              // ID of the deduct operation
	Basis *int64 `json:"basis,omitempty"` // the level that the client computed from; nil: a relative write
	Found int64  `json:"found"`           // the level that the server held before the write
	Left  int64  `json:"left"`            // the level after it
	Fence int64  `json:"fence,omitempty"` // fencing token that came with the write
}

// Stock is the level of one SKU at one end of the load.
type Stock struct {
	Final bool  `json:"final"` // after the load; otherwise before it
	Level int64 `json:"level"`
}
