package harness_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"picklock/harness"
	"picklock/harness/store"
	"picklock/locks"
	"picklock/models"
	"picklock/nemesis"
)

func TestPlanFillsInTheTTL(t *testing.T) {
	for _, c := range []struct {
		lock  string
		limit time.Duration
		given time.Duration
		want  time.Duration
	}{
		{"setex-del", 15 * time.Second, 0, 1500 * time.Millisecond}, // its source's 3 s are more than a tenth
		{"setex-del", 5 * time.Minute, 0, 3 * time.Second},          // its source's
		{"jedis-spin", 5 * time.Minute, 0, 30 * time.Second},        // its source's 60 s are more than a tenth
		{"setnx", 15 * time.Second, 0, 1500 * time.Millisecond},     // it has none: the bound of liveness
		{"setex-del", 15 * time.Second, 700 * time.Millisecond, 700 * time.Millisecond},
	} {
		o := harness.Defaults()
		o.Lock, o.TimeLimit, o.TTL = c.lock, store.Duration(c.limit), store.Duration(c.given)
		p, err := harness.Plan(o)
		if err != nil {
			t.Fatalf("%s in %s: %v", c.lock, c.limit, err)
		}
		if got := time.Duration(p.TTL); got != c.want {
			t.Errorf("%s in %s with --ttl %s: TTL %s, want %s", c.lock, c.limit, c.given, got, c.want)
		}
		if got, want := time.Duration(p.RedisTimeout), c.want/20; got != want {
			t.Errorf("%s: Redis timeout %s, want %s, 5%% of the TTL", c.lock, got, want)
		}
	}
}

func TestPlanIsItsSeeds(t *testing.T) {
	plan := func(seed uint64) harness.Options {
		o := harness.Defaults()
		o.Seed, o.Nemesis = seed, []string{"pause-client", "kill-node"}
		p, err := harness.Plan(o)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b, c := plan(1), plan(1), plan(2)
	if !reflect.DeepEqual(a.Schedule, b.Schedule) || reflect.DeepEqual(a.Schedule, c.Schedule) {
		t.Errorf("schedules of seeds 1, 1 and 2: %v, %v, %v; want the first two alike, the third not", a.Schedule, b.Schedule, c.Schedule)
	}
	if a.Run == b.Run {
		t.Error("two runs have the same id: a sweep of one would end the other")
	}
}

func TestPlanRefuses(t *testing.T) {
	for name, change := range map[string]func(*harness.Options){
		"an unknown lock":      func(o *harness.Options) { o.Lock = "x" },
		"an unknown deduction": func(o *harness.Options) { o.Deduct = "x" },
		"an unknown fault":     func(o *harness.Options) { o.Nemesis = []string{"x"} },
		"no clients":           func(o *harness.Options) { o.Clients = 0 },
		"a negative rate":      func(o *harness.Options) { o.Rate = -1 },
		"no room for a fault":  func(o *harness.Options) { o.TTL = store.Duration(10 * time.Second) },
	} {
		o := harness.Defaults()
		change(&o)
		if _, err := harness.Plan(o); !errors.Is(err, harness.ErrUsage) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want one line that is ErrUsage", name, err)
		}
	}
}

// TestExpectations holds Expect to what FAILURES.md says of a few locks.
func TestExpectations(t *testing.T) {
	const valid, violated, either = "valid", "violated", "either"
	for _, c := range []struct {
		lock, deduct, nemesis, persistence string
		clients                            int
		property                           models.Property
		want                               string
	}{
		{"uuid-lua", "read-write", "none", "everysec", 5, models.MutualExclusion, valid},
		{"uuid-lua", "read-write", "pause-client", "everysec", 5, models.MutualExclusion, violated},
		{"uuid-lua", "read-write", "pause-client", "everysec", 5, models.Ownership, valid},
		{"uuid-lua", "read-write", "pause-client", "everysec", 5, models.NoLostUpdate, either},
		{"uuid-lua", "hincrby", "pause-client", "everysec", 5, models.NoLostUpdate, valid}, // the stock needs no lock
		{"setex-del", "read-write", "pause-client", "everysec", 5, models.Ownership, violated},
		{"setnx", "read-write", "kill-client", "everysec", 5, models.Liveness, violated},
		{"setex-del", "read-write", "kill-client", "everysec", 5, models.Liveness, valid},
		{"none", "read-write", "none", "everysec", 5, models.NoLostUpdate, violated},
		{"none", "lua", "none", "everysec", 5, models.NoLostUpdate, valid},
		{"local-mutex", "read-write", "none", "everysec", 2, models.MutualExclusion, violated},
		{"local-mutex", "read-write", "none", "everysec", 1, models.MutualExclusion, valid},
		{"uuid-lua", "read-write", "kill-node", "always", 5, models.MutualExclusion, valid},
		{"uuid-lua", "read-write", "kill-node", "none", 5, models.MutualExclusion, either},
		{"setnx", "read-write", "no answer", "everysec", 5, models.Liveness, either}, // a SETNX may have been executed
		{"setnx", "read-write", "no answer", "everysec", 5, models.MutualExclusion, valid},
		{"uuid-lua", "read-write", "no answer", "everysec", 5, models.Liveness, valid},
		{"setnx-expire", "read-write", "hang-worker", "everysec", 5, models.Liveness, valid},
		{"setnx-expire-all", "read-write", "hang-worker", "everysec", 5, models.Liveness, violated},
		{"setnx", "read-write", "hang-worker", "everysec", 5, models.Liveness, violated},
		{"jedis-spin", "local-var", "none", "everysec", 2, models.LinearizableStock, violated},
		{"jedis-spin", "local-var", "none", "everysec", 1, models.LinearizableStock, valid},
	} {
		test := &store.Test{Lock: c.lock, Deduct: c.deduct, Persistence: c.persistence, Clients: c.clients}
		if c.nemesis != "none" && c.nemesis != "no answer" {
			test.Nemesis = []string{c.nemesis}
		}
		for _, verdict := range []models.Verdict{models.Valid, models.Violated, models.Unknown} {
			got := harness.Expect(test, map[models.Property]*models.Judgement{c.property: {Verdict: verdict}}, c.nemesis == "no answer")
			if len(got) != 1 || got[0].Expected != c.want {
				t.Errorf("%s+%s under %s: %s expected %+v, want %s", c.lock, c.deduct, c.nemesis, c.property, got, c.want)
				break
			}
			met := string(verdict) == c.want || c.want == either && verdict != models.Unknown
			if got[0].Met != met {
				t.Errorf("%s expected %s, was %s: met is %v", c.property, c.want, verdict, got[0].Met)
			}
		}
	}
}

// TestWeaknessesNameRealFaults: what an expectation names must exist, or it is never met.
func TestWeaknessesNameRealFaults(t *testing.T) {
	conditions := []string{"none", "storm", "restart-empty", "no-answer"} // that are no kinds of faults
	for _, l := range locks.All() {
		for _, w := range l.Weaknesses {
			if _, ok := nemesis.Find(w.Fault); !ok && !slices.Contains(conditions, w.Fault) {
				t.Errorf("%s: no fault %q", l.Name, w.Fault)
			}
			if !slices.Contains(slices.Concat(models.LockProperties, models.StockProperties), models.Property(w.Property)) {
				t.Errorf("%s: no property %q", l.Name, w.Property)
			}
		}
	}
}

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		verdict models.Verdict
		vacuous bool
		want    int
	}{
		{models.Valid, false, 0}, {models.Valid, true, 2}, {models.Unknown, false, 2},
		{models.Unknown, true, 2}, {models.Violated, false, 1}, {models.Violated, true, 1},
	} {
		if got := harness.ExitCode(&store.Result{Verdict: c.verdict, Vacuous: c.vacuous}); got != c.want {
			t.Errorf("%s, vacuous %v: %d, want %d", c.verdict, c.vacuous, got, c.want)
		}
	}
}
