package topology

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrConfig says that a server refuses what the plan wants in its configuration.
var ErrConfig = errors.New("the server refuses its configuration")

// ErrServer says that the server that a plan asks for is not there.
var ErrServer = errors.New("the server that was asked for is not there")

// wanted is what Plan.Server asks for.
type wanted struct {
	name    string // "redis" or "valkey"; empty: whatever there is
	version string // the first parts of it: 7.0 takes 7.0.15, and no 7.02
}

func (w wanted) String() string { return w.name + ":" + w.version }

// parseServer reads "redis:7.0", "valkey:8" and the like; empty asks for nothing. An error
// wraps ErrServer.
func parseServer(s string) (wanted, error) {
	if s == "" {
		return wanted{}, nil
	}
	name, version, _ := strings.Cut(s, ":")
	if (name != "redis" && name != "valkey") || version == "" || strings.Trim(version, "0123456789.") != "" ||
		strings.HasSuffix(version, ".") {
		return wanted{}, fmt.Errorf("%w: %q is no server: redis:7.0, valkey:8 and the like are", ErrServer, s)
	}
	return wanted{name, version}, nil
}

// check compares it with what is there, and says where that is.
func (w wanted) check(is server, where string) error {
	if w.name == "" || (w.name == is.name && strings.HasPrefix(is.version+".", w.version+".")) {
		return nil
	}
	return fmt.Errorf("%w: wanted %v, and %s is %s %s", ErrServer, w, where, is.name, is.version)
}

// installed finds the server in PATH. An error wraps ErrServer and says what there is
// instead.
func (w wanted) installed(ctx context.Context) (path string, err error) {
	const cure = "install it, or use --runtime docker"
	program := w.name + "-server"
	if path, err = lookServer(program); err != nil {
		return "", fmt.Errorf("%w: wanted %v, and %s is not in PATH; %s", ErrServer, w, program, cure)
	}
	is, err := versionOf(ctx, path)
	if err != nil {
		return "", fmt.Errorf("%w: %w; %s", ErrServer, err, cure)
	}
	if err := w.check(is, path); err != nil {
		return "", fmt.Errorf("%w; %s", err, cure)
	}
	return path, nil
}

// lookServer finds a program in PATH, as a path that holds in every folder.
func lookServer(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// versionOf asks a server's program what it is.
func versionOf(ctx context.Context, path string) (server, error) {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return server{}, fmt.Errorf("%s --version: %w", path, err)
	}
	return parseVersion(string(out))
}

// parseVersion reads "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 ...".
func parseVersion(said string) (server, error) {
	fields := strings.Fields(said)
	if len(fields) > 0 {
		for _, f := range fields[1:] {
			if v, ok := strings.CutPrefix(f, "v="); ok && v != "" {
				return server{name: strings.ToLower(fields[0]), version: v}, nil
			}
		}
	}
	return server{}, fmt.Errorf("%q names no version of a server", strings.TrimSpace(said))
}
