package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"picklock/harness/compare"
	"picklock/harness/matrix"
)

// planted is a matrix in which a release that does not compare shows in one fault alone:
// what is held for less than its TTL may as well be deleted blindly. The other locks have
// scripts of their own.
const planted = `
name: planted
options: {ttl: 500ms, redis-timeout: 300ms, grace: 1s, think: 60ms, time-limit: 9s, clients: 3, workers: 2, min-sales: 5}
groups:
  - locks: [uuid-lua, setex-del, reentrant]
    deductions: [read-write]
    nemeses: [none, pause-client]
`

// TestPlantedBug plants a bug in a lock, a release in Lua without the comparison, and
// holds the matrix to turning exactly the properties that it breaks, of exactly that cell,
// into unexpected violations, and the comparison with the lock as it was to naming them
// and nothing else. Two matrices of the same code differ in nothing.
func TestPlantedBug(t *testing.T) {
	t.Parallel()
	rounds := 1
	if soak {
		rounds = 10
	}
	if s := os.Getenv("PICKLOCK_SOAK_SEEDS"); s != "" {
		var err error
		if rounds, err = strconv.Atoi(s); err != nil || rounds < 1 {
			t.Fatalf("PICKLOCK_SOAK_SEEDS=%q is no number of rounds", s)
		}
	}
	dir := t.TempDir()
	broken := plant(t, dir)
	file := filepath.Join(dir, "planted.yaml")
	if err := os.WriteFile(file, []byte(planted), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(program, name string, seed, want int) string {
		t.Helper()
		store := filepath.Join(dir, name)
		cmd := exec.Command(program, "matrix", file, "--runtime", "process", "--jobs", "3", "--seed", fmt.Sprint(seed), "--store", store)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("round %s: exit status %d, want %d\n%s", name, got, want, out)
		}
		all, _ := filepath.Glob(filepath.Join(store, matrix.Folder, "planted", "*")) // the pattern is well formed
		if len(all) != 1 {
			t.Fatalf("round %s: %d matrices in its store\n%s", name, len(all), out)
		}
		return all[0]
	}
	breaks := []string{"lease-exclusion", "ownership"}
	const cell = "uuid-lua+read-write_single_pause-client"
	for i := range rounds {
		before := run(binary, fmt.Sprintf("before-%d", i), 1+2*i, 0)
		again := run(binary, fmt.Sprintf("again-%d", i), 2+2*i, 0)
		after := run(broken, fmt.Sprintf("after-%d", i), 2+2*i, 1)

		m, err := matrix.Read(after)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range m.Cells {
			var wrong []string
			for id, j := range c.Runs[0].Properties {
				if j.Outcome == matrix.UnexpectedViolation {
					wrong = append(wrong, string(id))
				}
			}
			slices.Sort(wrong)
			want := []string(nil)
			if c.Cell.ID() == cell {
				want = breaks
			}
			if !slices.Equal(wrong, want) {
				t.Errorf("round %d: %s: unexpected violations of %q, want %q: %s", i, c.Cell.ID(), wrong, want, c.Why)
			}
		}
		if d := differ(t, before, again, 0); len(d.Items) > 0 {
			t.Errorf("round %d: the same code differs: %s", i, listed(d))
		}
		d := differ(t, again, after, 1)
		var named []string
		for _, x := range d.Items {
			if x.Cell != cell || x.Kind != compare.NewlyViolated {
				t.Errorf("round %d: the comparison names %s", i, listed(d))
			}
			named = append(named, string(x.Property))
		}
		slices.Sort(named)
		if !slices.Equal(named, breaks) {
			t.Errorf("round %d: the comparison names %q of %s, want %q", i, named, cell, breaks)
		}
	}
}

// plant builds picklock with a uuid-lua that deletes whatever is there. The source stays
// as it is: the go command lays another file over it.
func plant(t *testing.T, dir string) string {
	t.Helper()
	source, err := filepath.Abs("../../locks/uuid_lua.go")
	if err != nil {
		t.Fatal(err)
	}
	const compares = "\trelease := compareAndDelete\n"
	text := read(t, source)
	if strings.Count(text, compares) != 1 {
		t.Fatalf("%s does not say %q once: the bug cannot be planted there", source, compares)
	}
	bug := filepath.Join(dir, "uuid_lua.go")
	text = strings.Replace(text, compares, "\trelease := \"return redis.call('del', KEYS[1])\"\n", 1)
	if err := os.WriteFile(bug, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: bug}})
	if err != nil {
		t.Fatal(err)
	}
	file, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "picklock-planted")
	if err := os.WriteFile(file, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-overlay", file, "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build with the planted bug: %v\n%s", err, out)
	}
	return program
}

// differ compares two stored matrices with picklock diff.
func differ(t *testing.T, a, b string, want int) *compare.Difference {
	t.Helper()
	r := picklock(t, t.TempDir(), nil, "diff", a, b, "--format", "json")
	if r.status != want {
		t.Errorf("exit status %d, want %d: %s", r.status, want, r)
	}
	d := new(compare.Difference)
	if err := json.Unmarshal([]byte(r.stdout), d); err != nil {
		t.Fatalf("%v: %s", err, r)
	}
	return d
}

func listed(d *compare.Difference) string {
	var all []string
	for _, x := range d.Items {
		all = append(all, fmt.Sprintf("%s: %s %s %s", x.Kind, x.Cell, x.About(), x.Says))
	}
	return strings.Join(all, "; ")
}
