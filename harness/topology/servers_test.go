package topology_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picklock/docker"
	"picklock/harness/topology"
)

func TestProcessTakesTheServerThatIsAskedFor(t *testing.T) {
	r, err := topology.NewProcess()
	must(t, err)
	nodes := topology.Single("lock", topology.PersistNone)
	for _, server := range []string{"redis:7", "redis:7.0"} {
		b := startPlan(t, kinds(t)[0], topology.Plan{Nodes: nodes, Server: server})
		if v := b.About()["redis"]; !strings.HasPrefix(v, "7.0.") {
			t.Errorf("%s runs as %q, want 7.0.x", server, v)
		}
	}
	fake := t.TempDir()
	must(t, os.WriteFile(filepath.Join(fake, "valkey-server"), []byte("#!/bin/sh\necho Valkey server v=7.2.9 sha=0\n"), 0o755))
	for _, tc := range []struct{ server, path, want string }{
		{"redis:8.0", os.Getenv("PATH"), "redis 7.0."},
		{"valkey:8", os.Getenv("PATH"), "valkey-server is not in PATH"},
		{"valkey:8", fake, "valkey 7.2.9"},
		{"valkey", fake, `"valkey" is no server`},
	} {
		t.Setenv("PATH", tc.path)
		_, err := r.Start(t.Context(), topology.Plan{Run: "r", Dir: t.TempDir(), Nodes: nodes, Server: tc.server})
		if !errors.Is(err, topology.ErrServer) || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want ErrServer in one line that says %q", tc.server, err, tc.want)
		}
	}
}

func TestDockerTellsAnotherServerThanAskedFor(t *testing.T) {
	engine := dockerEngine(t)
	image, err := docker.Ensure(t.Context(), docker.Options{})
	must(t, err)
	for _, tc := range []struct{ image, server, want string }{
		{image, "redis:8.0", "redis 7.0."},
		{"", "redis:1.0", "redis:1.0"},
		{"", "memcached:1", "is no server"},
	} {
		run, tmp, logs := place(t)
		r, err := topology.NewDocker(topology.DockerOptions{Image: tc.image})
		must(t, err)
		_, err = r.Start(t.Context(), topology.Plan{Run: run, Dir: logs, Data: tmp, Nodes: topology.Single("lock", topology.PersistNone), Server: tc.server})
		if !errors.Is(err, topology.ErrServer) || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s in image %q: got %v, want ErrServer in one line that says %q", tc.server, tc.image, err, tc.want)
		}
		wantNothingLeft(t, run, tmp, engine)
	}
}
