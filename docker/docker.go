// Package docker makes the image that every node runs in the docker runtime, and finds
// the Docker engine.
//
// The Dockerfile, the shim (C) and the scripts are embedded, so an installed binary
// needs no checkout. In goes nothing but the wish for a server, out comes an image's name. The
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
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
)

//go:embed Dockerfile
var dockerfile []byte

//go:embed shim
var shim embed.FS

//go:embed node.sh
var nodeScript []byte

//go:embed base.sh
var baseScript []byte

// Where a node of the image keeps what the shim reads and writes. "picklock-clock FILE OFFSET_NS"
// run in the node writes the clock's state; see shim/clockset.c for its words. What was
// synced is a table of records as in shim/sync.h.
const (
	ClockTool   = "/usr/local/bin/picklock-clock"
	ClockState  = "/run/picklock/clock"
	SyncedTable = "/run/picklock/synced"
)

// file is one file of the build context.
type file struct {
	name string
	data []byte
}

// Shim is the C source of what is preloaded into servers: the moved clock and the record
// of what was synced. build.sh in it compiles it; the headers say what it reads and writes.
func Shim() fs.FS {
	sub, err := fs.Sub(shim, "shim")
	if err != nil {
		panic(err) // the name is a constant and embedded
	}
	return sub
}

// ShimVersion is a hash of the shim's source.
func ShimVersion() string { return hash(shimFiles()) }

func shimFiles() []file {
	var files []file
	entries, err := shim.ReadDir("shim")
	for _, e := range entries { // sorted by name
		var data []byte
		if data, err = shim.ReadFile(path.Join("shim", e.Name())); err != nil {
			break
		}
		files = append(files, file{path.Join("shim", e.Name()), data})
	}
	if err != nil {
		panic(err) // it is embedded: there is nothing that could fail
	}
	return files
}

// buildFiles lists what the build needs. The order is part of the hash.
func buildFiles() []file {
	return append([]file{{"Dockerfile", dockerfile}, {"node.sh", nodeScript}}, shimFiles()...)
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
