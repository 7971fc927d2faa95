package topology

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// State asks the engine, and for a paused container the freezer of its cgroup too where
// this machine shows it: the engine says what it did, the kernel what is.
func (n *dockerNode) State(ctx context.Context) (State, string, error) {
	seen, err := n.look(ctx)
	return seen.state, seen.proof, err
}

// sight is what a look at a container shows.
type sight struct {
	state State
	proof string
	pid   int // of its first process, on the engine's machine; 0 if dead
}

func (n *dockerNode) look(ctx context.Context) (sight, error) {
	id := n.containerID()
	if id == "" {
		return sight{state: Dead, proof: "there is no container"}, nil
	}
	res, err := n.engine.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return sight{}, fmt.Errorf("look at node %s: %w", n.Name(), err)
	}
	s := res.Container.State
	if s == nil {
		return sight{}, fmt.Errorf("look at node %s: docker states nothing", n.Name())
	}
	proof := fmt.Sprintf("container %.12s is %s", id, s.Status)
	switch s.Status {
	case container.StateRunning:
		return sight{Running, fmt.Sprintf("%s, process %d", proof, s.Pid), s.Pid}, nil
	case container.StatePaused:
		frozen, seen := cgroupFrozen(s.Pid, id)
		if seen == "" {
			return sight{Paused, proof + " (docker's word; its cgroup is not visible from here)", s.Pid}, nil
		}
		if !frozen {
			return sight{Running, proof + " in docker's words, but " + seen, s.Pid}, nil
		}
		return sight{Paused, proof + ", " + seen, s.Pid}, nil
	default: // created, exited, restarting, removing, dead: nothing of it runs
		return sight{state: Dead, proof: fmt.Sprintf("%s, exit code %d", proof, s.ExitCode)}, nil
	}
}

// cgroupFrozen reads the freezer of the container's cgroup, version 1 or 2. seen is empty
// where it cannot be read, e.g. because the engine is on another machine; the cgroup's
// path must hold the container's id, for there the pid is somebody else's.
func cgroupFrozen(pid int, id string) (frozen bool, seen string) {
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "cgroup"))
	if err != nil {
		return false, ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		parts := strings.SplitN(lines.Text(), ":", 3) // 6:freezer:/docker/<id>
		if len(parts) != 3 || !strings.Contains(parts[2], id) {
			continue
		}
		switch parts[1] {
		case "freezer":
			if b, err := os.ReadFile(filepath.Join("/sys/fs/cgroup/freezer", parts[2], "freezer.state")); err == nil {
				state := strings.TrimSpace(string(b))
				return state == "FROZEN", "its cgroup freezer is " + state
			}
		case "":
			if b, err := os.ReadFile(filepath.Join("/sys/fs/cgroup", parts[2], "cgroup.events")); err == nil {
				frozen := strings.Contains(string(b), "frozen 1")
				return frozen, fmt.Sprintf("its cgroup says frozen %t", frozen)
			}
		}
	}
	return false, ""
}
