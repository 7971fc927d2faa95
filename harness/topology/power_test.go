package topology_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"picklock/harness/topology"
)

func TestPowerLossTakesWhatWasNotSynced(t *testing.T) {
	for _, k := range kinds(t)[:2] { // how a node is reached is nothing to its disk
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			losePower(t, k, "")
		})
	}
}

// losePower takes the power from nodes of every persistence that run server.
func losePower(t *testing.T, k kind, server string) {
	b := startShimmed(t, k, server,
		topology.NodeSpec{Name: "none", Persistence: topology.PersistNone},
		topology.NodeSpec{Name: "everysec", Persistence: topology.PersistEverysec},
		topology.NodeSpec{Name: "always", Persistence: topology.PersistAlways},
		topology.NodeSpec{Name: "never", Persistence: topology.PersistEverysec, Args: []string{"--appendfsync", "no"}},
	)
	node, c := map[string]topology.Node{}, map[string]*redis.Client{}
	for _, n := range b.Nodes() {
		node[n.Name()], c[n.Name()] = n, dial(t, n.Addr())
	}
	lose := func(name, want string) {
		t.Helper()
		began := time.Now()
		proof, err := node[name].LosePower(t.Context())
		t.Logf("%s: %s, in %v", name, proof, time.Since(began))
		if err != nil || !regexp.MustCompile(want).MatchString(proof) {
			t.Errorf("power loss of %s: got %q, %v; want a proof like %q", name, proof, err, want)
		}
		wantState(t, node[name], topology.Dead, "")
		again, err := node[name].LosePower(t.Context())
		if err != nil || strings.Contains(again, "of appendonly") {
			t.Errorf("power loss of %s when it is dead: got %q, %v; want that nothing more is lost", name, again, err)
		}
		wantNoErr(t, "start "+name, node[name].Start(t.Context()))
		c[name] = dial(t, node[name].Addr()) // it may have another address now
	}
	set := func(name, key string) {
		t.Helper()
		wantNoErr(t, "SET", c[name].Set(t.Context(), key, strings.Repeat("v", 100), 0).Err())
	}
	policy := func(name, p string) {
		t.Helper()
		wantNoErr(t, "CONFIG SET", c[name].ConfigSet(t.Context(), "appendfsync", p).Err())
	}
	wantKeys := func(name, want string) {
		t.Helper()
		var got []string
		for _, key := range []string{"a", "b", "c"} {
			if c[name].Exists(t.Context(), key).Val() == 1 {
				got = append(got, key)
			}
		}
		if strings.Join(got, "") != want {
			t.Errorf("node %s holds %q after the power loss, want %q", name, got, want)
		}
	}

	set("none", "a")
	lose("none", "no append-only file")
	wantKeys("none", "")

	set("always", "a")
	set("always", "b")
	lose("always", `lost 0 bytes: all [1-9]\d* of its 3 append-only files were synced`)
	wantKeys("always", "ab")

	// With "no" the server never syncs: what it writes from then on is lost for certain.
	policy("always", "no")
	set("always", "c")
	lose("always", `^lost 1\d\d of [1-9]\d* bytes of appendonly.aof.\d+.incr.aof$`)
	wantKeys("always", "ab")
	if got := c["always"].ConfigGet(t.Context(), "appendfsync").Val()["appendfsync"]; got != "always" {
		t.Errorf("appendfsync after the restart: got %q, want always", got)
	}

	// Killed is not without power: the kernel still has what was written. A power loss
	// later takes it, though it was written in the life before.
	set("never", "a")
	wantNoErr(t, "kill", node["never"].Kill(t.Context()))
	wantNoErr(t, "start", node["never"].Start(t.Context()))
	c["never"] = dial(t, node["never"].Addr())
	wantKeys("never", "a")
	lose("never", `^lost ([1-9]\d*) of [1-9]\d* bytes of appendonly.aof.1.incr.aof$`)
	wantKeys("never", "")

	// A rewrite syncs a new base and moves it into place: nothing of it may be lost.
	policy("always", "no")
	set("always", "c")
	wantNoErr(t, "BGREWRITEAOF", c["always"].BgRewriteAOF(t.Context()).Err())
	eventually(t, "the rewrite ends", func() bool {
		info := c["always"].Info(t.Context(), "persistence").Val()
		return strings.Contains(info, "aof_rewrite_in_progress:0\r") && strings.Contains(info, "aof_rewrite_scheduled:0\r") &&
			strings.Contains(info, "aof_last_bgrewrite_status:ok\r")
	})
	lose("always", `^lost `)
	wantKeys("always", "abc")

	// Each second means: of what was written one after the other a beginning is kept.
	for i := range 2000 {
		wantNoErr(t, "SET", c["everysec"].Set(t.Context(), fmt.Sprint("n", i), "v", 0).Err())
	}
	lose("everysec", `^lost \d+ `)
	kept := int(c["everysec"].DBSize(t.Context()).Val())
	for i := range kept {
		if c["everysec"].Exists(t.Context(), fmt.Sprint("n", i)).Val() != 1 {
			t.Fatalf("%d keys are left and key %d is not among them: the tail goes first", kept, i)
		}
	}
	t.Logf("everysec kept %d of 2000 keys", kept)
}

func TestPowerLossKeepsWhatWasAcknowledgedAfterASync(t *testing.T) {
	for _, k := range kinds(t)[:2] {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			b := startShimmed(t, k, "", topology.NodeSpec{Name: "always", Persistence: topology.PersistAlways})
			n := b.Nodes()[0]
			for round := range 3 {
				const writers = 4
				var acknowledged [writers]atomic.Int64
				var all sync.WaitGroup
				for w := range writers {
					c := dial(t, n.Addr())
					all.Go(func() {
						for i := 0; c.Set(t.Context(), fmt.Sprintf("%d-%d-%d", round, w, i), "v", 0).Err() == nil; i++ {
							acknowledged[w].Store(int64(i + 1))
						}
					})
				}
				eventually(t, "all writers write", func() bool {
					for w := range writers {
						if acknowledged[w].Load() < 50 {
							return false
						}
					}
					return true
				})
				// While the base is written anew too: the power may fail at any step of that.
				wantNoErr(t, "BGREWRITEAOF", dial(t, n.Addr()).BgRewriteAOF(t.Context()).Err())
				proof, err := n.LosePower(t.Context())
				wantNoErr(t, "power loss", err)
				all.Wait()
				wantNoErr(t, "start", n.Start(t.Context()))
				c := dial(t, n.Addr())
				for w := range writers {
					for i := range acknowledged[w].Load() {
						if key := fmt.Sprintf("%d-%d-%d", round, w, i); c.Exists(t.Context(), key).Val() != 1 {
							t.Fatalf("%s was acknowledged under appendfsync always and is gone (%s)", key, proof)
						}
					}
				}
			}
		})
	}
}
