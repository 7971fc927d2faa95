package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"picklock/harness/matrix"
	"picklock/harness/store"
)

// matrixFile writes a matrix file into dir and returns its name.
func matrixFile(t *testing.T, dir, text string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "m.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return "m.yaml"
}

// TestMatrixBrokenOff: a matrix on real servers is broken off after its first run, goes on
// where it stopped, tells the truth by its status, and is the same when it is merged.
func TestMatrixBrokenOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := matrixFile(t, dir, `name: small
options: {ttl: 400ms, redis-timeout: 200ms, time-limit: 4s, think: 20ms, clients: 2, min-sales: 10}
groups:
- {locks: [none, uuid-lua], nemeses: [none]}
`)
	args := []string{"matrix", file, "--runtime", "process", "--jobs", "1", "--verbose"}
	b := begin(t, dir, args...)
	await(t, "the end of the first run", func() bool { return strings.Contains(read(t, b.output()), "1/2 ") })
	if status := b.end(os.Interrupt); status != 130 || strings.Count(b.errs.String(), "\n") != 1 ||
		!strings.Contains(b.errs.String(), "1 of 2 runs") || !strings.Contains(b.errs.String(), "picklock matrix m.yaml --runtime process --jobs 1 --verbose --resume") {
		t.Fatalf("status %d and %q; want 130 and how to go on", status, b.errs.String())
	}
	nothingLeft(t, b.tmp)
	folders := entries(t, filepath.Join(dir, "store", matrix.Folder, "small"))
	if len(folders) != 1 {
		t.Fatalf("matrices %v, want one", folders)
	}
	if m, err := matrix.Read(folders[0]); err != nil || m.Missing != 1 || m.ExitCode() != 2 {
		t.Fatalf("the broken-off matrix: %v, %+v", err, m)
	}
	// Another number of tests side by side is the same matrix.
	r := picklock(t, dir, nil, "matrix", file, "--runtime", "process", "--jobs", "2", "--resume")
	if r.status != 0 || r.stderr != "" || !strings.Contains(r.stdout, "of which 1 have ended") || !strings.Contains(r.stdout, "AS EXPECTED: all 2 cells") {
		t.Fatalf("%s", r)
	}
	for line := range strings.Lines(r.stdout[strings.Index(r.stdout, "\n\n"):]) {
		if utf8.RuneCountInString(line) > 81 && !strings.HasPrefix(line, "store") {
			t.Errorf("a line of %d columns: %s", len(line), line)
		}
	}
	for _, file := range []string{"matrix.html", "matrix.svg", "junit.xml", "summary.md"} {
		if text := read(t, filepath.Join(folders[0], file)); !strings.Contains(text, "uuid-lua") {
			t.Errorf("%s does not tell of uuid-lua: %.200s", file, text)
		}
	}
	m, err := matrix.Read(folders[0])
	if err != nil || m.Missing != 0 || len(m.Cells) != 2 || m.About["picklock"] == "" || m.WallS < 8 || m.WallS > 60 {
		t.Fatalf("the whole matrix: %v, %+v", err, m)
	}
	for _, c := range m.Cells {
		run := c.Runs[0]
		if len(c.Runs) != 1 || run.WaitedS < 4 || run.TookS < run.WaitedS || run.Outcome != matrix.AsExpected {
			t.Errorf("%s: %+v; want one run as expected that waited four seconds", c.Cell.ID(), c.Runs)
		}
		res, err := store.Dir(filepath.Join(m.Store, run.Dir)).ReadResult()
		if err != nil || res.Test.Lock != c.Cell.Lock || res.Test.Runtime != "process" {
			t.Errorf("%s: its test is %s: %v", c.Cell.ID(), run.Dir, err)
		}
	}
	if p := m.Cells[0].Rates["no-lost-update"]; m.Cells[0].Cell.Lock != "none" || p.Violated != 1 || p.Of != 1 {
		t.Errorf("without a lock no-lost-update is violated in %d of %d runs, want in 1 of 1", p.Violated, p.Of)
	}
	if r := picklock(t, dir, nil, "matrix", file, "--runtime", "process", "--resume"); r.status != 254 || !strings.Contains(r.stderr, "finished") {
		t.Errorf("a finished matrix is resumed: %s", r)
	}
	if r := picklock(t, dir, nil, "merge", folders[0]); r.status != 0 || !strings.Contains(r.stdout, "AS EXPECTED: all 2 cells") {
		t.Errorf("merged: %s", r)
	}
}

// TestMatrixLists: what is built in, and its cells; a file that is printed is the same
// matrix.
func TestMatrixLists(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	list := picklock(t, dir, nil, "matrix", "--list")
	for _, name := range []string{"ladder", "nightly", "full"} {
		if list.status != 0 || !strings.Contains(list.stdout, name+" ") {
			t.Errorf("%s", list)
		}
	}
	cells := picklock(t, dir, nil, "matrix", "show", "ladder")
	if cells.status != 0 || !strings.Contains(cells.stdout, "uuid-lua+read-write_single_pause-client ") {
		t.Errorf("%s", cells)
	}
	printed := picklock(t, dir, nil, "matrix", "show", "ladder", "--yaml")
	file := matrixFile(t, dir, printed.stdout)
	if again := picklock(t, dir, nil, "matrix", "show", file); again.stdout != cells.stdout || !strings.HasPrefix(printed.stdout, "# ladder") {
		t.Errorf("the printed file is another matrix: %s", again)
	}
	var parts []string
	for _, shard := range []string{"1/3", "2/3", "3/3"} {
		r := picklock(t, dir, nil, "matrix", "ladder", "--list", "--only", "setnx+*", "--only", "uuid-lua+*", "--shard", shard)
		if r.status != 0 {
			t.Fatalf("%s", r)
		}
		lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
		parts = append(parts, lines[:len(lines)-1]...)
	}
	slices.Sort(parts)
	for i := range parts {
		parts[i], _, _ = strings.Cut(parts[i], " ")
	}
	if len(parts) < 20 || len(slices.Compact(slices.Clone(parts))) != len(parts) || slices.ContainsFunc(parts, func(s string) bool {
		return !strings.HasPrefix(s, "setnx+") && !strings.HasPrefix(s, "uuid-lua+")
	}) {
		t.Errorf("the shards of the cells of two locks are %v", parts)
	}
}

// TestMatrixBadInput: one line on stderr, status 254, and nothing begun.
func TestMatrixBadInput(t *testing.T) {
	t.Parallel()
	mistake := filepath.Join(t.TempDir(), "mistake.yaml")
	if err := os.WriteFile(mistake, []byte("name: m\ngroups:\n- {locks: [uid-lua], nemeses: [none]}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, c := range []struct {
		args string
		env  []string
		says []string
	}{
		{"matrix", nil, []string{"ladder, nightly, full"}},
		{"matrix ladder nightly", nil, []string{"one matrix file"}},
		{"matrix lader", nil, []string{"lader", "ladder"}},
		{"matrix " + folder, nil, []string{"directory"}},
		{"matrix " + mistake, nil, []string{"mistake.yaml:3:12", `"uuid-lua"`}},
		{"matrix ladder --jobs 0", nil, []string{"--jobs"}},
		{"matrix ladder --seeds 0", nil, []string{"--seeds"}},
		{"matrix ladder --seeds -3", nil, []string{"--seeds"}},
		{"matrix ladder --runtime podman", nil, []string{"--runtime", "docker", "podman"}},
		{"matrix ladder --reach far", nil, []string{"--reach", "published", "far"}},
		{"matrix ladder --only [", nil, []string{"--only", "["}},
		{"matrix ladder --only nobody", nil, []string{"nobody"}},
		{"matrix ladder --server redis:9.9", nil, []string{"redis:9.9", "valkey:8"}},
		{"matrix ladder --shard 9/8", nil, []string{"--shard", "9/8"}},
		{"matrix ladder --shard auto", nil, []string{"CI_NODE_INDEX"}},
		{"matrix ladder --shard auto", []string{"CI_NODE_INDEX=9", "CI_NODE_TOTAL=8"}, []string{"CI_NODE_INDEX is 9"}},
		{"matrix ladder --shard 1/999", nil, []string{"999 shards are more than the matrix has runs"}},
		{"matrix ladder --resume --runtime process", nil, []string{"no broken-off matrix ladder"}},
		{"matrix ladder --runtime process --store " + mistake, nil, []string{"--store", "mistake.yaml"}},
		{"matrix show", nil, []string{"one matrix file"}},
		{"matrix show lader", nil, []string{"lader"}},
		{"merge", nil, []string{"folders"}},
		{"merge no-such", nil, []string{"no-such", "plan.json"}},
		{"merge " + folder, nil, []string{"plan.json"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			none := []string{"CI_NODE_INDEX=", "CI_NODE_TOTAL=", "CIRCLE_NODE_INDEX=", "BUILDKITE_PARALLEL_JOB=", "AWS_BATCH_JOB_ARRAY_INDEX=",
				"CLOUD_RUN_TASK_INDEX=", "SYSTEM_JOBPOSITIONINPHASE=", "JOB_COMPLETION_INDEX="}
			r := picklock(t, dir, append(none, c.env...), strings.Fields(c.args)...)
			if r.status != 254 || strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
				t.Errorf("want status 254 and one line: %s", r)
			}
			for _, s := range c.says {
				if !strings.Contains(r.stderr, s) {
					t.Errorf("the line does not say %q: %s", s, r.stderr)
				}
			}
			if left := entries(t, filepath.Join(dir, "store")); len(left) > 0 {
				t.Errorf("the store keeps what never began: %v", left)
			}
		})
	}
}

// TestMatrixWithoutServers: where nothing can be tested, the status is that of wrong usage.
func TestMatrixWithoutServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := matrixFile(t, dir, "name: m\ngroups:\n- {locks: [uuid-lua], nemeses: [none], seeds: 3}\n")
	r := picklock(t, dir, nil, "matrix", file, "--runtime", "process", "--server", "valkey:8")
	if r.status != 254 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "valkey:8") || !strings.Contains(r.stderr, "--resume") {
		t.Errorf("want status 254 and a line on the server and on how to go on: %s", r)
	}
}
