package matrix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"picklock/harness"
	"picklock/harness/store"
)

// TestMergedShards: the parts of any matrix, run apart and merged in any order, are the
// matrix run as one.
func TestMergedShards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, clean := tempDir(t)
		defer clean()
		p := plans(10).Draw(t, "plan")
		n := rapid.IntRange(1, min(8, len(p.Jobs()))).Draw(t, "shards")
		want, _ := whole(t, filepath.Join(root, "one"), p, Shard{}, 2)
		var dirs []string
		for k := 1; k <= n; k++ {
			m, dir := whole(t, filepath.Join(root, fmt.Sprint(k)), p, Shard{k, n}, 2)
			dirs = append(dirs, dir)
			if len(m.Cells) == 0 || n > 1 && m.Shard != fmt.Sprintf("%d/%d", k, n) {
				t.Fatalf("shard %d/%d says %q and has %d cells", k, n, m.Shard, len(m.Cells))
			}
		}
		if rapid.Bool().Draw(t, "one twice") {
			dirs = append(dirs, dirs[0])
		}
		dirs = rapid.Permutation(dirs).Draw(t, "order")
		got, err := Merge(dirs, filepath.Join(root, "all"), "")
		if err != nil {
			t.Fatal(err)
		}
		if a, b := essence(t, got.Matrix), essence(t, want); a != b || got.Lacks() != "" || got.ExitCode() != want.ExitCode() {
			t.Fatalf("merged of %d shards it is, without %q,\n%s\nwant\n%s", n, got.Lacks(), a, b)
		}
		if on, err := Read(got.Dir); err != nil || essence(t, on) != essence(t, want) {
			t.Fatalf("matrix.json of the whole: %v", err)
		}
	})
}

// TestMergeIncomplete: what is missing is told by its shard, makes the status 2, and can be
// run in the merged matrix.
func TestMergeIncomplete(t *testing.T) {
	p := mustPlan(t, "name: m\noptions: {ttl: 500ms}\ngroups:\n- {locks: [uuid-lua, setnx, setex-del, pubsub], nemeses: [none, kill-client], seeds: 2}\n", Choices{})
	fine := func(ctx context.Context, o harness.Options) (harness.Outcome, error) {
		out, _ := pretend(ctx, harness.Options{Test: store.Test{Seed: 4}}) // valid
		return out, nil
	}
	root := t.TempDir()
	var dirs []string
	for _, k := range []int{1, 2, 4} {
		st, err := Begin(filepath.Join(root, fmt.Sprint(k)), p, Shard{k, 4})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		_, err = Runner{Jobs: 1, Test: fine, Tell: func(r Told) {
			if k == 4 && r.Done == 3 {
				stop()
			}
		}}.Run(ctx, st)
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		stop()
		if (err != nil) != (k == 4) {
			t.Fatalf("shard %d/4: %v", k, err)
		}
		dirs = append(dirs, st.Dir)
	}
	m, err := Merge(dirs, root, "")
	if err != nil {
		t.Fatal(err)
	}
	if m.Lacks() != "shard 3/4, 1 of 4 runs of shard 4/4" || m.Missing != 5 || m.ExitCode() != 2 || m.Shard != "" {
		t.Errorf("it lacks %q, %d runs, exit %d; want shard 3/4 and one run of 4/4, 5 runs, exit 2", m.Lacks(), m.Missing, m.ExitCode())
	}
	st, err := Resume(root, p, Shard{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Runner{Jobs: 1, Test: fine}.Run(t.Context(), st)
	if err := errors.Join(err, st.Close()); err != nil || again.Missing != 0 || again.ExitCode() == 2 {
		t.Errorf("what was missing is run: %v, %d missing, exit %d", err, again.Missing, again.ExitCode())
	}
}

// TestMergeOfStores: a merged run names its test by the way from the store that it is merged
// into, if the test is not there too.
func TestMergeOfStores(t *testing.T) {
	p := mustPlan(t, "name: m\noptions: {ttl: 500ms}\ngroups:\n- {locks: [uuid-lua, setnx], nemeses: [none]}\n", Choices{})
	root := t.TempDir()
	var dirs []string
	for k := 1; k <= 2; k++ {
		st, err := Begin(filepath.Join(root, fmt.Sprint("shard", k)), p, Shard{k, 2})
		if err != nil {
			t.Fatal(err)
		}
		_, err = Runner{Jobs: 1, Test: func(_ context.Context, o harness.Options) (harness.Outcome, error) {
			dir := store.Dir(filepath.Join(o.Root, o.Lock, "one"))
			return harness.Outcome{Dir: dir, Result: stored(false, "valid", "valid")}, os.MkdirAll(string(dir), 0o755)
		}}.Run(t.Context(), st)
		if err := errors.Join(err, st.Close()); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, st.Dir)
	}
	// The first shard's tests are in the store of the whole as well, the second's are not.
	all := filepath.Join(root, "all")
	if err := os.CopyFS(all, os.DirFS(filepath.Join(root, "shard1"))); err != nil {
		t.Fatal(err)
	}
	m, err := Merge(dirs, all, "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range m.Cells {
		names = append(names, c.Runs[0].Dir)
		if _, err := os.Stat(filepath.Join(all, c.Runs[0].Dir)); err != nil {
			t.Errorf("%s has no test: %v", c.Cell.ID(), err)
		}
	}
	if got := strings.Join(names, " "); got != "../shard2/setnx/one uuid-lua/one" {
		t.Errorf("the tests are %s", got)
	}
	if filepath.Base(m.Dir) == filepath.Base(dirs[0]) {
		t.Errorf("the whole was written over a part: %s", m.Dir)
	}
}

func TestMergeRefuses(t *testing.T) {
	const text = "name: m\ngroups:\n- {locks: [uuid-lua, setnx], nemeses: [none], seeds: 2}\n"
	p, q := mustPlan(t, text, Choices{}), mustPlan(t, text, Choices{Seeds: 3})
	root := t.TempDir()
	_, one := whole(t, filepath.Join(root, "1"), p, Shard{1, 2}, 1)
	_, again := whole(t, filepath.Join(root, "2"), p, Shard{1, 2}, 1)
	_, other := whole(t, filepath.Join(root, "3"), q, Shard{2, 2}, 1)
	damaged := filepath.Join(root, "4")
	if err := os.CopyFS(damaged, os.DirFS(one)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(damaged, JournalFile), []byte("x\n{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(root, "5")
	if err := os.CopyFS(changed, os.DirFS(one)); err != nil {
		t.Fatal(err)
	}
	stored, err := os.ReadFile(filepath.Join(one, PlanFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(changed, PlanFile), bytes.Replace(stored, []byte("uuid-lua"), []byte("setex-del"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dirs []string
		out  string
		says string
	}{
		"two plans":          {[]string{one, other}, "", "plans differ"},
		"a run twice":        {[]string{one, again}, "", "not the same"},
		"no matrix":          {[]string{one, root}, "", PlanFile},
		"nothing there":      {[]string{filepath.Join(root, "no")}, "", PlanFile},
		"a damaged journal":  {[]string{damaged}, "", "line 1"},
		"another's plan":     {[]string{changed}, "", "digest"},
		"a folder in use":    {[]string{one}, again, "already"},
		"a file as a folder": {[]string{one}, filepath.Join(one, PlanFile), "--out"},
	} {
		_, err := Merge(c.dirs, filepath.Join(root, "all"), c.out)
		if err == nil || !strings.Contains(err.Error(), c.says) || !errors.Is(err, harness.ErrUsage) && !errors.Is(err, ErrNotAMatrix) {
			t.Errorf("%s: %v, want wrong usage that says %q", name, err, c.says)
		}
	}
}
