package topology

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// What everything that a run starts carries, so that a sweep can tell leftovers from the
// living: processes in their environment, containers and networks in their labels.
const (
	EnvRun   = "PICKLOCK_RUN"   // the run's id
	EnvOwner = "PICKLOCK_OWNER" // Owner() of the harness

	LabelRun   = "picklock.run"
	LabelOwner = "picklock.owner"
	LabelNode  = "picklock.node" // containers only: the node's name

	labelCluster = "picklock.cluster" // tells the clusters of one run apart
)

// Owner identifies this process for as long as anybody may ask: boot id, pid, start time
// in clock ticks since the boot, and pid namespace, joined by colons. A pid alone is used
// again, and means nothing on another host or in another namespace.
func Owner() string {
	_, start, _ := procStat(os.Getpid())
	return fmt.Sprintf("%s:%d:%d:%s", bootID(), os.Getpid(), start, pidNamespace())
}

// OwnerAlive says whether the process that owner names may still run. Only what can be
// known is denied: an owner of another host, boot or pid namespace, or one that cannot be
// read, counts as alive.
func OwnerAlive(owner string) bool {
	parts := strings.Split(owner, ":")
	if len(parts) != 4 || parts[0] != bootID() || parts[3] != pidNamespace() {
		return true
	}
	pid, err1 := strconv.Atoi(parts[1])
	start, err2 := strconv.ParseUint(parts[2], 10, 64)
	if err1 != nil || err2 != nil || pid <= 0 {
		return true
	}
	state, began, err := procStat(pid)
	if err != nil {
		return !os.IsNotExist(err)
	}
	// A zombie has ended: its parent only has not looked yet.
	return began == start && state != 'Z' && state != 'X'
}

// ownerEnv is this process's environment with the marks of a run in it.
func ownerEnv(run string, more ...string) []string {
	return append(os.Environ(), append([]string{EnvRun + "=" + run, EnvOwner + "=" + Owner()}, more...)...)
}

// bootID is a random id that the kernel draws at each boot; "unknown" where there is none.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}

// pidNamespace is the number of the namespace in which our pids count.
func pidNamespace() string {
	link, err := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	if err != nil {
		return "unknown"
	}
	return strings.Trim(link, "pid:[]")
}

// procStat reads a process's state letter and its start time in clock ticks since boot.
// The error is one that os.IsNotExist knows when there is no such process.
func procStat(pid int) (state byte, start uint64, err error) {
	s, err := readStat(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return s.state, s.start, err
}

// stat is what proc(5) tells of a process or a thread in one line.
type stat struct {
	state byte   // field 3
	flags uint64 // field 9: the kernel's own, as exiting
	start uint64 // field 22: in ticks since the machine started
}

// readStat parses a stat file. The name in parentheses may hold anything, so fields count
// from the last one.
func readStat(path string) (s stat, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, syscall.ESRCH) { // it ended while we read
			err = os.ErrNotExist
		}
		return s, err
	}
	_, rest, ok := cutLast(string(b), ")")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 || len(fields[0]) != 1 {
		return s, fmt.Errorf("%s: not a stat line: %.80q", path, b)
	}
	s.state = fields[0][0]
	if s.start, err = strconv.ParseUint(fields[19], 10, 64); err != nil {
		return s, fmt.Errorf("%s: start time: %w", path, err)
	}
	if s.flags, err = strconv.ParseUint(fields[6], 10, 64); err != nil {
		return s, fmt.Errorf("%s: flags: %w", path, err)
	}
	return s, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
