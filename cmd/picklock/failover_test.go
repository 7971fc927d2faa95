package main

import (
	"slices"
	"strings"
	"testing"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/models"
)

// historyIn reads the history of the latest test in dir.
func historyIn(t *testing.T, dir string) *history.History {
	t.Helper()
	h, err := history.Load(latestIn(dir).Path(store.HistoryFile), latestIn(dir).Path(store.Journals))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestFailover: the primary dies, a replica is promoted, the workers go on, and the
// results tell how long that took: in both runtimes, and by both ways to reach a container.
func TestFailover(t *testing.T) {
	t.Parallel()
	for _, runtime := range []string{"process", "docker --reach container", "docker --reach published"} {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tmp := t.TempDir()
			r := picklock(t, dir, []string{"TMPDIR=" + tmp}, scheduled(t, dir, `faults:
- {kind: kill-node, target: primaries, at: 1s, for: 3s, with: {restart: delayed}}`,
				append(strings.Fields("--json --topology failover --replicas 2 --lock uuid-lua --deduct lua --ttl 500ms --redis-timeout 200ms "+
					"--grace 3s --think 20ms --clients 3 --time-limit 10s --seed 1 --runtime "+runtime), "--min-sales=20")...)...)
			res := parse(t, r)
			fault := onlyFault(t, res, r)
			if res.Test.Schedule[0].Kind != "kill-node" || !strings.Contains(fault.Target, "lock-1") {
				t.Errorf("the primary was lock-1, but %s was killed", fault.Target)
			}
			for _, id := range []models.Property{models.Liveness, models.LinearizableStock, models.NoOversell} {
				if p := res.Properties[id]; p == nil || p.Verdict != models.Valid {
					t.Errorf("%s is %+v\n%s", id, p, summary(res, r))
				}
			}

			h := historyIn(t, dir)
			promoted := slices.IndexFunc(h.Roles, func(c history.Role) bool {
				return c.Node != "lock-1" && c.Role == history.Primary && h.Seconds(c.Time) > fault.StartS
			})
			if promoted < 0 || res.Measures.Promotions < 1 {
				t.Fatalf("no replica was seen to be promoted; roles: %+v", h.Roles)
			}
			if !slices.ContainsFunc(h.Roles, func(c history.Role) bool {
				return strings.HasPrefix(c.Node, "sentinel-") && strings.Contains(c.Role, h.Roles[promoted].Node) && c.Time > h.Faults[0].Start
			}) {
				t.Errorf("no Sentinel was seen to take %s for the primary; roles: %+v", h.Roles[promoted].Node, h.Roles)
			}
			after := grantsIn(h, h.Roles[promoted].Time, h.End)
			if len(after) < 10 {
				t.Errorf("%d locks were granted by the new primary; want that the workers go on\n%s", len(after), summary(res, r))
			}
			rec := res.Measures.Recovery
			if len(rec) != 1 || rec[0].Kind != "kill-node" || rec[0].FromStartS == nil || rec[0].FromHealS == nil {
				t.Fatalf("recovery times: %+v; want one from the start and one from the end of the fault", rec)
			}
			if *rec[0].FromStartS <= 0 || *rec[0].FromStartS > res.Measures.DurationS {
				t.Errorf("it took %f s of %f until the lock was granted again", *rec[0].FromStartS, res.Measures.DurationS)
			}
			nothingLeftOf(t, res.Test.Run)
			nothingLeft(t, tmp)
		})
	}
}

// onlyFault is the result's one fault, which must have landed and been healed.
func onlyFault(t *testing.T, res *store.Result, r ran) store.Fault {
	t.Helper()
	if len(res.Faults) != 1 || !landedAndHealed(res.Faults[0]) || res.Vacuous {
		t.Fatalf("faults %+v, vacuous because of %q; want one that landed and was healed\n%s", res.Faults, res.VacuousWhy, summary(res, r))
	}
	return res.Faults[0]
}

// grantsIn are the acquires whose deciding attempt began, and which returned, between two
// times of the record.
func grantsIn(h *history.History, from, to int64) []history.Operation {
	var in []history.Operation
	for _, o := range h.Operations {
		if o.Op == history.Acquire && o.Outcome == history.OutcomeOK && max(o.Invoke, o.From) >= from && o.Return <= to {
			in = append(in, o)
		}
	}
	return in
}
