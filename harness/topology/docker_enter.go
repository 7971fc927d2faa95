package topology

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// doors are a container's mount and network namespaces, held open. Root on the engine's own
// machine runs commands in there without the engine, which takes a tenth of a second for
// each on an idle machine and seconds on a busy one. A frozen container is no obstacle, for
// what enters is not in its cgroup.
type doors struct {
	mount, net *os.File
	nsenter    string // the path of the tool
}

// openDoors finds the namespaces of a container by its first process. It is nil where that
// cannot be done: not root, no nsenter, an engine on another machine or out of sight. Then
// the engine has to be asked.
func openDoors(pid int, containerID string) *doors {
	if os.Geteuid() != 0 || pid <= 0 {
		return nil
	}
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return nil
	}
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	mount, err1 := os.Open(filepath.Join(proc, "ns", "mnt"))
	net, err2 := os.Open(filepath.Join(proc, "ns", "net"))
	d := &doors{mount: mount, net: net, nsenter: nsenter}
	// Looked at after they were opened: if the process is the container's now, it was then.
	if err := errors.Join(err1, err2); err != nil || !inCgroupOf(proc, containerID) {
		d.close()
		return nil
	}
	return d
}

func (d *doors) close() {
	for _, f := range []*os.File{d.mount, d.net} {
		if f != nil {
			f.Close()
		}
	}
}

// inCgroupOf says whether a process is one of the container's, as its cgroup's path tells.
func inCgroupOf(proc, containerID string) bool {
	b, err := os.ReadFile(filepath.Join(proc, "cgroup"))
	return err == nil && containerID != "" && strings.Contains(string(b), containerID)
}

// insidePath is where the images' own commands are.
const insidePath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// run runs a command in there; what it returns is as with exec.
func (d *doors) run(ctx context.Context, command []string) (string, int, error) {
	args := append([]string{"--mount=/proc/self/fd/3", "--net=/proc/self/fd/4", "--"}, command...)
	cmd := exec.CommandContext(ctx, d.nsenter, args...)
	cmd.ExtraFiles = []*os.File{d.mount, d.net} // descriptors 3 and 4
	cmd.Env = []string{insidePath}
	cmd.Dir = "/"
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return "", 0, context.Cause(ctx)
	}
	exit := new(exec.ExitError)
	switch {
	case err == nil:
		return stdout.String(), 0, nil
	case !errors.As(err, &exit) || !exit.Exited():
		return "", 0, err
	// Its own failures must not pass for the command's: to iptables, 1 means "no such rule".
	// That the command is not there, it says with 127 and a line of the same kind.
	case strings.HasPrefix(stderr.String(), "nsenter:") && exit.ExitCode() != 126 && exit.ExitCode() != 127:
		return "", 0, fmt.Errorf("enter the container: %s", strings.TrimSpace(stderr.String()))
	}
	return said("", stderr.String(), exit.ExitCode()), exit.ExitCode(), nil
}
