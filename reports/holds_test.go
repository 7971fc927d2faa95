package reports_test

import (
	"fmt"
	"testing"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/models"
)

// second of the record, in ns.
func second(s float64) int64 { return origin + int64(s*1e9) }

// one is a worker's operation from s to e seconds.
func one(id int64, client int, op history.Op, grant int64, s, e float64, end history.Event) []history.Event {
	in := history.Event{Time: second(s), Type: history.Invoke, Op: op, ID: id, Process: int64(client), Client: client, Object: "lock", Grant: grant}
	end.Time, end.Op, end.ID, end.Process, end.Client, end.Object = second(e), op, id, int64(client), client, "lock"
	return []history.Event{in, end}
}

// TestHolds goes through what can end a hold and a lease. Each case is one acquire from
// 1 s to 2 s, whose only hold must come out as told: from, to, the end of the part that
// the lock vouches for, the end of what remains of the lease, in ms.
func TestHolds(t *testing.T) {
	grant := history.Event{Type: history.OK, From: second(1.5), Validity: 3e9}
	forever := history.Event{Type: history.OK, From: second(1.5)}
	for _, c := range []struct {
		name    string
		acquire history.Event
		more    []history.Event
		want    string
	}{
		{"released", grant, one(2, 0, history.Release, 1, 3, 3.1, history.Event{Type: history.OK}), "2000-3000 vouched 3000 remains 3000 end 1"},
		{"released without a grant's id", grant, one(2, 0, history.Release, 0, 3, 3.1, history.Event{Type: history.OK}), "2000-9000 vouched 4500 remains 9000 end 0"},
		{"release of unknown outcome", grant, one(2, 0, history.Release, 1, 3, 3.1, history.Event{Type: history.Info}), "2000-3000 vouched 3000 remains 3000 end 1"},
		{"overstayed", grant, one(2, 0, history.Release, 1, 6, 6.1, history.Event{Type: history.OK}), "2000-6000 vouched 4500 remains 6000 end 1"},
		{"never released", grant, nil, "2000-9000 vouched 4500 remains 9000 end 0"},
		{"no expiry", forever, one(2, 0, history.Release, 1, 6, 6.1, history.Event{Type: history.OK}), "2000-6000 vouched 6000 remains 6000 end 1"},
		{"lease counted from the invocation", history.Event{Type: history.OK, Validity: 3e9}, nil, "2000-9000 vouched 4000 remains 9000 end 0"},
		{"died", grant, []history.Event{{Time: second(3), Type: history.ClientDeath, Client: 0}}, "2000-3000 vouched 3000 remains 4500 end 2"},
		{"died, no expiry", forever, []history.Event{{Time: second(3), Type: history.ClientDeath, Client: 0}}, "2000-3000 vouched 3000 remains 9000 end 2"},
		{"another died", grant, []history.Event{{Time: second(3), Type: history.ClientDeath, Client: 1}}, "2000-9000 vouched 4500 remains 9000 end 0"},
		{"died before", grant, []history.Event{{Time: second(0.5), Type: history.ClientDeath, Client: 0}}, "2000-9000 vouched 4500 remains 9000 end 0"},
		{"lost", grant, []history.Event{{Time: second(3), Type: history.Lost, Grant: 1}}, "2000-3000 vouched 3000 remains 3000 end 3"},
		{"extended", grant, one(2, 0, history.Extend, 1, 4, 4.1, history.Event{Type: history.OK, From: second(4), Validity: 3e9}), "2000-9000 vouched 7000 remains 9000 end 0"},
		{"extend refused", grant, one(2, 0, history.Extend, 1, 4, 4.1, history.Event{Type: history.Fail, From: second(4), Validity: 3e9}), "2000-9000 vouched 4500 remains 9000 end 0"},
		{"extend of another grant", grant, one(2, 0, history.Extend, 7, 4, 4.1, history.Event{Type: history.OK, Validity: 3e9}), "2000-9000 vouched 4500 remains 9000 end 0"},
		{"not acquired", history.Event{Type: history.Fail, Code: history.CodeNotAcquired}, nil, ""},
		{"outcome unknown", history.Event{Type: history.Info}, nil, ""},
		{"enters all the same", history.Event{Type: history.Fail, Belief: history.BelievesHeld}, one(2, 0, history.Release, 1, 3, 3.1, history.Event{Type: history.OK}), "2000-3000 vouched 2000 remains 3000 end 1"},
		{"enters on an error", history.Event{Type: history.Info, Belief: history.BelievesHeld}, nil, "2000-9000 vouched 2000 remains 9000 end 0"},
		{"leaves all the same", history.Event{Type: history.OK, From: second(1.5), Validity: 3e9, Belief: history.BelievesNot}, nil, "2000-2000 vouched 2000 remains 4500 end 3"},
		{"releases all the same", history.Event{Type: history.Fail, Belief: history.ReleasesAnyway}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			es := append([]history.Event{{Time: origin, Type: history.Begin}, {Time: second(9), Type: history.End}},
				one(1, 0, history.Acquire, 0, 1, 2, c.acquire)...)
			h, err := history.Assemble(append(es, c.more...))
			if err != nil {
				t.Fatal(err)
			}
			d := decodeTimeline(t, page(t, &store.Result{Verdict: models.Valid}, h))
			got := ""
			if len(d.Holds.T) > 1 {
				t.Fatalf("%d holds from one acquire", len(d.Holds.T))
			}
			if len(d.Holds.T) == 1 {
				from := (d.Ops.T[0] + d.Ops.D[0]) / 1000
				to := from + d.Holds.T[0]/1000
				vouched, remains := to, to
				if d.Holds.V[0] >= 0 {
					vouched = from + d.Holds.V[0]/1000
				}
				if len(d.Holds.R) > 0 {
					remains += d.Holds.R[1] / 1000
				}
				got = fmt.Sprintf("%d-%d vouched %d remains %d end %s", from, to, vouched, remains, d.Holds.E)
			}
			if got != c.want {
				t.Errorf("hold %q, want %q: the picture must not show more or less than the record proves", got, c.want)
			}
		})
	}
}

func TestLeaseOfTheDeadEndsAtTheNextGrant(t *testing.T) {
	es := append([]history.Event{{Time: origin, Type: history.Begin}, {Time: second(9), Type: history.End},
		{Time: second(3), Type: history.ClientDeath, Client: 0}},
		one(1, 0, history.Acquire, 0, 1, 2, history.Event{Type: history.OK})...)
	h, err := history.Assemble(append(es, one(2, 1, history.Acquire, 0, 4, 5, history.Event{Type: history.OK})...))
	if err != nil {
		t.Fatal(err)
	}
	d := decodeTimeline(t, page(t, &store.Result{Verdict: models.Valid}, h))
	if len(d.Holds.R) != 2 || d.Holds.R[1] != 2_000_000 {
		t.Errorf("the dead client's lease remains for %v µs, want [0 2000000]: at 5 s the lock was granted anew", d.Holds.R)
	}
}
