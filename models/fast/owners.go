package fast

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"picklock/models/spec"
)

// ownerNumbers numbers the owners of a history from 0. Owners whose own numbers are close
// together keep their distances. Others are looked up in a table in which they lie in the
// order of their own numbers, as far apart as these are: what is close in the history is
// mostly close there, so that it is read from memory once.
type ownerNumbers struct {
	n      int // how many numbers there are
	low    int64
	close  bool     // the owner's own number less low is it
	scale  uint64   // place in the table = (owner-low) * scale / 2^64
	keys   []uint64 // owner-low+1; 0: nobody's place
	number []int32
	many   map[int64]int32 // if the table would be slow: too many owners in one place
}

// guessing says when the range of the owners' numbers is guessed: in histories of so many
// operations, from as many of them as samples, and so much to either side. Tests set it.
var guessing = struct{ from, samples, margin int }{from: 4096, samples: 64, margin: 1024}

// guessOwners numbers the owners as those of a few operations suggest, which spares reading
// all. It holds for histories in which owners come roughly in the order of their numbers;
// others have owners whose numbers are not below n. nil: it is not worth the try.
func guessOwners(ops []spec.LockOp) *ownerNumbers {
	n := len(ops)
	if n < guessing.from {
		return nil
	}
	low, high := ops[0].Owner, ops[0].Owner
	for i := 1; i < guessing.samples; i++ {
		owner := ops[i*(n-1)/(guessing.samples-1)].Owner
		low, high = min(low, owner), max(high, owner)
	}
	span := uint64(high) - uint64(low)
	if span >= uint64(n) || n >= manyOps*int(span+1) {
		return nil // far apart; or few owners, of whom each has many operations
	}
	margin := guessing.margin
	return &ownerNumbers{n: int(span) + 1 + 2*margin, low: low - int64(margin), close: true}
}

func numberOwners(ops []spec.LockOp) *ownerNumbers {
	low, high := ops[0].Owner, ops[0].Owner
	for i := range ops {
		low, high = min(low, ops[i].Owner), max(high, ops[i].Owner)
	}
	t := &ownerNumbers{low: low}
	span := uint64(high) - uint64(low)
	if span < 2*uint64(len(ops))+1024 {
		t.n, t.close = int(span)+1, true
		return t
	}
	if span == math.MaxUint64 || !t.tabulate(ops, span) {
		t.mapped(ops)
	}
	return t
}

// tabulate makes the table. Not ok: looking up takes more than a few steps on average.
func (t *ownerNumbers) tabulate(ops []spec.LockOp, span uint64) (ok bool) {
	places := uint64(len(ops)) + uint64(len(ops))/2 + 64 // fewer than span
	t.scale, _ = bits.Div64(places, 0, span+1)
	t.keys, t.number = make([]uint64, places), make([]int32, places)
	steps := 8*len(ops) + 1024
	for i := range ops {
		key := uint64(ops[i].Owner) - uint64(t.low)
		at, _ := bits.Mul64(key, t.scale)
		for t.keys[at] != key+1 {
			if t.keys[at] == 0 {
				t.keys[at], t.number[at] = key+1, int32(t.n)
				t.n++
				break
			}
			if at++; at == places {
				at = 0
			}
			if steps--; steps < 0 {
				return false
			}
		}
	}
	return true
}

// mapped makes a map instead.
func (t *ownerNumbers) mapped(ops []spec.LockOp) {
	t.many = make(map[int64]int32, len(ops)/2)
	for i := range ops {
		if _, known := t.many[ops[i].Owner]; !known {
			t.many[ops[i].Owner] = int32(len(t.many))
		}
	}
	t.n = len(t.many)
}

// has says whether an owner has a number, if owners keep their distances: all of the history
// have, unless the range was guessed. It looks at the whole of the owner's own number.
func (t *ownerNumbers) has(owner int64) bool { return uint64(owner)-uint64(t.low) < uint64(t.n) }

// of gives the number of an owner of the history.
func (t *ownerNumbers) of(owner int64) int32 {
	if t.close {
		return int32(owner - t.low)
	}
	return t.find(owner)
}

func (t *ownerNumbers) find(owner int64) int32 {
	if t.many != nil {
		return t.many[owner]
	}
	key := uint64(owner) - uint64(t.low)
	at, _ := bits.Mul64(key, t.scale)
	for t.keys[at] != key+1 {
		if at++; at == uint64(len(t.keys)) {
			at = 0
		}
	}
	return t.number[at]
}

// ownOp is an operation as its owner's are looked at one after the other.
type ownOp struct {
	call, end int64 // end: the return that counts
	fence     int64 // 0: none was told, or to nobody
	at        int32 // its position in the history
	step      spec.Step
}

func ownOpOf(op *spec.LockOp, at int32) ownOp {
	o := ownOp{op.Call, op.Return, op.Fence, at, op.Step}
	if op.Step.May() {
		o.end, o.fence = spec.Never, 0
	}
	return o
}

// sortByCall sorts what comes in the order of the history.
func sortByCall(own []ownOp) {
	for i := 1; i < len(own); i++ {
		if own[i].call < own[i-1].call {
			slices.SortStableFunc(own, func(a, b ownOp) int { return cmp.Compare(a.call, b.call) })
			return
		}
	}
}

// clearAhead clears what is clear already, from one place to some way behind another, and says
// up to where. What many clients do comes in any order over a short distance, and what is
// looked at for the first time out of order is waited for, unless it is in the cache.
func clearAhead[T any](all []T, from, at int) (to int) {
	to = min(at+ahead, len(all))
	clear(all[from:to])
	return to
}

const ahead = 1024

// manyOps is how many operations an owner has on average from which on they are gathered:
// those of a client through the whole history, say. To follow them through it would be to
// wait for the memory each time. Tests set it to 0.
var manyOps = 16

// chains links the operations of each owner. head[s] is the first of the owner with the
// number s, next[i] the one after i; -1: none. Not ok: an owner has no number, since they were
// guessed wrongly.
func chains(ops []spec.LockOp, numbers *ownerNumbers) (head, next []int32, ok bool) {
	head, next = make([]int32, numbers.n), make([]int32, len(ops))
	for i := range head {
		head[i] = -1
	}
	for i := len(ops) - 1; i >= 0; i-- {
		if numbers.close && !numbers.has(ops[i].Owner) {
			return nil, nil, false
		}
		s := numbers.of(ops[i].Owner)
		next[i], head[s] = head[s], int32(i)
	}
	return head, next, true
}

// gather puts the operations of each owner in a row, those of the owner with the number s up
// to ends[s].
func gather(ops []spec.LockOp, numbers *ownerNumbers) (all []ownOp, ends []int32) {
	ends = make([]int32, numbers.n+1)
	for i := range ops {
		ends[numbers.of(ops[i].Owner)+1]++
	}
	for s := 1; s < len(ends); s++ {
		ends[s] += ends[s-1]
	}
	all = make([]ownOp, len(ops))
	for i := range ops {
		s := numbers.of(ops[i].Owner)
		all[ends[s]] = ownOpOf(&ops[i], int32(i))
		ends[s]++
	}
	return all, ends[:numbers.n]
}
