//go:build soak

package topology_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"picklock/harness/topology"
)

// slowDisk is a file system of its own, on a file, that can be made to stand still. It takes
// root, and mkfs.ext4, mount and fsfreeze.
func slowDisk(t *testing.T) (dir string, freeze, thaw func()) {
	t.Helper()
	run := func(words ...string) {
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v: %s", words, err, out)
		}
	}
	image, dir := filepath.Join(t.TempDir(), "disk"), t.TempDir()
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, 64<<20))
	run("mkfs.ext4", "-q", image)
	run("mount", "-o", "loop", image, dir)
	frozen := false
	freeze = func() { run("fsfreeze", "--freeze", dir); frozen = true }
	thaw = func() {
		if frozen {
			frozen = false
			run("fsfreeze", "--unfreeze", dir)
		}
	}
	t.Cleanup(func() { thaw(); run("umount", dir) })
	return dir, freeze, thaw
}

// The disk stands still for longer than a fault has time, while the server writes its
// append-only file: it is killed all the same, and started again when the disk goes on.
func TestSoakKilledWhileItsDiskStandsStill(t *testing.T) {
	for _, persistence := range []topology.Persistence{topology.PersistEverysec, topology.PersistAlways} {
		t.Run(string(persistence), func(t *testing.T) {
			disk, freeze, thaw := slowDisk(t)
			r, err := topology.NewProcess()
			must(t, err)
			c, err := r.Start(t.Context(), topology.Plan{
				Nodes: topology.Single("lock", persistence), Run: fmt.Sprint("test-", os.Getpid()), Dir: t.TempDir(), Data: disk, Report: func(s string) { t.Log(s) },
			})
			wantNoErr(t, "start", err)
			t.Cleanup(func() { thaw(); wantNoErr(t, "close", c.Close(context.Background())) })
			n := c.Nodes()[0]
			client := dial(t, n.Addr())
			wantNoErr(t, "SET", client.Set(t.Context(), "key", "1", 0).Err())
			eventually(t, "the write leaves the server", func() bool {
				return strings.Contains(client.Info(t.Context(), "persistence").Val(), "aof_buffer_length:0\r")
			})
			pid := pidOf(t, n)

			freeze()
			if err := client.Set(t.Context(), "key", "2", 0).Err(); persistence == topology.PersistAlways && err == nil {
				t.Error("the server answered a write that its disk cannot have taken")
			}
			eventually(t, "the server waits for its disk", func() bool {
				stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
				return err == nil && strings.Contains(string(stat), ") D ")
			})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			wantNoErr(t, "kill", n.Kill(ctx))
			wantState(t, n, topology.Dead, "was killed and does nothing more")
			if got, err := dial(t, n.Addr()).Get(t.Context(), "key").Result(); err == nil {
				t.Errorf("GET from a killed server: got %q", got)
			}

			time.AfterFunc(2*time.Second, thaw)
			wantNoErr(t, "start", n.Start(t.Context()))
			if got := dial(t, n.Addr()).Get(t.Context(), "key").Val(); got != "1" && got != "2" {
				t.Errorf("after the start: got %q, want 1, or 2, which its disk may have taken", got)
			}
		})
	}
}

// The processors are taken while the server is killed: it cannot die for want of one, and
// does nothing more all the same. It takes root.
func TestSoakKilledWithoutAProcessor(t *testing.T) {
	n := start(t, kinds(t)[0], topology.Single("lock", topology.PersistNone)...).Nodes()[0]
	pid := pidOf(t, n)
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	must(t, err)
	var first unix.CPUSet
	first.Set(0)
	for _, task := range tasks {
		id, err := strconv.Atoi(task.Name())
		must(t, err)
		must(t, unix.SchedSetaffinity(id, &first))
	}
	// A process that the kernel prefers to every other has the first processor for three seconds,
	// save for a twentieth of each.
	has := filepath.Join(t.TempDir(), "has")
	greedy := exec.Command("taskset", "-c", "0", "chrt", "-f", "2", "timeout", "-s", "KILL", "3", "chrt", "-f", "1", "sh", "-c", `: >"$0"; while :; do :; done`, has)
	must(t, greedy.Start())
	t.Cleanup(func() { _ = greedy.Wait() })
	eventually(t, "the greedy process has the processor", func() bool {
		_, err := os.Stat(has)
		return err == nil
	})

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	began := time.Now()
	wantNoErr(t, "kill", n.Kill(ctx))
	state, why, err := n.State(ctx)
	t.Logf("killed after %v: %v, %s (%v)", time.Since(began), state, why, err)
	wantState(t, n, topology.Dead, "")
	wantNoErr(t, "start", n.Start(t.Context()))
}
