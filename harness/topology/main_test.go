package topology_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"picklock/docker"
	"picklock/harness/topology"
)

// helperEnv turns the test binary into a helper: a harness of its own, which the test
// kills, or which sees another environment than the test.
const helperEnv = "PICKLOCK_TOPOLOGY_HELPER"

func TestMain(m *testing.M) {
	topology.RunGuardIfAsked()
	docker.RedirectLog(slog.New(slog.DiscardHandler))
	if job := os.Getenv(helperEnv); job != "" {
		os.Exit(helper(job))
	}
	os.Exit(m.Run())
}

// left is what a helper tells of what it started.
type left struct {
	Addrs  []string
	Owner  string
	Client int    // pid of a process that stands for a client; it is stopped
	Why    string // of Select
	Err    string
}

func helper(job string) int {
	ctx := context.Background()
	say := func(l left, err error) int {
		if err != nil {
			l.Err = err.Error()
		}
		_ = json.NewEncoder(os.Stdout).Encode(l)
		if err != nil {
			return 1
		}
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends us
		return 0
	}
	if name, ok := cut(job, "select:"); ok {
		_, why, err := topology.Select(ctx, name, topology.DockerOptions{})
		return say(left{Why: why}, err)
	}
	if job == "pool" {
		addrs, err := helpWithPool(ctx)
		return say(left{Addrs: addrs}, err)
	}
	r, _, err := topology.Select(ctx, job, topology.DockerOptions{})
	if err != nil {
		return say(left{}, err)
	}
	run := os.Getenv("HELPER_RUN")
	c, err := r.Start(ctx, topology.Plan{
		Run: run, Dir: os.Getenv("HELPER_DIR"), Nodes: topology.Redlock(2, "own", topology.PersistNone), Cuts: true,
	})
	if err != nil {
		return say(left{}, err)
	}
	l := left{Owner: topology.Owner()}
	for _, n := range c.Nodes() {
		l.Addrs = append(l.Addrs, n.Addr())
	}
	if err := c.Nodes()[0].Block(ctx, c.Nodes()[1]); err != nil {
		return say(l, err)
	}
	if err := c.Nodes()[0].Pause(ctx); err != nil {
		return say(l, err)
	}
	client := exec.Command("sleep", "1000")
	client.Env = append(os.Environ(), topology.EnvRun+"="+run, topology.EnvOwner+"="+topology.Owner())
	client.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // or the kernel continues and hangs it up when we die
	if err := client.Start(); err != nil {
		return say(l, err)
	}
	l.Client = client.Process.Pid
	return say(l, client.Process.Signal(syscall.SIGSTOP))
}

func cut(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || s[:len(prefix)] != prefix {
		return s, false
	}
	return s[len(prefix):], true
}

// startHelper starts the test binary as a helper and reads what it tells. kill ends it
// with SIGKILL and waits for its end; the test's clean-up does so at the latest.
func startHelper(t *testing.T, job string, env ...string) (got left, kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), helperEnv+"="+job), env...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	var killed bool
	kill = func() {
		if !killed {
			killed = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			_ = stdin.Close()
		}
	}
	t.Cleanup(kill)
	if err := json.NewDecoder(stdout).Decode(&got); err != nil {
		kill()
		t.Fatalf("the helper %q told nothing: %v", job, err)
	}
	return got, kill
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantNoErr(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: got error %v, want none", what, err)
	}
}
