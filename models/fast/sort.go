package fast

import (
	"cmp"
	"math/bits"
	"slices"
)

// sortNearly sorts by a key, and what has the same one by compare; nil: it stays in its order.
// It gives the sorted slice, which is all or another.
//
// What comes from a history is nearly in order, so each thing is moved to its place from
// behind. If that proves to be far, as it is if the things come owner by owner, they are
// first put into buckets by their keys, about one for each: times and fences are spread
// nearly evenly. If that does not help either they are sorted by comparing. So the time is
// linear where keys are spread evenly or nearly in order, n log n else.
func sortNearly[T any](all []T, key func(*T) int64, compare func(a, b *T) int) []T {
	if insert(all, 4, key, compare) {
		return all
	}
	all = intoBuckets(all, key)
	if insert(all, 32, key, compare) {
		return all
	}
	slices.SortStableFunc(all, func(a, b T) int {
		if c := cmp.Compare(key(&a), key(&b)); c != 0 || compare == nil {
			return c
		}
		return compare(&a, &b)
	})
	return all
}

// insert sorts by insertion, as long as things are moved by no more than so many places on
// average. Equals keep their order, and so they do if it gives up.
func insert[T any](all []T, places int, key func(*T) int64, compare func(a, b *T) int) bool {
	if len(all) == 0 {
		return true
	}
	moves := 1024
	last := key(&all[0])
	for i := 1; i < len(all); i++ {
		moves += places
		k := key(&all[i])
		if last < k || last == k && (compare == nil || compare(&all[i-1], &all[i]) <= 0) {
			last = k
			continue
		}
		x, at := all[i], i
		for ; at > 0; at-- {
			before := &all[at-1]
			if b := key(before); b < k || b == k && (compare == nil || compare(before, &x) <= 0) {
				break
			}
			all[at] = *before
			moves--
		}
		all[at] = x
		if moves < 0 {
			return false
		}
	}
	return true
}

// intoBuckets gives the things in the order of their buckets, and in a bucket in the order
// in which they were.
func intoBuckets[T any](all []T, key func(*T) int64) []T {
	low, high := key(&all[0]), key(&all[0])
	for i := range all {
		k := key(&all[i])
		low, high = min(low, k), max(high, k)
	}
	shift := 0
	if spread := uint64(high) - uint64(low); spread >= uint64(len(all)) {
		shift = bits.Len64(spread / uint64(len(all)))
	}
	bucket := func(x *T) int { return int((uint64(key(x)) - uint64(low)) >> shift) }
	ends := make([]int32, (uint64(high)-uint64(low))>>shift+2)
	for i := range all {
		ends[bucket(&all[i])+1]++
	}
	for b := 1; b < len(ends); b++ {
		ends[b] += ends[b-1]
	}
	out := make([]T, len(all))
	for i := range all {
		b := bucket(&all[i])
		out[ends[b]] = all[i]
		ends[b]++
	}
	return out
}
