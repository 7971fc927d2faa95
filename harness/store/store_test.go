package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"picklock/harness/store"
	"picklock/models"
)

func test(run string) *store.Test {
	return &store.Test{Name: store.TestName("uuid-lua", "read-write", "single", nil), Run: run, Started: store.Now(),
		Lock: "uuid-lua", TTL: store.Duration(1500 * time.Millisecond), Schedule: []store.Planned{{Kind: "k", At: store.Duration(time.Second)}}}
}

func TestFolderOfATest(t *testing.T) {
	root := t.TempDir()
	want := test("a")
	d, err := store.Create(root, want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.ReadTest()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("test.json reads %+v, want %+v", got, want)
	}
	latest, err := filepath.EvalSymlinks(filepath.Join(root, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	if abs, err := filepath.EvalSymlinks(string(d)); err != nil || latest != abs {
		t.Errorf("latest is %s, want %s (%v)", latest, abs, err)
	}
	for _, name := range []string{store.Journals, store.NodeLogs, store.ClientLogs} {
		if info, err := os.Stat(d.Path(name)); err != nil || !info.IsDir() {
			t.Errorf("no folder %s: %v", name, err)
		}
	}
	if err := d.WriteResult(&store.Result{Verdict: models.Valid, Test: *want}); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(d.Path(".*")); err != nil || len(left) > 0 {
		t.Errorf("half-written files are left: %v %v", left, err)
	}
	later := test("b")
	later.Started = want.Started.Add(time.Millisecond)
	if _, err := store.Create(root, later); err != nil {
		t.Errorf("a second test in the same store: %v", err)
	}
}

func TestFoldersThatAreNoTests(t *testing.T) {
	dir := t.TempDir()
	if _, err := store.Dir(dir).ReadTest(); !errors.Is(err, store.ErrNotATest) {
		t.Errorf("an empty folder: %v, want ErrNotATest", err)
	}
	for name, content := range map[string]string{"no JSON": "{", "a number for a duration": `{"ttl": 5}`, "no duration": `{"ttl": "5 apples"}`} {
		if err := os.WriteFile(filepath.Join(dir, store.TestFile), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Dir(dir).ReadTest(); !errors.Is(err, store.ErrNotATest) {
			t.Errorf("%s: %v, want ErrNotATest", name, err)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Create(file, test("c")); err == nil {
		t.Error("a store was made inside a file")
	}
}
