package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"picklock/harness/matrix"
	"picklock/models"
)

// differ collects what differs, cell by cell; rates and times are judged when all are
// there, since their number counts.
type differ struct {
	Difference
	rates []rate
	pairs []pair
	// Cells whose performance was not compared.
	short, early, alone int
	fewer               int // cells with fewer runs than before
}

// rate is one property of a cell that was judged on both sides.
type rate struct {
	id   models.Property
	cell *Cell // now
	a, b matrix.Rate
}

func (d *differ) add(i Item) { d.Items = append(d.Items, i) }

// fresh is a cell that was not there before. It is a note, but a violation in it that
// nobody expects is as new as one in an old cell.
func (d *differ) fresh(b *Cell) {
	d.add(Item{Kind: New, Severity: Note, Cell: b.ID, Says: "it was not there before"})
	for _, id := range ids(b.Rates) {
		d.fact(b, id, matrix.Rate{}, b.Rates[id])
	}
	d.undecided(&Cell{}, b)
}

// cell compares what is on both sides.
func (d *differ) cell(a, b *Cell) {
	silent := d.undecided(a, b)
	decided := b.Runs > b.Vacuous+b.Unknown+b.Error
	for _, id := range ids(a.Rates, b.Rates) {
		was, before := a.Rates[id]
		is, now := b.Rates[id]
		switch {
		case !now && decided && was.Of > 0:
			d.add(Item{Kind: Gone, Severity: Doubt, Cell: b.ID, Property: id, RateBefore: &was, Says: "it was judged before, and is not now"})
		case !now || is.Of == 0:
			// It was judged, and now no run decides it: told once for the cell.
			if was.Of > 0 && !silent {
				d.add(Item{Kind: BecameUnknown, Severity: Doubt, Cell: b.ID, Property: id, RateBefore: &was, Says: "no run decides it any more; before, " + counted(was.Of, "run") + " did"})
			}
		case !before || was.Of == 0:
			if !before && a.Runs > a.Vacuous+a.Unknown+a.Error {
				d.add(Item{Kind: New, Severity: Note, Cell: b.ID, Property: id, RateAfter: &is, Says: "it was not judged before; now it is " + says(is)})
			}
			d.fact(b, id, was, is)
		default:
			d.property(b, id, was, is)
		}
	}
	if b.Runs < a.Runs {
		d.fewer++
	}
	d.speed(a, b)
}

// undecided tells what the runs of a cell do not decide any more, or decide again. It says
// whether anything is not.
func (d *differ) undecided(a, b *Cell) (silent bool) {
	for _, k := range []struct {
		kind     Kind
		word     string
		was, now int
	}{
		{BecameError, "picklock itself failed", a.Error, b.Error},
		{BecameUnknown, "could not be decided", a.Unknown, b.Unknown},
		{BecameVacuous, "proved nothing", a.Vacuous, b.Vacuous},
	} {
		switch {
		case k.was == 0 && k.now > 0:
			silent = true
			i := Item{Kind: k.kind, Severity: Doubt, Cell: b.ID, Says: fmt.Sprintf("%d of %s: %s", k.now, counted(b.Runs, "run"), k.word)}
			if a.Runs > 0 {
				i.Says += ", before none"
			}
			i.from(b, func(r *matrix.Run) bool { return silentRun(k.kind, r) })
			d.add(i)
		case k.was > 0 && k.now == 0 && b.Runs > 0:
			d.add(Item{Kind: Decided, Severity: Note, Cell: b.ID, Says: fmt.Sprintf("before, in %d of %s: %s; now none", k.was, counted(a.Runs, "run"), k.word)})
		case k.now > 0:
			silent = true
		}
	}
	return silent
}

func silentRun(k Kind, r *matrix.Run) bool {
	switch k {
	case BecameError:
		return r.Outcome == matrix.Error
	case BecameVacuous:
		return r.Outcome == matrix.Vacuous
	}
	return undecided(r)
}

// property compares one property that was judged on both sides. What it is expected to be
// now decides how.
func (d *differ) property(b *Cell, id models.Property, was, is matrix.Rate) {
	d.rates = append(d.rates, rate{id: id, cell: b, a: was, b: is})
	if was.Expected != is.Expected {
		d.expectation(b, id, was, is)
		return
	}
	d.fact(b, id, was, is)
	if missed(was) || !missed(is) || is.Violated > 0 {
		return
	}
	i := Item{
		Kind: NewlyValid, Severity: Doubt, Cell: b.ID, Property: id, RateBefore: &was, RateAfter: &is,
		Says: fmt.Sprintf("a certain violation does not show any more: %s, %s before%s", says(is), says(was), luck(is.Of)),
	}
	i.from(b, func(r *matrix.Run) bool { return r.Properties[id].Verdict == models.Valid })
	d.add(i)
}

// missed: a violation that is expected showed in less than 19 of 20 runs, which is where a
// matrix, too, calls it not reproduced.
func missed(r matrix.Rate) bool { return r.Expected == "violated" && r.Violated*20 < r.Of*19 }

// luck is how likely a violation that shows in 19 of 20 runs shows in none of n.
func luck(n int) string {
	if n > 2 {
		return ""
	}
	return fmt.Sprintf(" (if it shows in 19 of 20, this is luck once in %d)", int(math.Pow(20, float64(n))))
}

// fact: where a property should hold, one violation is proof and needs no statistics. It
// is new if no run before had it, also if there was none that could.
func (d *differ) fact(b *Cell, id models.Property, was, is matrix.Rate) {
	if is.Expected != "valid" || is.Violated == 0 || was.Violated > 0 {
		return
	}
	before := "not judged before"
	if was.Of > 0 {
		before = says(was) + " before"
	}
	i := Item{Kind: NewlyViolated, Severity: Regression, Cell: b.ID, Property: id, RateAfter: &is, Says: says(is) + ", " + before}
	if was.Of > 0 {
		i.RateBefore = &was
	}
	i.from(b, violated(id))
	d.add(i)
}

func violated(id models.Property) func(*matrix.Run) bool {
	return func(r *matrix.Run) bool { return r.Properties[id].Verdict == models.Violated }
}

// expectation: what the lock is known for was changed, which is told. If the runs do not
// meet the new one it weighs as much as if it had been so all the time.
func (d *differ) expectation(b *Cell, id models.Property, was, is matrix.Rate) {
	i := Item{
		Kind: ExpectationChanged, Severity: Note, Cell: b.ID, Property: id, RateBefore: &was, RateAfter: &is,
		Says: fmt.Sprintf("expected %s before and %s now; %s, %s before", was.Expected, is.Expected, says(is), says(was)),
	}
	switch {
	case is.Expected == "valid" && is.Violated > 0:
		i.Severity = Regression
		i.from(b, violated(id))
	case missed(is):
		i.Severity = Doubt
	}
	d.add(i)
}

// judgeRates tests all rates of the matrix together.
func (d *differ) judgeRates() {
	d.Rates = len(d.rates)
	leasts := make([]float64, len(d.rates))
	for i, r := range d.rates {
		leasts[i] = least(r.a, r.b)
	}
	in := countable(leasts, Alpha)
	var ps []float64
	var at []int
	for i, r := range d.rates {
		if in[i] {
			ps, at = append(ps, fisher(r.a, r.b)), append(at, i)
		}
	}
	for n, p := range holm(ps) {
		if p <= Alpha {
			d.changed(d.rates[at[n]], p)
		}
	}
	d.power(max(1, len(ps)))
}

// changed adds a rate that differs beyond chance, unless it was told as a fact.
func (d *differ) changed(r rate, p float64) {
	a, b := r.a, r.b
	i := Item{
		Cell: r.cell.ID, Property: r.id, RateBefore: &a, RateAfter: &b, P: &p, Severity: Note,
		Says: fmt.Sprintf("%s, %s before (corrected p = %.2g)", says(b), says(a), p),
	}
	grown := b.Violated*a.Of > a.Violated*b.Of
	switch {
	case a.Expected != b.Expected:
		return
	case b.Expected == "violated" && !missed(a) && missed(b) && b.Violated == 0:
		return // a fact
	case grown && b.Expected == "valid" && a.Violated == 0:
		return // a fact
	case grown:
		i.Kind = RateGrown
		if b.Expected != "violated" {
			i.Severity = Regression
		}
		i.from(r.cell, violated(r.id))
	case b.Expected == "violated" && missed(b):
		i.Kind, i.Severity = RateFallen, Doubt
	case b.Violated == 0:
		i.Kind = NewlyValid
	default:
		i.Kind = RateFallen
	}
	d.add(i)
}

// power says where even the plainest change of a rate would not have been proof.
func (d *differ) power(comparisons int) {
	blind, of, runs := 0, 0, math.MaxInt
	for _, r := range d.rates {
		if r.b.Expected == "valid" && r.a.Violated == 0 {
			continue // any violation is a fact
		}
		of++
		runs = min(runs, r.a.Of, r.b.Of)
		if fisher(matrix.Rate{Of: r.a.Of}, matrix.Rate{Violated: r.b.Of, Of: r.b.Of}) > Alpha/float64(comparisons) {
			blind++
		}
	}
	if blind == 0 {
		return
	}
	d.Notes = append(d.Notes, fmt.Sprintf(
		"Power: for %d of the %d rates that only statistics can compare, the runs (%d a side at least) are too few to prove any change, be it from none to all of them. That nothing is reported there proves nothing. From none to all takes %d runs a side.",
		blind, of, runs, needed(comparisons)))
}

// speed keeps what the performance of a cell can be compared by.
func (d *differ) speed(a, b *Cell) {
	if len(a.Speed) == 0 || len(b.Speed) == 0 {
		d.early++
		return
	}
	if math.Abs(a.Seconds-b.Seconds) > alike*max(a.Seconds, b.Seconds) {
		d.short++
		return
	}
	for _, m := range Measures {
		x, y := a.Speed[m], b.Speed[m]
		if x.Of > 0 && y.Of > 0 && inScale(m, x.Median) && inScale(m, y.Median) {
			d.pairs = append(d.pairs, pair{cell: b.ID, measure: m, a: x, b: y})
			if m == SalesPerS && x.Of == 1 && y.Of == 1 {
				d.alone++
			}
		}
	}
}

// judgeSpeeds tests all measures of all cells together.
func (d *differ) judgeSpeeds() {
	tested, shifts := speeds(d.pairs)
	d.Machine, d.Speeds = shifts, len(tested)
	for i := range tested {
		p := &tested[i]
		s := shifts[slices.IndexFunc(shifts, func(s Shift) bool { return s.Measure == p.measure })]
		if !p.beyond(s) {
			continue
		}
		kinds, severity := []Kind{Slower, Faster}, Note
		if p.measure == Availability {
			kinds = []Kind{LessAvailable, MoreAvailable}
		}
		kind := kinds[1]
		if p.worse() {
			kind, severity = kinds[0], Regression
		}
		before, now, q := p.a, p.b, p.proof()
		d.add(Item{Kind: kind, Severity: severity, Cell: p.cell, Measure: p.measure, Before: &before, After: &now, P: &q, Says: p.says(s)})
	}
}

// remarks say what was not compared.
func (d *differ) remarks(a, b *Snapshot) {
	note := func(format string, args ...any) { d.Notes = append(d.Notes, fmt.Sprintf(format, args...)) }
	if d.fewer > 0 {
		note("%s fewer runs than before.", have(d.fewer))
	}
	if d.early > 0 {
		note("Performance of %s not compared: on one side no run went on to its end (ended early, vacuous or failed).", counted(d.early, "cell"))
	}
	if d.short > 0 {
		note("Performance of %s not compared: the loads took different times.", counted(d.short, "cell"))
	}
	switch {
	case a.crowded(b):
		note("Performance not compared: %s ran side by side before, and %d now.", counted(a.Jobs, "test"), b.Jobs)
	case d.Cells > 0 && d.Speeds == 0:
		note("Performance not compared: it takes %d cells that were measured on both sides to tell a slow lock from a slow machine.", fewest)
	}
	for _, s := range d.Machine {
		if s.Measure == SalesPerS {
			note("Power: in a typical cell sales per second are told from noise when they differ from the machine's by a factor of %.3g or more.", s.Visible)
		}
	}
	if d.alone > 0 && d.Speeds > 0 {
		note("%s one run on each side: the noise is that of the other cells.", have(d.alone))
	}
}

func have(n int) string {
	if n == 1 {
		return "1 cell has"
	}
	return fmt.Sprintf("%d cells have", n)
}

// from takes the seed, story, folder and command of the first run that shows it.
func (i *Item) from(c *Cell, shows func(*matrix.Run) bool) {
	if c.result == nil {
		return
	}
	for n := range c.result.Runs {
		r := &c.result.Runs[n]
		if !shows(r) {
			continue
		}
		i.Seed, i.Dir, i.Rerun, i.Story = &r.Seed, r.Dir, r.Rerun, r.Properties[i.Property].Story
		if i.Property == "" && r.Why != "" {
			i.Story = []string{r.Why}
		}
		return
	}
}

// says is "violated in 3 of 10 runs".
func says(r matrix.Rate) string {
	return fmt.Sprintf("violated in %d of %s", r.Violated, counted(r.Of, "run"))
}

// says is "45.2 per second, 90.1 before: 0.5 times; all cells 0.98 times".
func (p *pair) says(s Shift) string {
	if p.measure == Availability {
		return fmt.Sprintf("%.1f%% of the time, %.1f%% before; all cells %+.1f points (%s)", 100*p.b.Median, 100*p.a.Median, 100*s.By, p.certainty())
	}
	unit := "ms"
	if p.measure == SalesPerS {
		unit = "per second"
	}
	return fmt.Sprintf("%s %s, %s before: %.3g times; all cells %.2f times (%s)",
		figures(p.b.Median), unit, figures(p.a.Median), math.Exp(p.by), 1+s.By, p.certainty())
}

func (p *pair) certainty() string {
	if p.q > Alpha/2 && p.lock != nil {
		return fmt.Sprintf("with all %d cells of %s, corrected p = %.2g", len(p.lock.of), p.lock.lock, p.lock.q)
	}
	return fmt.Sprintf("corrected p = %.2g", p.q)
}

// figures is a number with three significant figures.
func figures(v float64) string {
	s := fmt.Sprintf("%.3g", v)
	if strings.Contains(s, "e+") {
		return fmt.Sprintf("%.0f", v)
	}
	return s
}

// ids are the properties of rates, sorted.
func ids(of ...map[models.Property]matrix.Rate) []models.Property {
	var out []models.Property
	for _, m := range of {
		for id := range m {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
