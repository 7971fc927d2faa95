// Package deduct holds the deductions: ways to take one unit from the stock, one file
// each, faithful to their source. It also defines how the stock and its ledger lie on
// the stock node.
//
// Every write to the stock is one server-side atomic step that also appends to the
// ledger. The ledger adds no protection: a blind SET stays a blind SET.
package deduct

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/locks"
)

// ErrNotDone: the stock was certainly not written. Any other error is indefinite.
var ErrNotDone = errors.New("deduction not done")

// Request is one deduction to be made.
type Request struct {
	ID    int64 // operation id, written to the ledger
	Fence int64 // fencing token of the grant; 0: none
	// Think takes the time that the business takes inside the section: the seeds' HTTP
	// checks and order making. A deduction calls it once per try, between its check and its
	// write (before its write, where it has no check).
	Think func(context.Context) error
}

// Result is what the client knows after a deduction that returned nil.
type Result struct {
	Basis *int64 // the level that the client computed from; nil: a relative write, or no write
	Left  *int64 // the level that is left as the client sees it; nil: nothing was written (insufficient stock)
	Sold  bool   // the client reports the unit as sold. A relative write that left less than zero is refused, not sold
	Tries int    // tries made, at least 1
}

// Deduction takes one unit of one SKU. It is used by one goroutine at a time.
type Deduction interface {
	Deduct(ctx context.Context, r Request) (Result, error)
}

// Config is everything that a deduction gets.
type Config struct {
	Stock   redis.UniversalClient // the stock node. Hidden retries are off
	Keys    Keys
	SKU     string
	Initial int64 // units at the start, for deductions that count in memory
	Rand    *rand.Rand
	Sleep   func(ctx context.Context, d time.Duration) error
}

// Maker makes a worker's handle on one SKU. Calls may come from several goroutines.
type Maker func(Config) Deduction

// Form is how the stock of a SKU is kept.
type Form uint8

// The forms.
const (
	String Form = iota // GET stock:<sku>
	Hash               // HGET key:<sku>:info stock (S2)
	Memory             // a variable in each client (S3); the node has only the ledger
)

// Spec is a deduction of the registry.
type Spec struct {
	Name    string
	Summary string
	Source  string
	Form    Form
	// NeedsLock: correct only under mutual exclusion; or, if Fenced, under any lock whose
	// grants have tokens that grow and are not shared, whether their holds overlap or not.
	NeedsLock bool
	// Blind: it writes a level that it computed from an earlier read, and so overwrites
	// whatever was written in between.
	Blind bool
	// Weaknesses known of it even under a correct lock, in a sentence each.
	Weaknesses []string
	// Expect are those of the weaknesses that a property shows.
	Expect []locks.Weakness
	// Open is called once per client process; what the deductions of one process share
	// lives in the Maker that it returns.
	Open func() Maker
	// Options are the decisions in which it can be told to differ from its source; With
	// makes the deduction that does so. See locks.Spec.
	Options []locks.Option
	With    func(v locks.Values) Spec
	// Steps are the logical steps that it has, as commands on the wire to the stock node.
	Steps map[locks.Step][]locks.Command
	// Fenced: it sends the grant's fencing token, and the stock refuses stale ones.
	Fenced bool
}
