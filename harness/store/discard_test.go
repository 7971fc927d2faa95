package store_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"picklock/harness/store"
)

// TestDiscard: what never began leaves no trace, and latest points to what did.
func TestDiscard(t *testing.T) {
	root := t.TempDir()
	create := func(run, lock string, after time.Duration) store.Dir {
		t.Helper()
		what := test(run)
		what.Name, what.Started = store.TestName(lock, "read-write", "single", nil), what.Started.Add(after)
		d, err := store.Create(root, what)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	latest := func() string {
		t.Helper()
		got, err := os.Readlink(filepath.Join(root, "latest"))
		if os.IsNotExist(err) {
			return ""
		}
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Join(root, got)
	}
	first := create("a", "setnx", 0)
	newer := create("b", "uuid-lua", time.Second)
	same := create("c", "uuid-lua", 2*time.Second)
	for _, step := range []struct {
		discard store.Dir
		latest  store.Dir
		kept    []store.Dir
	}{
		{first, same, []store.Dir{newer, same}},
		{same, newer, []store.Dir{newer}},
		{newer, "", nil},
	} {
		if err := store.Discard(root, step.discard); err != nil {
			t.Fatal(err)
		}
		if got := latest(); got != string(step.latest) {
			t.Errorf("without %s the latest is %q, want %q", step.discard, got, step.latest)
		}
		found, err := filepath.Glob(filepath.Join(root, "*", "*Z"))
		if err != nil || len(found) != len(step.kept) {
			t.Errorf("left are %v (%v), want %v", found, err, step.kept)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left in the store: %v (%v)", left, err)
	}
}
