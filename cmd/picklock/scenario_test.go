package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"

	"picklock/harness"
	"picklock/harness/store"
	"picklock/models"
)

// TestScenarios runs every scenario of the catalogue once on real servers: each guilty
// lock must be caught and explained, and each innocent one must pass.
func TestScenarios(t *testing.T) {
	misdeletesAreTold(t, scenarios(t, "all", "--runtime", "process", "--jobs", "8"), 1)
}

// TestScenariosDocker runs scenarios that together have every topology and every way in
// which a fault gets at its target (signal, cgroup, restart, disk, clock, cut, wire), in
// containers.
func TestScenariosDocker(t *testing.T) {
	misdeletesAreTold(t, scenarios(t, "misdelete", "restart-empty", "power-loss", "clock-forward", "late-write", "cut-holder",
		"redlock-restart", "stale-promotion", "split-brain", "eviction", "--runtime", "docker", "--jobs", "4"), 1)
}

// scenarios runs picklock scenario run with these arguments; everything must be as expected.
// It returns the folder that has the store.
func scenarios(t *testing.T, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	r := picklock(t, dir, nil, append([]string{"scenario", "run"}, args...)...)
	if r.status != 0 || r.stderr != "" {
		t.Errorf("not everything was as expected: %s", r)
	}
	t.Log(r.stdout)
	judgedAgain(t, dir)
	return dir
}

// judgedAgain has both checkers judge all tests in the store of dir. The verdicts are those
// that the fast one gave, and every breach of safety has a witness: of 12 operations at
// most, which porcupine finds illegal, and legal without any one unit.
func judgedAgain(t *testing.T, dir string) {
	t.Helper()
	tests, err := filepath.Glob(filepath.Join(dir, "store", "*", "2*"))
	if err != nil || len(tests) == 0 {
		t.Fatalf("%d tests are stored, error %v", len(tests), err)
	}
	seen, largest := 0, 0
	for _, test := range tests {
		out, err := harness.Judge(store.Dir(test), string(models.Both))
		if err != nil {
			t.Errorf("both checkers: %v", err)
			continue
		}
		first, err := store.Dir(test).ReadResult()
		if err != nil {
			t.Fatal(err)
		}
		for id, j := range out.Report.Properties {
			if was := first.Properties[id]; was.Verdict != j.Verdict || was.Count != j.Count {
				t.Errorf("%s: %s is %s (%d) by both checkers, %s (%d) by the fast one", test, id, j.Verdict, j.Count, was.Verdict, was.Count)
			}
			if id == models.Liveness {
				continue
			}
			for _, v := range j.Violations {
				seen++
				if v.Witness == nil {
					// Nothing of the history contradicts itself: something is missing from it.
					if !slices.Contains([]string{"token-missing", "unrecorded-sale"}, v.Kind) {
						t.Errorf("%s: a %s of %s has no witness", test, v.Kind, id)
					}
					continue
				}
				largest = max(largest, v.Witness.Operations())
				if n := v.Witness.Operations(); n > 12 {
					t.Errorf("%s: the witness of a %s of %s has %d operations", test, v.Kind, id, n)
				}
				for without := -1; without < len(v.Witness.Units); without++ {
					model, ops := v.Witness.Porcupine(without)
					if legal := porcupine.CheckOperations(model, ops); legal != (without >= 0) {
						t.Errorf("%s: %s of %s: porcupine finds the witness without unit %d legal: %t", test, v.Kind, id, without, legal)
					}
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no test has a violation: nothing was looked at")
	}
	t.Logf("both checkers agree on %d tests; %d violations have witnesses of %d operations at most", len(tests), seen, largest)
}
