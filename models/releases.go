package models

import (
	"cmp"
	"slices"
	"sync"

	"picklock/harness/history"
)

// measureReleases counts sales that the caller takes for failed because the release threw,
// releases that left a lock behind that its owner still held, and those that were told
// "not held" by their own doing.
func (r *record) measureReleases(m *Measures) {
	for _, name := range r.names {
		granted := sync.OnceValue(func() grantList { return r.grantsOf(name) })
		for _, g := range r.byLock[name] {
			if g.plain() && !g.threw {
				continue
			}
			for _, o := range g.releases {
				if o.Belief == history.ThrowsToCaller {
					m.SoldButFailed += r.salesUnder(o.Grant)
				}
				if o.Outcome == history.OutcomeOK || !leased(g, o) {
					continue
				}
				switch {
				case o.Code == history.CodeNoEffect:
					m.LostReleases++
				case o.Code == history.CodeNotHeld && freedByItself(g, o) && !granted().other(g, span{from(g.outer), o.Invoke}):
					m.FalseNotHeld++
				}
			}
		}
	}
}

// salesUnder counts the sales that were reported under a grant.
func (r *record) salesUnder(grant int64) int {
	n := 0
	for _, d := range r.sold()[grant] {
		if d.Outcome == history.OutcomeOK && d.Sold {
			n++
		}
	}
	return n
}

// leased says whether the lease of a grant certainly ran throughout an operation.
func leased(g *group, o *history.Operation) bool {
	return slices.ContainsFunc(g.leases, func(l span) bool { return l.from <= o.Invoke && o.Return < l.to })
}

// freedByItself says whether an own try may have freed the lock before a release was told
// "not held", be that its outcome or, where the lock knows of a try without an answer, the
// last that it was told. Not if it tried only once, and not after a release that worked.
func freedByItself(g *group, o *history.Operation) bool {
	return o.Attempts != 1 && !slices.ContainsFunc(g.releases, func(x *history.Operation) bool {
		return x.Outcome == history.OutcomeOK && x.Invoke < o.Return
	})
}

// grantList is the acknowledged grants of one lock by return, with the earliest start
// among each and those after it.
type grantList struct {
	grants   []*group
	earliest []int64
}

func (r *record) grantsOf(name string) grantList {
	l := grantList{grants: make([]*group, 0, len(r.byLock[name]))}
	for _, g := range r.byLock[name] {
		if g.granted() {
			l.grants = append(l.grants, g)
		}
	}
	sortBy(l.grants, func(g **group) int64 { return (*g).returned })
	l.earliest = make([]int64, len(l.grants))
	next := history.Never
	for i := len(l.grants) - 1; i >= 0; i-- {
		next = min(next, l.grants[i].asked)
		l.earliest[i] = next
	}
	return l
}

// other says whether another grant than g can have been made at a moment of s.
func (l grantList) other(g *group, s span) bool {
	i, _ := slices.BinarySearchFunc(l.grants, s.from, func(x *group, t int64) int { return cmp.Compare(x.returned, t) })
	for ; i < len(l.grants) && l.earliest[i] <= s.to; i++ {
		if x := l.grants[i]; x != g && x.asked <= s.to {
			return true
		}
	}
	return false
}
