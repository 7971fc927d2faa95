package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picklock/harness/store"
	"picklock/models"
)

// onServers are the arguments of a test on a topology that bears all faults of nodes.
const (
	onFailover = "--topology failover --lock setnx"
	onRedlock  = "--topology redlock --nodes 3 --lock multilock:ttl=none"
)

// sabotages has a fault of every kind, on a topology that bears it. The locks never
// expire, and no holder loses them unless the fault works: whatever the machine does, a
// test in which it does not work has nothing to find.
func sabotages() map[string]struct{ args, fault string } {
	return map[string]struct{ args, fault string }{
		"pause-client":        {"", "for: 700ms"},
		"kill-client":         {"", "for: 100ms"},
		"hang-worker":         {"", "for: 700ms"},
		"clock-client":        {"", "with: {offset: -2ttl}"},
		"misconfigure-client": {"", "for: 500ms, with: {lock: setex-del}"},
		"partition-client":    {"", "for: 700ms"},
		"slow-wire":           {"", "for: 500ms"},
		"slow-node":           {"", "for: 500ms"},
		"drop-request":        {"", "on: before release"},
		"drop-reply":          {"", "on: after release"},
		"delay-request":       {"", "on: before acquire, with: {by: 300ms}"},
		"delay-reply":         {"", "on: after acquire, nth: 2, with: {by: 300ms}"},
		"reset-connection":    {"", "for: 0s"},
		"pause-node":          {"", "for: 500ms"},
		"kill-node":           {"--persistence always", "for: 100ms"},
		"power-loss":          {"--persistence everysec", "for: 100ms"},
		"partition-replica":   {onFailover, "for: 500ms"},
		"partition-primary":   {onFailover, "for: 500ms"},
		"isolate-node":        {onRedlock, "for: 500ms"},
		"cut-one-way":         {onFailover, "for: 500ms"},
		"failover":            {onFailover, "for: 100ms"},
		// The hold must outlast the promotion, and the TTL must end what replicas know of the one before.
		"stale-promotion": {"--topology failover --lock uuid-lua --ttl 2500ms --think 1s --time-limit 11s --min-sales 2", "for: 100ms"},
		"clock-node":      {"", "with: {offset: +10s}"},
		"fill-memory":     {"", "for: 300ms"},
		"flush":           {"", "for: 0s"},
		"delete-key":      {"", "for: 0s"},
		"script-flush":    {"", "for: 300ms"},
	}
}

// kinds are those that picklock lists.
func kinds(t *testing.T) []string {
	t.Helper()
	r := picklock(t, t.TempDir(), nil, "list", "nemeses")
	var all []string
	for line := range strings.Lines(r.stdout) {
		name, _, _ := strings.Cut(line, " ")
		if name != "" && name != "none" && name != "storm" { // a line without a name goes on with the words of the last
			all = append(all, name)
		}
	}
	if r.status != 0 || len(all) == 0 {
		t.Fatalf("no kinds: %s", r)
	}
	return all
}

// TestSabotage: a fault that is made ineffective on purpose is noticed, for every kind:
// the test proves nothing, and is no pass. Left alone, the same fault of the same test
// lands.
func TestSabotage(t *testing.T) {
	t.Parallel()
	all := sabotages()
	listed := kinds(t)
	if len(all) != len(listed) {
		t.Errorf("%d kinds are tested, %d listed", len(all), len(listed))
	}
	for _, kind := range listed {
		c, ok := all[kind]
		if !ok {
			t.Errorf("%s is not tested", kind)
			continue
		}
		args := append([]string{"--json", "--runtime", "process", "--lock", "setnx", "--deduct", "lua", "--ttl", "500ms", "--grace", "1500ms",
			"--redis-timeout", "1s", "--think", "10ms", "--clients", "3", "--time-limit", "5s", "--seed", "1", "--min-sales", "5"},
			strings.Fields(c.args)...)
		schedule := "faults: [{kind: " + kind + ", at: 1s, " + c.fault + "}]"
		t.Run(kind+"/sabotaged", func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := picklock(t, dir, []string{"PICKLOCK_TEST_SABOTAGE=1"}, scheduled(t, dir, schedule, args...)...)
			res := parse(t, r)
			if r.status != 2 || res.Verdict != models.Unknown || !res.Vacuous {
				t.Errorf("status %d, %s, vacuous %v; want 2, unknown, true: nothing was done\n%s", r.status, res.Verdict, res.Vacuous, summary(res, r))
			}
			if len(res.Faults) != 1 || res.Faults[0].Landed || len(res.VacuousWhy) != 1 || !strings.HasPrefix(res.VacuousWhy[0], "no proof that fault 1 ("+kind) {
				t.Errorf("vacuous because of %q; want only that there is no proof of a %s\n%s", res.VacuousWhy, kind, summary(res, r))
			}
		})
		t.Run(kind+"/effective", func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := picklock(t, dir, nil, scheduled(t, dir, schedule, args...)...)
			res := parse(t, r)
			if len(res.Faults) != 1 || res.Vacuous {
				t.Fatalf("%d faults, vacuous because of %q; want one that landed\n%s", len(res.Faults), res.VacuousWhy, summary(res, r))
			}
			if f := res.Faults[0]; f.Kind != kind || !landedAndHealed(f) {
				t.Errorf("want a %s with proofs of landing and of recovery: %+v", kind, f)
			}
		})
	}
}

// scheduled are the arguments of a test with that schedule, whose file is in dir.
func scheduled(t *testing.T, dir, schedule string, args ...string) []string {
	t.Helper()
	path := filepath.Join(dir, "given.yaml")
	if err := os.WriteFile(path, []byte(schedule+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return append([]string{"run", "--schedule", path}, args...)
}

func landedAndHealed(f store.Fault) bool {
	return f.Landed && f.Proof != "" && f.Healed != "" && f.Error == "" && f.EndS > f.StartS
}
