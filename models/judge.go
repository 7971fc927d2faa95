package models

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

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

	// The record is only read from here on, so all of this goes side by side.
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	judge := func(id Property, by func(*record) *Judgement) {
		all.Go(func() error {
			j := by(r)
			mu.Lock()
			defer mu.Unlock()
			report.Properties[id] = j
			return nil
		})
	}
	if len(r.deducts) > 0 {
		judge(LinearizableStock, judgeLinearizableStock)
		judge(NoLostUpdate, judgeNoLostUpdate)
		judge(NoOversell, judgeNoOversell)
	}
	locks := map[Property]func(*record) *Judgement{
		MutualExclusion:  judgeMutualExclusion,
		LeaseExclusion:   judgeLeaseExclusion,
		LinearizableLock: judgeLinearizableLock,
		Ownership:        judgeOwnership,
		Liveness:         judgeLiveness,
		Fencing:          judgeFencing,
		Reentrancy:       judgeReentrancy,
	}
	for _, id := range LockProperties {
		if slices.Contains(p.Promises, id) && (id != Reentrancy || p.Reentrant) {
			judge(id, locks[id])
		}
	}
	measures := Measures{}
	all.Go(func() error { measures = measure(r); return nil })
	_ = all.Wait() // nobody fails

	for _, j := range report.Properties {
		report.Verdict = report.Verdict.Worse(j.Verdict)
	}
	slices.Sort(r.disagreements)
	report.Disagreements = r.disagreements
	report.Measures = measures
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
	if p.Checker == "" {
		p.Checker = Fast
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

// finding is one violation before it is told: stories are made only for those shown.
type finding struct {
	start, end int64 // ns
	kind       string
	object     string
	ops        []int64
	story      func() []string
	witness    func() *Witness // nil: there is none
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
			Operations: x.ops, Story: x.story(), Witness: f.r.proven(x),
		})
	}
	if n := len(f.notes) - maxNotes; n > 0 {
		f.notes = append(f.notes[:maxNotes], fmt.Sprintf("and %d more of the kind", n))
	}
	j.Note = strings.Join(f.notes, "; ")
	return j
}
