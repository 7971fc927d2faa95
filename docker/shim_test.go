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
	"github.com/redis/go-redis/v9"

	"picklock/docker"
	"picklock/harness/topology"
)

// skewed is a running node whose clock the test moves.
type skewed struct {
	topology.Node
	engine *client.Client
	id     string
}

// twoNodes starts one node to be moved and one that must not move.
func twoNodes(t *testing.T) (a, b skewed) {
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
	c, err := r.Start(t.Context(), topology.Plan{Run: run, Dir: t.TempDir(), Nodes: topology.Single("own", topology.PersistEverysec)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	var nodes []skewed
	for _, n := range c.Nodes() {
		found, err := engine.ContainerList(t.Context(), client.ContainerListOptions{Filters: make(client.Filters).
			Add("label", topology.LabelRun+"="+run, topology.LabelNode+"="+n.Name())})
		if err != nil || len(found.Items) != 1 {
			t.Fatalf("container of %s: got %d, %v; want one", n.Name(), len(found.Items), err)
		}
		nodes = append(nodes, skewed{n, engine, found.Items[0].ID})
	}
	return nodes[0], nodes[1]
}

// exec runs a command in the node, beside the server.
func (s skewed) exec(t *testing.T, cmd ...string) (out string, code int) {
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

// set moves the node's clock.
func (s skewed) set(t *testing.T, words ...string) {
	t.Helper()
	if out, code := s.exec(t, append([]string{docker.ClockTool, docker.ClockState}, words...)...); code != 0 {
		t.Fatalf("picklock-clock %q: exit code %d, %s", words, code, out)
	}
}

func (s skewed) dial(t *testing.T) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// ahead is how far the server's clock is before this machine's.
func (s skewed) ahead(t *testing.T) time.Duration {
	t.Helper()
	now, err := s.dial(t).Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return time.Until(now)
}

func (s skewed) wantAhead(t *testing.T, when string, want time.Duration) {
	t.Helper()
	if got := s.ahead(t); (got - want).Abs() > time.Second {
		t.Errorf("%s: the clock of %s is ahead by %v, want %v", when, s.Name(), got, want)
	}
}

func TestShimMovesOneServersClockWhileItRuns(t *testing.T) {
	moved, other := twoNodes(t)
	c := moved.dial(t)
	lease := func(ttl time.Duration) {
		t.Helper()
		if err := c.Set(t.Context(), "lease", "mine", ttl).Err(); err != nil {
			t.Fatal(err)
		}
	}
	moved.wantAhead(t, "at the start", 0)
	lease(5 * time.Second)
	moved.set(t, "10000000000")
	moved.wantAhead(t, "after +10 s", 10*time.Second)
	if n := c.Exists(t.Context(), "lease").Val(); n != 0 {
		t.Error("a lease of 5 s is still there after a step of +10 s: the step did not reach the server's expiry")
	}
	other.wantAhead(t, "after +10 s on the other", 0)
	if out, _ := moved.exec(t, "date", "+%s"); seconds(t, out).Abs() > 2*time.Second {
		t.Errorf("date beside the server says %s: only the server's clock may move", out)
	}
	lease(5 * time.Second)
	moved.set(t, "-60000000000")
	moved.wantAhead(t, "after -60 s", -60*time.Second)
	if left := c.PTTL(t.Context(), "lease").Val(); left < 60*time.Second {
		t.Errorf("a lease of 5 s has %v left after a step from +10 s to -60 s, want about 75 s", left)
	}
	moved.set(t, "reset")
	moved.wantAhead(t, "after reset", 0)

	// Twice as fast: when the server has gained a second, a second has passed.
	moved.set(t, "0", "1000000")
	began := time.Now()
	for moved.ahead(t) < time.Second {
		if time.Since(began) > 10*time.Second {
			t.Fatal("a clock of double speed does not gain a second in ten")
		}
	}
	if took := time.Since(began); took < 700*time.Millisecond || took > 2*time.Second {
		t.Errorf("a clock of double speed gained a second in %v, want about 1 s", took)
	}

	if err := moved.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := moved.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	moved.wantAhead(t, "after a restart", 0)
}

func TestShimWithoutAUsableState(t *testing.T) {
	node, _ := twoNodes(t)
	const shim = "LD_PRELOAD=/usr/local/lib/picklock/clock.so"
	node.set(t, "3600000000000")
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
			out, code := node.exec(t, append(append([]string{"env", shim}, tc.state...), "date", "+%s")...)
			if got := seconds(t, out); code != 0 || (got-tc.want).Abs() > 2*time.Second {
				t.Errorf("date: got %s (ahead by %v), exit code %d; want %v ahead", out, got, code, tc.want)
			}
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

// seconds is how far a date in Unix seconds is ahead of this machine's.
func seconds(t *testing.T, out string) time.Duration {
	t.Helper()
	s, err := strconv.ParseInt(out, 10, 64)
	if err != nil {
		t.Fatalf("date said %q", out)
	}
	return time.Until(time.Unix(s, 0))
}
