//go:build soak

package docker_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"picklock/docker"
)

// TestSoakImagesFromNothing makes every base and every image anew, under names of its own:
// about a minute each.
func TestSoakImagesFromNothing(t *testing.T) {
	c, err := docker.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	say := func(s string) { t.Log(s) }
	own := "localhost/picklock-test-" + uuid.NewString()
	var made []string
	defer func() {
		for i := len(made) - 1; i >= 0; i-- { // an image goes before its base
			if _, err := c.ImageRemove(t.Context(), made[i], client.ImageRemoveOptions{PruneChildren: true}); err != nil {
				t.Error(err)
			}
		}
	}()
	timed := func(what string, do func() error) {
		t.Helper()
		began := time.Now()
		if err := do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		t.Logf("%s: %.0f s", what, time.Since(began).Seconds())
	}

	bases := map[string]string{}
	for _, s := range docker.Servers() {
		suite, packages, err := docker.Packages(s[0])
		if err != nil {
			t.Fatal(err)
		}
		if bases[suite] == "" {
			bases[suite] = own + ":base-" + suite
			timed("base "+suite, func() error { return docker.MakeBase(t.Context(), c, say, bases[suite], suite) })
			made = append(made, bases[suite])
		}
		image := own + ":" + strings.ReplaceAll(s[0], ":", "-")
		timed("image "+s[0], func() error { return docker.Build(t.Context(), c, say, image, bases[suite], packages) })
		made = append(made, image)
		wantServer(t, c, image, s[0])

		// An official image has its server, and an entrypoint and a volume of its own:
		// what was just made stands for one. Nothing but the tools may be added to it.
		if s[0] != docker.DefaultServer {
			continue // one of them tells enough
		}
		again := image + "-again"
		timed("image on an image", func() error { return docker.Build(t.Context(), c, say, again, image, "") })
		made = append(made, again)
		wantServer(t, c, again, s[0])
	}
}

// wantServer runs an image's programs: each must be there, under the names that every
// image has, and the server must be the one that was asked for.
func wantServer(t *testing.T, c *client.Client, image, name string) {
	t.Helper()
	const script = "redis-server --version; redis-cli --version; for p in redis-sentinel iptables ip ps; do command -v $p; done; " +
		"touch /data/written; test -e /run/picklock/synced"
	made, err := c.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Config: &container.Config{Image: image, Cmd: []string{"sh", "-ec", script}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_, err := c.ContainerRemove(t.Context(), made.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		if err != nil {
			t.Error(err)
		}
	}()
	ended := c.ContainerWait(t.Context(), made.ID, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := c.ContainerStart(t.Context(), made.ID, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	var code int64
	select {
	case err := <-ended.Error:
		t.Fatal(err)
	case end := <-ended.Result:
		code = end.StatusCode
	}
	log, err := c.ContainerLogs(t.Context(), made.ID, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var said bytes.Buffer
	if _, err := stdcopy.StdCopy(&said, &said, log); err != nil {
		t.Fatal(err)
	}
	kind, version, _ := strings.Cut(name, ":")
	if got := strings.ToLower(said.String()); code != 0 || !strings.HasPrefix(got, kind+" server v="+version) {
		t.Errorf("%s: got exit code %d and %q, want %s", image, code, said.String(), name)
	}
}
