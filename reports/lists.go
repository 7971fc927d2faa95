package reports

import (
	"fmt"
	"strconv"
	"strings"

	"picklock/harness/store"
	"picklock/models"
)

// measures lists what was measured, with units, for people.
func measures(m *models.Measures) []pair {
	ms := func(v float64) string { return fmt.Sprintf("%.2f ms", v) }
	n := strconv.Itoa
	return []pair{
		{"operations", n(m.Operations)},
		{"of these with unknown outcome", n(m.Unknown)},
		{"of these settled by the ledger", n(m.Settled)},
		{"sales", n(m.Sales)},
		{"sales per second", fmt.Sprintf("%.1f", m.SalesPerS)},
		{"grants of the lock", n(m.Grants)},
		{"attempts per grant", fmt.Sprintf("%.1f", m.AttemptsPer)},
		{"contended pairs of operations", n(m.Contended)},
		{"acquire, median", ms(m.AcquireP50MS)},
		{"acquire, 95% take at most", ms(m.AcquireP95MS)},
		{"acquire, 99% take at most", ms(m.AcquireP99MS)},
		{"acquire, longest", ms(m.AcquireMaxMS)},
		{"from a release to the next grant to another worker, median", ms(m.RegrantP50MS)},
		{"fairness of grants among workers (Jain's index, 1 is even)", fmt.Sprintf("%.3f", m.Jain)},
		{"longest time that a worker went without a grant", fmt.Sprintf("%.2f s", m.StarvedS)},
		{"holds that outlived their lease", n(m.Overstays)},
		{"releases without effect on a lock still held", n(m.LostReleases)},
		{"sales made that the caller took for failed", n(m.SoldButFailed)},
	}
}

// parameters lists everything that the test was told.
func parameters(t *store.Test) []pair {
	var schedule []string
	for _, s := range t.Schedule {
		one := fmt.Sprintf("%s at %s", s.Kind, s.At)
		if s.For > 0 {
			one += fmt.Sprintf(" for %s", s.For)
		}
		schedule = append(schedule, one)
	}
	orNone := func(ss []string) string {
		if len(ss) == 0 {
			return "none"
		}
		return strings.Join(ss, ", ")
	}
	rate := "no bound"
	if t.Rate > 0 {
		rate = fmt.Sprintf("%g per second and worker", t.Rate)
	}
	ps := []pair{
		{"name", t.Name},
		{"run", t.Run},
		{"lock", t.Lock},
		{"deduction", t.Deduct},
		{"topology", t.Topology},
		{"nemesis", orNone(t.Nemesis)},
		{"seed", strconv.FormatUint(t.Seed, 10)},
		{"faults that the seed drew", orNone(schedule)},
		{"time limit", t.TimeLimit.String()},
		{"clients × workers", fmt.Sprintf("%d × %d", t.Clients, t.Workers)},
		{"TTL", t.TTL.String()},
		{"SKUs × stock", fmt.Sprintf("%d × %d", t.SKUs, t.Stock)},
		{"think time inside the section", t.Think.String()},
		{"think time between sales", t.Pause.String()},
		{"sales tried", rate},
		{"acquire timeout", t.AcquireTimeout.String()},
		{"Redis reply timeout", t.RedisTimeout.String()},
		{"grace for liveness", t.Grace.String()},
		{"vacuous below", fmt.Sprintf("%d sales, %d contended pairs", t.MinSales, t.MinContention)},
		{"persistence", t.Persistence},
		{"stock on", map[string]string{"own": "a node of its own", "lock": "the lock's node"}[t.StockOn]},
		{"runtime", t.Runtime},
		{"nodes reached by", t.Reach},
		{"image", t.Image},
		{"porcupine's time limit, per partition", t.CheckTimeout.String()},
	}
	out := ps[:0]
	for _, p := range ps {
		if p.Value != "" {
			out = append(out, p)
		}
	}
	return out
}
