package docker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"picklock/docker"
	"picklock/harness/topology"
)

// helperEnv makes the test binary say what Connect says, and nothing else: where the
// engine is, is looked up once per process.
const helperEnv = "PICKLOCK_DOCKER_HELPER"

func TestMain(m *testing.M) {
	topology.RunGuardIfAsked()
	docker.RedirectLog(slog.New(slog.DiscardHandler))
	if os.Getenv(helperEnv) != "" {
		_, err := docker.Connect(context.Background())
		fmt.Printf("%t %t %v\n", errors.Is(err, docker.ErrNoDocker), os.Getenv("TESTCONTAINERS_RYUK_DISABLED") == "", err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestSilentEngineIsFoundOutSoon(t *testing.T) {
	hung := filepath.Join(t.TempDir(), "hung.sock")
	l, err := net.Listen("unix", hung) // takes connections, never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for name, host := range map[string]string{"absent": "unix:///nonexistent/docker.sock", "hung": "unix://" + hung} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), helperEnv+"=1", "DOCKER_HOST="+host)
			began := time.Now()
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 4*time.Second {
				t.Errorf("it took %v, want about 2 s: --runtime auto waits for this", took)
			}
			if !strings.HasPrefix(string(out), "true true ") || strings.Count(string(out), "\n") != 1 {
				t.Errorf("got %q, want ErrNoDocker in one line, and the reaper's variable unset again", out)
			}
		})
	}
}

func TestEnsureBuildsOnceAndThenOnlyLooks(t *testing.T) {
	image, err := docker.Ensure(t.Context(), docker.Options{Report: func(s string) { t.Log(s) }})
	if err != nil || image != docker.Tag() {
		t.Fatalf("got %q, %v; want %q", image, err, docker.Tag())
	}
	var said []string
	again, err := docker.Ensure(t.Context(), docker.Options{Report: func(s string) { said = append(said, s) }})
	if err != nil || again != image || len(said) != 0 {
		t.Errorf("again: got %q, %v, reports %q; want the same image in silence", again, err, said)
	}
	c, err := docker.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if has, err := docker.Has(t.Context(), c, image); !has || err != nil {
		t.Errorf("Has(%q): got %t, %v; want true", image, has, err)
	}
}

func TestImageThatNobodyHas(t *testing.T) {
	_, err := docker.Ensure(t.Context(), docker.Options{Image: "localhost/picklock-nobody-has-this:0"})
	if !errors.Is(err, docker.ErrNoImage) {
		t.Errorf("got %v, want ErrNoImage: a missing image must not look like a missing engine", err)
	}
}

func TestBuildsExcludeEachOther(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	unlock, err := docker.LockBuild(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	told, locked := make(chan string, 1), make(chan error, 1)
	go func() {
		unlock, err := docker.LockBuild(t.Context(), func(s string) { told <- s })
		if err == nil {
			unlock()
		}
		locked <- err
	}()
	select { // the second says that it waits, and only then may the first go on
	case got := <-told:
		if !strings.Contains(got, "waiting") {
			t.Errorf("report: got %q, want that it waits", got)
		}
	case err := <-locked:
		t.Fatalf("two builds at once (error %v)", err)
	}
	unlock()
	if err := <-locked; err != nil {
		t.Errorf("second build: got %v, want its turn after the first", err)
	}

	unlock, err = docker.LockBuild(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := docker.LockBuild(ctx, func(string) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while waiting: got %v, want context.Canceled", err)
	}
}

func TestFailedBuildSaysWhatWentWrong(t *testing.T) {
	stream := `{"stream":"Step 1/2 : RUN   make \\\n"}
{"stream":"\n"}
{"stream":"cc: no such file\n"}
{"errorDetail":{"code":1,"message":"returned a non-zero code: 1"},"error":"returned a non-zero code: 1"}`
	var said []string
	err := docker.Follow(strings.NewReader(stream), func(s string) { said = append(said, s) })
	if err == nil || !strings.Contains(err.Error(), "non-zero code: 1") || !strings.Contains(err.Error(), "cc: no such file") {
		t.Errorf("error: got %v, want the engine's words and the last lines before them", err)
	}
	if len(said) != 1 || said[0] != `image: Step 1/2 : RUN make \` {
		t.Errorf("progress: got %q, want the one step", said)
	}
	if err := docker.Follow(strings.NewReader(`{"stream":"Step 1`), func(string) {}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("torn answer: got %v, want an error: half a build is no build", err)
	}
}
