// Package nemesis chooses faults and injects them: their kinds (one file each), the
// schedule that a seed draws, and the life of each fault, from injection and the proof
// that it landed to recovery and the proof of that.
//
// It acts on the world through two narrow doors, Clients and topology.Node, and writes
// what it did to the record. It judges nothing.
package nemesis

import (
	"context"
	"errors"
	"time"

	"picklock/harness/history"
	"picklock/harness/topology"
)

// Holding says that a worker of a client is in the section, by the record.
type Holding struct {
	Client, Worker int
	Object         string
	Grant          int64
	Since          int64 // ns
}

// Clients are the client processes as a nemesis sees them. Proofs are observations in
// words.
type Clients interface {
	Count() int
	// Holders tells who is in a section by all that is recorded until now.
	Holders() ([]Holding, error)
	Pause(ctx context.Context, client int) (proof string, err error)
	Resume(ctx context.Context, client int) (proof string, err error)
	// Kill ends the client with SIGKILL; it counts as dead from at (ns).
	Kill(ctx context.Context, client int, at int64, why string) (proof string, err error)
	Restart(ctx context.Context, client int) (proof string, err error)
}

// World is what a fault can be done to.
type World struct {
	Clients Clients
	Nodes   []topology.Node // those that faults may touch
	// Moved is told when a node may be reached at another address than before.
	Moved func(node, addr string)
	// Seconds gives a time of the record as seconds since the load began, for proofs.
	Seconds func(ns int64) float64
	// Until (ns) is when the search for a target must end for the fault to be over in time.
	Until int64
}

// Target is what a fault hit.
type Target struct {
	Name   string // in words: "client 3", "node lock"
	Client int    // -1: none
	Node   string // empty: none
	At     int64  // ns: directly before it was hit
}

// ErrNoTarget: nothing that the fault could be done to was there in time, so nothing was
// done. That is not a fault that failed.
var ErrNoTarget = errors.New("no target")

// Fault is one injection. Its methods are called once each, in this order; Recover and
// Recovered also after an Inject or Landed that failed halfway.
type Fault interface {
	// Inject does it to a target that it chooses. ErrNoTarget: it did nothing.
	Inject(ctx context.Context) (Target, error)
	// Landed observes the effect, and says what it saw.
	Landed(ctx context.Context) (proof string, err error)
	// Recover undoes it as far as it can be undone. It works on a best effort after errors.
	Recover(ctx context.Context) error
	// Recovered observes that the effect is gone.
	Recovered(ctx context.Context) (proof string, err error)
}

// Kind is a kind of fault: a row of the registry.
type Kind struct {
	Name    string
	Summary string
	// Lasts draws how long a fault of this kind lasts, from a number in [0,1).
	Lasts func(ttl time.Duration, draw float64) time.Duration
	// New makes a fault; pick chooses among its candidates.
	New func(w World, pick uint64) Fault
}

// All lists the kinds.
func All() []Kind {
	return []Kind{
		pauseClient(),
		killClient(),
		pauseNode(),
		killNode(),
	}
}

// Find looks a kind up by its name.
func Find(name string) (Kind, bool) {
	for _, k := range All() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// span gives a time between low and high.
func span(low, high time.Duration, draw float64) time.Duration {
	return low + time.Duration(draw*float64(high-low))
}

// now is the clock of the record.
func now() int64 { return history.Now() }
