// Package locks holds the locks under test: one file each, faithful to its source down
// to its bugs, and a registry of them all.
//
// A lock gets Redis clients, a name, options and a clock, and nothing else. It tells the
// truth of the server's replies, whatever its source went on to believe: that belief is
// a field of its own (Belief). A lock never swallows an error, never guesses and never
// retries behind the caller's back unless that is what its source does. It knows
// nothing of the harness, of faults or of the checkers.
package locks

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

// The definite errors. Any other error of Acquire, Release or Extend is indefinite: the
// call may or may not have taken effect, and may still do so.
var (
	// ErrNotAcquired: the lock was certainly not taken by this call.
	ErrNotAcquired = errors.New("lock not acquired")
	// ErrNotHeld: the server answered that the caller does not hold the lock (any more);
	// this call changed nothing.
	ErrNotHeld = errors.New("lock not held")
	// ErrNoEffect: the call certainly left the lock as it was, and says nothing of who
	// holds it (an error reply, another key deleted).
	ErrNoEffect = errors.New("lock left as it was")
	// ErrToldNotHeld is joined to an indefinite error of Release whose last answer was "not
	// held" after a try without an answer: what the client's code is told, although that
	// try may well have freed the lock.
	ErrToldNotHeld = errors.New("told that the lock is not held")
	// ErrThrown is joined to an error of Release that the source lets out to its caller,
	// who then takes the sale for failed. Other errors of Release are ignored by the
	// sources' code.
	ErrThrown = errors.New("thrown to the caller")
)

// Belief says what the source's code does after Acquire, where that is not "enter the
// section and release afterwards exactly if the lock was acquired".
type Belief uint8

// The beliefs.
const (
	// FollowsReply: enters exactly if Acquire returned nil, and releases exactly if it entered.
	FollowsReply Belief = iota
	// Enters: goes into the section although Acquire failed, and releases afterwards.
	Enters
	// Leaves: goes away although Acquire succeeded; neither section nor release.
	Leaves
	// ReleasesAnyway: stays out of the section after a failed Acquire, but a finally block releases.
	ReleasesAnyway
)

// Grant is what Acquire or Extend obtained. On an error only Belief and Token count.
type Grant struct {
	Token    string        // the value that the lock wrote: who holds it, as the server sees it
	Fence    int64         // fencing token, growing from grant to grant; 0: the lock has none
	Validity time.Duration // the lease, counted from the last Trace.Attempt; 0: until released
	Count    int64         // reentrant locks: holds of this owner after the call; else 0
	Belief   Belief
}

// Lock is one worker's handle on one named lock. It is used by one goroutine at a time.
//
// Acquire waits as its source waits, until it has the lock, gives up, or ctx ends. When
// ctx ends between two attempts that were both definite, that is ErrNotAcquired.
type Lock interface {
	Acquire(ctx context.Context) (Grant, error)
	// Release gives back what the last Acquire took. For a lock that is not acquired it
	// does what its source would do (a finally block may well delete somebody's key).
	Release(ctx context.Context) error
}

// Extender is a lock whose holder can prolong its lease.
type Extender interface {
	Extend(ctx context.Context) (Grant, error)
}

// Reentrant is a lock whose owner can acquire it again; it must release it as often.
// Remaining is the number of holds the owner had left after the last Release, as the
// server said; -1 when it did not say.
type Reentrant interface {
	Remaining() int64
}

// Loser is a lock that notices by itself that it no longer holds its grant. The channel
// is the current grant's and is closed at the loss; ask anew after each Acquire.
type Loser interface {
	Lost() <-chan struct{}
}

// Trace lets the record see what happens inside a call, as net/http/httptrace does.
// Nil fields are not called.
type Trace struct {
	// Attempt is called directly before the first byte of each attempt to take the lock.
	// A command that a client library sends again for want of an answer belongs to the same
	// attempt: the first of them may be the one that took the lock.
	Attempt func()
	// Release is called directly before the first byte of a command that frees the lock: a
	// release that took effect did so after the last call. A release that never gets as far
	// does not call it.
	Release func()
	// Extend is called directly before the first byte of a renewal that the lock makes on
	// its own, in whatever goroutine. The renewal's commands are sent in the context that it
	// returns; the function is called with the renewal's result.
	Extend func(context.Context) (context.Context, func(Grant, error))
}

func (t Trace) attempt() {
	if t.Attempt != nil {
		t.Attempt()
	}
}

func (t Trace) release() {
	if t.Release != nil {
		t.Release()
	}
}

func (t Trace) extend(ctx context.Context) (context.Context, func(Grant, error)) {
	if t.Extend != nil {
		return t.Extend(ctx)
	}
	return ctx, func(Grant, error) {}
}

// Clock is the time as the client under test sees it. A fault may skew it; the record
// has a clock of its own.
type Clock interface {
	Now() time.Time
	// Sleep waits for d or until ctx ends, whose error it then returns.
	Sleep(ctx context.Context, d time.Duration) error
}

// Config is everything that a lock gets.
type Config struct {
	// Nodes are the lock's servers: one client for each of redlock's independent primaries;
	// one client that follows the primary for failover; locks for one Redis use Nodes[0].
	// Hidden retries are off.
	Nodes []redis.UniversalClient
	// Replicas is how many replicas the primary has at the start.
	Replicas int
	// Durable is a server that no fault touches, for a lock that keeps its counter apart
	// from its locks. Locks that do not say so in their source leave it alone.
	Durable redis.UniversalClient
	Name    string        // the lock's name, which is its key where Meta.Keys does not say otherwise
	User    string        // who asks, in the sources that use it as token; the same for all grants of one worker
	TTL     time.Duration // 0: the TTL of the lock's source (Meta.TTL)
	Clock   Clock
	Rand    *rand.Rand // for jitter
	Trace   Trace
}

// Maker makes a worker's handle on one named lock. Calls may come from several goroutines.
type Maker func(Config) Lock

// Spec is a lock of the registry.
type Spec struct {
	Meta
	// Open is called once per client process; what the locks of one process share (a
	// mutex, say) lives in the Maker that it returns.
	Open func() Maker
	// Options are the decisions in which a lock can be told to differ from its source.
	Options []Option
	// With makes the lock that differs so, with its own Meta and Open; the values are those
	// of Options, complete. Nil for a lock without options.
	With func(v Values) Spec
}

// Option is one decision of a lock (or a deduction) that can be made otherwise.
type Option struct {
	Name    string
	Values  []string // the first is the default, which is the source's way
	Summary string   // what the decision is, and what each value means
}

// Values are the chosen values by option.
type Values map[string]string

// Step is a logical step of a lock or a deduction, which a trigger can name. Each lock
// maps the steps that it has onto its own commands.
type Step string

// The steps.
const (
	StepAcquire    Step = "acquire"     // the command that takes the lock, on each node
	StepExpire     Step = "expire"      // a second command that gives the taken lock its TTL
	StepAck        Step = "ack"         // WAIT for replicas
	StepCompare    Step = "compare"     // the read with which a release compares the owner
	StepRelease    Step = "release"     // the command that frees the lock
	StepExtend     Step = "extend"      // the command that renews the lease
	StepWake       Step = "wake"        // the message that wakes a waiter, on its way to it
	StepStockRead  Step = "stock-read"  // of deductions: the read that the write is computed from
	StepStockWrite Step = "stock-write" // of deductions: the command that writes to the stock
)

// Command is a command as the wire sees it.
type Command struct {
	Name string // upper case: "SET"; "MESSAGE" for a message on its way to a subscriber
	// Script narrows EVAL and EVALSHA (either name means both) to one script: the SHA-1 of
	// its source in lower-case hex (redis.Script.Hash).
	Script string
}

// Meta describes a lock: what `picklock list locks` prints and what the harness judges it by.
type Meta struct {
	Name       string   // with the options that differ from the default: "redlock:quorum=2"
	Summary    string   // one line: what it does
	Source     string   // where it comes from, e.g. "S0 ②" with the seed's section
	Topologies []string // on which it can run: "single", "failover", "redlock"
	TTL        time.Duration
	// NoTTL: the lock's key never expires (or it has no key): its lease ends only with its release.
	NoTTL bool
	// Promises: the properties that the lock answers for. A lock without mutual exclusion
	// has none of the lock properties.
	Promises []string
	// Reentrant: a worker acquires it Depth times, nested.
	Reentrant bool
	// Weaknesses known of it, as expectations by fault.
	Weaknesses []Weakness
	// Steps are the logical steps that it has, as commands on the wire to its lock nodes.
	Steps map[Step][]Command
	// Keys are those that a held lock of that name has on a node, which is Config.Nodes[node]
	// of so many: what its server must lose for the lock to be lost there. Nil: on each node
	// the name itself.
	Keys func(name string, node, nodes int) []string
}

// Weakness is one expectation: under Fault the Property will (or may) be violated.
// Whatever is not listed for a fault is expected to hold.
type Weakness struct {
	Fault    string // "none", or a fault kind: "pause-client", "kill-client", ...
	Property string // a property id
	// MinClients: it shows only with so many client processes; 0: with any number.
	MinClients int
	May        bool   // it depends on luck, on the deduction or on flags; else it shows in nearly every run
	Why        string // mechanism, in one sentence
}
