package docker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/moby/moby/client"
)

// makeBase runs base.sh for a Debian release and imports what it writes. The script only makes the file
// system: the import goes through the API, so no docker command is needed.
func (b *builder) makeBase(ctx context.Context, tag, suite string) error {
	v, err := b.client.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return fmt.Errorf("ask the engine for its version: %w", err)
	}
	if v.Arch != runtime.GOARCH || v.Os != runtime.GOOS {
		return fmt.Errorf("the engine runs %s/%s and this machine %s/%s: packages from here would not run there",
			v.Os, v.Arch, runtime.GOOS, runtime.GOARCH)
	}
	dir, err := os.MkdirTemp("", "picklock-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	script := filepath.Join(dir, "base.sh")
	if err := os.WriteFile(script, baseScript, 0o600); err != nil {
		return err
	}
	fs, err := os.Create(filepath.Join(dir, "base.tar"))
	if err != nil {
		return err
	}
	defer fs.Close()

	// Into a file first: a script that fails half-way must not become an image.
	if err := b.runScript(ctx, fs, "sh", script, "--tar", suite); err != nil {
		return err
	}
	if _, err := fs.Seek(0, io.SeekStart); err != nil {
		return err
	}
	name, version, _ := strings.Cut(tag, ":")
	res, err := b.client.ImageImport(ctx, client.ImageImportSource{Source: fs, SourceName: "-"}, name,
		client.ImageImportOptions{Tag: version, Message: "Debian's packages, by picklock's base.sh", Changes: []string{`CMD ["bash"]`}})
	if err != nil {
		return fmt.Errorf("import %s: %w", tag, err)
	}
	defer res.Close()
	if err := b.follow(res); err != nil {
		return fmt.Errorf("import %s: %w", tag, err)
	}
	return nil
}

// runScript runs a command whose standard error is progress. When ctx ends, the whole
// process group is asked to end, so that the script can unmount and remove what it made.
func (b *builder) runScript(ctx context.Context, out *os.File, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout = out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	progress, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var last string
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		if s := strings.TrimSpace(lines.Text()); s != "" {
			last = s
			if strings.HasPrefix(s, "base.sh: ") {
				b.report(s)
			}
		}
	}
	_, _ = io.Copy(io.Discard, progress) // a line too long for the scanner must not block the script
	err = cmd.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return fmt.Errorf("%s (%w)", last, err)
	}
	return err
}
