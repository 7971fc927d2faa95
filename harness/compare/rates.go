package compare

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/combin"

	"picklock/harness/matrix"
)

// Alpha is the chance, of each of the two families of tests (rates of violations, and
// performance), that two matrices of the same code differ in anything at all: once in 400
// nights, which makes both together once in 200.
const Alpha = 0.0025

// fisher is the two-sided p-value of Fisher's exact test: of all tables with the same
// margins, the share that is no likelier than this one. It is exact for any number of
// runs, where the normal approximation is wrong for a handful.
func fisher(a, b matrix.Rate) float64 {
	first, last := span(a, b)
	got := hypergeometric(a, b, a.Violated)
	p := 0.0
	for k := first; k <= last; k++ {
		// Tables that are equally likely differ in the last bits.
		if q := hypergeometric(a, b, k); q <= got*(1+1e-7) {
			p += q
		}
	}
	return min(1, p)
}

// least is the smallest p-value that the margins of a table permit, whatever fell where.
func least(a, b matrix.Rate) float64 {
	first, last := span(a, b)
	p := 1.0
	for _, k := range []int{first, last} {
		p = min(p, fisher(matrix.Rate{Violated: k, Of: a.Of}, matrix.Rate{Violated: a.Violated + b.Violated - k, Of: b.Of}))
	}
	return p
}

// span is how many of all violations can have been in a.
func span(a, b matrix.Rate) (first, last int) {
	all := a.Violated + b.Violated
	return max(0, all-b.Of), min(a.Of, all)
}

// hypergeometric is the chance that k of all violations fall into a.
func hypergeometric(a, b matrix.Rate, k int) float64 {
	all := a.Violated + b.Violated
	choose := func(n, k int) float64 { return combin.LogGeneralizedBinomial(float64(n), float64(k)) }
	return math.Exp(choose(a.Of, k) + choose(b.Of, all-k) - choose(a.Of+b.Of, all))
}

// holm corrects p-values for their number (Holm 1979): none of what stays at or below
// alpha is luck but with the chance alpha, whatever depends on whatever.
//
// Violations are corrected so, family-wise, and not by the share of false discoveries:
// each line of the report accuses a lock, is followed up by itself, and turns a build
// red. One false line in twenty, which Benjamini and Hochberg would permit, is a red
// build each time that there are twenty.
func holm(ps []float64) []float64 {
	order := ascending(ps)
	out, worst := make([]float64, len(ps)), 0.0
	for rank, i := range order {
		worst = max(worst, min(1, ps[i]*float64(len(ps)-rank)))
		out[i] = worst
	}
	return out
}

// benjaminiHochberg corrects p-values so that of those at or below q the expected share
// of false ones is q (Benjamini and Hochberg 1995; it holds for values that rise
// together, as the measures of a cell do: Benjamini and Yekutieli 2001).
//
// Performance is corrected so. Where nothing has changed it is as strict as Holm: any
// line at all is then false, and appears with the chance q. Where a lock has become slow
// it is so in many cells and measures at once, and with each that is certain the next
// needs less proof. A false line among many true ones does no harm there.
func benjaminiHochberg(ps []float64) []float64 {
	order := ascending(ps)
	out, worst := make([]float64, len(ps)), 1.0
	for rank := len(order) - 1; rank >= 0; rank-- {
		i := order[rank]
		worst = min(worst, ps[i]*float64(len(ps))/float64(rank+1))
		out[i] = worst
	}
	return out
}

func ascending(ps []float64) []int {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case ps[i] < ps[j]:
			return -1
		case ps[i] > ps[j]:
			return 1
		}
		return 0
	})
	return order
}

// countable says which comparisons a correction has to count (Tarone 1990). Where next to
// all or next to none of the runs of both sides were violated, the margins alone forbid a
// small p-value: it can never be found significant, so it cannot be found so by luck
// either. With the smallest k such that no more than k comparisons can reach alpha/k at
// all, these are what is counted. The margins say nothing of which side a violation was
// on, so Holm's method is valid for what remains: none of the rest is ever reported.
func countable(leasts []float64, alpha float64) []bool {
	in := make([]bool, len(leasts))
	for k := 1; k <= max(1, len(leasts)); k++ {
		n := 0
		for i, p := range leasts {
			if in[i] = p <= alpha/float64(k); in[i] {
				n++
			}
		}
		if n <= k {
			break
		}
	}
	return in
}

// needed is how many runs each side must have for 0 of n against n of n to be beyond
// luck among so many comparisons.
func needed(comparisons int) int {
	for n := 1; n < 1000; n++ {
		if fisher(matrix.Rate{Of: n}, matrix.Rate{Violated: n, Of: n}) <= Alpha/float64(max(1, comparisons)) {
			return n
		}
	}
	return 1000
}
