package locks_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"picklock/locks"
)

// What a lock tells of its keys is what faults delete: while it is held each of them is
// there, and when they are gone the lock is anybody's.
func TestKeysOfALock(t *testing.T) {
	t.Parallel()
	for topology, nodes := range map[string][]int{"single": {1}, "redlock": {3, 5}} {
		for _, n := range nodes {
			c := newCluster(t, n)
			for _, s := range locks.All() {
				if inMemory(s.Name) || !slices.Contains(s.Topologies, topology) {
					continue
				}
				t.Run(fmt.Sprintf("%s on %d", s.Name, n), func(t *testing.T) {
					cfg := c.config()
					cfg.User = "first"
					first := open(t, s.Name, cfg)
					acquire(t, first)
					for i, server := range c.plain {
						keys := []string{cfg.Name}
						if s.Keys != nil {
							keys = s.Keys(cfg.Name, i, n)
						}
						for _, key := range keys {
							if deleted, err := server.Del(t.Context(), key).Result(); err != nil || deleted != 1 {
								t.Errorf("DEL %s at node %d answered %d, error %v; want 1: a held lock has the keys that it tells", key, i+1, deleted, err)
							}
						}
					}
					cfg.User = "second"
					second := open(t, s.Name, cfg)
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
					defer cancel()
					if _, err := second.Acquire(ctx); err != nil {
						t.Errorf("acquire a lock whose keys are gone: %v; want it granted, or its keys are others", err)
					}
					_ = first.Release(t.Context()) // whatever it says: it is of no use any more
					_ = second.Release(t.Context())
				})
			}
		}
	}
}
