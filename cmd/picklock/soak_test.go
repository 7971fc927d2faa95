//go:build soak

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"picklock/models"
)

// soak: everything is run, however long it takes.
const soak = true

// TestSoak repeats what the README claims of single runs over many seeds, with the
// defaults that a user has, and prints a table: how often each property was violated. It
// takes some twenty minutes; `make soak` runs it. PICKLOCK_SOAK_SEEDS sets the seeds.
func TestSoak(t *testing.T) {
	seeds := 20
	if s := os.Getenv("PICKLOCK_SOAK_SEEDS"); s != "" {
		var err error
		if seeds, err = strconv.Atoi(s); err != nil || seeds < 1 {
			t.Fatalf("PICKLOCK_SOAK_SEEDS=%q is no number of seeds", s)
		}
	}
	const nearly, always, never = -1, 1, 0
	for _, c := range []struct {
		args string
		want map[string]int // property, or "exit 0": always, nearly (19 of 20) or never violated
	}{
		{"--lock setex-del --nemesis pause-client --ttl 1s", map[string]int{"mutual-exclusion": nearly, "ownership": nearly, "exit 1": nearly}},
		{"--lock uuid-lua --nemesis pause-client --ttl 1s", map[string]int{"mutual-exclusion": always, "ownership": never, "exit 1": always}},
		{"--lock uuid-lua --nemesis none", map[string]int{"exit 0": always}},
		{"--lock none --nemesis none", map[string]int{"no-lost-update": always, "linearizable-stock": always}},
		{"--lock local-mutex --nemesis none --clients 2", map[string]int{"exit 1": always}},
		{"--lock local-mutex --nemesis none --clients 1", map[string]int{"exit 0": always}},
		{"--lock setnx --nemesis kill-client", map[string]int{"liveness": nearly}},
		{"--lock setex-del --nemesis kill-client", map[string]int{"liveness": never, "exit 0": always}},
		{"--lock seckill-before --nemesis none", map[string]int{"exit 1": always}},
		{"--lock uuid-lua --deduct hincrby --nemesis none", map[string]int{"exit 0": always}},
		{"--lock none --deduct lua --nemesis none", map[string]int{"exit 0": always}},
		{"--lock none --deduct watch --nemesis none", map[string]int{"exit 0": always}},
		{"--lock uuid-lua --deduct hincrby --nemesis pause-client", map[string]int{"mutual-exclusion": always, "linearizable-stock": never,
			"no-lost-update": never, "no-oversell": never}},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			count := map[string]int{}
			for seed := 1; seed <= seeds; seed++ {
				r, ran := judged(t, t.TempDir(), append(strings.Fields(c.args), "--time-limit", "15s", "--seed", fmt.Sprint(seed))...)
				for id, p := range r.Properties {
					if p.Verdict == models.Violated {
						count[string(id)]++
					}
				}
				count[fmt.Sprintf("exit %d", ran.status)]++
				for property, want := range c.want {
					hit := strings.HasPrefix(property, "exit ") && property == fmt.Sprintf("exit %d", ran.status)
					if p := r.Properties[models.Property(property)]; p != nil {
						hit = p.Verdict == models.Violated
					}
					if hit != (want != never) {
						t.Logf("seed %d: %s: not as wanted\n%s", seed, property, summary(r, ran))
					}
				}
				if r.Vacuous {
					t.Errorf("seed %d: vacuous: %v", seed, r.VacuousWhy)
				}
			}
			for property, want := range c.want {
				n := count[property]
				ok := map[int]bool{always: n == seeds, never: n == 0, nearly: n*20 >= seeds*19}[want]
				fmt.Printf("SOAK %-60s %-22s %d of %d\n", c.args, property, n, seeds)
				if !ok {
					t.Errorf("%s in %d of %d runs", property, n, seeds)
				}
			}
		})
	}
}

// TestSoakMisdelete: the story of the misdelete is exact in 20 runs of 20.
func TestSoakMisdelete(t *testing.T) {
	const seeds = 20
	misdeletesAreTold(t, scenarios(t, "misdelete", "--runtime", "process", "--repeat", fmt.Sprint(seeds), "--jobs", "6"), seeds)
}

// TestSoakNodeFaults holds every lock and deduction of the seeds to its expectations
// under faults of the server, with each kind of persistence.
func TestSoakNodeFaults(t *testing.T) {
	for _, fault := range []string{"--nemesis pause-node", "--nemesis kill-node --persistence none", "--nemesis kill-node", "--nemesis kill-node --persistence always"} {
		for _, p := range pairings() {
			t.Run(fmt.Sprintf("%s+%s/%s", p.lock, p.deduct, fault), func(t *testing.T) {
				if !p.spins {
					t.Parallel()
				}
				args := append([]string{"--lock", p.lock, "--deduct", p.deduct, "--seed", "1", "--runtime", "process", "--ttl", "500ms", "--redis-timeout", "200ms",
					"--grace", "1500ms", "--think", "40ms", "--time-limit", "7s", "--clients", "3", "--min-sales", "4"}, strings.Fields(fault)...)
				if p.spins {
					args = append(args, "--workers", "1")
				}
				r, ran := judged(t, t.TempDir(), args...)
				for _, e := range r.Expected {
					if !e.Met {
						t.Errorf("%s is %s, but the registry expects %s\n%s", e.Property, r.Properties[models.Property(e.Property)].Verdict, e.Expected, summary(r, ran))
					}
				}
				if r.Vacuous && !p.dies {
					t.Errorf("vacuous: %v\n%s", r.VacuousWhy, summary(r, ran))
				}
			})
		}
	}
}

// TestSoakInterrupted: Ctrl-C at ten random moments on each topology, in both runtimes.
func TestSoakInterrupted(t *testing.T) {
	for _, runtime := range []string{"process", "docker"} {
		for topology := range disturbed() {
			for _, after := range moments(10) {
				t.Run(fmt.Sprintf("%s/%s/%s", runtime, topology, after), func(t *testing.T) {
					t.Parallel()
					interruptedAt(t, runtime, topology, after)
				})
			}
		}
	}
}

// TestSoakStorm: storms of many seeds on each topology, in both runtimes.
func TestSoakStorm(t *testing.T) {
	for _, runtime := range []string{"process", "docker"} {
		for topology := range storms() {
			for seed := 1; seed <= 10; seed++ {
				t.Run(fmt.Sprintf("%s/%s/%d", runtime, topology, seed), func(t *testing.T) {
					t.Parallel()
					storm(t, runtime, topology, seed)
				})
			}
		}
	}
}
