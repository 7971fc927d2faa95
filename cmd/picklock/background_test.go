package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"picklock/harness/store"
)

// background is a picklock that runs while the test goes on.
type background struct {
	t    *testing.T
	cmd  *exec.Cmd
	errs bytes.Buffer
	dir  string
	tmp  string // its folder for temporary files
}

func begin(t *testing.T, dir string, args ...string) *background {
	t.Helper()
	b := &background{t: t, dir: dir, tmp: t.TempDir(), cmd: exec.Command(binary, args...)}
	out, err := os.Create(b.output())
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	b.cmd.Dir, b.cmd.Stdout, b.cmd.Stderr, b.cmd.Env = dir, out, &b.errs, append(os.Environ(), "TMPDIR="+b.tmp)
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.cmd.Process.Kill() }) // it has ended, if all went well
	return b
}

// output is the file that has what it prints.
func (b *background) output() string { return filepath.Join(b.dir, "output.txt") }

// awaitOutput waits until it has printed something: it has then planned its test, and
// handles signals.
func (b *background) awaitOutput() {
	b.t.Helper()
	await(b.t, "a word on what is tested", func() bool {
		info, err := os.Stat(b.output())
		return err == nil && info.Size() > 0
	})
}

// end sends a signal, waits for the end and returns the exit status.
func (b *background) end(sig os.Signal) int {
	b.t.Helper()
	if err := b.cmd.Process.Signal(sig); err != nil {
		b.t.Fatalf("%v; it said: %s", err, b.errs.String())
	}
	return b.wait()
}

// wait waits for the end and returns the exit status.
func (b *background) wait() int {
	_ = b.cmd.Wait() // the status tells
	return b.cmd.ProcessState.ExitCode()
}

func (b *background) latest() store.Dir { return store.Dir(filepath.Join(b.dir, "store", "latest")) }

// awaitRecord waits until the history on disk has a line that contains each of the words.
func (b *background) awaitRecord(words ...string) {
	b.t.Helper()
	await(b.t, fmt.Sprintf("a record with %q", words), func() bool {
		h, err := os.ReadFile(b.latest().Path(store.HistoryFile))
		if err != nil {
			return false
		}
		for line := range bytes.Lines(h) {
			all := true
			for _, w := range words {
				all = all && bytes.Contains(line, []byte(w))
			}
			if all {
				return true
			}
		}
		return false
	})
}

// runID is the run's id from test.json.
func (b *background) runID() string {
	b.t.Helper()
	test, err := b.latest().ReadTest()
	if err != nil {
		b.t.Fatal(err)
	}
	return test.Run
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("30 s went by without %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// kill ends a process of which processesWith told.
func kill(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err == nil {
		err = syscall.Kill(n, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatalf("kill %s: %v", pid, err)
	}
}
