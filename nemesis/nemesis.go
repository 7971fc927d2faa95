// Package nemesis chooses faults and injects them: their kinds (one file each), the
// schedule that a seed draws, the triggers that wait for a point in the protocol, and the
// life of each fault, from injection and the proof that it landed to recovery and the
// proof of that.
//
// It acts on the world through three narrow doors, Clients, topology.Node and the wire,
// and writes what it did to the record. It judges nothing.
package nemesis

import (
	"context"
	"errors"
	"maps"
	"time"

	"picklock/harness/history"
	"picklock/harness/topology"
	"picklock/nemesis/wire"
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
	// Holders tells who is in a section by all that is recorded until now, and Waiters who
	// has invoked an acquire that has not returned; the longest first.
	Holders() ([]Holding, error)
	Waiters() ([]Holding, error)
	Pause(ctx context.Context, client int) (proof string, err error)
	Resume(ctx context.Context, client int) (proof string, err error)
	// Kill ends the client with SIGKILL; it counts as dead from at (ns).
	Kill(ctx context.Context, client int, at int64, why string) (proof string, err error)
	Restart(ctx context.Context, client int) (proof string, err error)
	// Hang makes a worker that is in its section stay there, while the rest of its process
	// goes on, until Unhang. It returns when the client has confirmed that it hangs.
	Hang(ctx context.Context, client, worker int) (proof string, err error)
	Unhang(ctx context.Context, client, worker int) (proof string, err error)
	// SetClock moves the clock that the client's locks go by to the true time plus offset,
	// running at rate from there. It returns when the client has confirmed it.
	SetClock(ctx context.Context, client int, offset time.Duration, rate float64) (proof string, err error)
	// Reconfigure ends the client as an operator would and starts it again with another
	// lock ("redlock:quorum=2"); empty: the test's own.
	Reconfigure(ctx context.Context, client int, lock string) (proof string, err error)
}

// World is what a fault can be done to.
type World struct {
	Clients Clients
	Nodes   []topology.Node // those that faults may touch: lock nodes and Sentinels, never the stock's own
	// Wire is the proxy between each client and each node, the stock too; nil: it is not in
	// the path.
	Wire *wire.Proxy
	// Steps maps a logical step of the lock or the deduction under test to its commands on
	// the wire; nil: it has no such step.
	Steps func(step string) []wire.Command
	// Keys are those that a held lock of that name has on a node; nil: the name itself.
	Keys func(object, node string) []string
	// StockNode names the node that keeps the stock.
	StockNode string
	TTL       time.Duration
	// Moved is told when a node may be reached at another address than before.
	Moved func(node, addr string)
	// Seconds gives a time of the record as seconds since the load began, for proofs.
	Seconds func(ns int64) float64
	// Until (ns) is when the search for a target must end for the fault to be over in time.
	Until int64
	// Hit is the frame that triggered the fault, held on the wire until its fate is decided;
	// nil for scheduled faults. See Hit.
	Hit *Hit
	// Sabotage makes faults ineffective on purpose, for the tests that prove that a fault
	// which does nothing is noticed. Always false in a real test.
	Sabotage bool

	ending       <-chan struct{} // closed when no further fault is wanted; nil: never
	fault        int             // number of this fault in the schedule, from 1; 0: none
	claims       claimant        // what this fault has taken: see chooseNodes and chooseClients
	grantedSince int64           // ns: the fault was triggered by a grant of then or later; 0: it was not
}

// keysOf are the keys of a hold on a node: when all of them are gone, so is the lock there.
func (w World) keysOf(h Holding, n topology.Node) []string {
	if w.Keys == nil {
		return []string{h.Object}
	}
	return w.Keys(h.Object, n.Name())
}

// late says whether the search for a target must end.
func (w World) late(ctx context.Context) bool {
	select {
	case <-w.ending:
		return true
	default:
		return ctx.Err() != nil || now() >= w.Until
	}
}

// untilEnd is ctx, which also ends when no further fault is wanted.
func (w World) untilEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if w.ending == nil {
		return ctx, cancel
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-w.ending:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); <-ended }
}

// Target is what a fault hit.
type Target struct {
	Name   string // in words: "client 3", "node lock", "nodes lock-1, lock-2"
	Client int    // -1: none
	Node   string // of several the first; empty: none
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
	// Landed observes the effect, and says what it saw. It may wait for the effect (the
	// first frame that is delayed, a promotion) until ctx ends.
	Landed(ctx context.Context) (proof string, err error)
	// Recover undoes it as far as it can be undone. It works on a best effort after errors.
	Recover(ctx context.Context) error
	// Recovered observes that the effect is gone.
	Recovered(ctx context.Context) (proof string, err error)
}

// Planned is one fault of a schedule.
type Planned struct {
	Kind string
	// At is when it begins, after the load began; with On or After not before then.
	At time.Duration
	// For is how long it lasts, from its landing.
	For time.Duration
	// Pick draws the target among the candidates of that moment.
	Pick uint64
	// Target says what it is done to: a word of Targets, or names of nodes or clients
	// joined by commas ("lock-2,lock-3", "client-0"); empty: the kind's first.
	Target string
	// On is the trigger: "before STEP" (the request of that step is held until the fault is
	// there), "after STEP" (the reply is), "granted" (somebody was granted a lock just now);
	// empty: scheduled. STEP is a logical step of lock or deduction: see locks.Step.
	On string
	// Nth is the occurrence that triggers, from 1; 0 is 1.
	Nth int
	// After is the number (from 1) of a fault of the same schedule that must have landed
	// before this one begins; 0: none. Recovered asks for its recovery instead.
	After     int
	Recovered bool
	// Until is the number of a fault of the same schedule: this one goes on until that one
	// has landed, or is past hope, and For from there; 0: none.
	Until int
	// With are parameters of the kind: see Kind.Params.
	With map[string]string
}

// Needs says what a kind needs of a topology and its surroundings.
type Needs struct {
	Wire     bool // the proxy in the path
	Servers  bool // it lays hands on servers: not with --addr
	Cuts     bool // packets between nodes are dropped (topology.Plan.Cuts)
	Shim     bool // the clock shim in the servers (topology.Plan.Shim)
	Replicas int  // so many replicas at least
	Nodes    int  // so many lock nodes at least
}

// Param is a parameter of a kind.
type Param struct {
	Name    string
	Summary string
	Default string
	// Check says in one line what is wrong with a value; nil: any is right.
	Check func(value string) error
}

// Kind is a kind of fault: a row of the registry.
type Kind struct {
	Name    string
	Summary string
	Needs   Needs
	// Targets are the words that Planned.Target may be; the first is the default.
	Targets []string
	// Triggers: it can be triggered (Planned.On).
	Triggers bool
	// Moments are the triggers that it can have: "before", "after", "granted"; nil: any.
	Moments []string
	// On is the trigger of a plan that names none; empty: scheduled.
	On string
	// Rule: the trigger is the fault's own rule on the wire, which acts on the frame itself.
	// The runner waits for no trigger then; Inject returns when the rule has met its frame.
	Rule   bool
	Params []Param
	// Stays: it cannot be undone before the judging or is undone after it (clock steps,
	// hangs), so liveness counts it as a fault that stays. See DESIGN.md, liveness. Its
	// Planned.For means nothing, and Recover is called by Runner.Heal.
	Stays bool
	// StaysWhen narrows Stays to some plans (a kill without restart); nil: all.
	StaysWhen func(p Planned) bool
	// Lasts draws how long a fault of this kind lasts, from a number in [0,1). Nil for kinds
	// that stay whatever their plan says.
	Lasts func(ttl time.Duration, draw float64) time.Duration
	// New makes a fault. The plan has been checked; target, trigger and parameters are
	// complete.
	New func(w World, p Planned) Fault
}

func (k Kind) stays(p Planned) bool {
	return k.Stays && (k.StaysWhen == nil || k.StaysWhen(p))
}

// complete fills in what the plan leaves to its kind.
func (k Kind) complete(p Planned) Planned {
	if p.Target == "" && len(k.Targets) > 0 {
		p.Target = k.Targets[0]
	}
	if p.On == "" {
		p.On = k.On
	}
	with := maps.Clone(p.With)
	for _, param := range k.Params {
		if _, given := with[param.Name]; !given {
			if with == nil {
				with = map[string]string{}
			}
			with[param.Name] = param.Default
		}
	}
	p.With = with
	return p
}

// span gives a time between low and high.
func span(low, high time.Duration, draw float64) time.Duration {
	return low + time.Duration(draw*float64(high-low))
}

// now is the clock of the record.
func now() int64 { return history.Now() }
