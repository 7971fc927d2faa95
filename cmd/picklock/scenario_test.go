package main

import (
	"testing"
)

// TestScenarios runs every scenario of the catalogue once on real servers: each guilty
// lock must be caught and explained, and each innocent one must pass.
func TestScenarios(t *testing.T) {
	out := scenarios(t, "run", "all", "--runtime", "process", "--jobs", "6")
	t.Log(out)
}

// TestScenariosDocker runs scenarios that together have every topology and every way in
// which a fault gets at its target (signal, cgroup, restart, disk, clock, cut, wire), in
// containers.
func TestScenariosDocker(t *testing.T) {
	out := scenarios(t, "run", "misdelete", "restart-empty", "power-loss", "clock-forward", "late-write", "cut-holder",
		"redlock-restart", "stale-promotion", "split-brain", "eviction", "--runtime", "docker", "--jobs", "3")
	t.Log(out)
}

// scenarios runs picklock scenario with these arguments; everything must be as expected.
func scenarios(t *testing.T, args ...string) string {
	t.Helper()
	r := picklock(t, t.TempDir(), nil, append([]string{"scenario"}, args...)...)
	if r.status != 0 || r.stderr != "" {
		t.Errorf("not everything was as expected: %s", r)
	}
	return r.stdout
}
