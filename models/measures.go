package models

import (
	"cmp"
	"math"
	"slices"

	"picklock/harness/history"
)

// measure counts and times what is plotted but not judged.
func measure(r *record) Measures {
	m := Measures{Operations: len(r.Operations), Contended: contended(r)}
	var waited []int64
	attempts := int64(0)
	for i := range r.Operations {
		o := &r.Operations[i]
		if o.Outcome == history.OutcomeInfo {
			m.Unknown++
		}
		switch o.Op {
		case history.Acquire:
			if o.Outcome == history.OutcomeOK {
				m.Grants++
				attempts += o.Attempts
				waited = append(waited, o.Return-o.Invoke)
			}
		case history.Deduct:
			r.measureDeduct(&m, o)
		case history.Release:
			r.measureRelease(&m, o)
		}
	}
	m.DurationS = float64(max(0, r.End-r.Start)) / 1e9
	if m.DurationS > 0 {
		m.SalesPerS = float64(m.Sales) / m.DurationS
	}
	slices.Sort(waited)
	m.AcquireP50MS, m.AcquireP95MS = quantile(waited, 0.50), quantile(waited, 0.95)
	m.AcquireP99MS, m.AcquireMaxMS = quantile(waited, 0.99), quantile(waited, 1)
	if m.Grants > 0 {
		m.AttemptsPer = float64(attempts) / float64(m.Grants)
	}
	m.Jain, m.StarvedS = fairness(r)
	m.RegrantP50MS = quantile(regrants(r), 0.50)
	for _, holds := range r.locks {
		for _, h := range holds {
			if overstayed(h) {
				m.Overstays++
			}
		}
	}
	return m
}

func (r *record) measureDeduct(m *Measures, o *history.Operation) {
	written := len(r.ledgerOf[o.ID]) > 0
	switch o.Outcome {
	case history.OutcomeOK:
		if o.Sold {
			m.Sales++
		}
	case history.OutcomeInfo:
		if written || r.Complete && len(r.Ledger) > 0 {
			m.Settled++
		}
		fallthrough
	case history.OutcomeFail:
		if l := r.level(o); written && l != nil && *l >= 0 {
			m.SoldButFailed++
		}
	}
}

// measureRelease counts sales that the caller takes for failed because the release threw,
// and releases that left a lock behind that its owner still held.
func (r *record) measureRelease(m *Measures, o *history.Operation) {
	g := r.groups[o.Grant]
	if o.Belief == history.ThrowsToCaller {
		for _, d := range r.sold[o.Grant] {
			if d.Outcome == history.OutcomeOK && d.Sold {
				m.SoldButFailed++
			}
		}
	}
	if o.Outcome != history.OutcomeFail || o.Code != history.CodeNoEffect || g == nil {
		return
	}
	for _, l := range r.leases(g) {
		if l.from <= o.Invoke && o.Return < l.to {
			m.LostReleases++
			return
		}
	}
}

// quantile of sorted durations in ns, in ms; nearest rank. 0 if there are none.
func quantile(sorted []int64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return float64(sorted[max(0, i)]) / 1e6
}

// fairness gives Jain's index of the grants per worker that asked for a lock, and the
// longest time in s for which a worker that asked went without a grant: from its first
// acquire after its last grant to its next grant, or else to the end of its last acquire.
// Source: Jain, Chiu, Hawe: A Quantitative Measure of Fairness (DEC-TR-301, 1984).
func fairness(r *record) (jain, starved float64) {
	type worker struct {
		grants float64
		asking bool
		since  int64
	}
	workers := map[[2]int]*worker{}
	longest := int64(0)
	for i := range r.Operations {
		o := &r.Operations[i]
		if o.Op != history.Acquire {
			continue
		}
		key := [2]int{o.Client, o.Worker}
		w := workers[key]
		if w == nil {
			w = &worker{}
			workers[key] = w
		}
		if !w.asking {
			w.asking, w.since = true, o.Invoke
		}
		end := o.Return
		if end == history.Never {
			end = o.Invoke
			if t := r.died(o.Client, o.Invoke); t != history.Never {
				end = t
			}
		}
		longest = max(longest, end-w.since)
		if o.Outcome == history.OutcomeOK {
			w.grants++
			w.asking = false
		}
		if o.Return == history.Never {
			w.asking = false // a new life begins after it
		}
	}
	sum, squares := 0.0, 0.0
	for _, w := range workers {
		sum += w.grants
		squares += w.grants * w.grants
	}
	if squares > 0 {
		jain = sum * sum / (float64(len(workers)) * squares)
	}
	return jain, float64(longest) / 1e9
}

// regrants gives, sorted, the times from the return of a release that worked to the next
// grant of that lock, where it went to another worker.
func regrants(r *record) []int64 {
	var all []int64
	for _, name := range r.names {
		var grants, releases []*history.Operation
		for _, g := range r.byLock[name] {
			if g.granted() {
				grants = append(grants, g.outer)
			}
			for _, x := range g.releases {
				if x.Outcome == history.OutcomeOK {
					releases = append(releases, x)
				}
			}
		}
		byReturn := func(a, b *history.Operation) int { return cmp.Compare(a.Return, b.Return) }
		slices.SortFunc(grants, byReturn)
		slices.SortFunc(releases, byReturn)
		for i, x := range releases {
			k, _ := slices.BinarySearchFunc(grants, x.Return, func(o *history.Operation, t int64) int { return cmp.Compare(o.Return, t) })
			if k == len(grants) || i+1 < len(releases) && releases[i+1].Return <= grants[k].Return {
				continue // nobody came, or another release came first
			}
			if o := grants[k]; o.Client != x.Client || o.Worker != x.Worker {
				all = append(all, o.Return-x.Return)
			}
		}
	}
	slices.Sort(all)
	return all
}

// contended counts the pairs of operations of different workers on one object that
// overlapped while one of them waited. With locks: from the invocation of an acquire to
// the end of the hold that it led to, so that a pair is one that waits and one that waits
// or holds. Without locks: deductions of one SKU that overlapped.
func contended(r *record) int {
	type busy struct {
		span
		worker [2]int
	}
	objects := map[string][]busy{}
	for _, name := range r.names {
		for _, g := range r.byLock[name] {
			for _, a := range g.acquires {
				if a != g.outer {
					continue
				}
				end := r.clip(a.Return)
				if h := r.believed(g); h != nil {
					end = h.to
				}
				objects[name] = append(objects[name], busy{span{a.Invoke, end}, [2]int{a.Client, a.Worker}})
			}
		}
	}
	if len(objects) == 0 || len(r.p.Promises) == 0 {
		clear(objects)
		for _, d := range r.deducts {
			objects[d.Object] = append(objects[d.Object], busy{span{d.Invoke, r.clip(d.Return)}, [2]int{d.Client, d.Worker}})
		}
	}
	pairs := 0
	for _, all := range objects {
		slices.SortFunc(all, func(a, b busy) int { return cmp.Compare(a.from, b.from) })
		var open []busy
		for _, b := range all {
			still := open[:0]
			for _, o := range open {
				if o.to <= b.from {
					continue
				}
				still = append(still, o)
				if o.worker != b.worker {
					pairs++
				}
			}
			open = append(still, b)
		}
	}
	return pairs
}
