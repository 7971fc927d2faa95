package topology_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"picklock/harness/topology"
)

func TestServerThatEndsByItselfIsSeenDead(t *testing.T) {
	for _, k := range kinds(t)[:2] {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			n := start(t, k, topology.Single("lock", topology.PersistEverysec)...).Nodes()[0]
			c := dial(t, n.Addr())
			wantNoErr(t, "SET", c.Set(t.Context(), "key", "1", 0).Err())
			_ = c.ShutdownNoSave(t.Context()).Err() // the answer to success is the end of the connection
			eventually(t, "the node is seen dead", func() bool {
				s, _, err := n.State(t.Context())
				return err == nil && s == topology.Dead
			})
			wantNoErr(t, "start", n.Start(t.Context()))
			if got := dial(t, n.Addr()).Get(t.Context(), "key").Val(); got != "1" {
				t.Errorf("after a shutdown and a start: got %q, want 1", got)
			}
		})
	}
}

func TestServerEndsWithItsGuard(t *testing.T) {
	n := start(t, kinds(t)[0], topology.Single("lock", topology.PersistNone)...).Nodes()[0]
	server := pidOf(t, n)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", server))
	must(t, err)
	_, rest, _ := strings.Cut(string(status), "PPid:")
	guard, err := strconv.Atoi(strings.Fields(rest)[0])
	must(t, err)
	if guard <= 1 || guard == os.Getpid() {
		t.Fatalf("the server's parent is %d, want a guard", guard)
	}
	wantNoErr(t, "pause", n.Pause(t.Context())) // also a stopped server must go
	must(t, syscall.Kill(guard, syscall.SIGKILL))
	eventually(t, "the server ends with its guard", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", server))
		return os.IsNotExist(err)
	})
	wantState(t, n, topology.Dead, "")
	wantNoErr(t, "start", n.Start(t.Context()))
}
