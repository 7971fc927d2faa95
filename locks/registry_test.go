package locks_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"picklock/locks"
)

func TestRegistryHasEveryLockOfTheSeeds(t *testing.T) {
	t.Parallel()
	want := []string{
		"none", "local-mutex", "setnx", "setnx-recursive", "setnx-expire", "setnx-expire-all", "setex-del",
		"seckill-before", "seckill-wrong-key", "seckill-after", "seckill-after-fixed", "uuid-get-del",
		"uuid-get-del-null", "uuid-lua", "jedis-spin", "jedis-concat", "setnx-once", "reentrant", "watchdog",
	}
	var got []string
	for _, s := range locks.All() {
		if slices.Contains(got, s.Name) {
			t.Errorf("%q is registered twice: Find would hide one", s.Name)
		}
		got = append(got, s.Name)
		if strings.ContainsAny(s.Name, ":,=") {
			t.Errorf("%q has a character that options are written with", s.Name)
		}
		if found, ok := locks.Find(s.Name); !ok || found.Name != s.Name {
			t.Errorf("Find(%q) = %q, %v", s.Name, found.Name, ok)
		}
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("%s of the seeds is not in the registry", name)
		}
	}
	if s, ok := locks.Find("uuid"); ok {
		t.Errorf("Find(\"uuid\") gave %q: only whole names count", s.Name)
	}
}

func TestMetaIsWhole(t *testing.T) {
	t.Parallel()
	faults := []string{
		"none", "restart-empty", "no-answer", "pause-client", "kill-client", "hang-worker", "pause-node", "kill-node", "power-loss",
		"partition-client", "partition-replica", "partition-primary", "isolate-node", "cut-one-way", "slow-node", "slow-wire",
		"drop-reply", "delay-reply", "delay-request", "reset-connection", "failover", "stale-promotion", "clock-node",
		"clock-client", "fill-memory", "flush", "delete-key", "script-flush", "misconfigure-client", "storm",
	}
	lock := []string{"mutual-exclusion", "lease-exclusion", "linearizable-lock", "ownership", "liveness", "fencing", "reentrancy"}
	stock := []string{"no-lost-update", "linearizable-stock", "no-oversell"}
	for _, s := range withVariants(locks.All()) {
		if s.Summary == "" || strings.Contains(s.Summary, "\n") || s.Source == "" {
			t.Errorf("%s: summary %q, source %q: one line and a source are wanted", s.Name, s.Summary, s.Source)
		}
		want := []string{"single", "failover"}
		if inMemory(s.Name) {
			want = []string{"single"}
		}
		if isOfTheSeeds(s.Name) && !slices.Equal(s.Topologies, want) {
			t.Errorf("%s runs on %v, want %v: a lock on one Redis runs on whichever is the primary", s.Name, s.Topologies, want)
		}
		if s.NoTTL != (s.TTL == 0) {
			t.Errorf("%s: NoTTL %v with TTL %v contradict each other", s.Name, s.NoTTL, s.TTL)
		}
		if got := slices.Contains(s.Promises, "reentrancy"); got != s.Reentrant {
			t.Errorf("%s: promises reentrancy %v, is reentrant %v", s.Name, got, s.Reentrant)
		}
		if got := len(s.Promises) == 0; got != (s.Name == "none") {
			t.Errorf("%s promises %v: all but none promise what their source claims", s.Name, s.Promises)
		}
		seen := map[string]bool{}
		for _, w := range s.Weaknesses {
			id := w.Fault + " " + w.Property
			if seen[id] {
				t.Errorf("%s has two expectations of %s: which one counts?", s.Name, id)
			}
			seen[id] = true
			promised := slices.Contains(s.Promises, w.Property) || slices.Contains(stock, w.Property)
			if !slices.Contains(faults, w.Fault) || !slices.Contains(append(lock, stock...), w.Property) || !promised {
				t.Errorf("%s: expectation of %s is of no known fault, or of a property that is not judged for it", s.Name, id)
			}
			if w.Why == "" {
				t.Errorf("%s: expectation of %s has no reason", s.Name, id)
			}
			if slices.Contains(stock, w.Property) && !w.May {
				t.Errorf("%s: %s is expected for certain, but it depends on the deduction", s.Name, id)
			}
		}
	}
}

// The table of FAILURES.md, as far as its columns are faults of this issue: what must show,
// and what must hold.
func TestExpectationsFollowTheCatalogue(t *testing.T) {
	t.Parallel()
	follow(t, []expected{
		{"none", "none", "no-lost-update", may},
		{"local-mutex", "none", "mutual-exclusion", will}, // with two clients: TestLocalMutexNeedsTwoClients
		{"seckill-wrong-key", "none", "linearizable-lock", holds},
		{"setnx", "none", "liveness", holds},
		{"setnx", "kill-client", "liveness", will},
		{"setnx", "pause-client", "mutual-exclusion", holds},
		{"setnx", "pause-node", "liveness", may},
		{"setnx", "restart-empty", "ownership", may},
		{"setnx-recursive", "kill-client", "liveness", will},
		{"setnx-expire", "kill-client", "liveness", may},
		{"setnx-expire", "pause-client", "ownership", will},
		{"setnx-expire-all", "kill-client", "liveness", will},
		{"setnx-expire-all", "pause-client", "mutual-exclusion", may},
		{"setnx-once", "none", "liveness", will},
		{"setex-del", "none", "mutual-exclusion", holds},
		{"setex-del", "kill-client", "liveness", holds},
		{"setex-del", "pause-client", "mutual-exclusion", will},
		{"setex-del", "pause-client", "linearizable-lock", will},
		{"setex-del", "pause-client", "ownership", will},
		{"setex-del", "pause-client", "lease-exclusion", may},
		{"seckill-before", "none", "mutual-exclusion", will},
		{"seckill-before", "none", "ownership", will},
		{"seckill-before", "none", "lease-exclusion", will},
		{"seckill-before", "kill-client", "mutual-exclusion", will},
		{"seckill-wrong-key", "none", "mutual-exclusion", holds},
		{"seckill-wrong-key", "pause-client", "ownership", holds},
		{"seckill-after", "none", "mutual-exclusion", will},
		{"seckill-after", "none", "ownership", holds},
		{"seckill-after-fixed", "none", "mutual-exclusion", holds},
		{"uuid-get-del", "pause-client", "ownership", may},
		{"uuid-get-del-null", "pause-client", "mutual-exclusion", will},
		{"uuid-lua", "none", "mutual-exclusion", holds},
		{"uuid-lua", "pause-client", "mutual-exclusion", will},
		{"uuid-lua", "pause-client", "ownership", holds},
		{"uuid-lua", "pause-client", "lease-exclusion", holds},
		{"uuid-lua", "kill-client", "liveness", holds},
		{"uuid-lua", "restart-empty", "ownership", holds},
		{"reentrant", "pause-client", "mutual-exclusion", will},
		{"reentrant", "none", "reentrancy", holds},
		{"watchdog", "pause-client", "mutual-exclusion", will},
		{"watchdog", "pause-client", "ownership", holds},
		{"watchdog", "kill-client", "liveness", holds},
		{"setnx", "clock-node", "mutual-exclusion", holds},
		{"setnx", "drop-reply", "liveness", may},
		{"setnx", "drop-reply", "ownership", holds},
		{"setnx:retry=blind", "drop-reply", "ownership", may},
		{"setnx", "hang-worker", "liveness", will},
		{"setnx", "stale-promotion", "ownership", may},
		{"setnx-expire", "drop-reply", "liveness", may},
		{"setnx-expire-all", "clock-node", "ownership", may},
		{"setex-del", "drop-reply", "liveness", holds},
		{"setex-del", "clock-node", "ownership", may},
		{"setex-del", "stale-promotion", "mutual-exclusion", may},
		{"uuid-lua", "stale-promotion", "mutual-exclusion", may},
		{"uuid-lua", "stale-promotion", "ownership", holds},
		{"uuid-lua", "clock-node", "lease-exclusion", may},
		{"uuid-lua", "clock-node", "liveness", may},
		{"uuid-lua", "drop-reply", "mutual-exclusion", holds},
		{"uuid-lua", "drop-reply", "liveness", holds},
		{"uuid-lua", "partition-client", "mutual-exclusion", may},
		{"uuid-lua", "partition-client", "lease-exclusion", holds},
		{"uuid-lua", "hang-worker", "mutual-exclusion", may},
		{"uuid-lua", "hang-worker", "liveness", holds},
		{"uuid-lua", "fill-memory", "mutual-exclusion", may},
		{"uuid-lua", "flush", "no-lost-update", may},
		{"uuid-lua", "script-flush", "mutual-exclusion", holds},
		{"uuid-lua", "storm", "mutual-exclusion", may},
		{"uuid-lua", "storm", "ownership", holds},
		{"jedis-spin", "delay-request", "ownership", may},
		{"reentrant", "drop-reply", "reentrancy", may},
		{"watchdog", "hang-worker", "liveness", will},
		{"watchdog", "hang-worker", "mutual-exclusion", holds},
		{"watchdog:cap=2", "hang-worker", "liveness", holds},
		{"watchdog", "drop-reply", "mutual-exclusion", holds},
		{"watchdog:errors=ignored", "drop-reply", "mutual-exclusion", may},
		{"watchdog", "delay-request", "ownership", holds},
		{"watchdog:renew=set", "delay-request", "ownership", may},
		{"watchdog:renew=set-xx", "delay-request", "ownership", may},
	})
}

// What is expected of a property.
const will, may, holds = "violated", "may", "holds"

// expected is what a lock should say of itself.
type expected struct{ lock, fault, property, want string }

// follow holds the locks' own expectations to the catalogue's.
func follow(t *testing.T, all []expected) {
	t.Helper()
	for _, c := range all {
		s, ok := locks.Find(c.lock)
		if !ok {
			t.Errorf("there is no lock %s", c.lock)
		}
		got := holds
		for _, w := range s.Weaknesses {
			// What shows under mere contention shows under every fault.
			if (w.Fault != c.fault && w.Fault != "none") || w.Property != c.property {
				continue
			}
			if !w.May {
				got = will
			} else if got == holds {
				got = may
			}
		}
		if got != c.want {
			t.Errorf("%s under %s: %s is expected as %q, want %q", c.lock, c.fault, c.property, got, c.want)
		}
	}
}

// With one client a local mutex is right: none of its expectations may count there.
func TestLocalMutexNeedsTwoClients(t *testing.T) {
	t.Parallel()
	for _, s := range locks.All() {
		for _, w := range s.Weaknesses {
			want := 0
			if s.Name == "local-mutex" && w.Fault == "none" {
				want = 2
			}
			if w.MinClients != want {
				t.Errorf("%s: %s under %s is expected from %d clients on, want %d", s.Name, w.Property, w.Fault, w.MinClients, want)
			}
		}
	}
}

func TestTTLOfTheSeeds(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]time.Duration{
		"setex-del": 3 * time.Second, "uuid-get-del": 3 * time.Second, "uuid-lua": 3 * time.Second, // S0
		"uuid-get-del-null": 30 * time.Second, "reentrant": 30 * time.Second, // S1
		"seckill-before": 10 * time.Second, "seckill-after": 10 * time.Second, // S2
		"jedis-spin": 60 * time.Second, "jedis-concat": 60 * time.Second, // S3
	} {
		if s, _ := locks.Find(name); s.TTL != want {
			t.Errorf("%s: TTL %v, want its seed's %v", name, s.TTL, want)
		}
	}
}

// With a TTL of its own a handle must not fall back to the seed's; a lock without one must
// not get one.
func TestTTLIsSet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, s := range withVariants(ofTheSeeds()) {
		if inMemory(s.Name) {
			continue
		}
		for _, ttl := range []time.Duration{0, 10 * time.Minute} {
			want := ttl
			if ttl == 0 || s.NoTTL {
				want = s.TTL
			}
			c := b.config()
			c.TTL = ttl
			start := time.Now()
			g := acquire(t, open(t, s.Name, c))
			if g.Validity != want {
				t.Errorf("%s with TTL %v: promises %v, want %v", s.Name, ttl, g.Validity, want)
			}
			got, err := b.client.PTTL(context.Background(), c.Name).Result()
			if err != nil {
				t.Fatal(err)
			}
			// It can have lost no more than the time that has passed, and a rounding.
			least := want - time.Since(start) - 2*time.Millisecond
			switch {
			case s.NoTTL && got != -1:
				t.Errorf("%s: PTTL %v, want -1: its source sets no TTL", s.Name, got)
			case !s.NoTTL && (got > want || got < least):
				t.Errorf("%s with TTL %v: PTTL %v, want %v to %v", s.Name, ttl, got, least, want)
			}
		}
	}
}
