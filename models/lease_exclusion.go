package models

import (
	"fmt"

	"picklock/models/spec"
)

// judgeLeaseExclusion: no two leases of one lock overlap. What a client does beyond its
// lease is its own overstay and judged by mutual-exclusion alone; two leases that overlap
// are the lock's fault, whatever its clients did.
func judgeLeaseExclusion(r *record) *Judgement {
	type lease struct {
		span
		hold *hold
	}
	f := &findings{r: r}
	for _, name := range r.names {
		leases := make([]lease, 0, len(r.locks[name]))
		for _, h := range r.locks[name] {
			for _, s := range h.leases {
				leases = append(leases, lease{s, h})
			}
		}
		sortBy(leases, func(l *lease) int64 { return l.from })
		var open []lease
		told := map[*hold]bool{}
		for _, l := range leases {
			f.checked++
			still := open[:0]
			var with *lease
			for i := range open {
				o := open[i]
				if o.to <= l.from {
					continue
				}
				still = append(still, o)
				if o.hold != l.hold {
					with = &o
				}
			}
			open = append(still, l)
			if with == nil || told[l.hold] {
				continue
			}
			told[l.hold] = true
			first, a, b, both := *with, with.hold, l.hold, with.overlap(l.span)
			f.add(finding{
				start: both.from, end: both.to, kind: kindDoubleGrant, object: name, ops: []int64{a.grant, b.grant},
				witness: func() *Witness {
					return lockSuspect(ownerMutex, spec.OwnerMutex(), [][]spec.LockOp{stay(a.group, first.span), stay(b.group, l.span)}).minimise()
				},
				story: func() []string {
					return sentences(
						[]string{r.acquired(a.group), r.renewed(a.group, span{a.from, both.from})},
						r.faults(span{a.from, both.to}, a.outer.Client, b.outer.Client),
						[]string{
							r.acquired(b.group),
							r.renewed(b.group, span{b.from, both.from}),
							fmt.Sprintf("the lock vouched for both for %s, from %s to %s, with %s taken off each lease for drift",
								lasting(both.to-both.from), r.at(both.from), r.at(both.to), r.p.Drift),
						},
						r.collisions(a.group, b.group))
				},
			})
		}
	}
	return f.judgement()
}
