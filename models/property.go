// Package models judges histories. It holds the sequential specifications that
// porcupine checks, the interval checkers, and the words that explain a violation.
//
// In goes a history.History and what the test promised (Params), out come a Report with
// one Judgement per property. The package never touches the network, a clock or a file,
// and never guesses: what cannot be decided is Unknown, with the reason.
package models

import (
	"time"

	"github.com/anishathalye/porcupine"
)

// Verdict on one property or on a whole test.
type Verdict string

// The verdicts.
const (
	Valid    Verdict = "valid"
	Violated Verdict = "violated"
	Unknown  Verdict = "unknown"
)

// Worse merges two verdicts: violated beats unknown beats valid.
func (v Verdict) Worse(w Verdict) Verdict {
	for _, x := range []Verdict{Violated, Unknown} {
		if v == x || w == x {
			return x
		}
	}
	return Valid
}

// Property is the id of one promise.
type Property string

// The properties, as DESIGN.md defines them.
const (
	MutualExclusion   Property = "mutual-exclusion"
	LeaseExclusion    Property = "lease-exclusion"
	LinearizableLock  Property = "linearizable-lock"
	LinearizableStock Property = "linearizable-stock"
	NoLostUpdate      Property = "no-lost-update"
	NoOversell        Property = "no-oversell"
	Ownership         Property = "ownership"
	Liveness          Property = "liveness"
	Fencing           Property = "fencing"
	Reentrancy        Property = "reentrancy"
)

// LockProperties are judged only for locks that promise them; StockProperties always.
var (
	LockProperties  = []Property{MutualExclusion, LeaseExclusion, LinearizableLock, Ownership, Liveness, Fencing, Reentrancy}
	StockProperties = []Property{LinearizableStock, NoLostUpdate, NoOversell}
)

// Violation is one breach, explained. Times are seconds since the load began.
type Violation struct {
	StartS     float64  `json:"start_s"`
	EndS       float64  `json:"end_s"`
	Kind       string   `json:"kind,omitempty"`   // e.g. "overstay", "double-grant", "lost-update"
	Object     string   `json:"object,omitempty"` // lock or SKU
	Operations []int64  `json:"operations"`       // IDs of the operations involved
	Story      []string `json:"story"`            // what happened, a sentence each, in order
	// Witness is the smallest part of the history that shows it; nil where the breach is that
	// something is missing: a token, a write that was reported.
	Witness *Witness `json:"witness,omitempty"`
}

// Judgement is the verdict on one property.
type Judgement struct {
	Verdict Verdict `json:"verdict"`
	Count   int     `json:"count"`   // violations found in all
	Checked int     `json:"checked"` // operations, entries or pairs that were judged
	// Violations, earliest first; at most Params.MaxViolations of them are told.
	Violations []Violation `json:"violations"`
	// Why the verdict is unknown, or what else the reader must know.
	Note string `json:"note,omitempty"`
	// Pictures are porcupine's, of partitions that failed.
	Pictures []Picture `json:"-"`
}

// Picture is a failing partition as porcupine draws it.
type Picture struct {
	Object string
	Model  porcupine.Model
	Info   porcupine.LinearizationInfo
}

// Params is what a history is judged against.
type Params struct {
	Promises []Property // lock properties that the lock answers for; stock properties are always judged
	NoTTL    bool       // the lock never expires by itself
	TTL      time.Duration
	Drift    time.Duration // how much a lease may end early or late; 0: 2 ms + 1% of TTL
	Grace    time.Duration // liveness: allowed beyond the TTL; 0: 1 s
	// Reentrant: judge against the reentrant mutex.
	Reentrant bool

	Checker          Checker       // who decides linearizability; "": Fast
	PorcupineTimeout time.Duration // per partition; 0: 30 s
	MaxViolations    int           // explained per property; 0: 10

	MinSales      int // fewer completed sales are vacuous; 0: 20. -1: no bound
	MinContention int // fewer contended pairs are vacuous; 0: 1. -1: no bound
	// FaultsWanted are the kinds of faults that the test is about. A kind that stands here n
	// times must have been injected n times at least; one that is missing, because its
	// trigger or its target never came, makes the test vacuous, and so does any fault
	// without proof that it landed. Empty: the test is not about faults.
	FaultsWanted []string
	// LandedWanted is, in place of that, how many faults of whatever kind must have landed:
	// for a mixture, of which not every one can find its target. 0: FaultsWanted counts.
	LandedWanted int
}

// Report is the verdict on a whole history.
type Report struct {
	Verdict    Verdict                 `json:"verdict"`
	Vacuous    bool                    `json:"vacuous"`
	VacuousWhy []string                `json:"vacuous_why,omitempty"`
	Properties map[Property]*Judgement `json:"properties"`
	// Disagreements of two checkers on the same question: a fault of this program, which
	// makes its verdicts worth nothing.
	Disagreements []string `json:"-"`
	Measures      Measures `json:"measures"`
}
