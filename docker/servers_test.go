package docker_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"picklock/docker"
)

func TestEveryServerHasAnImageOfItsOwn(t *testing.T) {
	tags := map[string]string{}
	for _, s := range docker.Servers() {
		name, about := s[0], s[1]
		tag, err := docker.TagFor(name)
		want := `^localhost/picklock-node:` + strings.ReplaceAll(name, ":", "-") + `-[0-9a-f]{12}$`
		if err != nil || !regexp.MustCompile(want).MatchString(tag) {
			t.Errorf("TagFor(%q): got %q, %v; want a name that no registry serves, with the server and a hash of its content", name, tag, err)
		}
		if tags[tag] != "" {
			t.Errorf("%s and %s have the same image %s", tags[tag], name, tag)
		}
		tags[tag] = name
		if about == "" || strings.Contains(about, "\n") {
			t.Errorf("about %s: got %q, want one line", name, about)
		}
	}
	if tags[docker.Tag()] != docker.DefaultServer || docker.Servers()[0][0] != docker.DefaultServer {
		t.Errorf("the default: got %s in %s and %s first, want %s", tags[docker.Tag()], docker.Tag(), docker.Servers()[0][0], docker.DefaultServer)
	}
	if tag, err := docker.TagFor(""); tag != docker.Tag() || err != nil {
		t.Errorf("no server: got %q, %v; want the default", tag, err)
	}
}

func TestUnknownServer(t *testing.T) {
	for _, name := range []string{"redis", "redis:9.9", "valkey:8 ", "Redis:7.0", "../redis:7.0"} {
		_, errTag := docker.TagFor(name)
		_, errEnsure := docker.EnsureFor(t.Context(), docker.Options{}, name)
		for _, err := range []error{errTag, errEnsure} {
			if !errors.Is(err, docker.ErrNoServer) {
				t.Errorf("server %q: got %v, want ErrNoServer", name, err)
				continue
			}
			for _, s := range docker.Servers() {
				if !strings.Contains(err.Error(), s[0]) {
					t.Errorf("server %q: got %q, want it to say what there is: %s is missing", name, err, s[0])
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("server %q: got %q, want one line", name, err)
			}
		}
	}
}
