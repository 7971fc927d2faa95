package history

import (
	"cmp"
	"fmt"
	"slices"
)

// Outcome of an operation.
type Outcome uint8

// The outcomes. An operation without a completion is OutcomeInfo.
const (
	OutcomeInfo Outcome = iota
	OutcomeOK
	OutcomeFail
)

// String gives Jepsen's word.
func (o Outcome) String() string {
	return [...]string{"info", "ok", "fail"}[o]
}

// Operation is an invocation and its completion. The fields mean what they mean in Event.
type Operation struct {
	ID      int64
	Process int64
	Client  int
	Worker  int
	Op      Op
	Object  string
	Grant   int64
	Invoke  int64 // ns
	Return  int64 // ns; Never without a completion. An Info completion has its time here, but may take effect later
	Outcome Outcome
	Server  uint8

	Token    string
	Fence    int64
	From     int64
	Validity int64
	Attempts int64
	Belief   string
	Count    *int64

	Basis *int64
	Left  *int64
	Sold  bool

	Code  string
	Error string
}

// Death is the proven end of a client process: none of its workers did anything after Time.
type Death struct {
	Client int
	Time   int64
}

// Loss is a client's own discovery that it no longer holds a grant.
type Loss struct {
	Grant int64 // ID of the acquire
	Time  int64
}

// Role is what a node was seen to be from Time on, until its next role.
type Role struct {
	Node   string
	Server uint8 // its number; ServerUnknown: it has none, since no operation is done on it
	Time   int64
	Role   string // "primary", "replica of lock-1", "down"
}

// Primary is the role of a node that takes writes and has its copies made from it.
const Primary = "primary"

// LedgerLine is a ledger entry with its SKU.
type LedgerLine struct {
	Object string
	Ledger
}

// Levels are the stock of one SKU before and after the load; nil: not recorded.
type Levels struct{ Initial, Final *int64 }

// History is the whole record of a test, ready to be judged.
type History struct {
	Start int64 // ns: the load began
	End   int64 // ns: the last event
	// Complete: the harness wrote everything down. Otherwise the record breaks off at
	// End (the harness was killed, or the file was cut). Broken says how; of a complete
	// record it says why the test ended before its time, if it did.
	Complete bool
	Broken   string

	Operations []Operation // by Invoke
	Deaths     []Death     // by Time
	Losses     []Loss      // by Time
	Faults     []Fault     // by Start; they may overlap
	Roles      []Role      // by Time: each change of each node's role
	Ledger     []LedgerLine
	Stock      map[string]Levels

	index *Index // nil: it is not made yet
}

// Index finds the positions of the operations by their IDs. It is the caller's own.
func (h *History) Index() *Index {
	if h.index != nil && h.index.Len() == len(h.Operations) {
		return h.index.View()
	}
	x := new(Index)
	for i := range h.Operations {
		x.Put(h.Operations[i].ID, i)
	}
	return x
}

// Seconds gives the time t (ns) as seconds since the load began.
func (h *History) Seconds(t int64) float64 {
	return float64(t-h.Start) / 1e9
}

// Assemble pairs events to a History. The events may come in any order; they are sorted
// by time in place. An error means that they contradict each other: a completion
// without an invocation, two of either, a fault that ends without a start, or a role of
// no node.
func Assemble(events []Event) (*History, error) {
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.Time, b.Time) })
	a := newAssembly(len(events) / 2)
	for i := range events {
		if err := a.add(&events[i]); err != nil {
			return nil, err
		}
	}
	h := a.history
	slices.SortStableFunc(h.Ledger, func(a, b LedgerLine) int { return cmp.Compare(a.Seq, b.Seq) })
	return h, nil
}

// assembly is a History in the making, from events in the order of their times.
type assembly struct {
	history *History
	index   map[int64]int // positions of the operations by ID
	faults  map[int]int   // positions of the faults by number
}

func newAssembly(operations int) *assembly {
	return &assembly{
		history: &History{Stock: map[string]Levels{}},
		index:   make(map[int64]int, operations),
		faults:  map[int]int{},
	}
}

func (a *assembly) add(e *Event) error {
	h := a.history
	if e.Type != LedgerEntry && e.Type != StockLevel {
		h.End = max(h.End, e.Time)
	}
	switch e.Type {
	case Begin:
		h.Start = e.Time
	case End:
		h.Complete, h.Broken = true, e.Note
	case Invoke:
		if _, twice := a.index[e.ID]; twice {
			return fmt.Errorf("operation %d is invoked twice", e.ID)
		}
		a.index[e.ID] = len(h.Operations)
		h.Operations = append(h.Operations, invoked(e))
	case OK, Fail, Info:
		at, ok := a.index[e.ID]
		if !ok {
			return fmt.Errorf("operation %d completes without an invocation", e.ID)
		}
		o := &h.Operations[at]
		if o.Return != Never {
			return fmt.Errorf("operation %d completes twice", e.ID)
		}
		if o.Op != e.Op || o.Process != e.Process {
			return fmt.Errorf("operation %d completes as %s of process %d, but was invoked as %s of process %d",
				e.ID, e.Op, e.Process, o.Op, o.Process)
		}
		complete(o, e)
	case Lost:
		h.Losses = append(h.Losses, Loss{Grant: e.Grant, Time: e.Time})
	case ClientDeath:
		h.Deaths = append(h.Deaths, Death{Client: e.Client, Time: e.Time})
	case FaultStart:
		if e.Fault == nil {
			return fmt.Errorf("a fault-start says nothing of its fault")
		}
		a.faults[e.Fault.N] = len(h.Faults)
		h.Faults = append(h.Faults, *e.Fault)
	case FaultEnd:
		if e.Fault == nil {
			return fmt.Errorf("a fault-end says nothing of its fault")
		}
		at, ok := a.faults[e.Fault.N]
		if !ok {
			return fmt.Errorf("fault %d ends without a start", e.Fault.N)
		}
		h.Faults[at] = *e.Fault
	case LedgerEntry:
		if e.Ledger == nil {
			return fmt.Errorf("a ledger event is empty")
		}
		h.Ledger = append(h.Ledger, LedgerLine{Object: e.Object, Ledger: *e.Ledger})
	case StockLevel:
		if e.Stock == nil {
			return fmt.Errorf("a stock event is empty")
		}
		l, level := h.Stock[e.Object], e.Stock.Level
		if e.Stock.Final {
			l.Final = &level
		} else {
			l.Initial = &level
		}
		h.Stock[e.Object] = l
	case NodeRole:
		if e.Node == "" {
			return fmt.Errorf("a role %q is of no node", e.Note)
		}
		h.Roles = append(h.Roles, Role{Node: e.Node, Server: e.Server, Time: e.Time, Role: e.Note})
	case ClientUp, ClientDown, ClientTold:
	default:
		return fmt.Errorf("unknown event type %q", e.Type)
	}
	return nil
}

func invoked(e *Event) Operation {
	return Operation{
		ID: e.ID, Process: e.Process, Client: e.Client, Worker: e.Worker,
		Op: e.Op, Object: e.Object, Grant: e.Grant, Invoke: e.Time, Return: Never,
	}
}

func complete(o *Operation, e *Event) {
	o.Return, o.Server = e.Time, e.Server
	o.Outcome = outcome(e.Type)
	if o.Grant == 0 {
		o.Grant = e.Grant
	}
	o.Token, o.Fence, o.From, o.Validity = e.Token, e.Fence, e.From, e.Validity
	o.Attempts, o.Belief, o.Count = e.Attempts, e.Belief, e.Count
	o.Basis, o.Left, o.Sold = e.Basis, e.Left, e.Sold
	o.Code, o.Error = e.Code, e.Error
}

// outcome is what a completion says.
func outcome(t Type) Outcome {
	switch t {
	case OK:
		return OutcomeOK
	case Fail:
		return OutcomeFail
	}
	return OutcomeInfo
}
