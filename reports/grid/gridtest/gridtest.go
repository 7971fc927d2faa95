// Package gridtest makes matrices for tests: realistic ones, of which nothing was run, and
// hostile ones.
package gridtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"picklock/harness/matrix"
	"picklock/harness/store"
	"picklock/models"
)

// lock is what the generator knows of a lock: a fault that it does not survive breaks the
// properties that stand beside it.
type lock struct {
	name, deduct string
	on           []string
	weak         map[string][]models.Property
}

var overlap = []models.Property{models.MutualExclusion, models.LinearizableLock, models.NoLostUpdate, models.LinearizableStock}

func locks() []lock {
	lease := map[string][]models.Property{"pause-client": overlap, "stale-promotion": overlap, "flush": {models.MutualExclusion, models.LeaseExclusion}}
	with := func(more map[string][]models.Property) map[string][]models.Property {
		out := map[string][]models.Property{}
		for _, m := range []map[string][]models.Property{lease, more} {
			for k, v := range m {
				out[k] = v
			}
		}
		return out
	}
	one, two := []string{"single"}, []string{"single", "failover"}
	return []lock{
		{"none", "read-write", one, map[string][]models.Property{"none": overlap[2:], "pause-client": overlap[2:], "kill-client": overlap[2:]}},
		{"none", "lua", one, nil},
		{"none", "watch", one, nil},
		{"setnx", "read-write", one, map[string][]models.Property{"kill-client": {models.Liveness}, "hang-worker": {models.Liveness}}},
		{"setnx-expire", "read-write", two, with(map[string][]models.Property{"kill-client": {models.Liveness}})},
		{"setex-del", "read-write", two, with(map[string][]models.Property{"slow-node": {models.Ownership}})},
		{"uuid-lua", "read-write", two, with(nil)},
		{"uuid-lua", "hincrby", one, map[string][]models.Property{"pause-client": overlap[:2], "flush": overlap[:2]}},
		{"hash-reentrant", "read-write", two, with(nil)},
		{"watchdog", "read-write", two, with(map[string][]models.Property{"hang-worker": {models.Liveness}})},
		{"fenced", "fenced", two, map[string][]models.Property{"pause-client": overlap[:2], "stale-promotion": overlap[:2]}},
		{"redlock:quorum=3", "read-write", []string{"redlock"}, map[string][]models.Property{"pause-client": overlap, "clock-node": overlap}},
		{"redlock:quorum=2", "read-write", []string{"redlock"}, map[string][]models.Property{"pause-client": overlap, "clock-node": overlap, "isolate-node": overlap}},
		{"go-redsync", "read-write", []string{"redlock"}, map[string][]models.Property{"pause-client": overlap, "clock-node": overlap}},
	}
}

func faults(topology string) []string {
	common := []string{"none", "pause-client", "kill-client", "partition-client", "drop-reply", "kill-node"}
	switch topology {
	case "single":
		return append(common, "flush", "hang-worker", "pause-node", "slow-node")
	case "failover":
		return append(common, "failover", "partition-primary", "stale-promotion")
	}
	return append(common, "clock-node", "isolate-node")
}

// Started is when the first of the made matrices began.
var Started = time.Date(2026, 3, 14, 2, 0, 0, 0, time.UTC)

// Nightly makes a matrix of some 150 cells with three runs each, all as expected.
func Nightly(seed uint64) *matrix.Matrix {
	rng := rand.New(rand.NewPCG(seed, 7))
	m := &matrix.Matrix{Name: "nightly", Plan: "sha256:8f2a", Started: Started, Jobs: 6,
		About: map[string]string{"picklock": "0.9.0", "redis": "7.0.15", "kernel": "6.1.0"}, Store: "store"}
	for _, l := range locks() {
		for _, topology := range l.on {
			for _, fault := range faults(topology) {
				c := matrix.Cell{Lock: l.name, Deduct: l.deduct, Topology: topology}
				if fault != "none" {
					c.Nemesis = []string{fault}
				}
				m.Cells = append(m.Cells, cell(rng, c, l.weak[fault]))
			}
		}
	}
	combined := matrix.Cell{Lock: "uuid-lua", Deduct: "read-write", Topology: "failover", Nemesis: []string{"pause-client", "partition-primary"}, Server: "valkey:8"}
	m.Cells = append(m.Cells, cell(rng, combined, overlap))
	finish(m)
	return m
}

// Mixed makes Nightly with cells of every outcome in it.
func Mixed(seed uint64) *matrix.Matrix {
	m := Nightly(seed)
	change := func(id string, how func(r *matrix.Run)) {
		i := slices.IndexFunc(m.Cells, func(c matrix.Result) bool { return c.Cell.ID() == id })
		if i < 0 {
			panic("there is no cell " + id)
		}
		runs := m.Cells[i].Runs
		how(&runs[1])
		m.Cells[i] = matrix.Sum(m.Cells[i].Cell, runs)
	}
	change("uuid-lua+read-write_single_kill-client", func(r *matrix.Run) {
		judge(r, models.NoLostUpdate, models.Violated, matrix.UnexpectedViolation)
		judge(r, models.MutualExclusion, models.Violated, matrix.UnexpectedViolation)
	})
	change("fenced+fenced_failover_stale-promotion", func(r *matrix.Run) {
		judge(r, models.NoLostUpdate, models.Violated, matrix.UnexpectedViolation)
	})
	change("setex-del+read-write_single_slow-node", func(r *matrix.Run) {
		judge(r, models.Ownership, models.Valid, matrix.NotReproduced)
	})
	change("redlock:quorum=3+read-write_redlock_kill-node", func(r *matrix.Run) {
		judge(r, models.LinearizableStock, models.Unknown, matrix.Unknown)
	})
	change("watchdog+read-write_single_partition-client", func(r *matrix.Run) {
		r.Outcome, r.VacuousWhy = matrix.Vacuous, []string{"partition-client never landed: no client held a lock"}
		r.Why = "vacuous: " + r.VacuousWhy[0]
	})
	change("go-redsync+read-write_redlock_none", func(r *matrix.Run) {
		*r = matrix.Run{Seed: r.Seed, Started: r.Started, TookS: 2.5, AfterS: -1, Outcome: matrix.Error,
			Error: "start node lock-3: redis-server ended at once: Address already in use", Why: "start node lock-3: redis-server ended at once: Address already in use"}
	})
	finish(m)
	return m
}

// Hostile makes a matrix in which every text that servers, clients or users choose tries
// to break out of what it is written into.
func Hostile() *matrix.Matrix {
	evil := "<script>alert(1)</script>\"'`|]]>[[ATTACHMENT|/etc/passwd]]\r\n::error::x%0A**b** @all #1 [l](javascript:1)\x1b[2J\x00\u202e\xff${{ secrets }}"
	rng := rand.New(rand.NewPCG(1, 7))
	m := &matrix.Matrix{Name: evil, Plan: evil, Shard: evil, Started: Started, Jobs: 2, Missing: 1, About: map[string]string{evil: evil}, Store: evil}
	for _, o := range append(slices.Clone(matrix.Outcomes), matrix.Outcome(evil)) {
		c := matrix.Cell{Lock: evil + string(o), Deduct: evil, Topology: evil, Nemesis: []string{evil, evil}, Server: evil, Variant: evil}
		x := cell(rng, c, overlap)
		x.Outcome, x.Why = o, evil
		for i := range x.Runs {
			r := &x.Runs[i]
			r.Outcome, r.Why, r.Rerun, r.Error, r.VacuousWhy = o, evil, evil, evil, []string{evil}
			r.Dir = []string{"javascript:alert(1)", "../../../etc", "/etc/" + evil}[i]
			r.Properties[models.Property(evil)] = matrix.Judged{Verdict: models.Verdict(evil), Expected: evil, Outcome: o, Why: evil, Story: []string{evil}}
			judge(r, models.NoLostUpdate, models.Violated, o)
			j := r.Properties[models.NoLostUpdate]
			j.Story, j.Why, j.Expected = []string{evil, evil}, evil, evil
			r.Properties[models.NoLostUpdate] = j
		}
		x.Rates[models.Property(evil)] = matrix.Rate{Expected: evil, Violated: 1, Of: 2, Low: 0.1, High: 0.9}
		m.Cells = append(m.Cells, x)
	}
	m.Outcome = matrix.UnexpectedViolation
	return m
}

// finish sorts the cells and sums up.
func finish(m *matrix.Matrix) {
	slices.SortFunc(m.Cells, func(a, b matrix.Result) int { return strings.Compare(a.Cell.ID(), b.Cell.ID()) })
	m.Outcome = matrix.AsExpected
	for _, c := range m.Cells {
		m.Outcome = m.Outcome.Worse(c.Outcome)
	}
	m.WallS = m.Unavoidable().Seconds() * 1.18
}

// cell makes a cell with three runs, in each of which the weak properties are violated.
func cell(rng *rand.Rand, c matrix.Cell, weak []models.Property) matrix.Result {
	var runs []matrix.Run
	for seed := uint64(1); seed <= 3; seed++ {
		started := Started.Add(time.Duration(rng.IntN(1800_000)) * time.Millisecond)
		r := matrix.Run{Seed: seed, Started: started, WaitedS: 11 + 4*rng.Float64(), AfterS: -1, Outcome: matrix.AsExpected,
			Dir:        store.TestName(c.Lock, c.Deduct, c.Topology, c.Nemesis) + "/" + started.Format("20060102T150405.000Z"),
			Properties: map[models.Property]matrix.Judged{},
			Rerun: fmt.Sprintf("picklock run --lock %s --deduct %s --topology %s --nemesis %s --seed %d --time-limit 12s --ttl 1s --clients 3 --workers 2",
				c.Lock, c.Deduct, c.Topology, c.Fault(), seed)}
		r.TookS = r.WaitedS + 1.4 + rng.Float64()
		r.Measures = models.Measures{Operations: 2800 + rng.IntN(400), Sales: 690 + rng.IntN(90), Grants: 800, DurationS: r.WaitedS, Availability: 0.93}
		for _, p := range promised(c) {
			v, expected := models.Valid, "valid"
			if slices.Contains(weak, p) {
				v, expected = models.Violated, "violated"
			}
			j := matrix.Judged{Verdict: v, Expected: expected, Outcome: matrix.AsExpected}
			if v == models.Violated {
				j.Count, j.Why, j.Story = 1+rng.IntN(170), "the pause outlives the lease: two clients are in the section", told(p)
				r.AfterS = 4 + rng.Float64()
			}
			r.Properties[p] = j
		}
		runs = append(runs, r)
	}
	return matrix.Sum(c, runs)
}

func promised(c matrix.Cell) []models.Property {
	if c.Lock == "none" {
		return models.StockProperties
	}
	return append([]models.Property{models.MutualExclusion, models.LeaseExclusion, models.LinearizableLock, models.Ownership, models.Liveness}, models.StockProperties...)
}

func told(p models.Property) []string {
	if p == models.Liveness {
		return []string{"client 1 died at 4.871 s while it held lock:sku-0.", "The key has no TTL: nobody was granted the lock until the end of the test at 12.004 s."}
	}
	return []string{
		"client 0 worker 0 acquired lock:sku-0 at 4.004 s with a lease to 5.004 s.",
		"client 0 was stopped from 4.021 s to 6.421 s (fault pause-client).",
		"client 3 worker 0 acquired the same lock at 5.005 s; client 0 worker 0 still took itself for the owner until 6.472 s.",
		"client 0 worker 0 set sku-0 to 870 although it stood at 868 by then: two sales vanished from the books.",
	}
}

// judge changes what a run says of a property.
func judge(r *matrix.Run, p models.Property, v models.Verdict, o matrix.Outcome) {
	j := r.Properties[p]
	j.Verdict, j.Outcome = v, o
	switch v {
	case models.Violated:
		j.Count, j.Story, r.AfterS = 3, told(p), 5.005
	case models.Unknown:
		j.Why = "porcupine did not decide sku-0 within 30 s"
	default:
		j.Count, j.Story = 0, nil
	}
	r.Properties[p] = j
	why := fmt.Sprintf("%s is %s, expected %s", p, v, j.Expected)
	if r.Why != "" && r.Outcome == o {
		why = r.Why + "; " + why
	}
	r.Outcome, r.Why = r.Outcome.Worse(o), why
}

// ErrFull is what Full fails with.
var ErrFull = errors.New("disk full")

// Full is a writer that cannot write.
type Full struct{}

func (Full) Write([]byte) (int, error) { return 0, ErrFull }
