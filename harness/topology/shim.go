package topology

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"picklock/docker"
)

// ErrNoCompiler says that the shim cannot be compiled on this machine.
var ErrNoCompiler = errors.New("no C compiler that works")

// ErrNoShim says that a server runs without the shim: its clock cannot be moved, and what
// it synced is not known.
var ErrNoShim = errors.New("the shim is not loaded")

// noCompilerCure is what to do about ErrNoCompiler.
const noCompilerCure = "install one (apt-get install gcc libc6-dev), or use --runtime docker"

// shim is compiled and ready to be loaded into servers of this machine; what it is stands
// in the docker package's shim folder. All nodes share it, each with state files of its own.
type shim struct {
	lib  string // to be preloaded
	tool string // moves a clock; the words that it takes stand in clockset.c
}

// compileShim compiles the shim, or finds it where an earlier call left it: in a folder of
// the user's cache that is named after the version of its source. Without a compiler the
// error wraps ErrNoCompiler.
func compileShim(ctx context.Context, report func(string)) (*shim, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find a place for the compiled shim: %w", err)
	}
	cache = filepath.Join(cache, "picklock")
	err = os.MkdirAll(cache, 0o755)
	if err == nil {
		cache, err = filepath.EvalSymlinks(cache) // as the kernel shows it in what a process has mapped
	}
	if err != nil {
		return nil, fmt.Errorf("find a place for the compiled shim: %w", err)
	}
	dir := filepath.Join(cache, "shim-"+docker.ShimVersion()+"-"+runtime.GOARCH)
	s := &shim{lib: filepath.Join(dir, "picklock.so"), tool: filepath.Join(dir, "picklock-clock")}
	if _, err := os.Stat(dir); err == nil {
		return s, nil
	}
	work, err := os.MkdirTemp(cache, "compiling-*")
	if err != nil {
		return nil, fmt.Errorf("find a place for the compiled shim: %w", err)
	}
	defer os.RemoveAll(work)
	src, out := filepath.Join(work, "src"), filepath.Join(work, "out")
	if err := os.CopyFS(src, docker.Shim()); err != nil {
		return nil, fmt.Errorf("unpack the shim: %w", err)
	}
	if _, err := exec.LookPath("cc"); err != nil {
		return nil, fmt.Errorf("compile the shim: %w: cc is not in PATH; %s", ErrNoCompiler, noCompilerCure)
	}
	report("compiling the shim that moves clocks and watches syncs")
	said, err := exec.CommandContext(ctx, "sh", filepath.Join(src, "build.sh"), out).CombinedOutput()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("compile the shim: %w", context.Cause(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("compile the shim: %w: %s (%w); %s", ErrNoCompiler, firstError(string(said)), err, noCompilerCure)
	}
	// A folder appears whole or not at all. Whoever was faster has the same in it.
	if err := os.Rename(out, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("keep the compiled shim: %w", err)
	}
	return s, nil
}

// firstError is the line of a compiler's output that tells most.
func firstError(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for _, l := range lines {
		if strings.Contains(l, "error") || strings.Contains(l, "not found") {
			return l
		}
	}
	return lines[0]
}

// setClock runs the tool on a state file: "reset", or an offset and a drift.
func (s *shim) setClock(ctx context.Context, state string, words ...string) error {
	said, err := exec.CommandContext(ctx, s.tool, append([]string{state}, words...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s (%w)", strings.TrimSpace(string(said)), err)
	}
	return nil
}

// env is what loads the shim into a program that gets it added to its environment. What
// the user preloads already stays.
func (s *shim) env(clock, synced string) []string {
	preload := s.lib
	if more := os.Getenv("LD_PRELOAD"); more != "" {
		preload += ":" + more
	}
	return []string{"LD_PRELOAD=" + preload, "PICKLOCK_CLOCK=" + clock, "PICKLOCK_SYNCED=" + synced}
}
