package docker_test

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"picklock/docker"
)

// baseScript runs base.sh from standard input, as an installed binary has it.
func baseScript(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-s", "--"}, args...)...)
	cmd.Stdin = bytes.NewReader(docker.BaseScript())
	return cmd
}

func TestBaseScriptSaysWhyItCannot(t *testing.T) {
	nobody := baseScript(t, "--tar")
	if os.Getuid() == 0 {
		nobody.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		nobody.Dir = "/"
	}
	for _, tc := range []struct {
		name string
		cmd  *exec.Cmd
		want string
	}{
		{"no argument", baseScript(t), "usage:"},
		{"empty name", baseScript(t, ""), "usage:"},
		{"three arguments", baseScript(t, "--tar", "trixie", "more"), "usage:"},
		{"no root", nobody, "must run as root"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			tc.cmd.Stdout, tc.cmd.Stderr = &stdout, &stderr
			err := tc.cmd.Run()
			if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("got %v, want exit code 1", err)
			}
			if !strings.Contains(stderr.String(), tc.want) || stdout.Len() != 0 {
				t.Errorf("got stderr %q, stdout of %d bytes; want %q and no output", stderr.String(), stdout.Len(), tc.want)
			}
		})
	}
}

func TestInterruptedBaseScriptCleansUp(t *testing.T) {
	tmp := t.TempDir()
	cmd := baseScript(t, "--tar")
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	said := ""
	for !strings.Contains(said, "making a base") && lines.Scan() {
		said += lines.Text() + "\n"
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	giveUp := time.Now().Add(20 * time.Second)
	for working := false; !working; <-tick.C {
		made, err := filepath.Glob(filepath.Join(tmp, "picklock-base.*", "root", "debootstrap"))
		if working = len(made) == 1; err != nil || time.Now().After(giveUp) {
			t.Fatalf("debootstrap never began: got %v, %v; it said %q", made, err, said)
		}
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		said += lines.Text() + "\n"
	}
	if err := cmd.Wait(); err == nil {
		t.Errorf("it ended well after SIGTERM; it said %q", said)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v; want nothing (it said %q)", left, err, said)
	}
}
