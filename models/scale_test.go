package models_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/harness/history/historytest"
	"picklock/models"
)

// BenchmarkJudge is what judging costs beside linearizability.
func BenchmarkJudge(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		for _, clients := range []int{20, 500} {
			b.Run(fmt.Sprintf("%d/%d", n, clients), func(b *testing.B) {
				path := filepath.Join(b.TempDir(), "history.jsonl")
				if err := historytest.Write(path, historytest.Config{Operations: n, Clients: clients, Unknown: 0.01, Seed: 1}); err != nil {
					b.Fatal(err)
				}
				h, err := history.Load(path, "")
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					models.JudgeIntervals(h, models.Params{TTL: time.Second, Promises: []models.Property{
						models.MutualExclusion, models.LeaseExclusion, models.Ownership, models.Liveness}})
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/operation")
			})
		}
	}
}
