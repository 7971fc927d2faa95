package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"picklock/models"
)

// TestNodesDown: of five independent nodes one, two or three are down for a while. A
// majority keeps the lock available, a minority does not, and it is never promised twice.
func TestNodesDown(t *testing.T) {
	t.Parallel()
	nodes := []string{"lock-1", "lock-2", "lock-3"}
	for runtime, downs := range map[string][]int{"process": {1, 2, 3}, "docker": {3}} {
		for _, down := range downs {
			t.Run(fmt.Sprintf("%s/%d of 5", runtime, down), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				r := picklock(t, dir, nil, scheduled(t, dir, fmt.Sprintf(`faults:
- {kind: kill-node, target: %q, at: 1s, for: 4s, with: {restart: delayed}}`, strings.Join(nodes[:down], ",")),
					strings.Fields("--json --topology redlock --nodes 5 --lock redlock --deduct lua --persistence always --ttl 800ms --redis-timeout 100ms "+
						"--grace 2s --think 30ms --clients 3 --workers 1 --time-limit 9s --seed 1 --min-sales 10 --runtime "+runtime)...)...)
				res := parse(t, r)
				fault := onlyFault(t, res, r)
				h := historyIn(t, dir)
				// The nodes were dead when each of them had been seen to be so, and until the
				// time of the fault, which counts from then, was over.
				seen := map[string]int64{}
				for _, c := range h.Roles {
					if c.Role == "down" && seen[c.Node] == 0 && slices.Contains(nodes[:down], c.Node) {
						seen[c.Node] = c.Time
					}
				}
				if len(seen) != down {
					t.Fatalf("%d of %d nodes were seen to be down; roles: %+v", len(seen), down, h.Roles)
				}
				var from int64
				for _, at := range seen {
					from = max(from, at)
				}
				to := h.Faults[0].Start + int64(4e9)
				if to-from < 1e9 {
					t.Fatalf("the nodes were down from %.3f s to %.3f s: too short to tell anything", h.Seconds(from), h.Seconds(to))
				}
				meanwhile, after := grantsIn(h, from, to), grantsIn(h, h.Faults[0].End, h.End)
				if available := down < 3; available != (len(meanwhile) > 0) {
					t.Errorf("%d grants while %s were down; want some: %v\n%s", len(meanwhile), fault.Target, available, summary(res, r))
				}
				if len(after) == 0 {
					t.Errorf("no grant after all nodes were back\n%s", summary(res, r))
				}
				for _, id := range []models.Property{models.LeaseExclusion, models.Liveness, models.LinearizableStock} {
					if p := res.Properties[id]; p == nil || p.Verdict != models.Valid {
						t.Errorf("%s is %+v\n%s", id, p, summary(res, r))
					}
				}
			})
		}
	}
}
