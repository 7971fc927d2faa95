package fast

import (
	"cmp"
	"math"
	"slices"

	"picklock/models/spec"
)

// stockSearch follows a history through all states that the counter can be in.
//
// # What is exact
//
// It goes through the returns of certain operations by time. Before a return at t all
// operations called by t are taken up as pending. After it, the states are all that can be
// reached by putting some pending operations behind what was done before, the last of them
// the one that returns, if it was not yet done. This is the search of Wing and Gong in the
// order of Lowe ("just in time"): nothing is lost by doing an operation no sooner than the
// return that needs it, its own or that of one that comes behind it. If no state is left,
// the history is illegal, and if the last return leaves one, it is legal.
//
// A state is the level, which pending operations are done, and how many steps that may
// have happened were used, by what they add (their class). The states are kept few by
// rules which lose no verdict, since each keeps a state from which at least as much can
// follow:
//
//   - Steps of a class that may have happened are the same to the counter and have no
//     return, so that their number is enough.
//   - Of two states of one level, a makes b needless if all is done in a that is in b, and
//     for what is done in a alone b used at least as many steps more that add the same, and
//     no fewer of the other classes: what follows b can follow a, with those steps in the
//     place of what is done already. (Reads and refusals are left out.)
//   - They are used only right before an operation that needs the level to which they
//     lead: else they can be put off. No more than that: a set of them is passed over if a
//     smaller part leads to the same level (for a refusal: also below its quantity); the
//     rest, which changes nothing on the whole, can be left out or put off.
//   - Of pending operations that are the same to the counter (in step, quantity and, if it
//     is named, level) the one that returns first is done first. A certain one whose level
//     was not told is done before one of its class that may have happened. In any order of
//     events they can be exchanged.
//   - Pending reads of the present level are done at once, and refusals of more than it;
//     they change nothing.
//   - A pending operation that names a level can start above the present one. The level
//     must rise to there before it returns, and once for each pending take that leads below
//     there and returns no later. If there are too few restocks that can lead there by
//     then (one that names its levels must do so from below), the state leads nowhere.
//
// From an unknown start, the first operation that names a level sets it; steps that may
// have happened are not needed before it, since the start can be that much lower or
// higher. (Histories that have refusals as well do not come here.)
//
// If there are more states than its bounds allow, the better part is kept, and the states
// are no longer whole: then a state at the end still proves the history legal, but the lack
// of one proves nothing. In that case, or when it did more work than allowed, porcupine is
// given what is left to do after the last return that left only one state of a whole set.
// What can follow that state is all that can follow at all, so that this is exact, too.
type stockSearch struct {
	*stockHistory
	bounds   stockBounds
	byCall   []int32
	byReturn []int32   // certain ones
	classes  []int64   // what the steps that may have happened add
	called   []int32   // how many of each class were called
	raises   []int32   // restocks that are not taken up, by call
	words    int       // for the set of those done
	slots    []int32   // the pending operation of each slot, or none
	sooner   [][]int32 // for each slot: those of operations that must come before it
	free     []int32   // slots
	slotOf   map[int32]int32
	states   []stockState
	cut      bool // states were left out
	work     int
	sure     int // the number of returns after which there was one state of a whole set
	upTo     int // how many of byCall are taken up
}

const none = -1

// stockBounds are where the search stops being whole.
type stockBounds struct {
	states int // after a return
	ways   int // to reach a level
	work   int // in all, and 200 more for each operation
}

var usualStock = stockBounds{states: 8192, ways: 64, work: 30_000_000}

// stockState is [level, whether it is free, used of each class..., done...].
type stockState []int64

func (h *stockHistory) search(b stockBounds, lim Limits) Result {
	s := newStockSearch(h, b)
	at, ok := s.run(math.MaxInt)
	switch {
	case ok:
		return Result{}
	case !s.cut:
		return Result{Verdict: Illegal, Ops: at}
	}
	rest := newStockSearch(h, b)
	rest.run(s.sure)
	stock, ops, where := rest.left()
	return askStock(stock, ops, where, lim)
}

func newStockSearch(h *stockHistory, b stockBounds) *stockSearch {
	s := &stockSearch{stockHistory: h, bounds: b, slotOf: map[int32]int32{}}
	for i := range h.ops {
		o := &h.ops[i]
		s.byCall = append(s.byCall, int32(i))
		if o.Step.May() {
			if !slices.Contains(s.classes, o.Delta()) {
				s.classes = append(s.classes, o.Delta())
			}
		} else {
			s.byReturn = append(s.byReturn, int32(i))
		}
	}
	slices.SortStableFunc(s.byCall, func(a, b int32) int { return cmp.Compare(h.ops[a].Call, h.ops[b].Call) })
	slices.SortStableFunc(s.byReturn, func(a, b int32) int { return cmp.Compare(h.ops[a].Return, h.ops[b].Return) })
	for _, i := range s.byCall {
		if h.ops[i].Delta() > 0 {
			s.raises = append(s.raises, i)
		}
	}
	slices.Sort(s.classes)
	s.called = make([]int32, len(s.classes))
	pending, most, next := 0, 0, 0
	for _, x := range s.byReturn {
		for ; next < len(s.byCall) && h.ops[s.byCall[next]].Call <= h.ops[x].Return; next++ {
			if !h.ops[s.byCall[next]].Step.May() {
				pending++
			}
		}
		most = max(most, pending)
		pending--
	}
	s.words = most/64 + 1
	first := make(stockState, 2+len(s.classes)+s.words)
	first[0] = h.Start
	if h.Free {
		first[0], first[1] = 0, 1
	}
	s.states = []stockState{first}
	return s
}

// run goes through the first returns. If it finds none that can follow, it says which
// operation could not have happened.
func (s *stockSearch) run(returns int) (at []int, ok bool) {
	allowed := s.bounds.work + 200*len(s.ops)
	for n, x := range s.byReturn[:min(returns, len(s.byReturn))] {
		s.takeUp(s.ops[x].Return)
		slot := s.slotOf[x]
		s.reach(slot)
		if len(s.states) == 0 {
			return []int{int(x)}, false
		}
		for _, st := range s.states {
			s.mark(st, slot, false)
		}
		delete(s.slotOf, x)
		s.slots[slot], s.sooner[slot] = none, nil
		for y, before := range s.sooner {
			s.sooner[y] = slices.DeleteFunc(before, func(b int32) bool { return b == slot })
		}
		s.free = append(s.free, slot)
		if len(s.states) == 1 && !s.cut {
			s.sure = n + 1
		}
		if s.work > allowed {
			s.cut = true
			return nil, false
		}
	}
	return nil, true
}

// takeUp makes pending what was called by t.
func (s *stockSearch) takeUp(t int64) {
	for ; s.upTo < len(s.byCall) && s.ops[s.byCall[s.upTo]].Call <= t; s.upTo++ {
		i := s.byCall[s.upTo]
		o := &s.ops[i]
		if o.Delta() > 0 {
			s.raises = s.raises[1:] // it is the first of them
		}
		if o.Step.May() {
			k, _ := slices.BinarySearch(s.classes, o.Delta())
			s.called[k]++
			continue
		}
		var slot int32
		if n := len(s.free); n > 0 {
			slot, s.free = s.free[n-1], s.free[:n-1]
			s.slots[slot] = i
		} else {
			slot = int32(len(s.slots))
			s.slots, s.sooner = append(s.slots, i), append(s.sooner, nil)
		}
		s.queue(slot)
		s.slotOf[i] = slot
		for _, st := range s.states {
			if s.idle(st, o) {
				s.mark(st, slot, true)
			}
		}
	}
}

// queue puts the pending operation in slot in line with those that are the same to the
// counter.
func (s *stockSearch) queue(slot int32) {
	o := &s.ops[s.slots[slot]]
	for other, i := range s.slots {
		if i == none || int32(other) == slot {
			continue
		}
		p := &s.ops[i]
		if p.Step != o.Step || p.Qty != o.Qty || o.Step.Named() && p.Left != o.Left {
			continue
		}
		if (p.Return <= o.Return) != has(stockSomeOrder) {
			s.sooner[slot] = append(s.sooner[slot], int32(other))
		} else {
			s.sooner[other] = append(s.sooner[other], slot)
		}
	}
}

// idle says whether the operation can be done now and changes nothing.
func (s *stockSearch) idle(st stockState, o *spec.StockOp) bool {
	switch {
	case st[1] != 0:
		return false
	case o.Step == spec.Level:
		return st[0] == o.Left || has(stockEagerWrong)
	}
	return o.Step == spec.Refuse && st[0] < o.Qty
}

func (s *stockSearch) bit(slot int32) (word int, mask int64) {
	return 2 + len(s.classes) + int(slot/64), 1 << (slot % 64)
}

func (s *stockSearch) done(st stockState, slot int32) bool {
	word, mask := s.bit(slot)
	return st[word]&mask != 0
}

func (s *stockSearch) mark(st stockState, slot int32, done bool) {
	word, mask := s.bit(slot)
	if done {
		st[word] |= mask
	} else {
		st[word] &^= mask
	}
}

// left is what there is to do after a run that left one state, as a history of its own,
// and where its operations are in the whole one.
func (s *stockSearch) left() (stock spec.Stock, ops []spec.StockOp, where []int) {
	st := s.states[0]
	used := slices.Clone(st[2 : 2+len(s.classes)])
	for n, i := range s.byCall {
		o := &s.ops[i]
		if n < s.upTo {
			if o.Step.May() {
				if k, _ := slices.BinarySearch(s.classes, o.Delta()); used[k] > 0 {
					used[k]--
					continue
				}
			} else if slot, pending := s.slotOf[i]; !pending || s.done(st, slot) {
				continue
			}
		}
		ops, where = append(ops, *o), append(where, int(i))
	}
	return spec.Stock{Start: st[0], Free: st[1] != 0}, ops, where
}
