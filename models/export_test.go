package models

import (
	"slices"

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

// SortBy is how the checkers sort.
func SortBy[T any](all []T, key func(*T) int64) { sortBy(all, key) }
