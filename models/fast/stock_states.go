package fast

import (
	"math/bits"
	"slices"
)

// stockStates is a set of states, without those that others make needless.
type stockStates struct {
	*stockSearch
	byLevel map[[2]int64][]stockState
	levels  [][2]int64 // in the order in which they came
	size    int
}

// add says whether the set had nothing as good.
func (s *stockStates) add(st stockState) bool {
	if s.byLevel == nil {
		s.byLevel = map[[2]int64][]stockState{}
	}
	level := [2]int64(st[:2])
	kept, old := s.byLevel[level]
	if !old {
		s.levels = append(s.levels, level)
	}
	for _, k := range kept {
		if s.asGood(k, st) {
			return false
		}
	}
	before := len(kept)
	kept = slices.DeleteFunc(kept, func(k stockState) bool { return s.asGood(st, k) })
	s.byLevel[level] = append(kept, st)
	s.size += len(kept) + 1 - before
	return true
}

// worse says whether the set has lost st to a better one.
func (s *stockStates) worse(st stockState) bool {
	return !slices.ContainsFunc(s.byLevel[[2]int64(st[:2])], func(k stockState) bool { return &k[0] == &st[0] })
}

// asGood says whether what can follow b can follow a, of the same level.
func (s *stockStates) asGood(a, b stockState) bool {
	n := 2 + len(s.classes)
	more := false
	for w, done := range b[n:] {
		if done&^a[n+w] != 0 {
			return false
		}
		more = more || done != a[n+w]
	}
	if !more && has(stockDominance) {
		return true
	}
	if !covers(b[2:n], a[2:n]) {
		return false
	}
	if !more {
		return true
	}
	var spare [8]int64
	if len(s.classes) > len(spare) {
		return false
	}
	for k := range s.classes {
		spare[k] = b[2+k] - a[2+k]
	}
	for w, done := range b[n:] {
		for extra := uint64(a[n+w] &^ done); extra != 0; extra &= extra - 1 {
			o := &s.ops[s.slots[64*w+bits.TrailingZeros64(extra)]]
			if o.Delta() == 0 {
				continue
			}
			k, ok := slices.BinarySearch(s.classes, o.Delta())
			if (!ok || spare[k] == 0) && !has(stockSpare) {
				return false
			}
			if ok {
				spare[k]--
			}
		}
	}
	return true
}
