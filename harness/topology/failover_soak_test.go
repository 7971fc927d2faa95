//go:build soak

package topology_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"picklock/docker"
	"picklock/harness/topology"
)

// soakFailovers is how many primaries die, one after the other.
const soakFailovers = 50

func TestSoakFailovers(t *testing.T) {
	for _, k := range kinds(t)[:2] {
		t.Run(k.name, func(t *testing.T) {
			b := start(t, k, topology.Failover(2, "own", topology.PersistEverysec)...)
			t.Cleanup(func() {
				for i := 1; t.Failed() && i <= 3; i++ {
					log, _ := os.ReadFile(filepath.Join(b.logs, fmt.Sprintf("sentinel-%d.log", i)))
					t.Logf("end of the log of sentinel-%d:\n%s", i, log[max(0, len(log)-6000):])
				}
			})
			primary := b.node(t, "lock-1")
			var down []time.Duration
			for i := range soakFailovers {
				value := fmt.Sprint(i)
				c := dial(t, primary.Addr())
				wantNoErr(t, "SET", c.Set(t.Context(), "key", value, 0).Err())
				if n, err := c.Wait(t.Context(), 2, 10*time.Second).Result(); n != 2 || err != nil {
					t.Fatalf("failover %d: WAIT 2: got %d, %v; want 2", i, n, err)
				}
				old := primary
				began := time.Now()
				wantNoErr(t, "kill", old.Kill(t.Context()))
				primary = b.agreed(t, old)
				down = append(down, time.Since(began))
				if got := dial(t, primary.Addr()).Get(t.Context(), "key").Val(); got != value {
					t.Fatalf("failover %d: key on %s: got %q, want %q: both replicas had it", i, primary.Name(), got, value)
				}
				wantNoErr(t, "start", old.Start(t.Context()))
				wantNoErr(t, "all well", topology.AwaitSentinels(t.Context(), primary, b.Nodes()))
				wantNoErr(t, "all online", topology.AwaitReplication(t.Context(), primary, 2))
			}
			slices.Sort(down)
			t.Logf("%d failovers: without a primary for %v at best, %v at the median, %v at worst",
				len(down), down[0], down[len(down)/2], down[len(down)-1])
			wantNoErr(t, "close", b.Close(t.Context()))
			wantNothingLeft(t, b.run, b.tmp, b.engine)
		})
	}
}

// Each image is built where it is missing, which takes a minute or two.
func TestSoakEveryServerFailsOver(t *testing.T) {
	for _, server := range docker.Servers() {
		t.Run(server[0], func(t *testing.T) {
			b := startPlan(t, kinds(t)[1], topology.Plan{Nodes: topology.Failover(2, "own", topology.PersistAlways), Server: server[0]})
			name, version, _ := strings.Cut(server[0], ":")
			if got := b.About()[name]; !strings.HasPrefix(got, version) {
				t.Errorf("about: got %v, want %s %s", b.About(), name, version)
			}
			old := b.node(t, "lock-1")
			wantNoErr(t, "kill", old.Kill(t.Context()))
			primary := b.agreed(t, old)
			wantNoErr(t, "start", old.Start(t.Context()))
			wantNoErr(t, "all well", topology.AwaitSentinels(t.Context(), primary, b.Nodes()))
			wantNoErr(t, "all online", topology.AwaitReplication(t.Context(), primary, 2))
		})
	}
}
