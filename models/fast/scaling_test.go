package fast

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"picklock/models/spec"
)

// scalingCheck is a checker with the histories that it is measured by. make gives check for
// one history, which it makes of about n operations.
type scalingCheck struct {
	name string
	make func(n, clients, unknown int, seed uint64) (check func() Result, ops int)
}

func scalingChecks() []scalingCheck {
	var all []scalingCheck
	lock := func(name string, l lockLoad) {
		all = append(all, scalingCheck{name, func(n, clients, unknown int, seed uint64) (func() Result, int) {
			l.operations, l.clients, l.unknown = n, clients, unknown
			ops := l.history(seed)
			return func() Result { return Lock(l.lock, ops, Limits{}) }, len(ops)
		}})
	}
	for _, m := range loadLocks {
		lock(m.name, lockLoad{lock: m.lock})
	}
	lock("owner mutex of processes", lockLoad{lock: spec.OwnerMutex(), processes: true})
	lock("three permits of processes", lockLoad{lock: spec.Permits(3), processes: true})
	lock("owner mutex, owners far apart", lockLoad{lock: spec.OwnerMutex(), spread: 1_000_003})
	return append(all,
		scalingCheck{"lease", func(n, clients, unknown int, seed uint64) (func() Result, int) {
			ops := leaseHistory(benchLease, n, clients, float64(unknown)/100, seed)
			return func() Result { return Lease(benchLease, ops, Limits{}) }, len(ops)
		}},
		scalingCheck{"stock", func(n, clients, unknown int, seed uint64) (func() Result, int) {
			s, ops := stockLoad{ops: n, clients: clients, unknown: unknown, quantity: 1}.make(int(seed))
			return func() Result { return Stock(s, ops, Limits{}) }, len(ops)
		}})
}

// BenchmarkScaling/(checker) prints what an operation costs, in nanoseconds of CPU time, by
// the length of the history, the clients and the share of unknown outcomes, and the greatest
// of the figures by the least. Histories have 10^4 to 10^6 operations; with
// PICKLOCK_BENCH_OPS=10000000 in the environment to 10^7, which needs 3 GiB.
//
// Each figure is the least of several rounds: others on the machine only add to it. A round
// checks a million operations, if need be in several histories: each of them once, so that
// neither the cache nor the branch predictor knows a short one before.
func BenchmarkScaling(b *testing.B) {
	most := benchOps(1_000_000)
	for _, c := range scalingChecks() {
		b.Run(c.name, func(b *testing.B) {
			clients, unknown := []int{5, 20, 500}, []int{0, 1, 20}
			table := fmt.Sprintf("%s\n%22s", c.name, "clients, unknown")
			for _, k := range clients {
				for _, u := range unknown {
					table += fmt.Sprintf("%9s", fmt.Sprintf("%d,%d%%", k, u))
				}
			}
			least, greatest := math.Inf(1), 0.0
			for n := 10_000; n <= most; n *= 10 {
				table += fmt.Sprintf("\n%22s", fmt.Sprintf("%d operations", n))
				for _, k := range clients {
					for _, u := range unknown {
						ns := scalingCost(b, c, n, k, u)
						least, greatest = min(least, ns), max(greatest, ns)
						table += fmt.Sprintf("%9.1f", ns)
					}
				}
			}
			b.Logf("%s\n%22s %.2f", strings.TrimSpace(table), "greatest by least", greatest/least)
			b.ReportMetric(0, "ns/op") // it is the same whatever b.N
			b.ReportMetric(least, "least-ns/operation")
			b.ReportMetric(greatest, "greatest-ns/operation")
			b.ReportMetric(greatest/least, "greatest/least")
		})
	}
}

// benchOps is how many operations the longest measured histories have, if the environment
// does not say more.
func benchOps(most int) int {
	if n, err := strconv.Atoi(os.Getenv("PICKLOCK_BENCH_OPS")); err == nil {
		return n
	}
	return most
}

// scalingCost gives the nanoseconds of an operation.
func scalingCost(b *testing.B, c scalingCheck, n, clients, unknown int) float64 {
	var checks []func() Result
	total := 0
	for seed := range uint64(max(1, 1_000_000/n)) {
		check, ops := c.make(n, clients, unknown, seed)
		checks, total = append(checks, check), total+ops
	}
	least := math.Inf(1)
	for range scalingRounds {
		runtime.GC()
		before := cpuTime(b)
		for _, check := range checks {
			if res := check(); res.Verdict != Legal || res.Asked > 0 {
				b.Fatalf("%s, %d operations, %d clients, %d%% unknown: %s, %d left to porcupine", c.name, n, clients, unknown, res.Verdict, res.Asked)
			}
		}
		least = min(least, float64(cpuTime(b)-before))
	}
	return least / float64(total)
}

const scalingRounds = 5

// cpuTime is what this process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
