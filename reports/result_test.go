package reports_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/models"
)

// held is a hold as the judge of these tests sees it.
type held struct {
	op       *history.Operation
	from, to int64
	lease    int64
	release  *history.Operation
}

func (x held) who() string { return fmt.Sprintf("client %d worker %d", x.op.Client, x.op.Worker) }

// result judges a made-up history in a few lines, so that the report has verdicts and
// stories that belong to it.
func result(t testing.TB, p plan, h *history.History) *store.Result {
	t.Helper()
	r := &store.Result{
		Verdict: models.Valid,
		Test: store.Test{
			Name: "setex-del+read-write_single_pause-client", Run: "r-0f3a", Started: time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC),
			Lock: "setex-del", Deduct: "read-write", Topology: "single", Nemesis: []string{"pause-client", "kill-client"}, Seed: 42,
			TimeLimit: store.Duration(p.length), Clients: p.clients, Workers: p.workers, TTL: store.Duration(p.ttl), Stock: 100_000, SKUs: 1,
			Think: store.Duration(p.think), AcquireTimeout: store.Duration(5 * time.Second), RedisTimeout: store.Duration(50 * time.Millisecond),
			Grace: store.Duration(time.Second), MinSales: 20, MinContention: 1, Persistence: "everysec", StockOn: "own", Runtime: "docker",
			Reach: "container", Image: "picklock-node", CheckTimeout: store.Duration(30 * time.Second),
			Schedule: []store.Planned{{Kind: "pause-client", At: store.Duration(p.pauseAt), For: store.Duration(p.pause)}},
			About:    map[string]string{"redis": "7.0.15", "go": "go1.26", "kernel": "Linux 6.1"},
		},
		Properties: map[models.Property]*models.Judgement{},
		Rerun:      "picklock run --lock setex-del --deduct read-write --topology single --nemesis pause-client,kill-client --ttl 1s --time-limit 15s --clients 5 --workers 2 --seed 42",
		Measures:   measured(h),
	}
	for _, f := range h.Faults {
		r.Faults = append(r.Faults, store.Fault{Kind: f.Kind, Target: f.Target, StartS: h.Seconds(f.Start), EndS: h.Seconds(f.End),
			Landed: f.Landed, Proof: f.Proof, Healed: f.Healed})
	}
	holds := holdsOf(h)
	overlap, misdelete := overlaps(h, holds), misdeletes(h, holds)
	lost := lostUpdates(h)
	for id, vs := range map[models.Property][]models.Violation{
		models.MutualExclusion: overlap, models.Ownership: misdelete, models.NoLostUpdate: lost,
		models.LeaseExclusion: nil, models.Liveness: nil, models.NoOversell: nil,
	} {
		j := &models.Judgement{Verdict: models.Valid, Checked: len(holds), Count: len(vs), Violations: vs}
		if len(vs) > 0 {
			j.Verdict = models.Violated
			j.Violations = vs[:min(len(vs), 10)]
		}
		r.Properties[id] = j
		r.Verdict = r.Verdict.Worse(j.Verdict)
	}
	r.Properties[models.LinearizableStock] = &models.Judgement{Verdict: models.Unknown, Checked: len(h.Ledger),
		Note: "porcupine did not decide sku-0 within 30 s"}
	r.Expected = []store.Expected{
		{Property: "mutual-exclusion", Expected: "violated", Met: len(overlap) > 0, Why: "a client that is stopped for longer than the TTL works on"},
		{Property: "ownership", Expected: "violated", Met: len(misdelete) > 0, Why: "the release deletes the key, whoever owns it"},
		{Property: "liveness", Expected: "valid", Met: true},
	}
	return r
}

func measured(h *history.History) models.Measures {
	m := models.Measures{Operations: len(h.Operations), DurationS: h.Seconds(h.End), Jain: 0.98, AttemptsPer: 41,
		AcquireP50MS: 452.1, AcquireP95MS: 611.9, AcquireP99MS: 1410, AcquireMaxMS: 2510, StarvedS: 2.6, RegrantP50MS: 3.2, Contended: 4000}
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Sold {
			m.Sales++
		}
		if o.Op == history.Acquire && o.Outcome == history.OutcomeOK {
			m.Grants++
		}
	}
	m.SalesPerS = float64(m.Sales) / m.DurationS
	return m
}

func holdsOf(h *history.History) []held {
	releases := map[int64]*history.Operation{}
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Op == history.Release {
			releases[o.Grant] = o
		}
	}
	var hs []held
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Op != history.Acquire || o.Outcome != history.OutcomeOK {
			continue
		}
		x := held{op: o, from: o.Return, to: h.End, lease: o.From + o.Validity, release: releases[o.ID]}
		if x.release != nil {
			x.to = x.release.Invoke
		}
		for _, d := range h.Deaths {
			if d.Client == o.Client && d.Time >= x.from {
				x.to = min(x.to, d.Time)
			}
		}
		hs = append(hs, x)
	}
	slices.SortFunc(hs, func(a, b held) int { return int(a.from - b.from) })
	return hs
}

func overlaps(h *history.History, hs []held) []models.Violation {
	var vs []models.Violation
	for i, a := range hs {
		for _, b := range hs[i+1:] {
			if b.from >= a.to {
				break
			}
			if a.op.Object != b.op.Object {
				continue
			}
			v := models.Violation{StartS: h.Seconds(b.from), EndS: h.Seconds(min(a.to, b.to)), Kind: "overstay", Object: a.op.Object,
				Operations: []int64{a.op.ID, b.op.ID}}
			v.Story = append(v.Story, fmt.Sprintf("%s acquired %s at %.3f s with a lease to %.3f s.", a.who(), a.op.Object, h.Seconds(a.from), h.Seconds(a.lease)))
			for _, f := range h.Faults {
				if f.Client == a.op.Client && f.Start < a.to && f.End > a.from {
					v.Story = append(v.Story, fmt.Sprintf("client %d was stopped from %.3f s to %.3f s (fault %s).", f.Client, h.Seconds(f.Start), h.Seconds(f.End), f.Kind))
				}
			}
			v.Story = append(v.Story,
				fmt.Sprintf("%s acquired the same lock at %.3f s; %s still took itself for the owner until %.3f s.", b.who(), h.Seconds(b.from), a.who(), h.Seconds(a.to)),
				fmt.Sprintf("For %.3f s both were in the section.", h.Seconds(min(a.to, b.to))-h.Seconds(b.from)))
			vs = append(vs, v)
		}
	}
	return vs
}

func misdeletes(h *history.History, hs []held) []models.Violation {
	var vs []models.Violation
	for _, a := range hs {
		if a.release == nil || a.release.Outcome != history.OutcomeOK || a.release.Invoke < a.lease {
			continue
		}
		for _, b := range hs {
			if b.op != a.op && b.op.Object == a.op.Object && b.op.From < a.release.Invoke && b.from < a.release.Return && b.lease > a.release.Return && b.to > a.release.Invoke {
				vs = append(vs, models.Violation{StartS: h.Seconds(a.release.Invoke), EndS: h.Seconds(a.release.Return), Kind: "misdelete",
					Object: a.op.Object, Operations: []int64{a.op.ID, a.release.ID, b.op.ID}, Story: []string{
						fmt.Sprintf("%s acquired %s at %.3f s; its lease ended at %.3f s.", a.who(), a.op.Object, h.Seconds(a.from), h.Seconds(a.lease)),
						fmt.Sprintf("%s was granted the lock at %.3f s, with a lease to %.3f s.", b.who(), h.Seconds(b.from), h.Seconds(b.lease)),
						fmt.Sprintf("%s released at %.3f s, and the server deleted the key: it was the lock of %s.", a.who(), h.Seconds(a.release.Invoke), b.who()),
					}})
			}
		}
	}
	return vs
}

func lostUpdates(h *history.History) []models.Violation {
	byID := map[int64]*history.Operation{}
	for i := range h.Operations {
		byID[h.Operations[i].ID] = &h.Operations[i]
	}
	var vs []models.Violation
	for _, e := range h.Ledger {
		if e.Basis == nil || *e.Basis == e.Found {
			continue
		}
		o := byID[e.Op]
		ops := []*history.Operation{o, byID[o.Grant]}
		earliestFirst(ops)
		end := o.Return
		if end == history.Never {
			end = h.End
		}
		vs = append(vs, models.Violation{StartS: h.Seconds(o.Invoke), EndS: h.Seconds(end), Kind: "lost-update", Object: e.Object,
			Operations: []int64{ops[0].ID, ops[1].ID}, Story: []string{
				fmt.Sprintf("client %d worker %d read %d in stock after %.3f s.", o.Client, o.Worker, *e.Basis, h.Seconds(o.Invoke)),
				fmt.Sprintf("client %d worker %d wrote %d before %.3f s, over the %d that others had left: %d sales vanished.", o.Client, o.Worker, e.Left, h.Seconds(end), e.Found, *e.Basis-e.Found),
			}})
	}
	return vs
}
