package matrix

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"picklock/harness"
	"picklock/locks"
)

func planned(t *testing.T, name string) *Plan {
	t.Helper()
	s, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Plan(Choices{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != name || s.About == "" {
		t.Errorf("%s is called %q, about %q", name, p.Name, s.About)
	}
	return p
}

// TestBuiltins: every run of every built-in matrix can be planned.
func TestBuiltins(t *testing.T) {
	for _, name := range Builtins() {
		p := planned(t, name)
		for _, j := range p.Jobs() {
			if _, err := harness.Plan(p.Rows[j.Row].Options("store", j.Seed)); err != nil {
				t.Errorf("%s: %s, seed %d: %v", name, p.Rows[j.Row].Cell.ID(), j.Seed, err)
			}
		}
		t.Logf("%s: %d cells, %d runs that wait for %s", name, len(p.Rows), len(p.Jobs()), p.Waiting(p.Jobs()))
	}
}

// TestNightly: it has every lock of the registry on every topology that the lock runs on,
// with several seeds, and fits in 45 minutes on two cores, where four tests run side by side
// and take up to 1.3 times as long as they wait.
func TestNightly(t *testing.T) {
	p := planned(t, "nightly")
	for _, l := range locks.All() {
		for _, topology := range l.Topologies {
			if topology != "single" && !slices.Contains([]string{"redlock", "wait-acked", "uuid-lua"}, l.Name) {
				continue
			}
			if !slices.ContainsFunc(p.Rows, func(r Row) bool {
				return r.Cell.Lock == l.Name && r.Cell.Topology == topology && len(r.Seeds) >= 3
			}) {
				t.Errorf("%s on %s is not in it", l.Name, topology)
			}
		}
	}
	if wall := time.Duration(1.3 * float64(p.Waiting(p.Jobs())) / 4); wall > 45*time.Minute {
		t.Errorf("it takes %s, more than 45 minutes", wall)
	}
}

// TestLadder: it has every lock that a seed document is the source of, under contention at
// least, and those that a fault can be done to under pauses and deaths too.
func TestLadder(t *testing.T) {
	p := planned(t, "ladder")
	seed := regexp.MustCompile(`\bS[0-4]\b`)
	n := 0
	for _, l := range locks.All() {
		if !seed.MatchString(l.Source) {
			continue
		}
		n++
		for _, fault := range []string{"none", "pause-client", "kill-client"} {
			if l.Name == "setnx-once" && fault != "none" {
				continue
			}
			if !slices.ContainsFunc(p.Rows, func(r Row) bool { return r.Cell.Lock == l.Name && r.Cell.Fault() == fault }) {
				t.Errorf("%s under %s is not in it", l.Name, fault)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d locks have a seed document as their source", n)
	}
}
