package models

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"picklock/harness/history"
)

// record is a history with the cross references that the checkers share. Once made it is
// only read, so several may use it at once.
type record struct {
	*history.History
	p Params

	index     func() *history.Index // positions of the operations by ID
	groups    []*group
	groupOf   history.Index      // positions in groups by grant
	locks     map[string][]*hold // believed holds of each lock, by start
	names     []string           // all locks, sorted
	byLock    map[string][]*group
	deducts   []*history.Operation
	deductsOf func() map[string][]*history.Operation // by SKU
	entriesOf func() map[string][]int                // positions in Ledger by SKU
	sold      func() map[int64][]*history.Operation  // deductions by grant
	ledgerOf  history.Index                          // positions in Ledger of the first entry of each operation
	more      map[int64][]int                        // of operations that have several: all
	deaths    map[int][]int64                        // by client, ascending
	losses    map[int64]int64                        // by grant: the first
	loadEnd   int64                                  // the last moment at which an acquire is known to have been under way

	workers workers

	operations slab[*history.Operation]

	sizes         sizes
	mu            sync.Mutex
	disagreements []string // of checkers
}

// group is all that was done with one grant: the acquire that the grant is named after,
// nested acquires, extends and releases, each by Invoke.
type group struct {
	grant    int64
	object   string
	outer    *history.Operation // nil if the history does not have it
	acquires []*history.Operation
	extends  []*history.Operation
	releases []*history.Operation
	hold     *hold  // nil: the client never believed to hold the lock
	leases   []span // for which the lock vouched: see record.leases

	// Of outer, so that sweeps over all grants need not look there: operations are large and
	// lie far apart, and to look at one is to wait for the memory.
	ok       bool // it was acknowledged
	believed bool // see believes
	worker   int32
	invoked  int64
	asked    int64 // start of its deciding attempt
	returned int64
	validity int64

	gave   int64 // invocation of the first release; Never: there is none
	unsure int64 // invocation of the first release that is not known to have worked; Never: there is none
	back   int64 // return of the last release
	threw  bool  // a release threw to its caller
}

// plain says whether a grant is as nearly all are, so that its fields tell all that there is
// to tell: acknowledged and believed, acquired once and not extended, released at most once,
// with success.
func (g *group) plain() bool {
	return g.ok && g.believed && len(g.acquires) == 1 && len(g.extends) == 0 && len(g.releases) <= 1 && g.unsure == history.Never
}

func newRecord(h *history.History, p Params) *record {
	r := &record{
		History: h, p: p,
		locks:   map[string][]*hold{},
		byLock:  map[string][]*group{},
		deaths:  map[int][]int64{},
		losses:  map[int64]int64{},
		loadEnd: h.Start,
		sizes:   defaultSizes(),
	}
	r.sold = sync.OnceValue(r.readSold)
	r.index = sync.OnceValue(h.Index)
	r.entriesOf = sync.OnceValue(func() map[string][]int {
		return shelves(len(r.Ledger), func(i int) (string, int) { return r.Ledger[i].Object, i })
	})
	r.deductsOf = sync.OnceValue(func() map[string][]*history.Operation {
		return shelves(len(r.deducts), func(i int) (string, *history.Operation) { return r.deducts[i].Object, r.deducts[i] })
	})
	var ledger sync.WaitGroup
	ledger.Go(r.readLedger)
	defer ledger.Wait()
	for _, d := range h.Deaths {
		r.deaths[d.Client] = append(r.deaths[d.Client], d.Time)
	}
	for _, l := range h.Losses {
		if _, known := r.losses[l.Grant]; !known {
			r.losses[l.Grant] = l.Time
		}
	}
	r.readOperations()
	for name := range r.byLock {
		r.names = append(r.names, name)
	}
	slices.Sort(r.names)
	r.readHolds()
	return r
}

// readHolds works out the holds of all locks, several locks at a time.
func (r *record) readHolds() {
	var next atomic.Int64
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			var room holdRoom
			for i := next.Add(1) - 1; i < int64(len(r.names)); i = next.Add(1) - 1 {
				name := r.names[i]
				if holds := r.holdsOf(r.byLock[name], &room); len(holds) > 0 {
					mu.Lock()
					r.locks[name] = holds
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
}

// holdsOf works out leases and believed holds of one lock's grants, and gives the holds.
func (r *record) holdsOf(groups []*group, room *holdRoom) []*hold {
	holds := make([]*hold, 0, len(groups))
	for _, g := range groups {
		g.leases = r.leases(g, room)
		if g.hold = r.believed(g, room); g.hold != nil {
			holds = append(holds, g.hold)
		}
	}
	sortBy(holds, func(h **hold) int64 { return (*h).from })
	return holds
}

// holdRoom is where holds and their stretches stand.
type holdRoom struct {
	holds     slab[hold]
	stretches slab[span]
}

// readLedger notes the entries of each operation: nearly always one.
func (r *record) readLedger() {
	for i := range r.Ledger {
		op := r.Ledger[i].Op
		first, known := r.ledgerOf.Find(op)
		if !known {
			r.ledgerOf.Put(op, i)
			continue
		}
		if r.more == nil {
			r.more = map[int64][]int{}
		}
		if r.more[op] == nil {
			r.more[op] = []int{first}
		}
		r.more[op] = append(r.more[op], i)
	}
}

// entries are the positions in Ledger of an operation's entries.
func (r *record) entries(op int64) []int {
	if all := r.more[op]; all != nil {
		return all
	}
	if at, ok := r.ledgerOf.Get(op); ok {
		return []int{at}
	}
	return nil
}

// entry is the first entry of an operation in the ledger; nil: it has none.
func (r *record) entry(op int64) *history.LedgerLine {
	if at, ok := r.ledgerOf.Get(op); ok {
		return &r.Ledger[at]
	}
	return nil
}

// group is all that was done with a grant; nil: nothing.
func (r *record) group(grant int64) *group {
	if at, ok := r.groupOf.Get(grant); ok {
		return r.groups[at]
	}
	return nil
}

// readOperations sorts the operations by what they worked on.
func (r *record) readOperations() {
	groups := slab[group]{}
	r.groups = make([]*group, 0, len(r.Operations)/3)
	r.deducts = make([]*history.Operation, 0, len(r.Ledger)+len(r.Ledger)/8)
	for i := range r.Operations {
		o := &r.Operations[i]
		if o.Op == history.Deduct {
			r.deducts = append(r.deducts, o)
			continue
		}
		key := keyOf(o)
		var g *group
		if at, known := r.groupOf.Find(key); known {
			g = r.groups[at]
		} else {
			g = &groups.one(group{grant: key, object: o.Object, gave: history.Never, unsure: history.Never})[0]
			r.groupOf.Put(key, len(r.groups))
			r.groups = append(r.groups, g)
			r.byLock[o.Object] = append(r.byLock[o.Object], g)
		}
		worker := r.workers.of(o)
		switch o.Op {
		case history.Acquire:
			g.acquires = r.operations.add(g.acquires, o)
			if o.ID == g.grant {
				g.outer, g.ok, g.believed, g.worker = o, o.Outcome == history.OutcomeOK, believes(o), worker
				g.invoked, g.asked, g.returned, g.validity = o.Invoke, from(o), o.Return, o.Validity
			}
			if r.loadEnd = max(r.loadEnd, o.Invoke); o.Return != history.Never {
				r.loadEnd = max(r.loadEnd, o.Return)
			}
		case history.Extend:
			g.extends = r.operations.add(g.extends, o)
		case history.Release:
			g.releases = r.operations.add(g.releases, o)
			g.gave, g.back, g.threw = min(g.gave, o.Invoke), o.Return, g.threw || o.Belief == history.ThrowsToCaller
			if o.Outcome != history.OutcomeOK {
				g.unsure = min(g.unsure, o.Invoke)
			}
		}
	}
}

// keyOf names the group of an operation on a lock. An operation of somebody who never
// acquired is a group of its own: its key is negative so that no grant can have it.
func keyOf(o *history.Operation) int64 {
	switch {
	case o.Grant != 0:
		return o.Grant
	case o.Op == history.Acquire:
		return o.ID
	}
	return -o.ID
}

// op is the operation with an ID; nil: the history does not have it.
func (r *record) op(id int64) *history.Operation {
	if at, ok := r.index().Get(id); ok {
		return &r.Operations[at]
	}
	return nil
}

// readSold sorts the deductions by their grants. Few histories need it.
func (r *record) readSold() map[int64][]*history.Operation {
	sold := make(map[int64][]*history.Operation, len(r.deducts))
	var operations slab[*history.Operation]
	for _, o := range r.deducts {
		if o.Grant != 0 {
			sold[o.Grant] = operations.add(sold[o.Grant], o)
		}
	}
	return sold
}

// granted says whether the lock acknowledged the grant.
func (g *group) granted() bool {
	return g.ok
}

// died is the first proven death of the client at or after t; Never: none.
func (r *record) died(client int, t int64) int64 {
	d := r.deaths[client]
	if i, _ := slices.BinarySearch(d, t); i < len(d) {
		return d[i]
	}
	return history.Never
}

// lost is when the client learned that the grant was gone; Never: it did not.
func (r *record) lost(grant int64) int64 {
	if t, ok := r.losses[grant]; ok {
		return t
	}
	return history.Never
}

// from is where the leases of an acquire or extend count from.
func from(o *history.Operation) int64 {
	if o.From > o.Invoke && o.From <= o.Return {
		return o.From
	}
	return o.Invoke
}

// clip gives Never a place on the time axis: the end of the history.
func (r *record) clip(t int64) int64 {
	if t == history.Never {
		return r.End
	}
	return t
}
