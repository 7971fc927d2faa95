package topology_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"picklock/docker"
	"picklock/harness/topology"
)

// leftovers lists everything of a run that this machine still has: processes that carry it
// in their environment, containers and networks with its label, and folders in tmp.
func leftovers(t *testing.T, run, tmp string, engine *client.Client) []string {
	t.Helper()
	found := processesOf(t, run)
	dirs, err := filepath.Glob(filepath.Join(tmp, "picklock-data_*"))
	must(t, err)
	found = append(found, dirs...)
	if engine == nil {
		return found
	}
	filter := make(client.Filters).Add("label", topology.LabelRun+"="+run)
	containers, err := engine.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: filter})
	must(t, err)
	for _, c := range containers.Items {
		found = append(found, fmt.Sprintf("container %.12s (%s)", c.ID, c.State))
	}
	networks, err := engine.NetworkList(t.Context(), client.NetworkListOptions{Filters: filter})
	must(t, err)
	for _, n := range networks.Items {
		found = append(found, "network "+n.Name)
	}
	return found
}

func processesOf(t *testing.T, run string) []string {
	t.Helper()
	envs, err := filepath.Glob("/proc/[0-9]*/environ")
	must(t, err)
	var found []string
	for _, path := range envs {
		env, err := os.ReadFile(path)
		if err != nil { // it ended, or is not ours
			continue
		}
		for kv := range bytes.SplitSeq(env, []byte{0}) {
			if string(kv) == topology.EnvRun+"="+run {
				comm, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "comm"))
				found = append(found, fmt.Sprintf("process %s %s", filepath.Base(filepath.Dir(path)), bytes.TrimSpace(comm)))
			}
		}
	}
	return found
}

// volumesOf lists the volumes of a run's containers.
func volumesOf(t *testing.T, run string, engine *client.Client) []string {
	t.Helper()
	containers, err := engine.ContainerList(t.Context(), client.ContainerListOptions{
		All: true, Filters: make(client.Filters).Add("label", topology.LabelRun+"="+run),
	})
	must(t, err)
	var names []string
	for _, c := range containers.Items {
		for _, m := range c.Mounts {
			names = append(names, m.Name)
		}
	}
	return names
}

func wantNothingLeft(t *testing.T, run, tmp string, engine *client.Client) {
	t.Helper()
	if found := leftovers(t, run, tmp, engine); len(found) != 0 {
		t.Errorf("left behind: %s; want nothing: leftovers disturb the next run", strings.Join(found, ", "))
	}
}

// eventually asks until ok says so; it fails the test after ten seconds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.NewTimer(10 * time.Second)
	defer end.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end.C:
			t.Fatalf("waited 10 s in vain: %s", what)
		}
	}
}

// dockerEngine connects to the engine for the test's own questions.
func dockerEngine(t *testing.T) *client.Client {
	t.Helper()
	c, err := docker.Connect(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}
