package gridtest_test

import (
	"testing"

	"picklock/harness/matrix"
	"picklock/reports/grid/gridtest"
)

// TestMatrices: the matrices that other tests rely on are what they are said to be.
func TestMatrices(t *testing.T) {
	if m := gridtest.Nightly(1); len(m.Cells) < 140 || m.ExitCode() != 0 {
		t.Errorf("Nightly: %d cells, exit %d (%s); want some 150, as expected", len(m.Cells), m.ExitCode(), m)
	}
	if m := gridtest.Mixed(1); len(m.Count()) != len(matrix.Outcomes) || m.ExitCode() != 1 {
		t.Errorf("Mixed: %s, exit %d; want every outcome", m, m.ExitCode())
	}
	if m := gridtest.Hostile(); len(m.Count()) != len(matrix.Outcomes)+1 {
		t.Errorf("Hostile: %v, want every outcome and one that is not known", m.Count())
	}
}
