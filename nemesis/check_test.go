package nemesis_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"picklock/nemesis"
)

func stage() nemesis.Stage {
	return nemesis.Stage{
		Clients: 2, Nodes: []string{"lock-1", "lock-2", "stock"}, Stock: "stock",
		HasStep: func(step string) bool { return slices.Contains([]string{"acquire", "release"}, step) },
	}
}

func TestCheckAccepts(t *testing.T) {
	for _, p := range []nemesis.Planned{
		{Kind: "pause-client"},
		{Kind: "pause-client", Target: "waiter", On: "before release", Nth: 3},
		{Kind: "kill-client", Target: "client-0,client-1", On: "granted"},
		{Kind: "kill-node", Target: "majority"},
		{Kind: "kill-node", Target: "lock-1,lock-2"},
		{Kind: "slow-node", Target: "lock-2", With: map[string]string{"delay": "20ms"}},
		{Kind: "drop-reply", Target: "lock-1", With: map[string]string{"count": "all"}},
		{Kind: "drop-reply", Target: "client-1", Nth: 2},
		{Kind: "reset-connection", On: "before acquire"},
		{Kind: "clock-client", With: map[string]string{"offset": "-2ttl", "rate": "0.5"}},
		{Kind: "misconfigure-client", With: map[string]string{"lock": "uuid-lua"}},
	} {
		if err := nemesis.Check([]nemesis.Planned{p}, stage()); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestCheckSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		plan []nemesis.Planned
		want string
	}{
		{[]nemesis.Planned{{Kind: "pause-cleint"}}, "no such kind"},
		{[]nemesis.Planned{{Kind: "pause-client"}, {Kind: "pause-client", At: -time.Second}}, "fault 2 (pause-client): a time"},
		{[]nemesis.Planned{{Kind: "pause-client", Target: "primaries"}}, "target cannot be \"primaries\""},
		{[]nemesis.Planned{{Kind: "pause-client", Target: "lock-1"}}, "no name such as client-0"},
		{[]nemesis.Planned{{Kind: "pause-client", Target: "client-2"}}, "there are client-0 to client-1"},
		{[]nemesis.Planned{{Kind: "pause-client", Target: "client-1,client-1"}}, "twice"},
		{[]nemesis.Planned{{Kind: "kill-node", Target: "client-1"}}, "is done to nodes: lock-1, lock-2"},
		{[]nemesis.Planned{{Kind: "kill-node", Target: "lock-3"}}, "no node that faults may touch: lock-1, lock-2"},
		{[]nemesis.Planned{{Kind: "kill-node", Target: "stock"}}, "no node that faults may touch"},
		{[]nemesis.Planned{{Kind: "pause-client", Nth: 2}}, "no trigger"},
		{[]nemesis.Planned{{Kind: "pause-client", On: "when release"}}, "a trigger is written"},
		{[]nemesis.Planned{{Kind: "pause-client", On: "before extend"}}, "has a step \"extend\""},
		{[]nemesis.Planned{{Kind: "hang-worker", On: "before release"}}, "only: granted"},
		{[]nemesis.Planned{{Kind: "drop-reply", On: "before acquire"}}, "only: after"},
		{[]nemesis.Planned{{Kind: "misconfigure-client", On: "granted"}}, "cannot be triggered"},
		{[]nemesis.Planned{{Kind: "pause-client", With: map[string]string{"offset": "1s"}}}, "has no parameter \"offset\", nor any other"},
		{[]nemesis.Planned{{Kind: "delay-reply", With: map[string]string{"for": "1s"}}}, "it has: by, count"},
		{[]nemesis.Planned{{Kind: "delay-reply", With: map[string]string{"by": "-1s"}}}, "its parameter by: "},
		{[]nemesis.Planned{{Kind: "drop-reply", With: map[string]string{"count": "0"}}}, "its parameter count: "},
		{[]nemesis.Planned{{Kind: "clock-client", With: map[string]string{"rate": "-1"}}}, "its parameter rate: "},
		{[]nemesis.Planned{{Kind: "misconfigure-client"}}, "parameter lock is missing"},
		{[]nemesis.Planned{{Kind: "misconfigure-client", With: map[string]string{"lock": "uuid-luo"}}}, "no lock \"uuid-luo\""},
		{[]nemesis.Planned{{Kind: "partition-client", With: map[string]string{"nodes": "lock-1,"}}}, "its parameter nodes: "},
		{[]nemesis.Planned{{Kind: "pause-client", After: 2}}, "no fault 2"},
		{[]nemesis.Planned{{Kind: "pause-client", Recovered: true}}, "of which fault"},
		{[]nemesis.Planned{{Kind: "hang-worker"}, {Kind: "pause-client", After: 1, Recovered: true}}, "stays until the load is over"},
		{[]nemesis.Planned{{Kind: "pause-client", After: 1}}, "waits for itself"},
		{[]nemesis.Planned{{Kind: "pause-client", Until: 2}}, "no fault 2"},
		{[]nemesis.Planned{{Kind: "hang-worker", Until: 2}, {Kind: "pause-client"}}, "stays until the load is over"},
		{[]nemesis.Planned{{Kind: "pause-client", Until: 2}, {Kind: "pause-client", After: 1, Recovered: true}}, "waits for itself"},
		{[]nemesis.Planned{{Kind: "pause-client", After: 3}, {Kind: "pause-client"}, {Kind: "pause-client", After: 1}}, "waits for itself"},
	} {
		err := nemesis.Check(c.plan, stage())
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v; want one line with %q", c.plan, err, c.want)
		}
	}
}

// The defaults of every kind must be right by its own checks.
func TestKindsAreSound(t *testing.T) {
	s := stage()
	s.HasStep = func(string) bool { return true }
	seen := map[string]bool{}
	for _, k := range nemesis.All() {
		if seen[k.Name] || k.Summary == "" || k.New == nil || len(k.Targets) == 0 {
			t.Errorf("kind %q is there twice, or says too little of itself", k.Name)
		}
		seen[k.Name] = true
		if err := nemesis.Check([]nemesis.Planned{{Kind: k.Name, With: withoutDefaults(k.Name)}}, s); err != nil {
			t.Errorf("the defaults of %s: %v", k.Name, err)
		}
		for _, word := range k.Targets {
			if err := nemesis.Check([]nemesis.Planned{{Kind: k.Name, Target: word, With: withoutDefaults(k.Name)}}, s); err != nil {
				t.Errorf("%s with target %s: %v", k.Name, word, err)
			}
		}
		for _, p := range k.Params {
			if p.Summary == "" {
				t.Errorf("parameter %s of %s says nothing of itself", p.Name, k.Name)
			}
		}
	}
}
