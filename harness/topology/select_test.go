package topology_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"picklock/docker"
	"picklock/harness/topology"
)

func TestSelect(t *testing.T) {
	for name, want := range map[string]string{"auto": "docker", "": "docker", "docker": "docker", "process": "process"} {
		r, why, err := topology.Select(t.Context(), name, topology.DockerOptions{})
		if err != nil || r.Name() != want || !strings.HasPrefix(why, "runtime "+want+": ") {
			t.Errorf("select %q: got %v (%q), %v; want %s and why", name, r, why, err, want)
		}
	}
	if _, _, err := topology.Select(t.Context(), "podman", topology.DockerOptions{}); err == nil {
		t.Error("an unknown runtime was selected")
	}
	if _, _, err := topology.Select(t.Context(), "docker", topology.DockerOptions{Reach: "far"}); err == nil {
		t.Error("an unknown reach was taken")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := topology.Select(cancelled, "auto", topology.DockerOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v, want context.Canceled: an interrupted run must not go on in another runtime", err)
	}
}

func TestSelectWithoutServerInPath(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, _, err := topology.Select(t.Context(), "process", topology.DockerOptions{})
	if !errors.Is(err, topology.ErrNoServer) || !strings.Contains(err.Error(), "apt-get install") {
		t.Errorf("got %v, want ErrNoServer with the cure", err)
	}
}

// Where the engine is, is looked up once per process: other environments need others.
func TestSelectWithoutDocker(t *testing.T) {
	for _, tc := range []struct {
		job, env string
		want     []string // in what is said, or in the error after "error:"
	}{
		{"select:auto", "", []string{"runtime process", docker.ErrNoDocker.Error()}},
		{"select:docker", "", []string{"error:", docker.ErrNoDocker.Error(), "--runtime process"}},
		{"select:auto", "PATH=/nonexistent", []string{"error:", docker.ErrNoDocker.Error(), topology.ErrNoServer.Error()}},
	} {
		t.Run(tc.job+tc.env, func(t *testing.T) {
			env := []string{"DOCKER_HOST=unix:///nonexistent/docker.sock"}
			if tc.env != "" {
				env = append(env, tc.env)
			}
			got, kill := startHelper(t, tc.job, env...)
			kill()
			said := got.Why
			if got.Err != "" {
				said = "error: " + got.Err
			}
			for _, want := range tc.want {
				if !strings.Contains(said, want) {
					t.Errorf("got %q, want it to say %q", said, want)
				}
			}
			if strings.Contains(said, "\n") {
				t.Errorf("got %q, want one line", said)
			}
		})
	}
}

func TestProgramWithoutGuardsIsToldSo(t *testing.T) {
	// The variable stands for a program that was started as a guard and went on as itself:
	// without this check it would start itself again and again.
	got, kill := startHelper(t, "process", "PICKLOCK_GUARD=1", "HELPER_RUN=test-guard", "HELPER_DIR="+t.TempDir())
	kill()
	if !strings.Contains(got.Err, "RunGuardIfAsked") {
		t.Errorf("got error %q, want the call that is missing", got.Err)
	}
}

func TestReachAutoTakesWhatAnswers(t *testing.T) {
	k := kinds(t)[1]
	k.make = func(t *testing.T) topology.Runtime {
		r, err := topology.NewDocker(topology.DockerOptions{})
		must(t, err)
		return r
	}
	b := start(t, k, topology.Single("lock", topology.PersistNone)...)
	if len(b.Nodes()) != 1 {
		t.Errorf("nodes with the stock on the lock's: got %d, want 1", len(b.Nodes()))
	}
	wantNoErr(t, "PING", dial(t, b.Nodes()[0].Addr()).Ping(t.Context()).Err())
	switch reach := b.About()["reach"]; reach {
	case "container", "published":
	default:
		t.Errorf("reach: got %q, want what was taken: a report must say it", reach)
	}
}

func TestWrongPlansAreRefused(t *testing.T) {
	r, err := topology.NewProcess()
	must(t, err)
	dir := t.TempDir()
	node := func(name string, p topology.Persistence) topology.NodeSpec {
		return topology.NodeSpec{Name: name, Persistence: p}
	}
	good := node("a", topology.PersistNone)
	for name, p := range map[string]topology.Plan{
		"no run":              {Dir: dir, Nodes: []topology.NodeSpec{good}},
		"no nodes":            {Dir: dir, Run: "r"},
		"no folder":           {Dir: dir + "/none", Run: "r", Nodes: []topology.NodeSpec{good}},
		"a name twice":        {Dir: dir, Run: "r", Nodes: []topology.NodeSpec{good, good}},
		"a name with a path":  {Dir: dir, Run: "r", Nodes: []topology.NodeSpec{node("../a", topology.PersistNone)}},
		"unknown kind":        {Dir: dir, Run: "r", Nodes: []topology.NodeSpec{{Name: "a", Persistence: topology.PersistNone, Kind: "x"}}},
		"replica of nobody":   {Dir: dir, Run: "r", Nodes: []topology.NodeSpec{{Name: "a", Persistence: topology.PersistNone, ReplicaOf: "b"}}},
		"replica of itself":   {Dir: dir, Run: "r", Nodes: []topology.NodeSpec{{Name: "a", Persistence: topology.PersistNone, ReplicaOf: "a"}}},
		"watches nobody":      {Dir: dir, Run: "r", Nodes: []topology.NodeSpec{good, {Name: "s", Persistence: topology.PersistNone, Kind: topology.SentinelNode}}},
		"a lock that watches": {Dir: dir, Run: "r", Nodes: []topology.NodeSpec{good, {Name: "b", Persistence: topology.PersistNone, Watches: "a"}}},
		"args without dashes": {Dir: dir, Run: "r", Nodes: []topology.NodeSpec{{Name: "a", Persistence: topology.PersistNone, Args: []string{"maxmemory", "1"}}}},
		"hasty Sentinels":     {Dir: dir, Run: "r", Nodes: []topology.NodeSpec{good}, DownAfter: time.Millisecond},
		"unknown server":      {Dir: dir, Run: "r", Nodes: []topology.NodeSpec{good}, Server: "keydb:6"},
		"unknown persistence": {Dir: dir, Run: "r", Nodes: []topology.NodeSpec{node("a", "sometimes")}},
	} {
		if c, err := r.Start(t.Context(), p); err == nil {
			t.Errorf("%s: the plan was started (%v)", name, c.Close(t.Context()))
		}
	}
}

func TestDoctor(t *testing.T) {
	checks := topology.Doctor(t.Context(), "")
	var names []string
	for _, c := range checks {
		names = append(names, c.Name)
		if c.OK != (c.Cure == "") || c.Detail == "" {
			t.Errorf("check %+v: want a cure exactly where something is wrong, and always what was found", c)
		}
		if (c.Name == "redis-server" || c.Name == "loopback" || c.Name == "docker") && !c.OK {
			t.Errorf("check %+v: want it well, for this test's package needs it", c)
		}
	}
	if got, want := strings.Join(names, " "), "docker image redis-server loopback C compiler iptables debootstrap root"; got != want {
		t.Errorf("checks: got %q, want %q", got, want)
	}
	t.Setenv("PATH", t.TempDir())
	for _, c := range topology.Doctor(t.Context(), "localhost/picklock-nobody-has-this:0") {
		if (c.Name == "redis-server" || c.Name == "image" || c.Name == "debootstrap") && (c.OK || c.Cure == "") {
			t.Errorf("check %+v with nothing in PATH and a missing image: want a cure", c)
		}
	}
}
