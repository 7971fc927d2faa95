package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"picklock/harness/store"
)

// binary is the program as a user has it, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "picklock-e2e-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		binary = filepath.Join(dir, "picklock")
		if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build picklock: %v\n%s", err, out)
			return 1
		}
		status := m.Run()
		if left := running(binary); len(left) > 0 {
			fmt.Fprintf(os.Stderr, "left running after all tests: %v\n", left)
			return 1
		}
		return status
	}())
}

// running are the processes that run a program: harnesses, clients and guards.
func running(program string) []string {
	var found []string
	links, _ := filepath.Glob("/proc/[0-9]*/exe") // the pattern is well formed
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == program {
			found = append(found, filepath.Dir(link))
		}
	}
	return found
}

// ran is what a command did.
type ran struct {
	args           []string
	stdout, stderr string
	status         int
}

func (r ran) String() string {
	return fmt.Sprintf("picklock %s: status %d\nstdout: %s\nstderr: %s", strings.Join(r.args, " "), r.status, r.stdout, r.stderr)
}

// picklock runs the binary in a folder of its own and waits for its end.
func picklock(t *testing.T, dir string, env []string, args ...string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it cleans up then
	cmd.WaitDelay = time.Minute
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("picklock %v: %v\n%s", args, err, errs.String())
	}
	return ran{args: args, stdout: out.String(), stderr: errs.String(), status: cmd.ProcessState.ExitCode()}
}

// judged runs a test with --json and returns its result.
func judged(t *testing.T, dir string, args ...string) (*store.Result, ran) {
	t.Helper()
	r := picklock(t, dir, nil, append([]string{"run", "--json"}, args...)...)
	return parse(t, r), r
}

func parse(t *testing.T, r ran) *store.Result {
	t.Helper()
	if r.status > 2 {
		t.Fatalf("it gave no verdict: %s", r)
	}
	var res store.Result
	d := json.NewDecoder(strings.NewReader(r.stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(&res); err != nil {
		t.Fatalf("the output is not results.json: %v\n%s", err, r)
	}
	if d.More() || r.stderr != "" {
		t.Fatalf("--json printed something besides results.json: %s", r)
	}
	return &res
}

// read reads a file.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
