package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"picklock/harness/store"
	"picklock/locks"
	"picklock/locks/deduct"
	"picklock/models"
)

// pairing is a lock with a deduction as a seed shows them, and what FAILURES.md states
// of it, written down here once more and apart from the registry: the properties that
// each fault must violate. What must hold is in holds.
type pairing struct {
	lock, deduct string
	topology     string // with its flags; empty: single
	none         string // contention only
	pause        string // the holder is stopped for longer than the TTL
	kill         string // the holder is killed
	holds        string // under every fault, whatever else
	spins        bool   // its waiters do not sleep: alone on the machine, and fewer of them
	slow         bool   // it sells about one unit per TTL
	dies         bool   // soon nobody gets it any more, fault or no fault: no vacuity is asked for
}

const (
	stockProps = "linearizable-stock no-lost-update no-oversell"
	excluded   = "mutual-exclusion lease-exclusion" // where only liveness is at stake
	lostStock  = "linearizable-stock no-lost-update"
)

func pairings() []pairing {
	return []pairing{
		{lock: "none", deduct: "read-write", none: lostStock, pause: lostStock, kill: lostStock},
		{lock: "none", deduct: "watch", holds: stockProps},
		{lock: "none", deduct: "watch-recursive", holds: stockProps},
		{lock: "none", deduct: "lua", holds: stockProps},
		{lock: "none", deduct: "hincrby", holds: stockProps},
		{lock: "local-mutex", deduct: "read-write", none: "mutual-exclusion no-lost-update"},
		{lock: "setnx", deduct: "read-write", kill: "liveness", holds: excluded + " " + stockProps},
		{lock: "setnx-recursive", deduct: "read-write", spins: true, kill: "liveness", holds: excluded + " " + stockProps},
		{lock: "setnx-expire", deduct: "read-write", pause: "mutual-exclusion"},
		{lock: "setnx-expire-all", deduct: "read-write", kill: "liveness"},
		{lock: "setex-del", deduct: "read-write", pause: "mutual-exclusion ownership"},
		{lock: "uuid-get-del", deduct: "read-write", pause: "mutual-exclusion"},
		{lock: "uuid-get-del-null", deduct: "read-write", pause: "mutual-exclusion"},
		{lock: "uuid-lua", deduct: "read-write", pause: "mutual-exclusion", holds: "ownership lease-exclusion"},
		{lock: "uuid-lua", deduct: "hincrby", pause: "mutual-exclusion", holds: "ownership " + stockProps},
		{lock: "reentrant", deduct: "read-write", pause: "mutual-exclusion", holds: "ownership lease-exclusion reentrancy"},
		{lock: "watchdog", deduct: "read-write", pause: "mutual-exclusion", holds: "ownership lease-exclusion"},
		{lock: "seckill-before", deduct: "hash-check-decr", none: "mutual-exclusion ownership", pause: "mutual-exclusion", kill: "mutual-exclusion"},
		{lock: "seckill-wrong-key", deduct: "hash-check-decr", slow: true, pause: "mutual-exclusion", holds: "ownership"},
		{lock: "seckill-after", deduct: "hincrby", none: "mutual-exclusion", pause: "mutual-exclusion", kill: "mutual-exclusion", holds: stockProps},
		{lock: "seckill-after-fixed", deduct: "hincrby", pause: "mutual-exclusion", holds: "ownership " + stockProps},
		{lock: "jedis-spin", deduct: "local-var", spins: true, none: "linearizable-stock", pause: "mutual-exclusion", holds: "no-lost-update"},
		{lock: "jedis-concat", deduct: "local-var", spins: true, none: "linearizable-stock", pause: "mutual-exclusion"},
		{lock: "reentrant-watchdog", deduct: "read-write", pause: "mutual-exclusion", holds: "ownership lease-exclusion"},
		{lock: "uuid-deadline", deduct: "read-write", pause: "mutual-exclusion", holds: "ownership lease-exclusion"},
		{lock: "pubsub", deduct: "read-write", pause: "mutual-exclusion", holds: "ownership lease-exclusion"},
		{lock: "pxat", deduct: "read-write", pause: "mutual-exclusion", holds: "ownership lease-exclusion"},
		{lock: "fenced", deduct: "fenced", pause: "mutual-exclusion", holds: "ownership lease-exclusion fencing " + stockProps},
		{lock: "wait-acked", deduct: "read-write", topology: "failover --replicas 1", pause: "mutual-exclusion", holds: "ownership lease-exclusion"},
		{lock: "redlock", deduct: "read-write", topology: "redlock --nodes 3", pause: "mutual-exclusion", holds: "ownership lease-exclusion"},
		{lock: "multilock", deduct: "read-write", pause: "mutual-exclusion", holds: "ownership lease-exclusion"},
		{lock: "setnx-once", deduct: "read-write", dies: true, none: "liveness", pause: "liveness", kill: "liveness", holds: excluded + " " + stockProps},
	}
}

func TestEveryLockAndDeductionIsInATest(t *testing.T) {
	for _, l := range locks.All() {
		if !slices.ContainsFunc(pairings(), func(p pairing) bool { return p.lock == l.Name }) {
			t.Errorf("lock %s is in no pairing", l.Name)
		}
	}
	for _, d := range deduct.All() {
		if !slices.ContainsFunc(pairings(), func(p pairing) bool { return p.deduct == d.Name }) {
			t.Errorf("deduction %s is in no pairing", d.Name)
		}
	}
}

// TestSeeds runs the locks × deductions of the seeds under contention, a pause and a
// kill, and holds each to FAILURES.md and to its own expectations: with tag soak all of
// them in both runtimes, else a choice (see chosen).
func TestSeeds(t *testing.T) {
	t.Parallel()
	eachSeed(t, func(p pairing) bool { return !p.spins }, (*testing.T).Parallel)
}

// TestSeedsThatSpin does so with the locks whose waiters do not sleep, one after the other:
// beside them nothing else comes to its turn.
func TestSeedsThatSpin(t *testing.T) {
	eachSeed(t, func(p pairing) bool { return p.spins }, func(*testing.T) {})
}

// eachSeed runs the pairings that are asked for; each test begins with the step first.
func eachSeed(t *testing.T, asked func(pairing) bool, first func(*testing.T)) {
	for _, runtime := range []string{"process", "docker"} {
		for i, p := range pairings() {
			for n, nemesis := range []string{"none", "pause-client", "kill-client"} {
				violated := []string{p.none, p.pause, p.kill}[n]
				if locks := []string{"none", "local-mutex"}; slices.Contains(locks, p.lock) && nemesis != "none" && violated == "" {
					continue // a lock without a lease has nothing that a pause outlasts
				}
				if !asked(p) || !soak && !chosen(runtime, i, n, p) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s+%s/%s", runtime, p.lock, p.deduct, nemesis), func(t *testing.T) {
					first(t)
					seed(t, runtime, p, nemesis, violated)
				})
			}
		}
	}
}

// chosen tells whether a test is run without tag soak. What holds under kill-client also
// holds under contention alone; and locks do not know in which runtime their server is, so
// that every third in turn has to do in Docker.
func chosen(runtime string, pairing, nemesis int, p pairing) bool {
	if runtime == "docker" {
		return pairing%3 == 0 && pairing/3%3 == nemesis && !p.spins
	}
	return nemesis > 0 || p.none != "" || p.kill != "" || p.lock == "none"
}

func seed(t *testing.T, runtime string, p pairing, nemesis, violated string) {
	args := []string{"--runtime", runtime, "--lock", p.lock, "--deduct", p.deduct, "--nemesis", nemesis, "--seed", "1",
		"--ttl", "500ms", "--redis-timeout", "300ms", "--grace", "500ms", "--think", "40ms", "--time-limit", "5s",
		"--clients", "3", "--min-sales", "10"}
	if nemesis == "pause-client" {
		// Whether a late DEL meets somebody's lock is a matter of the moment: time for four
		// pauses makes it certain enough for a test.
		args = append(args, "--time-limit", "8s")
	}
	if p.topology != "" {
		args = append(args, strings.Fields("--topology "+p.topology)...)
	}
	switch {
	case p.spins:
		args = append(args, "--workers", "1")
	case p.slow:
		args = append(args, "--min-sales", "4")
	}
	r, ran := judged(t, t.TempDir(), args...)
	got := map[string]models.Verdict{}
	for id, j := range r.Properties {
		got[string(id)] = j.Verdict
	}
	wrong := func(format string, a ...any) {
		t.Errorf(format+"\n%s", append(a, summary(r, ran))...)
	}
	for _, id := range strings.Fields(violated) {
		if got[id] != models.Violated {
			wrong("%s is %q; FAILURES.md says that %s must violate it under %s", id, got[id], p.lock, nemesis)
		}
	}
	for _, id := range strings.Fields(p.holds) {
		if got[id] != models.Valid {
			wrong("%s is %q; FAILURES.md says that %s with %s must keep it", id, got[id], p.lock, p.deduct)
		}
	}
	for _, e := range r.Expected {
		if !e.Met {
			wrong("%s is %s, but the registry expects %s", e.Property, got[e.Property], e.Expected)
		}
	}
	if r.Vacuous && !p.dies {
		wrong("the test is vacuous: %s", strings.Join(r.VacuousWhy, "; "))
	}
}

// summary tells of a result what helps to see why it is not what was wanted.
func summary(r *store.Result, ran ran) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nmeasures: %+v\n", r.Rerun, r.Measures)
	for id, j := range r.Properties {
		fmt.Fprintf(&b, "%s: %s ×%d %s\n", id, j.Verdict, j.Count, j.Note)
		if len(j.Violations) > 0 {
			fmt.Fprintf(&b, "  %s\n", strings.Join(j.Violations[0].Story, "\n  "))
		}
	}
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "fault %s %s %.3f-%.3f landed %v: %s %s\n", f.Kind, f.Target, f.StartS, f.EndS, f.Landed, f.Proof, f.Error)
	}
	return b.String()
}
