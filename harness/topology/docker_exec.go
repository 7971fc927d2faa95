package topology

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// exec runs a command in the node's container and on its network: straight from here where
// that can be done, else through the engine; and while the container is frozen, in a
// short-lived one of the same image that shares its network. out is what it said on
// standard output, or, when code is not 0, on standard error. A dead node has no network:
// ErrDead.
func (n *dockerNode) exec(ctx context.Context, cmd ...string) (out string, code int, err error) {
	seen, err := n.look(ctx)
	var inside *doors
	if err == nil && seen.state != Dead {
		if inside = openDoors(seen.pid, n.containerID()); inside != nil {
			defer inside.close()
		}
	}
	switch {
	case err != nil:
	case seen.state == Dead:
		err = ErrDead
	case inside != nil:
		out, code, err = inside.run(ctx, cmd)
	case seen.state == Paused:
		out, code, err = n.execBeside(ctx, cmd)
	default:
		out, code, err = n.execWithin(ctx, cmd)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", 0, fmt.Errorf("run %s at node %s: %w", cmd[0], n.Name(), err)
	}
	return out, code, nil
}

func (n *dockerNode) execWithin(ctx context.Context, cmd []string) (string, int, error) {
	made, err := n.engine.ExecCreate(ctx, n.containerID(), client.ExecCreateOptions{
		AttachStdout: true, AttachStderr: true, Cmd: cmd,
	})
	if err != nil {
		return "", 0, err
	}
	stream, err := n.engine.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		return "", 0, err
	}
	defer stream.Close()
	stop := context.AfterFunc(ctx, stream.Close) // a read from it knows no context
	defer stop()
	stdout, stderr, err := split(stream.Reader)
	if err != nil {
		return "", 0, err
	}
	ended, err := n.engine.ExecInspect(ctx, made.ID, client.ExecInspectOptions{})
	if err != nil {
		return "", 0, err
	}
	return said(stdout, stderr, ended.ExitCode), ended.ExitCode, nil
}

// execBeside leaves the container, if it fails, to the cluster's end, which finds it by
// its labels.
func (n *dockerNode) execBeside(ctx context.Context, cmd []string) (string, int, error) {
	made, err := n.engine.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config: &container.Config{Image: n.image, Entrypoint: cmd, Cmd: []string{}, Labels: n.labels},
		HostConfig: &container.HostConfig{
			NetworkMode: container.NetworkMode("container:" + n.containerID()), CapAdd: []string{"NET_ADMIN"},
		},
	})
	if err != nil {
		return "", 0, err
	}
	if _, err := n.engine.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		return "", 0, err
	}
	ended := n.engine.ContainerWait(ctx, made.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	var code int
	select {
	case end := <-ended.Result:
		code = int(end.StatusCode)
	case err := <-ended.Error:
		return "", 0, err
	}
	log, err := n.engine.ContainerLogs(ctx, made.ID, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		return "", 0, err
	}
	defer log.Close()
	stdout, stderr, err := split(log)
	if err != nil {
		return "", 0, err
	}
	if _, err := n.engine.ContainerRemove(ctx, made.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
		return "", 0, err
	}
	return said(stdout, stderr, code), code, nil
}

func split(stream io.Reader) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	_, err = stdcopy.StdCopy(&out, &errs, stream)
	return out.String(), errs.String(), err
}

// said is what tells most of a command that ended so.
func said(stdout, stderr string, code int) string {
	if code == 0 {
		return stdout
	}
	return strings.ReplaceAll(strings.TrimSpace(stderr), "\n", " | ")
}
