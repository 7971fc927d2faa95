package docker_test

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"

	"picklock/docker"
	"picklock/harness/topology"
)

// inNode is a running node, in which the test runs commands.
type inNode struct {
	engine *client.Client
	id     string
}

func startNode(t *testing.T) inNode {
	t.Helper()
	engine, err := docker.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	r, err := topology.NewDocker(topology.DockerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	run := "test-" + uuid.NewString()
	c, err := r.Start(t.Context(), topology.Plan{Run: run, Dir: t.TempDir(), Nodes: topology.Single("lock", topology.PersistNone)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	found, err := engine.ContainerList(t.Context(), client.ContainerListOptions{Filters: make(client.Filters).Add("label", topology.LabelRun+"="+run)})
	if err != nil || len(found.Items) != 1 {
		t.Fatalf("containers of the run: got %d, %v; want one", len(found.Items), err)
	}
	return inNode{engine, found.Items[0].ID}
}

// exec runs a command in the node, beside the server.
func (s inNode) exec(t *testing.T, cmd ...string) (out string, code int) {
	t.Helper()
	e, err := s.engine.ExecCreate(t.Context(), s.id, client.ExecCreateOptions{AttachStdout: true, AttachStderr: true, Cmd: cmd})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := s.engine.ExecAttach(t.Context(), e.ID, client.ExecAttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var buf bytes.Buffer
	if _, err := stdcopy.StdCopy(&buf, &buf, stream.Reader); err != nil {
		t.Fatal(err)
	}
	got, err := s.engine.ExecInspect(t.Context(), e.ID, client.ExecInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(buf.String()), got.ExitCode
}

// wantDate runs date in the node, under a command such as env, and compares it with the time
// that passed here meanwhile.
func (s inNode) wantDate(t *testing.T, ahead time.Duration, under ...string) {
	t.Helper()
	asked := time.Now()
	out, code := s.exec(t, append(under, "date", "+%s")...)
	answered := time.Now()
	sec, err := strconv.ParseInt(out, 10, 64)
	got := time.Unix(sec, 0)
	if code != 0 || err != nil || got.Before(asked.Add(ahead).Truncate(time.Second)) || got.After(answered.Add(ahead)) {
		t.Errorf("date: got %s (%v), exit code %d; want %v ahead of %v to %v", out, got, code, ahead, asked, answered)
	}
}

// How the shim moves a server's clock is shown where nodes are: in package topology.
func TestShimWithoutAUsableState(t *testing.T) {
	node := startNode(t)
	const shim = "LD_PRELOAD=/usr/local/lib/picklock/picklock.so"
	if out, code := node.exec(t, docker.ClockTool, docker.ClockState, "3600000000000"); code != 0 {
		t.Fatalf("move the clock: exit code %d, %s", code, out)
	}
	node.wantDate(t, 0) // beside the server: only the server's clock may move
	for _, tc := range []struct {
		name  string
		state []string
		want  time.Duration
	}{
		{"no variable", nil, 0},
		{"missing file", []string{"PICKLOCK_CLOCK=/nonexistent"}, 0},
		{"short file", []string{"PICKLOCK_CLOCK=/etc/hostname"}, 0},
		{"state", []string{"PICKLOCK_CLOCK=" + docker.ClockState}, time.Hour},
	} {
		t.Run(tc.name, func(t *testing.T) {
			node.wantDate(t, tc.want, append([]string{"env", shim}, tc.state...)...)
		})
	}
	for _, words := range [][]string{{}, {"x"}, {""}, {"1", "fast"}, {"reset", "1"}, {"1", "2", "3"}, {"99999999999999999999"}} {
		if out, code := node.exec(t, append([]string{docker.ClockTool, "/tmp/state"}, words...)...); code != 2 {
			t.Errorf("picklock-clock %q: got exit code %d (%s), want 2: a fault that was not understood must not pass for injected", words, code, out)
		}
	}
	if out, code := node.exec(t, docker.ClockTool, "/nonexistent/state", "1"); code != 1 {
		t.Errorf("a state that cannot be written: got exit code %d (%s), want 1", code, out)
	}
}
