// Package docker makes the image that every node runs in the docker runtime, and finds
// the Docker engine.
//
// The Dockerfile, the clock shim (C) and the scripts are embedded, so an installed binary
// needs no checkout. In goes nothing but the wish for an image, out comes its name. The
// package knows nothing of runs, nodes or networks: those are picklock/harness/topology.
//
// It speaks to the engine through the API client that testcontainers brings, never
// through the docker command: the API gives typed errors, needs no second program, and
// reaches the same engine as the containers do.
package docker

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
)

//go:embed Dockerfile
var dockerfile []byte

//go:embed shim/clock.h
var clockHeader []byte

//go:embed shim/clock.c
var clockShim []byte

//go:embed shim/clockset.c
var clockSet []byte

//go:embed node.sh
var nodeScript []byte

//go:embed base.sh
var baseScript []byte

// Where a node of the image keeps what moves its clock. "picklock-clock FILE OFFSET_NS"
// run in the node writes the state; see shim/clockset.c for its words.
const (
	ClockTool  = "/usr/local/bin/picklock-clock"
	ClockState = "/run/picklock/clock"
)

// registryBase is what the image is built from where a registry can be reached.
const registryBase = "debian:bookworm-slim"

// file is one file of the build context.
type file struct {
	name string
	data []byte
}

// buildFiles lists what the build needs. The order is part of the hash.
func buildFiles() []file {
	return []file{
		{"Dockerfile", dockerfile},
		{"shim/clock.h", clockHeader},
		{"shim/clock.c", clockShim},
		{"shim/clockset.c", clockSet},
		{"node.sh", nodeScript},
	}
}

// Tag names the node image. It ends in a hash of the embedded files, so that a changed
// Dockerfile or shim is a new image. The name begins with "localhost/", which no registry
// serves: a missing image is an error, and never somebody else's image of that name.
func Tag() string { return "localhost/picklock-node:" + hash(buildFiles()) }

// BaseTag names the base that base.sh makes where no registry can be reached.
func BaseTag() string {
	return "localhost/picklock-base:bookworm-" + hash([]file{{"base.sh", baseScript}})
}

func hash(files []file) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s %d\n", f.name, len(f.data))
		h.Write(f.data)
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// buildContext packs the files as the engine wants them.
func buildContext() (*bytes.Buffer, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, f := range buildFiles() {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.data))}); err != nil {
			return nil, fmt.Errorf("pack the build context: %w", err)
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, fmt.Errorf("pack the build context: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack the build context: %w", err)
	}
	return &buf, nil
}
