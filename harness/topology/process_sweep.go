package topology

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// sweepProcesses kills every process whose environment names an owner that is dead, and
// waits until they are gone. It finds servers, guards and clients alike.
func sweepProcesses(ctx context.Context) (int, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, fmt.Errorf("sweep: %w", err)
	}
	swept := 0
	var errs []error
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() || !orphaned(pid) {
			continue
		}
		if err := sweepProcess(ctx, pid); err != nil {
			errs = append(errs, fmt.Errorf("sweep process %d: %w", pid, err))
			continue
		}
		swept++
	}
	return swept, errors.Join(errs...)
}

// orphaned says whether a process belongs to a dead harness. Processes that we may not
// look into belong to somebody else.
func orphaned(pid int) bool {
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return false
	}
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if owner, ok := bytes.CutPrefix(kv, []byte(EnvOwner+"=")); ok {
			return !OwnerAlive(string(owner))
		}
	}
	return false
}

func sweepProcess(ctx context.Context, pid int) error {
	p, err := os.FindProcess(pid) // holds a pidfd: from here on the pid cannot become another's
	if err != nil {
		return err
	}
	defer p.Release()
	if !orphaned(pid) { // it ended before we held it
		return nil
	}
	_, start, err := procStat(pid)
	if os.IsNotExist(err) {
		return nil
	} else if err != nil {
		return err
	}
	if err := p.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return poll(ctx, 5*time.Millisecond, func() (bool, error) {
		state, began, err := procStat(pid)
		if os.IsNotExist(err) {
			return true, nil
		}
		return began != start || state == 'Z' || state == 'X', err
	})
}
