package compare

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// What makes a difference of performance worth telling, and what none can be.
const (
	// Practical is by how much a cell must be slower or faster than the machine as a whole,
	// whatever the proof: a quarter. For availability it is PracticalShare of all time.
	Practical      = 0.25
	PracticalShare = 0.10

	fewest = 6    // comparable cells: with fewer the machine and the locks cannot be told apart
	alike  = 0.2  // by how much the loads of comparable cells may differ in length
	finest = 0.03 // no noise is smaller, on the scale of a measure

	tame = 20 // degrees of freedom of the median over a lock's cells; half as many where cells have one or two runs

	among = 0.01 // a cell's own p-value, uncorrected, in a lock that has become slower as a whole
)

// Shift is what a measure did in all cells together: what the machine, or the whole
// night, did.
type Shift struct {
	Measure Measure `json:"measure"`
	Cells   int     `json:"cells"` // compared
	// By is the median over the cells: 0.1 is 10% more. For availability it is the
	// difference of the shares.
	By float64 `json:"by"`
	// Visible is how far a typical cell must be from that to be told, as a factor above 1;
	// for availability, on the scale of its arcsine. It grows as the runs get fewer.
	Visible float64 `json:"visible"`

	visible float64 // on the scale
	middle  float64 // By on the scale
}

// pair is one cell and measure on both sides.
type pair struct {
	cell    string
	measure Measure
	a, b    Sample
	by      float64 // difference on the scale, b - a
	size    float64 // of its standard error, where noise is 1
	noise   float64 // standard deviation between runs
	df      float64
	excess  float64 // difference beyond the machine's, on the scale
	p, q    float64 // as tested, and corrected
	lock    *group  // whose cells moved together beyond noise; nil: they did not
}

// group is all cells of a lock, in one measure.
type group struct {
	lock    string
	measure Measure
	of      []int   // pairs
	excess  float64 // median
	df      float64
	p, q    float64
}

// speeds compares the performance of cells that are on both sides, and corrects over all
// of them.
//
// A difference is that of the medians of the runs, on the measure's scale, less the
// median of all cells' differences: that is the machine's own. Its noise is the larger of
// two. One is the spread between the runs of the cell, with an empirical Bayes prior from
// all cells (Smyth 2004, "Linear models and empirical Bayes methods"): three runs tell
// little of their own spread, so it is drawn towards that of the others, the more the more
// alike they are; a cell with one run has that of the others. The other is the median
// absolute deviation of the differences over the cells, which also knows what differs from
// night to night but not from run to run. If up to a third of the cells really changed,
// the two medians do not move much.
func speeds(pairs []pair) ([]pair, []Shift) {
	var shifts []Shift
	var tested []int
	for _, m := range Measures {
		var of []int
		for i := range pairs {
			if pairs[i].measure == m {
				of = append(of, i)
			}
		}
		if len(of) < fewest {
			continue
		}
		shifts = append(shifts, judge(m, pairs, of))
		tested = append(tested, of...)
	}
	for i := range shifts {
		s := &shifts[i]
		s.Visible = math.Exp(min(100, max(s.visible, math.Log1p(Practical))))
		if s.Measure == Availability {
			s.Visible = s.visible
		}
	}
	locks := groups(pairs, tested)
	correct(len(locks), func(i int) *float64 { return &locks[i].p }, func(i int) *float64 { return &locks[i].q })
	for i := range locks {
		if g := &locks[i]; g.q <= Alpha/2 {
			for _, at := range g.of {
				pairs[at].lock = g
			}
		}
	}
	correct(len(tested), func(i int) *float64 { return &pairs[tested[i]].p }, func(i int) *float64 { return &pairs[tested[i]].q })
	out := make([]pair, len(tested))
	for i, at := range tested {
		out[i] = pairs[at]
	}
	return out, shifts
}

// correct fills in the corrected p-values of n tests.
func correct(n int, p, q func(int) *float64) {
	ps := make([]float64, n)
	for i := range ps {
		ps[i] = *p(i)
	}
	for i, v := range benjaminiHochberg(ps) {
		*q(i) = v
	}
}

// groups tests the cells of each lock together. What makes a lock slower shows in most of
// its cells, each of which alone may be lost among hundreds; their median is certain
// sooner. It is compared with the noise that it should have, and with how much the
// medians of the locks differ: cells of one lock run one after the other and share what
// happens on the machine then. How much they differ is taken from the other locks, around
// their own middle: of three locks one cannot hide its slowness in the noise that it makes,
// nor make the third look fast.
func groups(pairs []pair, tested []int) []group {
	var out []group
	at := map[[2]string]int{}
	for _, i := range tested {
		p := &pairs[i]
		key := [2]string{lockOf(p.cell), string(p.measure)}
		n, ok := at[key]
		if !ok {
			n = len(out)
			at[key] = n
			out = append(out, group{lock: key[0], measure: p.measure})
		}
		out[n].of = append(out[n].of, i)
	}
	scores := make([]float64, len(out))
	for i := range out {
		g := &out[i]
		var excess, standard []float64
		g.df = tame
		for _, n := range g.of {
			p := &pairs[n]
			excess = append(excess, p.excess)
			standard = append(standard, p.excess/(p.noise*p.size))
			if p.a.Of < 3 || p.b.Of < 3 {
				g.df = tame / 2
			}
		}
		g.excess = median(excess)
		scores[i] = median(standard) / math.Sqrt(errorOfMedian(len(g.of)))
	}
	for i := range out {
		g := &out[i]
		g.p = 1
		var others []float64
		for n := range out {
			if n != i && out[n].measure == g.measure {
				others = append(others, scores[n])
			}
		}
		if len(g.of) < 3 || len(others) < 2 {
			continue // a median of two is as wild as its cells
		}
		middle := median(others)
		for n := range others {
			others[n] = math.Abs(others[n] - middle)
		}
		noise := max(1, 1.4826*median(others))
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: g.df}
		g.p = min(1, 2*t.Survival(math.Abs(scores[i])/noise))
	}
	return out
}

// lockOf is the lock in the ID of a cell.
func lockOf(cell string) string {
	lock, _, _ := strings.Cut(cell, "+")
	return lock
}

// judge fills in the pairs of one measure.
func judge(m Measure, pairs []pair, of []int) Shift {
	by := make([]float64, len(of))
	for i, at := range of {
		p := &pairs[at]
		xa, _ := m.scale(p.a.Median)
		xb, _ := m.scale(p.b.Median)
		p.by = xb - xa
		p.size = math.Sqrt(errorOfMedian(p.a.Of) + errorOfMedian(p.b.Of))
		by[i] = p.by
	}
	shift := median(by)
	between := make([]float64, len(of))
	for i, at := range of {
		between[i] = math.Abs(pairs[at].by-shift) / pairs[at].size
	}
	overCells := median(between) * 1.4826 // of the normal distribution's, the standard deviation
	prior, df := fit(pairs, of)
	needs := make([]float64, len(of))
	for i, at := range of {
		p := &pairs[at]
		within, n := spread(p)
		p.df = tails(m, min(p.a.Of, p.b.Of))
		if df > 0 {
			w := min(df, 1e4)
			within = math.Sqrt((w*prior*prior + n*within*within) / (w + n))
		}
		p.noise = max(finest, overCells, within)
		p.excess = p.by - shift
		// The shift is itself a median, of as many cells.
		se := p.noise * p.size * math.Sqrt(1+math.Pi/2/float64(len(of)))
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: p.df}
		p.p = min(1, 2*t.Survival(math.Abs(p.excess)/se))
		needs[i] = -t.Quantile(Alpha/4/float64(len(pairs))) * se
	}
	s := Shift{Measure: m, Cells: len(of), By: math.Expm1(shift), middle: shift, visible: median(needs)}
	if m == Availability {
		s.By = shares(pairs, of)
	}
	return s
}

// tails are the degrees of freedom of the t-distribution that the difference of a cell is
// held against: how heavy its tails are taken to be, when each side has so many runs at
// least. Smyth's own would be fewer, but are meant for the spread within a cell alone, not
// for the larger of two. The
// median of one run or two is moved by any wild one, that of three or four by two of
// them. Shares of time are wilder than times. The numbers are chosen so that simulated
// nights of the same code do not differ (TestSameCode).
func tails(m Measure, runs int) float64 {
	switch {
	case runs < 3:
		return 4
	case m == Availability && runs < 5:
		return 10
	case m == Availability, runs < 5:
		return 20
	}
	return 30
}

// shares is the median difference of shares, as they are.
func shares(pairs []pair, of []int) float64 {
	by := make([]float64, len(of))
	for i, at := range of {
		by[i] = pairs[at].b.Median - pairs[at].a.Median
	}
	return median(by)
}

// errorOfMedian is the variance of the median of n normal values of variance 1: that of
// their mean for one, pi/2 times as much for many (Kendall and Stuart).
func errorOfMedian(n int) float64 { return math.Pi / (2*float64(n) + math.Pi - 2) }

// spread is the standard deviation between the runs of one side, of both sides pooled,
// and its degrees of freedom.
func spread(p *pair) (sd, df float64) {
	a, b := float64(p.a.Of-1), float64(p.b.Of-1)
	if a+b <= 0 {
		return 0, 0
	}
	return math.Sqrt((a*p.a.Spread*p.a.Spread + b*p.b.Spread*p.b.Spread) / (a + b)), a + b
}

// fit finds how noisy the cells are, and how alike in that: a scaled inverse chi-square
// distribution of the variances, by the moments of their logarithms (Smyth 2004, section
// 6.2). Without a cell that has two runs on a side df is 0. It is infinite where the cells
// differ no more than chance lets them.
func fit(pairs []pair, of []int) (sd, df float64) {
	var logs, noise []float64
	for _, at := range of {
		s, n := spread(&pairs[at])
		if n <= 0 {
			continue
		}
		half := n / 2
		logs = append(logs, 2*math.Log(max(s, finest/2))-mathext.Digamma(half)+math.Log(half))
		noise = append(noise, trigamma(half))
	}
	if len(logs) < fewest {
		return 0, 0
	}
	mean, variance := stat.MeanVariance(logs, nil)
	over := variance - stat.Mean(noise, nil)
	if over <= 0 {
		return math.Exp(mean / 2), math.Inf(1)
	}
	half := inverseTrigamma(over)
	return math.Exp((mean + mathext.Digamma(half) - math.Log(half)) / 2), 2 * half
}

func trigamma(x float64) float64 { return mathext.Zeta(2, x) }

// inverseTrigamma by bisection: trigamma falls from infinity to 0.
func inverseTrigamma(y float64) float64 {
	low, high := 1e-3, 1e6
	for range 100 {
		middle := math.Sqrt(low * high)
		if trigamma(middle) > y {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Sqrt(low * high)
}

// beyond: the difference is neither luck nor too small to matter. Either the cell is
// certain by itself, among all cells; or its lock is, among all locks, and the cell goes
// the same way.
func (p *pair) beyond(s Shift) bool {
	if p.q > Alpha/2 && (p.lock == nil || p.p > among || p.excess*p.lock.excess <= 0) {
		return false
	}
	if p.measure == Availability {
		alone := p.measure.unscale(p.measure.at(p.a.Median) + s.middle) // what the machine did to this cell
		return math.Abs(p.b.Median-alone) >= PracticalShare
	}
	return math.Abs(p.excess) >= math.Log1p(Practical)
}

// at is scale of a value that is known to have one.
func (m Measure) at(v float64) float64 {
	x, _ := m.scale(v)
	return x
}

// proof is the corrected p-value that beyond went by.
func (p *pair) proof() float64 {
	if p.q > Alpha/2 && p.lock != nil {
		return p.lock.q
	}
	return p.q
}

// worse: the difference is to the worse.
func (p *pair) worse() bool {
	if p.measure == SalesPerS || p.measure == Availability {
		return p.excess < 0
	}
	return p.excess > 0
}

// median of values in any order; 0 if there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// deviation is the standard deviation of a sample; 0 of one value.
func deviation(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	return stat.StdDev(values, nil)
}
