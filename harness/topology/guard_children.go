package topology

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A server forks to save a snapshot or to rewrite its append-only file. Such a child lives
// on when the server is killed: it keeps the connections of clients open, who then wait for
// answers instead of being told that the server is gone, and it writes into the folder of
// its successor. In a container it dies with the server, and so it does under a guard.

// adoptOrphans makes the guard the parent of what its server leaves behind.
func adoptOrphans() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// killOrphans kills what the server left behind, and waits until it is gone.
func killOrphans() {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		pids, _ := os.ReadFile(list)
		for _, pid := range strings.Fields(string(pids)) {
			if n, err := strconv.Atoi(pid); err == nil {
				_ = syscall.Kill(n, syscall.SIGKILL) // ours, and not waited for: the pid is nobody else's
			}
		}
	}
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil && !errors.Is(err, syscall.EINTR) {
			return // there are none
		}
	}
}
