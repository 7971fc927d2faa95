package topology_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"picklock/harness/topology"
)

// threadOf is the thread of a process whose name begins so.
func threadOf(t *testing.T, pid int, name string) int {
	t.Helper()
	names, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/comm")
	must(t, err)
	for _, path := range names {
		if text, _ := os.ReadFile(path); strings.HasPrefix(string(text), name) {
			id, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			must(t, err)
			return id
		}
	}
	t.Fatalf("process %d has no thread %s", pid, name)
	return 0
}

// holdOn keeps a process from going for good when it is killed, until letGo: who traces a
// thread must be told of its end first, and before that nobody is told of the process's. It
// is what a thread does that sleeps in the kernel, without the disk that stands still.
func holdOn(t *testing.T, thread int) (letGo func()) {
	t.Helper()
	attached, end, ended := make(chan error), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // the tracer is a thread; it ends with this function
		attached <- unix.PtraceSeize(thread)
		<-end
		_, _ = syscall.Wait4(thread, nil, syscall.WALL, nil)
	}()
	must(t, <-attached)
	var done bool
	letGo = func() {
		if !done {
			done = true
			close(end)
			<-ended
		}
	}
	t.Cleanup(letGo)
	return letGo
}

// A disk that stands still keeps a killed server from going: a fault that killed it has
// landed all the same, and who starts it again waits until it is gone.
func TestKilledNodeThatCannotGoIsDead(t *testing.T) {
	n := start(t, kinds(t)[0], topology.Single("lock", topology.PersistAlways)...).Nodes()[0]
	wantNoErr(t, "SET", dial(t, n.Addr()).Set(t.Context(), "key", "1", 0).Err())
	pid := pidOf(t, n)
	letGo := holdOn(t, threadOf(t, pid, "bio_aof"))

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	wantNoErr(t, "kill", n.Kill(ctx))
	wantState(t, n, topology.Dead, "process "+strconv.Itoa(pid)+" was killed")

	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := n.Start(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("start while the killed server is there: got %v, want it to wait", err)
	} else if !strings.Contains(err.Error(), "bio_aof_fsync is in state Z") || !strings.Contains(err.Error(), "its guard") {
		t.Errorf("start while the killed server is there: got %q; the error must tell what keeps it", err)
	}

	letGo()
	wantNoErr(t, "start", n.Start(t.Context()))
	wantState(t, n, topology.Running, "")
	if got := dial(t, n.Addr()).Get(t.Context(), "key").Val(); got != "1" {
		t.Errorf("after the start: got %q, want 1", got)
	}
}

// What a server forked to write to its disk must not outlive it: it would keep the clients'
// connections open, and write where the server's next life does.
func TestKilledNodeTakesItsChildrenAlong(t *testing.T) {
	for _, command := range []string{"BGSAVE", "BGREWRITEAOF"} {
		t.Run(command, func(t *testing.T) {
			n := start(t, kinds(t)[0], topology.Single("lock", topology.PersistEverysec)...).Nodes()[0]
			c := dial(t, n.Addr())
			wantNoErr(t, "slow saving", c.ConfigSet(t.Context(), "rdb-key-save-delay", "60000000").Err()) // µs for each key
			wantNoErr(t, "SET", c.Set(t.Context(), "key", "1", 0).Err())
			wantNoErr(t, command, c.Do(t.Context(), command).Err())
			pid := pidOf(t, n)
			var child int
			eventually(t, "the server has a child", func() bool {
				children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
				child, _ = strconv.Atoi(strings.TrimSpace(string(children)))
				return child != 0
			})
			conn := c.Conn()
			defer conn.Close()
			wantNoErr(t, "PING", conn.Ping(t.Context()).Err())

			wantNoErr(t, "kill", n.Kill(t.Context()))
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", child)); !os.IsNotExist(err) {
				t.Errorf("process %d, which does the %s, outlives its server", child, command)
			}
			if err := conn.Ping(t.Context()).Err(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("PING over a connection to a killed server: got %v, want to be told that it is gone", err)
			}
			wantNoErr(t, "start", n.Start(t.Context()))
		})
	}
}
