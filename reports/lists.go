package reports

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"picklock/harness/store"
	"picklock/models"
)

// measures lists what was measured, with units, for people.
func measures(m *models.Measures) []pair {
	ms := func(v float64) string { return fmt.Sprintf("%.2f ms", v) }
	ofTTL := func(v, part float64) string {
		if part == 0 {
			return ms(v)
		}
		return fmt.Sprintf("%.2f ms (%.0f%% of the TTL)", v, part*100)
	}
	n := strconv.Itoa
	ps := []pair{
		{"operations", n(m.Operations)},
		{"of these with unknown outcome", n(m.Unknown)},
		{"of these settled by the ledger", n(m.Settled)},
		{"sales", n(m.Sales)},
		{"sales per second", fmt.Sprintf("%.1f", m.SalesPerS)},
		{"grants of the lock", n(m.Grants)},
		{"acquires that failed", n(m.FailedAcquires)},
		{"attempts per grant", fmt.Sprintf("%.1f", m.AttemptsPer)},
		{"attempts in one acquire, at most", strconv.FormatInt(m.MaxAttempts, 10)},
		{"tries in one deduction, at most", strconv.FormatInt(m.MaxTries, 10)},
		{"contended pairs of operations", n(m.Contended)},
		{"acquire, median", ms(m.AcquireP50MS)},
		{"acquire, 95% take at most", ms(m.AcquireP95MS)},
		{"acquire, 99% take at most", ms(m.AcquireP99MS)},
		{"acquire, longest", ms(m.AcquireMaxMS)},
		{"from a release to the next grant to another worker, median", ms(m.RegrantP50MS)},
		{"waiting from a release to the next grant, median", ofTTL(m.ReleaseToGrantP50MS, m.ReleaseToGrantP50TTL)},
		{"waiting from a release to the next grant, longest", ofTTL(m.ReleaseToGrantMaxMS, m.ReleaseToGrantMaxTTL)},
		{"longest time that somebody waited for a lock that nobody held", ofTTL(m.LongestIdleMS, m.LongestIdleTTL)},
		{"all such times together", fmt.Sprintf("%.2f s", m.IdleS)},
		{"availability: windows of 100 ms in which a lock was held or granted", fmt.Sprintf("%.1f%%", m.Availability*100)},
		{"fairness of grants among workers (Jain's index, 1 is even)", fmt.Sprintf("%.3f", m.Jain)},
		{"longest time that a worker went without a grant", fmt.Sprintf("%.2f s", m.StarvedS)},
		{"holds that outlived their lease", n(m.Overstays)},
		{"from the first to the last moment in which two held one lock", fmt.Sprintf("%.2f s", m.OverlapSpanS)},
		{"releases without effect on a lock still held", n(m.LostReleases)},
		{"releases told that the lock is not held, which they had freed", n(m.FalseNotHeld)},
		{"sales made that the caller took for failed", n(m.SoldButFailed)},
	}
	if m.Promotions > 0 {
		ps = append(ps, pair{"promotions of a node to primary", n(m.Promotions)})
	}
	if m.CommandsPerGrant > 0 {
		ps = append(ps, pair{"commands of the lock nodes per grant", fmt.Sprintf("%.1f", m.CommandsPerGrant)})
	}
	if m.ClientCPUPerGrantMS > 0 {
		ps = append(ps, pair{"processor time of the clients per grant", ms(m.ClientCPUPerGrantMS)})
	}
	if m.MaxConnections > 0 {
		ps = append(ps, pair{"connections to one node at once, at most", n(m.MaxConnections)})
	}
	return append(ps, recoveries(m.Recovery)...)
}

// maxRecoveries bounds the rows about faults: with many, the first ones speak for all.
const maxRecoveries = 20

// recoveries tells for each fault how long it took to the next grant. They are in the order
// of the faults, from which the short names come.
func recoveries(rs []models.Recovery) []pair {
	var ps []pair
	for i, x := range rs[:min(len(rs), maxRecoveries)] {
		after := func(s *float64) string {
			if s == nil {
				return "none"
			}
			return fmt.Sprintf("%.3f s", *s)
		}
		ps = append(ps, pair{
			fmt.Sprintf("F%d %s on %s: next grant after its start, after its end; availability", i+1, x.Kind, x.Target),
			fmt.Sprintf("%s, %s; %.0f%%", after(x.FromStartS), after(x.FromHealS), x.Availability*100),
		})
	}
	return ps
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
		{"checker of linearizability", cmp.Or(t.Checker, string(models.Fast))},
	}
	out := ps[:0]
	for _, p := range ps {
		if p.Value != "" {
			out = append(out, p)
		}
	}
	return out
}
