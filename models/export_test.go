package models

import "picklock/harness/history"

// JudgeInPieces judges the linearizability of locks and stock alone, with histories cut
// as finely as asked: the tests show that the verdict does not depend on it.
// disagreements are what the checkers contradicted each other in.
func JudgeInPieces(h *history.History, p Params, piece, prefix int) (lock, stock *Judgement, disagreements []string) {
	r := newRecord(h, p.withDefaults())
	r.sizes = sizes{piece, prefix}
	return judgeLinearizableLock(r), judgeLinearizableStock(r), r.disagreements
}
