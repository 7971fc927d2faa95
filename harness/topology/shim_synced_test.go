package topology_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"picklock/harness/topology"
)

// fileProgram compiles testdata/shim/files.c and returns how to run it under the shim: it
// does what lines say in dir and returns its answers.
func fileProgram(t *testing.T) func(t fataler, dir, synced string, lines ...string) []string {
	t.Helper()
	env, err := topology.CompileShim(t.Context())
	must(t, err)
	program := filepath.Join(t.TempDir(), "files")
	if out, err := exec.CommandContext(t.Context(), "cc", "-O1", "-Wall", "-Wextra", "-pthread", "-o", program, "testdata/shim/files.c").CombinedOutput(); err != nil {
		t.Fatalf("compile: %v: %s", err, out)
	}
	return func(tb fataler, dir, synced string, lines ...string) []string {
		cmd := exec.CommandContext(t.Context(), program)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), env(filepath.Join(dir, "no-clock"), synced)...)
		cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			tb.Fatalf("run %q: %v", lines, err)
		}
		return strings.Fields(string(out))
	}
}

type fataler interface{ Fatalf(string, ...any) }

// modelFile is what a file is in the model: its length, and how much of it was synced.
type modelFile struct{ size, synced int64 }

// modelStep does to the model what an operation does to files, and says whether it can.
func modelStep(files map[string]modelFile, op, a, b string, n int64) bool {
	f, there := files[a]
	switch op {
	case "append":
		f.size += n
	case "sync", "datasync", "childsync":
		f.synced = f.size
	case "empty":
		f = modelFile{}
	case "cut", "fcut": // may make it longer
		f = modelFile{n, min(n, f.synced)}
	case "rename":
		if there {
			delete(files, a)
			files[b] = f
		}
		return there
	case "unlink":
		delete(files, a)
		return there
	}
	if there || op == "append" || op == "empty" {
		files[a] = f
		return true
	}
	return false
}

func TestTableKnowsWhatWasSynced(t *testing.T) {
	run := fileProgram(t)
	names := []string{"a", "b", "sub/a", "./sub/../c"}
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
			rt.Fatal(err)
		}
		files := map[string]modelFile{}
		table := filepath.Join(dir, "table")
		for range rapid.IntRange(1, 2).Draw(rt, "lives") { // the table goes on from life to life
			var lines, want []string
			for range rapid.IntRange(1, 20).Draw(rt, "steps") {
				op := rapid.SampledFrom([]string{"append", "append", "sync", "datasync", "childsync", "rename", "empty", "cut", "fcut", "unlink"}).Draw(rt, "op")
				a, b := rapid.SampledFrom(names).Draw(rt, "a"), rapid.SampledFrom(names).Draw(rt, "b")
				n := rapid.Int64Range(1, 5000).Draw(rt, "n")
				line := op + " " + a
				switch op {
				case "rename":
					line += " " + b
				case "append", "cut", "fcut":
					line += fmt.Sprint(" ", n)
				}
				answer := "2" // ENOENT
				if modelStep(files, op, a, b, n) {
					answer = "ok"
				}
				lines, want = append(lines, line), append(want, answer)
			}
			if got := run(rt, dir, table, lines...); !slices.Equal(got, want) {
				rt.Fatalf("%q: got %q, want %q: the shim must not change what a call does", lines, got, want)
			}
		}
		b, err := os.ReadFile(table)
		if err != nil {
			rt.Fatal(err)
		}
		synced, err := topology.Synced(b, func(path string) bool { _, err := os.Stat(path); return err == nil })
		if err != nil {
			rt.Fatal(err)
		}
		got := map[string]modelFile{}
		for _, name := range names {
			path := filepath.Join(dir, name)
			if st, err := os.Stat(path); err == nil {
				got[name] = modelFile{st.Size(), min(st.Size(), synced[path])}
			}
		}
		if !maps.Equal(got, files) {
			rt.Fatalf("got %v, want %v (length and synced length)", got, files)
		}
	})
}

func TestTableUnderThreadsAndChildren(t *testing.T) {
	run := fileProgram(t)
	dir := t.TempDir()
	table := filepath.Join(dir, "table")
	if got := run(t, dir, table, "storm 4 100"); !slices.Equal(got, []string{"ok"}) {
		t.Fatalf("got %q, want ok", got)
	}
	b, err := os.ReadFile(table)
	must(t, err)
	synced, err := topology.Synced(b, func(string) bool { return true })
	must(t, err)
	for _, name := range []string{"storm-0", "storm-1", "storm-2", "storm-3", "storm-child"} {
		if got := synced[filepath.Join(dir, name)]; got != 100 {
			t.Errorf("%s: got %d bytes synced, want all 100", name, got)
		}
	}
	if len(b) > 10*2048 {
		t.Errorf("the table has %d bytes for five files: records of files that moved are not used again", len(b))
	}
}

func TestSyncThatCannotBeNotedFails(t *testing.T) {
	run := fileProgram(t)
	got := run(t, t.TempDir(), "/nonexistent/table", "append a 10", "sync a", "datasync a", "rename a b", "unlink b")
	if want := []string{"ok", "5", "5", "ok", "ok"}; !slices.Equal(got, want) { // EIO
		t.Errorf("got %q, want %q: a server must not acknowledge what the harness would take away", got, want)
	}
}

// record is one of the table, as sync.h lays it out.
func record(length int64, path, moving string) []byte {
	b := make([]byte, 2048)
	binary.LittleEndian.PutUint64(b, uint64(length))
	copy(b[8:], path)
	copy(b[8+1020:], moving)
	return b
}

func TestRenameThatWasCutOff(t *testing.T) {
	table := slices.Concat(record(50, "/d/goal", ""), record(9, "", ""), record(7, "/d/temp", "/d/goal"), record(3, "/d/other", ""))
	for name, tc := range map[string]struct {
		there []string
		want  map[string]int64
	}{
		"before it happened": {[]string{"/d/goal", "/d/temp", "/d/other"}, map[string]int64{"/d/goal": 50, "/d/temp": 7, "/d/other": 3}},
		"after it happened":  {[]string{"/d/goal", "/d/other"}, map[string]int64{"/d/goal": 7, "/d/other": 3}},
	} {
		got, err := topology.Synced(table, func(path string) bool { return slices.Contains(tc.there, path) })
		if err != nil || !maps.Equal(got, tc.want) {
			t.Errorf("%s: got %v, %v; want %v", name, got, err, tc.want)
		}
	}
}

func TestCutFolder(t *testing.T) {
	dir := t.TempDir()
	aof := filepath.Join(dir, topology.AOFDir)
	if _, err := topology.CutFolder(dir); err == nil {
		t.Error("a folder without a table was cut: what was synced is not known")
	}
	path := func(name string) string { return filepath.Join(aof, name) }
	table := slices.Concat(record(10, path("whole"), ""), record(4, path("torn"), ""), record(99, path("grew-less"), ""))
	must(t, os.WriteFile(filepath.Join(dir, topology.SyncedFile), table, 0o644))
	proof, err := topology.CutFolder(dir)
	if want := "lost what was in memory: it keeps no append-only file"; err != nil || proof != want {
		t.Errorf("without append-only files: got %q, %v; want %q", proof, err, want)
	}
	must(t, os.Mkdir(aof, 0o755))
	files := map[string]int64{"grew-less": 10, "never": 0, "torn": 4, "whole": 10} // what must be left
	for name := range files {
		must(t, os.WriteFile(path(name), []byte("0123456789"), 0o644))
	}
	must(t, os.Mkdir(path("folder"), 0o755))
	proof, err = topology.CutFolder(dir)
	if want := "lost 10 of 10 bytes of never, 6 of 10 bytes of torn"; err != nil || proof != want {
		t.Errorf("got %q, %v; want %q", proof, err, want)
	}
	for name, want := range files {
		if b, err := os.ReadFile(path(name)); err != nil || string(b) != "0123456789"[:want] {
			t.Errorf("%s: got %q, %v; want its first %d bytes", name, b, err, want)
		}
	}
	if proof, err = topology.CutFolder(dir); proof != "lost 0 bytes: all 24 of its 4 append-only files were synced" || err != nil {
		t.Errorf("again: got %q, %v; want that nothing more is lost", proof, err)
	}
}

func FuzzSyncedTable(f *testing.F) {
	f.Add([]byte{})
	f.Add(record(5, "/data/appendonlydir/appendonly.aof.1.incr.aof", ""))
	f.Add(slices.Concat(record(0, "/a", "/b"), record(1, "/b", "")))
	f.Add(record(-1, "/a", ""))
	f.Add(bytes.Repeat([]byte("x"), 2048))
	f.Add([]byte("short"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := topology.Synced(b, func(path string) bool { return len(path)%2 == 0 })
		if err != nil {
			return
		}
		if len(got) > len(b)/2048 {
			t.Errorf("%d files from %d bytes", len(got), len(b))
		}
		for path, n := range got {
			if path == "" || n < 0 || strings.ContainsRune(path, 0) {
				t.Errorf("file %q with %d bytes", path, n)
			}
		}
	})
}
