package models

import "slices"

// keyed is a thing with what it is sorted by.
type keyed[T any] struct {
	key int64
	v   T
}

// shortRun is the length up to which a stretch is sorted by insertion.
const shortRun = 16

// SortBy sorts by a key and keeps the order of equals, in little more than the time to look
// at all if they are nearly in order.
func SortBy[T any](all []T, key func(*T) int64) { sortBy(all, key) }

// sortBy sorts by a key and keeps the order of equals. What comes from a history is mostly
// nearly in order: then it is sorted in place. Else, as with several lists in order one after
// the other, stretches that ascend are merged, two neighbours at a time, and of two only the
// part in which they overlap is moved: n things in order take n steps, n things off their
// places by d at most some n log d, k lists in a row n log k.
func sortBy[T any](all []T, key func(*T) int64) {
	if insert(all, key) {
		return
	}
	s := make([]keyed[T], len(all))
	for i := range all {
		s[i] = keyed[T]{key(&all[i]), all[i]}
	}
	bounds := ascending(s)
	var left []keyed[T]
	for len(bounds) > 2 {
		kept := bounds[:1]
		i := 0
		for ; i+2 < len(bounds); i += 2 {
			left = mergeRuns(s[bounds[i]:bounds[i+2]], bounds[i+1]-bounds[i], left)
			kept = append(kept, bounds[i+2])
		}
		if i+1 < len(bounds) { // one is left over
			kept = append(kept, bounds[i+1])
		}
		bounds = kept
	}
	for i := range s {
		all[i] = s[i].v
	}
}

// insert sorts by insertion as long as things stand off their places by no more than a few
// on average; false: they do not, and are in another order now, in which equals keep theirs.
func insert[T any](all []T, key func(*T) int64) bool {
	if len(all) == 0 {
		return true
	}
	moves := 0
	last := key(&all[0])
	for i := 1; i < len(all); i++ {
		moves = min(moves+fewPlaces, mostPlaces)
		k := key(&all[i])
		if last <= k {
			last = k
			continue
		}
		x, at := all[i], i
		for at > 0 && moves >= 0 && key(&all[at-1]) > k {
			all[at] = all[at-1]
			at--
			moves--
		}
		all[at] = x
		if moves < 0 {
			return false
		}
	}
	return true
}

// fewPlaces is how far off its place a thing may be on average to be sorted by insertion,
// mostPlaces how far any may be.
const (
	fewPlaces  = 4
	mostPlaces = 1024
)

// ascending makes s a row of stretches that ascend, and gives where each begins, and the
// end of the last.
func ascending[T any](s []keyed[T]) []int {
	bounds := []int{0}
	for from := 0; from < len(s); {
		to := from + 1
		for to < len(s) && s[to-1].key <= s[to].key {
			to++
		}
		for ; to < min(from+shortRun, len(s)); to++ {
			x, at := s[to], to
			for at > from && s[at-1].key > x.key {
				s[at] = s[at-1]
				at--
			}
			s[at] = x
		}
		bounds = append(bounds, to)
		from = to
	}
	return bounds
}

// mergeRuns merges the first n of s, which ascend, with the others, which do too. It gives
// back the memory that it needed.
func mergeRuns[T any](s []keyed[T], n int, left []keyed[T]) []keyed[T] {
	above := func(x keyed[T], key int64) int { // the first that is greater
		if x.key > key {
			return 1
		}
		return -1
	}
	from, _ := slices.BinarySearchFunc(s[:n], s[n].key, above)
	if from == n {
		return left
	}
	left = append(left[:0], s[from:n]...)
	at, right := from, n
	for i := 0; i < len(left); at++ {
		if right < len(s) && s[right].key < left[i].key {
			s[at] = s[right]
			right++
		} else {
			s[at] = left[i]
			i++
		}
	}
	return left
}
