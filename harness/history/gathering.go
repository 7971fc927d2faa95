package history

import (
	"cmp"
	"errors"
	"math"
	"slices"
)

// gathering is a History in the making, from the parts of its file in their order.
//
// It takes for granted what is so in every history that was recorded: that each operation
// is invoked once, and completed at most once, further down in the file, not at an earlier
// time, as what it was invoked as. Sorting by time then leaves each completion behind its
// invocation, so nothing needs to be sorted before it is paired. Where it is not so,
// errStrange is the result, and Assemble must tell what is wrong, or that nothing is.
type gathering struct {
	lines  int   // of the file
	read   int64 // bytes of the file up to here
	size   int64 // of the file
	ops    []Operation
	mixed  bool // they are not by Invoke
	index  Index
	ledger []LedgerLine
	times  []int64 // theirs
	rare   []Event
	end    int64 // the latest time of an operation's event
	whole  bool  // the closing event was there
}

// errStrange: the events must be taken one by one in the order of their times.
var errStrange = errors.New("the events of an operation are not in their usual order")

// take adds what a part has read; upTo is where its chunk ended.
func (g *gathering) take(p *part, upTo int64) error {
	g.lines += p.lines
	g.read = upTo
	first := len(g.ops)
	g.ops = append(room(g.ops, len(p.ops), g.share()), p.ops...)
	if len(g.ops) >= math.MaxInt32 {
		return errStrange
	}
	for i := first; i < len(g.ops); i++ {
		g.index.Put(g.ops[i].ID, i)
		g.mixed = g.mixed || i > 0 && g.ops[i-1].Invoke > g.ops[i].Invoke
	}
	if g.index.Len() != len(g.ops) {
		return errStrange // one was invoked twice
	}
	for i := range p.late {
		if !g.complete(&p.late[i]) {
			return errStrange
		}
	}
	// The ledger is written in batches: what the first chunks have of it tells little, and
	// later ones may be off by some percent. Memory that nobody writes to costs nothing.
	share := 0.9 * g.share()
	if share < 1.0/32 {
		share *= 32
	}
	g.ledger = append(room(g.ledger, len(p.ledger), share), p.ledger...)
	g.times = append(room(g.times, len(p.times), share), p.times...)
	for i := range p.rare {
		g.whole = g.whole || p.rare[i].Type == End
	}
	g.rare = append(g.rare, p.rare...)
	g.end = max(g.end, p.end)
	return nil
}

// share is how much of the file was read.
func (g *gathering) share() float64 {
	return float64(max(g.read, 1)) / float64(max(g.size, 1))
}

// room makes room in s for n more and, if s and they are all of this share of the file, for
// the whole of it: growing step by step would copy it all several times, and need twice the
// memory.
func room[T any](s []T, n int, share float64) []T {
	if len(s)+n <= cap(s) {
		return s
	}
	all := float64(len(s)+n) / share
	return slices.Grow(s, max(n, int(1.02*all)-len(s)))
}

func (g *gathering) complete(e *Event) bool {
	at, ok := g.index.Get(e.ID)
	if !ok || !completes(&g.ops[at], e) {
		return false
	}
	complete(&g.ops[at], e)
	return true
}

// has says whether the file had the event.
func (g *gathering) has(e *Event) bool {
	at, known := g.index.Get(e.ID)
	switch e.Type {
	case Invoke:
		return known && g.ops[at].Invoke == e.Time && g.ops[at].Client == e.Client
	case OK, Fail, Info:
		return known && g.ops[at].Return == e.Time && g.ops[at].Client == e.Client && g.ops[at].Outcome == outcome(e.Type)
	}
	return slices.ContainsFunc(g.rare, func(r Event) bool {
		return r.ID == e.ID && r.Time == e.Time && r.Type == e.Type && r.Client == e.Client
	})
}

// history is the result.
func (g *gathering) history() (*History, error) {
	if g.mixed {
		sortStragglers(g.ops, func(o *Operation) int64 { return o.Invoke })
	}
	sortStragglers(g.rare, func(e *Event) int64 { return e.Time })
	a := newAssembly(0)
	for i := range g.rare {
		if err := a.add(&g.rare[i]); err != nil {
			return nil, err
		}
	}
	h := a.history
	h.Operations, h.Ledger, h.End = g.ops, g.sortedLedger(), max(h.End, g.end)
	if !g.mixed { // else the operations are not where they were
		h.index = &g.index
	}
	return h, nil
}

// sortedLedger is the ledger by Seq, and where that is the same, by time.
func (g *gathering) sortedLedger() []LedgerLine {
	sorted := true
	for i := 1; i < len(g.ledger) && sorted; i++ {
		sorted = g.ledger[i-1].Seq < g.ledger[i].Seq
	}
	if sorted {
		return g.ledger
	}
	order := make([]int, len(g.ledger))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(g.ledger[a].Seq, g.ledger[b].Seq), cmp.Compare(g.times[a], g.times[b]))
	})
	lines := make([]LedgerLine, len(order))
	for i, at := range order {
		lines[i] = g.ledger[at]
	}
	return lines
}

// sortStragglers sorts s by key, keeping the order of equals, in little more than the time
// to look at all if few of them stand behind later ones.
func sortStragglers[T any](s []T, key func(*T) int64) {
	first := 1
	for first < len(s) && key(&s[first-1]) <= key(&s[first]) {
		first++
	}
	if first >= len(s) {
		return
	}
	// What ascends stays, from the front; the stragglers are sorted by themselves and
	// merged in from the back. An equal one that stays stood before the straggler: the
	// later one that the straggler stands behind came after it.
	stay := first
	var late []T
	for i := first; i < len(s); i++ {
		if key(&s[stay-1]) <= key(&s[i]) {
			s[stay] = s[i]
			stay++
		} else {
			late = append(late, s[i])
		}
	}
	slices.SortStableFunc(late, func(a, b T) int { return cmp.Compare(key(&a), key(&b)) })
	for at := len(s) - 1; len(late) > 0; at-- {
		last := &late[len(late)-1]
		if stay > 0 && key(&s[stay-1]) > key(last) {
			stay--
			s[at] = s[stay]
			continue
		}
		s[at] = *last
		late = late[:len(late)-1]
	}
}
