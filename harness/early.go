package harness

import (
	"context"
	"slices"
	"time"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/locks"
	"picklock/models"
)

// prover looks, while the load runs, whether all that is expected of the test is proven
// (--until-verdict). The proof is the checkers': it judges the history as it was at a
// moment a little ago, with nothing missing of what was before that moment, and nothing of
// what came after (history.Collector.Known).
//
// What such a beginning of a history violates the whole violates (models.Report.Stands),
// except for liveness: that the lock is stuck now proves nothing, for it may come free, or
// a fault may take the quiet tail away. When that is all that is left to prove, faults
// end, and the load goes on for another tail, in which the lock must be stuck again.
type prover struct {
	s       *session
	params  models.Params
	wanted  []models.Property // expected to be violated
	tail    bool              // liveness is judged: the load ends with a quiet tail
	pace    time.Duration     // until the next look
	looked  int               // so far
	working time.Duration     // that the looks took
}

// The looks of a prover.
const (
	lookEvery  = time.Second           // at most so often
	lookShare  = 10                    // and with pauses so many times as long as the last one took
	markWithin = 60 * time.Millisecond // clients that run answer by then
)

func newProver(s *session, m locks.Meta) *prover {
	t := *s.test
	t.Observed = &store.Observed{Early: true}
	p := params(&t, m)
	v := &prover{s: s, params: p, tail: slices.Contains(p.Promises, models.Liveness), pace: lookEvery}
	judged := map[models.Property]*models.Judgement{}
	for _, id := range slices.Concat(p.Promises, models.StockProperties) {
		judged[id] = &models.Judgement{}
	}
	for _, e := range Expect(&t, judged, false) {
		if e.Expected == string(models.Violated) {
			v.wanted = append(v.wanted, models.Property(e.Property))
		}
	}
	// One breach of each is enough. Of two checkers the fast one does; the final judgement
	// asks whom the test names.
	v.params.MaxViolations, v.params.Checker = 1, models.Fast
	return v
}

// possible says whether the load can end early at all.
func (v *prover) possible() bool {
	return v.s.test.UntilVerdict && len(v.wanted) > 0
}

// follow looks now and then until all is proven, which it tells by closing proven, or ctx
// ends.
func (v *prover) follow(ctx context.Context, proven chan<- struct{}) {
	for v.possible() && v.rest(ctx) {
		if v.promising() && v.look(ctx, false) {
			close(proven)
			return
		}
	}
}

// confirm looks again, once the last fault was healed and the tail is over, until the
// result of the test is certain, ctx ends, or it is time to end in any case (ns).
func (v *prover) confirm(ctx context.Context, limit int64) {
	v.pace = 0
	for v.rest(ctx) && history.Now() < limit && !v.look(ctx, true) {
	}
	v.s.log.Info("the load ends early", "looks", v.looked, "took", v.working)
}

// rest waits until the next look; false: ctx ended.
func (v *prover) rest(ctx context.Context) bool {
	waitUntil(ctx, history.Now()+int64(v.pace))
	return ctx.Err() == nil
}

// promising says whether a look may find what is wanted, by what the gauge saw: it costs
// nothing, but proves nothing either.
func (v *prover) promising() bool {
	v.pace = lookEvery
	_, violations, _ := v.s.gauge.read()
	counted := slices.Contains(v.wanted, models.MutualExclusion) || slices.Contains(v.wanted, models.NoLostUpdate)
	if counted && violations == 0 {
		return false
	}
	return v.params.LandedWanted > 0 || v.s.gauge.injected(v.params.FaultsWanted)
}

// look judges what is known by now, and says whether it proves all that is wanted, and that
// the test is not vacuous. At the end that includes liveness, whatever is expected of it.
func (v *prover) look(ctx context.Context, end bool) bool {
	v.s.pool.Mark()
	if err := v.s.stock.carry(ctx); err != nil {
		v.s.log.Info("the ledger could not be read for a look at the verdict", "error", err)
	}
	waitUntil(ctx, history.Now()+int64(markWithin))
	began := time.Now()
	h, err := v.s.collector.Known(v.s.stock.carried())
	proven := err == nil && h.End > v.s.start && v.proves(h, end)
	took := time.Since(began)
	v.looked, v.working, v.pace = v.looked+1, v.working+took, max(lookEvery, lookShare*took)
	if end {
		v.pace = max(tailMargin, lookShare*took)
	}
	if err != nil {
		v.s.log.Warn("the record could not be read for a look at the verdict", "error", err)
	}
	v.s.log.Info("looked at the verdict so far", "known up to", v.s.seconds(h.End), "took", took, "proven", proven)
	return proven
}

func (v *prover) proves(h *history.History, end bool) bool {
	r := models.Judge(h, v.params)
	if r.Vacuous || len(r.Disagreements) > 0 {
		return false
	}
	for _, id := range v.wanted {
		if id != models.Liveness && !r.Stands(id, h, v.params) {
			return false
		}
	}
	if !v.tail || !v.stuck() && !end {
		return true
	}
	switch v.liveness(h) {
	case models.Violated:
		return true
	case models.Valid:
		return !v.stuck()
	}
	return false
}

// stuck says whether the lock is expected to get stuck.
func (v *prover) stuck() bool { return slices.Contains(v.wanted, models.Liveness) }

// liveness judges the tail as it would be if the test had ended now. Nothing is missing in
// h, so whoever asks has been asking up to now: that makes it as good as complete. Of
// deductions liveness knows nothing.
func (v *prover) liveness(h *history.History) models.Verdict {
	now := *h
	now.Complete, now.Ledger = true, nil
	now.Operations = slices.DeleteFunc(slices.Clone(h.Operations), func(o history.Operation) bool { return o.Op == history.Deduct })
	p := v.params
	p.Promises = []models.Property{models.Liveness}
	return models.Judge(&now, p).Properties[models.Liveness].Verdict
}
