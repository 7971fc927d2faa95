package models

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"picklock/harness/history"
)

// Judge gives the verdict on a history. Zero fields of p take their defaults. It reads
// h only, but sorts nothing and keeps no reference to it after it returns, except
// through the pictures' metadata.
//
// Violated beats unknown beats valid. A vacuous history is never valid: its verdict is
// violated if something was violated, else unknown.
func Judge(h *history.History, p Params) *Report {
	p = p.withDefaults()
	r := newRecord(h, p)
	report := &Report{Verdict: Valid, Properties: map[Property]*Judgement{}}

	locks := map[Property]func(*record) *Judgement{
		MutualExclusion:  judgeMutualExclusion,
		LeaseExclusion:   judgeLeaseExclusion,
		LinearizableLock: judgeLinearizableLock,
		Ownership:        judgeOwnership,
		Liveness:         judgeLiveness,
		Reentrancy:       judgeReentrancy,
	}
	for _, id := range LockProperties {
		if slices.Contains(p.Promises, id) && (id != Reentrancy || p.Reentrant) {
			report.Properties[id] = locks[id](r)
		}
	}
	if len(r.deducts) > 0 {
		report.Properties[LinearizableStock] = judgeLinearizableStock(r)
		report.Properties[NoLostUpdate] = judgeNoLostUpdate(r)
		report.Properties[NoOversell] = judgeNoOversell(r)
	}

	for _, j := range report.Properties {
		report.Verdict = report.Verdict.Worse(j.Verdict)
	}
	report.Measures = measure(r)
	report.VacuousWhy = vacuous(r, report.Measures)
	report.Vacuous = len(report.VacuousWhy) > 0
	if report.Vacuous || len(report.Properties) == 0 {
		report.Verdict = report.Verdict.Worse(Unknown)
	}
	return report
}

// withDefaults fills the zero fields, as their comments state.
func (p Params) withDefaults() Params {
	if p.Drift == 0 {
		p.Drift = 2*time.Millisecond + p.TTL/100
	}
	if p.Grace == 0 {
		p.Grace = time.Second
	}
	if p.PorcupineTimeout <= 0 {
		p.PorcupineTimeout = 30 * time.Second
	}
	if p.MaxViolations <= 0 {
		p.MaxViolations = 10
	}
	if p.MinSales == 0 {
		p.MinSales = 20
	}
	if p.MinContention == 0 {
		p.MinContention = 1
	}
	return p
}

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
	if len(r.p.FaultsWanted) == 0 {
		return why
	}
	for _, kind := range r.p.FaultsWanted {
		// One kind does not answer for another: what was not injected was not tested.
		if !slices.ContainsFunc(r.Faults, func(f history.Fault) bool { return f.Kind == kind }) {
			why = append(why, fmt.Sprintf("%s was wanted, but none was injected", kind))
		}
	}
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

// finding is one violation before it is told: stories are made only for those shown.
type finding struct {
	start, end int64 // ns
	kind       string
	object     string
	ops        []int64
	story      func() []string
}

// findings gathers what a checker found into a Judgement.
type findings struct {
	r       *record
	list    []finding
	checked int
	notes   []string
	// undecided: what was not found cannot be ruled out.
	undecided bool
}

// maxNotes bounds a judgement's note: with many SKUs each may have its own.
const maxNotes = 6

func (f *findings) add(x finding) { f.list = append(f.list, x) }

func (f *findings) note(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if !slices.Contains(f.notes, s) {
		f.notes = append(f.notes, s)
	}
}

// unknown notes why the property cannot be decided.
func (f *findings) unknown(format string, args ...any) {
	f.undecided = true
	f.note(format, args...)
}

func (f *findings) judgement() *Judgement {
	j := &Judgement{Verdict: Valid, Count: len(f.list), Checked: f.checked, Violations: []Violation{}}
	switch {
	case len(f.list) > 0:
		j.Verdict = Violated
	case f.undecided:
		j.Verdict = Unknown
	}
	slices.SortStableFunc(f.list, func(a, b finding) int {
		return cmp.Compare(a.start, b.start)
	})
	for _, x := range f.list[:min(len(f.list), f.r.p.MaxViolations)] {
		j.Violations = append(j.Violations, Violation{
			StartS: f.r.Seconds(x.start), EndS: f.r.Seconds(f.r.clip(x.end)), Kind: x.kind, Object: x.object,
			Operations: x.ops, Story: x.story(),
		})
	}
	if n := len(f.notes) - maxNotes; n > 0 {
		f.notes = append(f.notes[:maxNotes], fmt.Sprintf("and %d more of the kind", n))
	}
	j.Note = strings.Join(f.notes, "; ")
	return j
}
