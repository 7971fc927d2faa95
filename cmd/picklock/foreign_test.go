package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestForeignHistories: known good and bad histories of other harnesses get the published
// verdicts; the file's name says which.
func TestForeignHistories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../harness/foreign/testdata/*-*.*")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, file := range files {
		verdict, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), "-")
		args := []string{"check", "--format", map[string]string{".edn": "edn", ".jsonl": "jsonl"}[filepath.Ext(file)]}
		if args[2] == "" {
			args[2] = "porcupine"
		}
		for _, model := range []string{"reentrant-fenced-mutex --holds 2", "reentrant-mutex --holds 2", "fenced-mutex", "owner-mutex", "mutex",
			"permits --permits 2", "semaphore --permits 2", "cas-register", "register", "kv"} {
			if words := strings.Fields(model); strings.HasPrefix(name, words[0]) {
				args = append(append(args, "--model"), words...)
				break
			}
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			r := picklock(t, ".", nil, append(args, file)...)
			want, says := 0, ": valid as "
			if verdict == "bad" {
				want, says = 1, "no order of the operations explains all answers up to line "
			}
			if r.status != want || !strings.Contains(r.stdout, says) {
				t.Errorf("want status %d and %q: %s", want, says, r)
			}
			long := picklock(t, ".", nil, append(args, "--json", file)...)
			if short := map[int]string{0: `"verdict": "valid"`, 1: `"verdict": "violated"`}[want]; long.status != want || !strings.Contains(long.stdout, short) {
				t.Errorf("with --json, want status %d and %s: %s", want, short, long)
			}
		})
	}
}

// TestForeignHistoryTooHard: a history that cannot be decided in time is unknown, and the
// result says how much was not decided. Unknown writes of a register that nobody can place,
// and a read in the end of a value that nobody wrote, have porcupine try all their orders.
func TestForeignHistoryTooHard(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	line := func(process int, typ, f, value string) {
		fmt.Fprintf(&b, "{:process %d, :type :%s, :f :%s, :value %s}\n", process, typ, f, value)
	}
	for i := range 64 {
		line(i, "invoke", "cas", fmt.Sprintf("[%d %d]", i%7, (i*5+3)%7))
		line(i, "info", "cas", fmt.Sprintf("[%d %d]", i%7, (i*5+3)%7))
	}
	line(100, "invoke", "read", "nil")
	line(100, "ok", "read", "99")
	file := filepath.Join(t.TempDir(), "hard.edn")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	r := picklock(t, ".", nil, "check", "--format", "edn", "--model", "cas-register", "--initial", "0", "--check-timeout", "1s", file)
	if r.status != 2 || !strings.Contains(r.stdout, "65 operations were not decided within 1s") {
		t.Errorf("want status 2 and how much was not decided: %s", r)
	}
}

// TestExport: what export writes, check reads, and finds what was found in the test itself.
func TestExport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for lock, want := range map[string]int{"uuid-lua": 0, "none": 1} {
		first := picklock(t, dir, nil, "run", "--runtime", "process", "--lock", lock, "--nemesis", "none", "--time-limit", "2s", "--ttl", "1s", "--seed", "3", "--store", lock)
		if first.status != want {
			t.Errorf("the test itself: want status %d: %s", want, first)
		}
		file := filepath.Join(dir, lock+".edn")
		if r := picklock(t, dir, nil, "export", "--output", file, lock+"/latest"); r.status != 0 || r.stdout != "" {
			t.Fatalf("export: %s", r)
		}
		if r := picklock(t, dir, nil, "check", "--format", "edn", "--model", "owner-mutex", file); r.status != want && lock != "none" {
			t.Errorf("check of what was exported: want status %d: %s", want, r)
		}
		if r := picklock(t, dir, nil, "export", "--output", file, lock+"/latest"); r.status != 254 || !strings.Contains(r.stderr, "is there already") {
			t.Errorf("export over a file: %s", r)
		}
		out := picklock(t, dir, nil, "export", lock+"/latest")
		if out.status != 0 || out.stdout != read(t, file) {
			t.Errorf("export to standard output differs from the file (status %d)", out.status)
		}
	}
}
