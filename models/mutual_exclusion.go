package models

import (
	"fmt"

	"picklock/harness/history"
	"picklock/models/spec"
)

// judgeMutualExclusion: no two believed holds of one lock overlap.
//
// The holds of a lock are swept in the order in which they begin; those still open are
// few (a worker holds one lock at a time), so each new one is compared with all of them.
// A hold that begins while others are open counts once, against the worst of them.
func judgeMutualExclusion(r *record) *Judgement {
	f := &findings{r: r}
	for _, name := range r.names {
		var open []*hold
		for _, h := range r.locks[name] {
			f.checked++
			if h.empty() {
				continue
			}
			still := open[:0]
			var with *hold
			kind := ""
			for _, o := range open {
				if o.to <= h.from {
					continue
				}
				still = append(still, o)
				if !conflict(o, h) {
					continue
				}
				if k := overlapKind(o, h); with == nil || severity(k) >= severity(kind) {
					with, kind = o, k
				}
			}
			open = append(still, h)
			if with != nil {
				f.add(r.overlap(with, h, kind))
			}
		}
	}
	return f.judgement()
}

// conflict says whether two overlapping holds contradict each other. A worker does not
// compete with itself, unless the lock was granted to it twice.
func conflict(a, b *hold) bool {
	same := a.outer.Client == b.outer.Client && a.outer.Worker == b.outer.Worker
	return !same || a.real && b.real
}

// The kinds of overlaps.
const (
	kindDoubleGrant = "double-grant" // the lock was granted while it had vouched for another holder
	kindOverstay    = "overstay"     // the earlier holder went on after its lease
	kindNotAcquired = "not-acquired" // one of the two never had the lock
)

// severity orders the kinds: what the lock did wrong before what its user did wrong.
func severity(kind string) int {
	switch kind {
	case kindDoubleGrant:
		return 2
	case kindOverstay:
		return 1
	}
	return 0
}

// overlapKind says whose doing it is that b began while a was open. The lock is accused
// only where it had certainly vouched for a at that moment: within the drift bound of
// its end the lease may have ended, and a hold beyond it is an overstay.
func overlapKind(a, b *hold) string {
	if !a.real || !b.real {
		return kindNotAcquired
	}
	for _, l := range a.leases {
		if l.from <= b.from && b.from < l.to {
			return kindDoubleGrant
		}
	}
	return kindOverstay
}

// overlap explains that b began while a was open.
func (r *record) overlap(a, b *hold, kind string) finding {
	both := span{b.from, min(a.to, b.to)}
	return finding{
		start: both.from, end: both.to, kind: kind, object: a.object, ops: []int64{a.grant, b.grant},
		witness: func() *Witness {
			return lockSuspect(ownerMutex, spec.OwnerMutex(), [][]spec.LockOp{stay(a.group, a.span), stay(b.group, b.span)}).minimise()
		},
		story: func() []string {
			var why string
			switch kind {
			case kindDoubleGrant:
				why = fmt.Sprintf("the lock was granted twice: at %s the lease of %s was still running", r.at(b.from), who(a.outer))
			case kindOverstay:
				lease := a.promised(b.from)
				why = fmt.Sprintf("%s overstayed: its lease ended at %s, but it went on for %s beyond that",
					who(a.outer), r.at(lease), lasting(a.to-lease))
			case kindNotAcquired:
				stray := a
				if a.real {
					stray = b
				}
				why = fmt.Sprintf("the lock was never granted to %s", who(stray.outer))
			}
			return sentences(
				[]string{r.acquired(a.group), r.renewed(a.group, span{a.from, b.from})},
				r.faults(span{a.from, both.to}, a.outer.Client, b.outer.Client),
				[]string{
					r.acquired(b.group),
					r.ended(a),
					why,
					fmt.Sprintf("both believed that they held %s for %s, from %s to %s", a.object, lasting(both.to-both.from), r.at(both.from), r.at(both.to)),
				},
				r.collisions(a.group, b.group))
		},
	}
}

// overstayed says whether a hold certainly outlived its lease.
func overstayed(h *hold) bool {
	return h.real && h.expired != history.Never && h.to > h.expired
}
