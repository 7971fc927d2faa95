package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"picklock/harness/matrix"
)

// TestMatrixKilled kills a matrix at five moments, from its first breath to its last run,
// and goes on with it each time: it has the same runs as one that nobody killed, none
// twice, none lost, and leaves nothing running.
func TestMatrixKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := matrixFile(t, dir, `name: killed
options: {ttl: 300ms, redis-timeout: 200ms, grace: 100ms, time-limit: 2s, think: 10ms, clients: 2, min-sales: 5}
groups:
- {locks: [none, uuid-lua, setnx], deductions: [read-write, hincrby], nemeses: [none], seeds: 3}
`)
	var want []string
	for _, lock := range []string{"none", "uuid-lua", "setnx"} {
		for _, sale := range []string{"read-write", "hincrby"} {
			for seed := 1; seed <= 3; seed++ {
				want = append(want, fmt.Sprintf("%s+%s_single_none, seed %d", lock, sale, seed))
			}
		}
	}
	slices.Sort(want)
	args := []string{"matrix", file, "--runtime", "process", "--jobs", "3"}
	tmp := ""
	for kill := range 5 {
		b := begin(t, dir, args...)
		b.awaitOutput()
		after := rand.N(4 * time.Second)
		time.Sleep(after)
		if status := b.end(unix.SIGKILL); status != -1 {
			t.Fatalf("it ended by itself before the kill %d, after %s: status %d: %s", kill+1, after, status, read(t, b.output()))
		}
		// What it started notices that it is gone.
		tmp = b.tmp
		await(t, "the end of what the killed matrix had started", func() bool { return len(processesWith("TMPDIR="+tmp)) == 0 })
		t.Logf("killed %s after its beginning", after)
		args = []string{"matrix", file, "--runtime", "process", "--jobs", "3", "--resume"}
	}
	r := picklock(t, dir, nil, args...)
	if r.status != 0 {
		t.Fatalf("%s", r)
	}
	folders := entries(t, filepath.Join(dir, "store", matrix.Folder, "killed"))
	if len(folders) != 1 {
		t.Fatalf("matrices %v, want one", folders)
	}
	m, err := matrix.Read(folders[0])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range m.Cells {
		for _, x := range c.Runs {
			got = append(got, fmt.Sprintf("%s, seed %d", c.Cell.ID(), x.Seed))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) || m.Missing != 0 {
		t.Errorf("the matrix has the runs\n%s\nwant\n%s\n%d are missing", strings.Join(got, "\n"), strings.Join(want, "\n"), m.Missing)
	}
	journal := read(t, filepath.Join(folders[0], "runs.jsonl"))
	for _, c := range m.Cells {
		for _, x := range c.Runs {
			if n := strings.Count(journal, x.Dir+`"`); n != 1 {
				t.Errorf("the run in %s is in the journal %d times", x.Dir, n)
			}
		}
	}
}
