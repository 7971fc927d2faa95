package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"picklock/harness/store"
)

// TestOpenIn: what is regular and not hidden is opened, and nothing else, least of all what
// is outside.
func TestOpenIn(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	write(t, outside, "secret")
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a", "b.json"), "{}")
	write(t, filepath.Join(dir, ".hidden", "b.json"), "{}")
	write(t, filepath.Join(dir, "a", ".running"), "1")
	for link, to := range map[string]string{"out": outside, "up": filepath.Dir(outside), "in": "a", "a/link.json": "b.json"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "a", "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	if b, err := store.ReadIn(root, "a/b.json", 10); err != nil || string(b) != "{}" {
		t.Errorf("a regular file: %q, %v", b, err)
	}
	if _, err := store.ReadIn(root, "a/b.json", 1); err == nil {
		t.Error("a file that is larger than wanted was read")
	}
	for _, name := range []string{
		"", ".", "a", "/a/b.json", "../" + filepath.Base(dir) + "/a/b.json", "a/../a/b.json", "a//b.json", "a/b.json/", "./a/b.json",
		"out", "up/secret", "in/b.json", "a/link.json", ".hidden/b.json", "a/.running", "a/pipe", "a/none", "a/b.json/x", "a\x00b", "a/b.json\x00",
		strings.Repeat("x", 300), strings.Repeat("x/", 3000) + "x",
	} {
		if f, _, err := store.OpenIn(root, name); err == nil {
			_ = f.Close()
			t.Errorf("%q was opened", name)
		} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENAMETOOLONG) && !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%q: %v, which is not fs.ErrNotExist", name, err)
		}
	}
}
