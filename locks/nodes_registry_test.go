package locks_test

import (
	"slices"
	"testing"
	"time"

	"picklock/locks"
)

// The options of the locks that are not the seeds' own; the first value is the default.
func TestOptionsOnNodes(t *testing.T) {
	t.Parallel()
	want := map[string]map[string][]string{
		"redlock": {
			"quorum": {"majority", "2", "3"}, "clock": {"monotonic", "wall"}, "partial": {"release", "keep"},
			"timeout": {"short", "long"}, "delay": {"random", "fixed", "none"}, "order": {"sequential", "parallel"},
		},
		"multilock":          {"order": {"sorted", "unsorted"}, "ttl": {"yes", "none"}},
		"wait-acked":         {"acks": {"1", "2"}, "checked": {"yes", "no"}},
		"fenced":             {"counter": {"stock", "lock"}},
		"pubsub":             {"poll": {"yes", "no"}},
		"pxat":               {},
		"uuid-deadline":      {},
		"reentrant-watchdog": {"retry": {"none", "blind", "operation-id"}},
	}
	topologies := map[string][]string{
		"redlock": {"redlock", "single"}, "multilock": {"single", "redlock"}, "wait-acked": {"failover"},
		"fenced": {"single", "failover"}, "pubsub": {"single", "failover"}, "pxat": {"single", "failover"},
		"uuid-deadline": {"single", "failover"}, "reentrant-watchdog": {"single", "failover"},
	}
	ttls := map[string]time.Duration{
		"redlock": 10 * time.Second, "multilock": 30 * time.Second, "wait-acked": 3 * time.Second, "fenced": 3 * time.Second,
		"pubsub": 30 * time.Second, "pxat": 3 * time.Second, "uuid-deadline": 3 * time.Second, "reentrant-watchdog": 30 * time.Second,
	}
	for name, options := range want {
		s, ok := locks.Find(name)
		if !ok {
			t.Errorf("%s is not in the registry", name)
			continue
		}
		if !slices.Equal(s.Topologies, topologies[name]) || s.TTL != ttls[name] {
			t.Errorf("%s runs on %v with TTL %v, want %v and %v", name, s.Topologies, s.TTL, topologies[name], ttls[name])
		}
		if len(s.Options) != len(options) {
			t.Errorf("%s has %d options, want %d", name, len(s.Options), len(options))
		}
		for _, o := range s.Options {
			if !slices.Equal(o.Values, options[o.Name]) || o.Summary == "" {
				t.Errorf("%s: option %s is one of %v (%q), want %v", name, o.Name, o.Values, o.Summary, options[o.Name])
			}
			for i, value := range o.Values {
				full := name + ":" + o.Name + "=" + value
				v, ok := locks.Find(full)
				if !ok || i > 0 && v.Name != full || i == 0 && v.Name != name {
					t.Errorf("Find(%s) is %s, %v", full, v.Name, ok)
				}
			}
		}
	}
	for name, noTTL := range map[string]bool{"multilock": false, "multilock:ttl=none": true} {
		if s, _ := locks.Find(name); s.NoTTL != noTTL {
			t.Errorf("%s: NoTTL %v, want %v", name, s.NoTTL, noTTL)
		}
	}
	if s, _ := locks.Find("fenced"); !slices.Contains(s.Promises, "fencing") {
		t.Error("fenced does not promise fencing")
	}
}

// The table of FAILURES.md for these locks.
func TestExpectationsOnNodesFollowTheCatalogue(t *testing.T) {
	t.Parallel()
	follow(t, []expected{
		{"redlock", "none", "mutual-exclusion", holds},
		{"redlock", "kill-client", "liveness", holds},
		{"redlock", "pause-client", "mutual-exclusion", will},
		{"redlock", "pause-client", "ownership", holds},
		{"redlock", "drop-reply", "mutual-exclusion", holds},
		{"redlock", "drop-reply", "liveness", holds},
		{"redlock", "restart-empty", "mutual-exclusion", may},
		{"redlock", "restart-empty", "lease-exclusion", may},
		{"redlock", "clock-node", "mutual-exclusion", may},
		{"redlock", "clock-client", "mutual-exclusion", holds},
		{"redlock:clock=wall", "clock-client", "mutual-exclusion", may},
		{"redlock", "kill-node", "mutual-exclusion", holds},
		{"redlock", "misconfigure-client", "mutual-exclusion", may},
		{"redlock:quorum=2", "isolate-node", "mutual-exclusion", may},
		{"redlock:quorum=3", "none", "mutual-exclusion", holds},
		{"redlock:partial=keep", "none", "mutual-exclusion", holds},
		{"redlock", "storm", "ownership", holds},
		{"multilock", "none", "liveness", holds},
		{"multilock:order=unsorted", "none", "liveness", may},
		{"multilock:order=unsorted,ttl=none", "none", "liveness", will},
		{"multilock:ttl=none", "none", "liveness", holds},
		{"multilock:ttl=none", "kill-client", "liveness", will},
		{"multilock:ttl=none", "pause-client", "mutual-exclusion", holds},
		{"multilock", "kill-client", "liveness", holds},
		{"multilock", "pause-client", "mutual-exclusion", will},
		{"fenced", "pause-client", "mutual-exclusion", will},
		{"fenced", "pause-client", "fencing", holds},
		{"fenced", "stale-promotion", "fencing", holds},
		{"fenced:counter=lock", "stale-promotion", "fencing", may},
		{"fenced:counter=lock", "restart-empty", "fencing", may},
		{"fenced:counter=lock", "pause-client", "fencing", holds},
		{"wait-acked", "pause-client", "mutual-exclusion", will},
		{"wait-acked", "stale-promotion", "mutual-exclusion", may},
		{"wait-acked", "partition-replica", "liveness", may},
		{"wait-acked", "none", "mutual-exclusion", holds},
		{"pxat", "clock-client", "mutual-exclusion", may},
		{"pxat", "clock-client", "liveness", may},
		{"pubsub", "drop-reply", "liveness", holds},
		{"pubsub", "kill-client", "liveness", holds},
		{"pubsub:poll=no", "drop-reply", "liveness", may},
		{"pubsub:poll=no", "kill-client", "liveness", may},
		{"pubsub:poll=no", "none", "liveness", holds},
		{"uuid-deadline", "pause-client", "mutual-exclusion", will},
		{"uuid-deadline", "partition-client", "mutual-exclusion", holds},
		{"uuid-deadline", "hang-worker", "mutual-exclusion", holds},
		{"uuid-deadline", "delay-reply", "mutual-exclusion", holds},
		{"uuid-deadline", "clock-node", "mutual-exclusion", may},
		{"reentrant-watchdog", "hang-worker", "liveness", will},
		{"reentrant-watchdog", "drop-reply", "liveness", may},
		{"reentrant-watchdog:retry=operation-id", "drop-reply", "liveness", holds},
		{"reentrant-watchdog:retry=blind", "drop-reply", "liveness", may},
		{"reentrant-watchdog:retry=blind", "drop-reply", "reentrancy", may},
		{"reentrant-watchdog", "none", "reentrancy", holds},
	})
}
