package docker

import (
	"errors"
	"fmt"
	"strings"
)

// DefaultServer is what the node image runs when nothing else is asked for.
const DefaultServer = "redis:7.0"

// ErrNoServer says that there is no image for the server that was asked for.
var ErrNoServer = errors.New("no such server")

// source is what a node image can be built from.
type source struct {
	image    string // the base
	packages string // what apt-get installs in it beside the tools; empty: the server is there
}

// server is one that nodes can run. In every image it is called redis-server.
type server struct {
	name     string
	about    string
	registry source // where a registry can be reached
	suite    string // where none can: the Debian release that base.sh makes ...
	packages string // ... and the server's packages there
}

// servers lists what nodes can run, the default first.
func servers() []server {
	return []server{
		{
			name: DefaultServer, about: "Redis 7.0 from Debian 12; the default",
			registry: source{"debian:bookworm-slim", "redis-server redis-sentinel"},
			suite:    "bookworm", packages: "redis-server redis-sentinel",
		},
		{
			name: "redis:8.0", about: "Redis 8.0, the official image, or from Debian 13",
			registry: source{"redis:8.0-bookworm", ""},
			suite:    "trixie", packages: "redis-server redis-sentinel",
		},
		{
			name: "valkey:8", about: "Valkey 8, the official image, or 8.1 from Debian 13",
			registry: source{"valkey/valkey:8-trixie", ""},
			suite:    "trixie", packages: "valkey-server valkey-sentinel",
		},
	}
}

// Servers lists the servers that nodes can run: name and one line about it, the default
// first.
func Servers() [][2]string {
	var list [][2]string
	for _, s := range servers() {
		list = append(list, [2]string{s.name, s.about})
	}
	return list
}

// findServer knows a server by its name; empty means the default. Any other error than
// none wraps ErrNoServer and lists what there is.
func findServer(name string) (server, error) {
	if name == "" {
		name = DefaultServer
	}
	var names []string
	for _, s := range servers() {
		if s.name == name {
			return s, nil
		}
		names = append(names, s.name)
	}
	return server{}, fmt.Errorf("%w: %q; there are %s", ErrNoServer, name, strings.Join(names, ", "))
}

// tag names the node image with this server. It says the server, and ends in a hash of all
// that goes into the image: a changed Dockerfile, shim or package list is a new image. It
// begins with "localhost/", which no registry serves: a missing image is an error, and
// never somebody else's image of that name.
func (s server) tag() string {
	recipe := file{"server", []byte(strings.Join([]string{s.registry.image, s.registry.packages, s.suite, s.packages}, "\n"))}
	return "localhost/picklock-node:" + strings.ReplaceAll(s.name, ":", "-") + "-" + hash(append(buildFiles(), recipe))
}

// baseTag names the base that base.sh makes for this server where no registry can be
// reached.
func (s server) baseTag() string {
	return "localhost/picklock-base:" + s.suite + "-" + hash([]file{{"base.sh", baseScript}})
}

// sources lists what the image may be built from, the best first.
func (s server) sources() []source {
	return []source{s.registry, {s.baseTag(), s.packages}}
}

// Tag names the node image with the default server.
func Tag() string { return servers()[0].tag() }

// TagFor names the node image with this server, e.g. "valkey:8"; empty means the default.
// For a server that is not in Servers the error wraps ErrNoServer and lists what there is.
func TagFor(server string) (string, error) {
	s, err := findServer(server)
	if err != nil {
		return "", err
	}
	return s.tag(), nil
}
