package historytest_test

import (
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/harness/history/historytest"
	"picklock/models"
)

// What is generated must be correct, or the figures that it gives are those of another
// kind of history.
func TestGeneratedHistoriesAreValid(t *testing.T) {
	for _, c := range []historytest.Config{
		{Operations: 3000, Seed: 1},
		{Operations: 3000, Unknown: 0.01, Seed: 2},
		{Operations: 2000, Clients: 5, SKUs: 1, Unknown: 0.05, Seed: 3},
	} {
		h, err := history.Assemble(historytest.Events(c))
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if n := len(h.Operations); n < c.Operations || n > c.Operations+1000 || !h.Complete {
			t.Errorf("%+v: got %d operations, complete %v; want about as many as asked for", c, n, h.Complete)
		}
		unknown := 0
		for i := range h.Operations {
			if h.Operations[i].Return == history.Never {
				unknown++
			}
		}
		if got := float64(unknown) / float64(len(h.Operations)); got < c.Unknown/2 || got > c.Unknown*2 {
			t.Errorf("%+v: %.3f of the operations have no completion", c, got)
		}
		report := models.Judge(h, models.Params{
			TTL: time.Second, MinSales: 100,
			Promises: []models.Property{models.MutualExclusion, models.LeaseExclusion, models.Ownership, models.LinearizableLock},
		})
		if report.Verdict != models.Valid {
			t.Errorf("%+v: got %s, want valid: %+v %v", c, report.Verdict, report.Properties, report.VacuousWhy)
		}
	}
}
