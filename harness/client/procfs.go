package client

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// threadStates reads the state letter of each thread of a process from /proc, in no
// particular order.
func threadStates(pid int) ([]byte, error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return nil, err
	}
	var states []byte
	for _, path := range tasks {
		stat, err := os.ReadFile(path)
		if err != nil {
			return nil, err // the thread ended between the listing and now: look again
		}
		// The command name stands in parentheses and may hold anything, even those.
		after := stat[bytes.LastIndexByte(stat, ')')+1:]
		if f := bytes.Fields(after); len(f) > 0 {
			states = append(states, f[0][0])
		}
	}
	if len(states) == 0 {
		return nil, fmt.Errorf("process %d has no threads: it is gone", pid)
	}
	return states, nil
}

func all(states []byte, want func(byte) bool) bool {
	return !slices.ContainsFunc(states, func(s byte) bool { return !want(s) })
}

func distinct(states []byte) string {
	s := slices.Clone(states)
	slices.Sort(s)
	return string(slices.Compact(s))
}
