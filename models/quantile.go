package models

import "math"

// quantiles gives quantiles of durations in ns, in ms, by nearest rank; 0 if there are
// none. It moves the durations about, and takes time in proportion to their number: sorting
// them all would be much of what a report costs.
func quantiles(all []int64, qs ...float64) []float64 {
	out := make([]float64, len(qs))
	for i, q := range qs {
		if len(all) > 0 {
			out[i] = float64(Nth(all, max(0, int(math.Ceil(q*float64(len(all))))-1))) / 1e6
		}
	}
	return out
}

// Nth puts the n-th smallest (from 0) of all at its place, what is less before it and what
// is more behind it, and gives it. (Hoare: Algorithm 65, find. The pivot is the middle one
// of three; if halving goes badly for long, a heap would do better, but what is measured
// here nobody chooses.)
func Nth(all []int64, n int) int64 {
	low, high := 0, len(all)-1
	for low < high {
		pivot := median(all[low], all[low+(high-low)/2], all[high])
		i, j := low, high
		for i <= j {
			for all[i] < pivot {
				i++
			}
			for all[j] > pivot {
				j--
			}
			if i <= j {
				all[i], all[j] = all[j], all[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n <= j:
			high = j
		case n >= i:
			low = i
		default:
			return all[n]
		}
	}
	return all[n]
}

func median(a, b, c int64) int64 {
	return max(min(a, b), min(max(a, b), c))
}
