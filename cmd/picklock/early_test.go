package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"picklock/harness/store"
	"picklock/models"
)

// TestUntilVerdict: the load ends once all that is expected to be violated is proven, and
// no sooner; the result is as good as that of a test that had all its time. It is run beside
// no other test: a reply is waited for 15 ms, and a lock without a TTL that loses one to a
// busy machine is stuck before its holder can be killed.
func TestUntilVerdict(t *testing.T) {
	quick := " --ttl 300ms --grace 300ms --runtime process --seed 3 --until-verdict"
	for name, c := range map[string]struct {
		args     string
		schedule string
		early    bool          // it ends before its time
		longest  time.Duration // of the load
		violated string        // the properties that must be, at least
		faults   string        // kinds that must have landed
		unmet    string        // the properties that are not as expected
	}{
		"an overlap": {
			args: "--lock setex-del --nemesis pause-client --time-limit 40s", early: true, longest: 12 * time.Second,
			violated: "mutual-exclusion", faults: "pause-client",
		},
		"lost updates without a lock, and so without a tail": {
			args: "--lock none --nemesis none --time-limit 40s", early: true, longest: 10 * time.Second,
			violated: "no-lost-update",
		},
		"a lock that gets stuck": {
			args: "--lock setnx --nemesis kill-client --acquire-timeout 500ms --time-limit 40s", early: true, longest: 15 * time.Second,
			violated: "liveness", faults: "kill-client",
		},
		"each kind of fault comes first": {
			args: "--lock setex-del --nemesis pause-client,kill-client,delete-key --time-limit 60s", early: true, longest: 25 * time.Second,
			violated: "mutual-exclusion", faults: "pause-client kill-client delete-key",
		},
		"of a given schedule each kind, not each fault": {
			args: "--lock none --time-limit 40s", early: true, longest: 10 * time.Second,
			schedule: "{faults: [{kind: pause-client, at: 1s, for: 500ms}, {kind: kill-client, at: 2s, for: 300ms}, {kind: pause-client, at: 30s, for: 500ms}]}",
			violated: "no-lost-update", faults: "pause-client kill-client",
		},
		"nothing is expected": {
			args: "--lock uuid-lua --nemesis none --time-limit 3s",
		},
		"what is expected never comes": { // nobody ever asks for the lock that somebody else has
			args:  "--lock setex-del --nemesis pause-client --skus 100000 --min-contention 0 --time-limit 5s",
			unmet: "mutual-exclusion linearizable-lock linearizable-stock no-lost-update ownership liveness", faults: "pause-client",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			args := append([]string{"run"}, strings.Fields(c.args+quick)...)
			if c.schedule != "" {
				args = scheduled(t, dir, c.schedule, args[1:]...)
			}
			r := picklock(t, dir, nil, append(args, "--json")...)
			res := parse(t, r)
			took := time.Duration(res.Measures.DurationS * float64(time.Second))
			limit := time.Duration(res.Test.TimeLimit)
			if res.Test.Observed.Early != c.early {
				t.Errorf("early is %t after %s of %s, want %t: %v", res.Test.Observed.Early, took, limit, c.early, res.Expected)
			}
			if c.early && took > c.longest || !c.early && took < limit {
				t.Errorf("the load took %s of %s, want at most %s (0: all of it)", took, limit, c.longest)
			}
			if res.Vacuous {
				t.Errorf("it is vacuous, want never for its end: %q", res.VacuousWhy)
			}
			for _, id := range strings.Fields(c.violated) {
				if j := res.Properties[models.Property(id)]; j == nil || j.Verdict != models.Violated {
					t.Errorf("%s is %v, want violated", id, j)
				}
			}
			unmet := 0
			for _, e := range res.Expected {
				if e.Met {
					continue
				}
				if e.Expected == "violated" {
					unmet++
				}
				if !slices.Contains(strings.Fields(c.unmet), e.Property) {
					t.Errorf("%s is %v, expected %s: the end must not cost a verdict", e.Property, res.Properties[models.Property(e.Property)].Verdict, e.Expected)
				}
			}
			if c.unmet != "" && unmet == 0 {
				t.Error("all that was expected came: the test of what never comes proves nothing")
			}
			for _, kind := range strings.Fields(c.faults) {
				if !slices.ContainsFunc(res.Faults, func(f store.Fault) bool { return f.Kind == kind && f.Landed }) {
					t.Errorf("no %s landed: %v", kind, res.Faults)
				}
			}
			for _, f := range res.Faults {
				if !landedAndHealed(f) {
					t.Errorf("fault %v, want each landed and healed", f)
				}
			}
			if t.Failed() {
				t.Log(r.stderr)
			}
		})
	}
}
