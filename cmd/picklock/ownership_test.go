package main

import (
	"strings"
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/models"
)

// judgeOwnership judges a history by that alone.
func judgeOwnership(h *history.History, ttl time.Duration) *models.Judgement {
	return models.Judge(h, models.Params{TTL: ttl, Promises: []models.Property{models.Ownership}}).Properties[models.Ownership]
}

// serversOf are the servers that did acknowledged operations of a kind; one without fails t.
func serversOf(t *testing.T, h *history.History, op history.Op) map[uint8]int {
	t.Helper()
	on := map[uint8]int{}
	for _, o := range h.Operations {
		if o.Op == op && o.Outcome == history.OutcomeOK {
			if on[o.Server]++; o.Server == history.ServerUnknown {
				t.Errorf("%s %d took effect, and the record does not say on which server", op, o.ID)
			}
		}
	}
	return on
}

// TestOwnersOfTwoPrimaries: the old primary goes on serving the clients on its side, so the
// lock has an owner on each side. Each releases its own key, which the record tells from
// the other's by the server alone.
func TestOwnersOfTwoPrimaries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const ttl = 3 * time.Second
	r := picklock(t, dir, nil, scheduled(t, dir, `faults:
- {kind: partition-primary, target: primaries, at: 1s, for: 5s, with: {clients: with}}`,
		strings.Fields("--json --topology failover --replicas 2 --lock watchdog --deduct lua --ttl 3s --redis-timeout 200ms --grace 500ms --think 1500ms "+
			"--think-after 10ms --clients 4 --workers 1 --time-limit 15s --seed 1 --min-sales 4 --runtime process")...)...)
	res := parse(t, r)
	onlyFault(t, res, r)
	if p := res.Properties[models.Ownership]; p == nil || p.Verdict != models.Valid {
		t.Errorf("ownership is %+v: a release that compares leaves the other server's key alone\n%s", p, summary(res, r))
	}
	h := historyIn(t, dir)
	for _, op := range []history.Op{history.Acquire, history.Release, history.Extend} {
		if on := serversOf(t, h, op); len(on) < 2 {
			t.Errorf("%s took effect on %v (operations by server), want two servers: there was one primary only", op, on)
		}
	}
	for i := range h.Operations {
		h.Operations[i].Server = history.ServerUnknown
	}
	if j := judgeOwnership(h, ttl); j.Verdict != models.Violated {
		t.Errorf("without the servers ownership is %s, want violated: nothing here shows that they count", j.Verdict)
	}
}

// TestMisdeleteAfterFailover: a client is stopped until its lease is over and another has
// the lock; the primary dies, a replica takes over with that key; the client goes on and
// deletes it there. This is no key of its own, though another server granted it.
func TestMisdeleteAfterFailover(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := picklock(t, dir, nil, scheduled(t, dir, `faults:
- {kind: pause-client, at: 500ms, for: 9100ms}
- {kind: failover, target: primaries, at: 6600ms, for: 3s, with: {how: death}}`,
		strings.Fields("--json --topology failover --replicas 2 --lock setex-del --deduct lua --ttl 6s --redis-timeout 200ms --grace 10ms --think 5500ms "+
			"--think-after 10ms --clients 2 --workers 1 --time-limit 20s --seed 1 --min-sales 1 --runtime process")...)...)
	res := parse(t, r)
	if res.Vacuous || len(res.Faults) != 2 {
		t.Fatalf("faults %+v, vacuous because of %q\n%s", res.Faults, res.VacuousWhy, summary(res, r))
	}
	h := historyIn(t, dir)
	byID := map[int64]history.Operation{}
	for _, o := range h.Operations {
		byID[o.ID] = o
	}
	p := res.Properties[models.Ownership]
	if p == nil || p.Verdict != models.Violated {
		t.Fatalf("ownership is %+v, want violated\n%s", p, summary(res, r))
	}
	for _, v := range p.Violations {
		did, owner := byID[v.Operations[0]], byID[v.Operations[1]]
		if did.Op == history.Release && placed(did) && placed(owner) && did.Server != owner.Server {
			return
		}
	}
	t.Errorf("no violation is of a key that another server granted: %+v\n%s", p.Violations, summary(res, r))
}

func placed(o history.Operation) bool {
	return o.Server != history.ServerUnknown && o.Server != history.ServerSeveral
}
