package models

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestQuantiles compares with sorting, over lengths, repeated values and orders.
func TestQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		all := make([]int64, rng.IntN(70))
		for i := range all {
			all[i] = rng.Int64N(1 + rng.Int64N(100))
		}
		switch rng.IntN(3) {
		case 0:
			slices.Sort(all)
		case 1:
			slices.Sort(all)
			slices.Reverse(all)
		}
		sorted := slices.Sorted(slices.Values(all))
		qs := []float64{rng.Float64(), rng.Float64(), 0, 0.5, 1}
		got := quantiles(slices.Clone(all), qs...)
		for i, q := range qs {
			want := 0.0
			if n := len(sorted); n > 0 {
				want = float64(sorted[max(0, int(math.Ceil(q*float64(n)))-1)]) / 1e6
			}
			if got[i] != want {
				t.Fatalf("quantile %g of %v: %g, want %g", q, all, got[i], want)
			}
		}
	}
}
