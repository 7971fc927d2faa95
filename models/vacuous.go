package models

import (
	"fmt"
	"maps"
	"slices"
)

// vacuous says why the history proves nothing; nil: it does prove something.
func vacuous(r *record, m Measures) []string {
	var why []string
	if r.p.MinSales > 0 && m.Sales < r.p.MinSales {
		why = append(why, fmt.Sprintf("%d completed sales, fewer than the %d that a test needs", m.Sales, r.p.MinSales))
	}
	if r.p.MinContention > 0 && m.Contended < r.p.MinContention {
		why = append(why, fmt.Sprintf("%d pairs of operations of different workers contended, fewer than the %d that a test needs",
			m.Contended, r.p.MinContention))
	}
	if r.p.LandedWanted > 0 {
		return append(why, r.tooFew()...)
	}
	if len(r.p.FaultsWanted) == 0 {
		return why
	}
	return append(append(why, r.missing()...), r.unproven()...)
}

// tooFew tells that fewer faults landed than a mixture of them needs, whatever their kinds.
func (r *record) tooFew() []string {
	landed := 0
	for i := range r.Faults {
		if r.Faults[i].Landed {
			landed++
		}
	}
	if landed >= r.p.LandedWanted {
		return nil
	}
	return []string{fmt.Sprintf("%d faults landed, fewer than the %d that the test needs", landed, r.p.LandedWanted)}
}

// missing tells the faults that were wanted and never injected, kind by kind: one kind
// does not answer for another, nor one fault for two.
func (r *record) missing() []string {
	wanted, injected := map[string]int{}, map[string]int{}
	for _, kind := range r.p.FaultsWanted {
		wanted[kind]++
	}
	for i := range r.Faults {
		injected[r.Faults[i].Kind]++
	}
	var why []string
	for _, kind := range slices.Sorted(maps.Keys(wanted)) {
		want, have := wanted[kind], injected[kind]
		switch {
		case have >= want:
		case want == 1:
			why = append(why, fmt.Sprintf("%s was wanted, but none was injected", kind))
		case have == 0:
			why = append(why, fmt.Sprintf("%s was wanted %s, but none was injected", kind, times(want)))
		default:
			why = append(why, fmt.Sprintf("%s was wanted %s, but was injected only %s", kind, times(want), times(have)))
		}
	}
	return why
}

// unproven tells the faults that were injected without proof that they landed.
func (r *record) unproven() []string {
	var why []string
	for i := range r.Faults {
		if f := &r.Faults[i]; !f.Landed {
			s := fmt.Sprintf("no proof that fault %d (%s on %s at %s) landed", f.N, f.Kind, f.Target, r.at(f.Start))
			if f.Error != "" {
				s += ": " + f.Error
			}
			why = append(why, s)
		}
	}
	return why
}
