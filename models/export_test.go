package models

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"picklock/harness/history"
)

// JudgeInPieces judges the linearizability of locks and stock alone, with histories cut
// as finely as asked: the tests show that the verdict does not depend on it.
// disagreements are what the checkers contradicted each other in.
func JudgeInPieces(h *history.History, p Params, piece, prefix int) (lock, stock *Judgement, disagreements []string) {
	r := newRecord(h, p.withDefaults())
	r.sizes = sizes{piece, prefix}
	return judgeLinearizableLock(r), judgeLinearizableStock(r), r.disagreements
}

// JudgeIntervals judges and measures everything but linearizability.
func JudgeIntervals(h *history.History, p Params) (map[Property]*Judgement, Measures) {
	r := newRecord(h, p.withDefaults())
	judged := map[Property]*Judgement{NoLostUpdate: judgeNoLostUpdate(r), NoOversell: judgeNoOversell(r)}
	for id, judge := range map[Property]func(*record) *Judgement{
		MutualExclusion: judgeMutualExclusion, LeaseExclusion: judgeLeaseExclusion, Ownership: judgeOwnership,
		Liveness: judgeLiveness, Fencing: judgeFencing,
	} {
		if slices.Contains(p.Promises, id) {
			judged[id] = judge(r)
		}
	}
	return judged, measure(r)
}

// EachWay tells all that the checkers and measures say of a history, once as Judge does and
// once as if no grant were plain; and how many of the grants are.
func EachWay(h *history.History, p Params) (fields, operations string, plain, all int) {
	told := func(r *record) string {
		judged := map[Property]*Judgement{}
		for id, judge := range map[Property]func(*record) *Judgement{
			MutualExclusion: judgeMutualExclusion, LeaseExclusion: judgeLeaseExclusion, Ownership: judgeOwnership, Liveness: judgeLiveness,
		} {
			judged[id] = judge(r)
		}
		m := measure(r)
		b, err := json.Marshal([]any{judged, m})
		if err != nil {
			panic(err)
		}
		var s strings.Builder
		s.Write(b)
		for _, name := range r.names {
			fmt.Fprintf(&s, "\n%v\n", r.wholeLock(name))
			for _, g := range r.byLock[name] {
				fmt.Fprintf(&s, "%v ", r.leases(g, new(holdRoom)))
			}
			for x := range r.handovers(name) {
				fmt.Fprintf(&s, "%v ", x)
			}
		}
		return s.String()
	}
	r := newRecord(h, p.withDefaults())
	fields = told(r)
	for _, g := range r.groups {
		all++
		if g.plain() {
			plain++
		}
		g.believed = false // so it is not plain; what it was good for is in its hold
	}
	return fields, told(r), plain, all
}
