package store_test

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"testing"
	"time"

	"pgregory.net/rapid"

	"picklock/harness/store"
	"picklock/models"
)

// everything lists what is in a folder.
func everything(t failer, root string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error {
		all = append(all, p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// drawn is a store that rapid made up, with what a test of prune must know of it.
type drawn struct {
	root     string
	now      time.Time
	tests    map[string]*drawnTest // by path
	matrices map[string]*drawnMatrix
	order    []string // paths of the tests, oldest first
}

type drawnTest struct {
	name, path               string
	started                  time.Time
	word                     store.Word
	running, latest, renamed bool
	bytes                    int64
}

type drawnMatrix struct {
	started time.Time
	tests   []string
	bytes   int64
}

func drawStore(t *rapid.T, root string) (d *drawn, free func()) {
	d = &drawn{root: root, now: morning.Add(100 * time.Hour), tests: map[string]*drawnTest{}, matrices: map[string]*drawnMatrix{}}
	var marks []*store.Mark
	word := rapid.SampledFrom([]store.Word{store.WordValid, store.WordValid, store.WordValid, store.WordViolated, store.WordUnknown, store.WordVacuous, store.WordUnfinished, store.WordUnfinished, store.WordDamaged})
	n := rapid.IntRange(1, 7).Draw(t, "tests")
	for i := range n {
		w := word.Draw(t, "word")
		m := made{lock: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "lock"), after: time.Duration(rapid.IntRange(0, 99).Draw(t, "hour"))*time.Hour + time.Duration(i)*time.Second, bulk: rapid.SampledFrom([]int{0, 9_000, 70_000}).Draw(t, "bulk")}
		switch w {
		case store.WordValid, store.WordViolated, store.WordUnknown:
			m.verdict = models.Verdict(w)
		case store.WordVacuous:
			m.verdict, m.vacuous = models.Valid, true
		}
		dir := put(t, root, m)
		x := &drawnTest{name: path.Dir(pathOf(t, root, dir)), path: pathOf(t, root, dir), started: morning.Add(m.after), word: w}
		switch w {
		case store.WordDamaged:
			write(t, dir.Path(store.TestFile), "{")
			quiet(t, dir)
		case store.WordUnfinished:
			if x.running = rapid.Bool().Draw(t, "running"); x.running {
				mark, err := dir.Hold()
				if err != nil {
					t.Fatal(err)
				}
				marks = append(marks, mark)
			}
			quiet(t, dir)
		}
		if w != store.WordDamaged && rapid.IntRange(0, 9).Draw(t, "renamed") == 0 {
			to := fmt.Sprintf("kept-%d", i)
			if err := os.Rename(string(dir), filepath.Join(root, x.name, to)); err != nil {
				t.Fatal(err)
			}
			x.path, x.renamed = x.name+"/"+to, true
		}
		d.tests[x.path] = x
		d.order = append(d.order, x.path)
	}
	slices.SortFunc(d.order, func(a, b string) int { return d.tests[a].started.Compare(d.tests[b].started) })
	for i := range rapid.IntRange(0, 2).Draw(t, "matrices") {
		m := &drawnMatrix{started: morning.Add(time.Duration(rapid.IntRange(0, 99).Draw(t, "hour of matrix")) * time.Hour)}
		text := ""
		for _, p := range d.order {
			if rapid.IntRange(0, 2).Draw(t, "in matrix") == 0 {
				m.tests = append(m.tests, p)
				text += fmt.Sprintf("{\"dir\": %q}\n", p)
			}
		}
		p := fmt.Sprintf("matrices/m%d/%s", i, m.started.Format("20060102T150405.000Z"))
		write(t, filepath.Join(root, p, "runs.jsonl"), text)
		d.matrices[p] = m
	}
	all, err := store.Matrices(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		d.matrices[m.Path].bytes = m.Use.Bytes
	}
	entries, err := store.List(root, store.Options{Use: true})
	if err != nil || len(entries) != n {
		t.Fatalf("%d tests are listed, want %d (%v)", len(entries), n, err)
	}
	for _, e := range entries {
		x := d.tests[e.Path]
		x.latest, x.bytes = e.Latest, e.Use.Bytes
		if (e.State == store.Running) != x.running || e.Word() != x.word {
			t.Fatalf("%s is %s, %s; drawn was %+v", e.Path, e.State, e.Word(), *x)
		}
	}
	return d, func() {
		for _, m := range marks {
			m.Release()
		}
	}
}

func drawPolicy(t *rapid.T) (p store.Policy) {
	for p.Keep == nil && p.OlderThan == nil && p.MaxBytes == nil {
		if rapid.Bool().Draw(t, "keep") {
			n := rapid.IntRange(0, 3).Draw(t, "n")
			p.Keep = &n
		}
		if rapid.Bool().Draw(t, "older") {
			d := time.Duration(rapid.IntRange(0, 110).Draw(t, "hours")) * time.Hour
			p.OlderThan = &d
		}
		if rapid.Bool().Draw(t, "size") {
			n := int64(rapid.IntRange(0, 200_000).Draw(t, "bytes"))
			p.MaxBytes = &n
		}
	}
	p.Violated, p.Matrices, p.Latest = rapid.Bool().Draw(t, "violated"), rapid.Bool().Draw(t, "despite matrices"), rapid.Bool().Draw(t, "all")
	some := rapid.IntRange(0, 2).Draw(t, "only some verdicts") == 0
	for _, w := range store.Words {
		if some && rapid.Bool().Draw(t, "word of policy") && (w != store.WordViolated || p.Violated) {
			p.Words = append(p.Words, w)
		}
	}
	return p
}

// mustStay says why a test may not go, whatever its age and the store's size; it is written
// from the promises of Policy, and not from the code.
func (d *drawn) mustStay(x *drawnTest, p store.Policy, matricesGone []string) string {
	newer := 0
	for _, y := range d.tests {
		if y.name == x.name && y.word != store.WordDamaged && y.started.After(x.started) {
			newer++
		}
	}
	referred := false
	for path, m := range d.matrices {
		referred = referred || !slices.Contains(matricesGone, path) && slices.Contains(m.tests, x.path)
	}
	switch {
	case x.running:
		return "running"
	case x.renamed:
		return "renamed"
	case p.Keep != nil && newer < *p.Keep && x.word != store.WordDamaged:
		return "among the newest of its name"
	case x.word == store.WordViolated && !p.Violated:
		return "violated"
	case x.word == store.WordDamaged && !slices.Contains(p.Words, x.word):
		return "damaged"
	case len(p.Words) > 0 && !slices.Contains(p.Words, x.word):
		return "of another verdict"
	case x.latest && !p.Latest:
		return "the latest"
	case referred && !p.Matrices:
		return "in a matrix that stays"
	}
	return ""
}

// TestPruneKeeps: in any store and by any policy, nothing goes that must stay, everything
// goes that must go, the totals are those of the disk, and latest points to what is left.
func TestPruneKeeps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp("", "picklock-prune-")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(root) }()
		d, free := drawStore(t, root)
		defer free()
		p := drawPolicy(t)
		before := everything(t, root)
		plan, err := store.PlanPrune(root, p, d.now)
		if err != nil && !(errors.Is(err, store.ErrNotAStore) && len(d.matrices) == 0) {
			t.Fatal(err)
		}
		if err != nil {
			return // all that is there was renamed
		}
		if after := everything(t, root); !reflect.DeepEqual(before, after) {
			t.Fatalf("a plan changed the store from %v to %v", before, after)
		}
		total, left := int64(0), int64(0)
		gone := map[string]bool{}
		var matricesGone []string
		for _, m := range plan.Matrices {
			matricesGone = append(matricesGone, m.Path)
			gone[m.Path] = true
		}
		for _, e := range plan.Go {
			gone[e.Path] = true
			if why := d.mustStay(d.tests[e.Path], p, matricesGone); why != "" {
				t.Errorf("%s goes, though it is %s", e.Path, why)
			}
		}
		for path, m := range d.matrices {
			total += m.bytes
			if !gone[path] {
				left += m.bytes
			} else if p.OlderThan == nil || !m.started.Before(d.now.Add(-*p.OlderThan)) {
				t.Errorf("%s goes, and is not old", path)
			}
		}
		for _, x := range d.tests {
			total += x.bytes
			if !gone[x.path] {
				left += x.bytes
			}
		}
		if plan.Before.Bytes != total || plan.After.Bytes != left || plan.Freed().Bytes != total-left || plan.Tests != len(d.tests) {
			t.Errorf("the plan counts %d tests, %d bytes, then %d; there are %d, %d, then %d", plan.Tests, plan.Before.Bytes, plan.After.Bytes, len(d.tests), total, left)
		}
		d.checkEnough(t, plan, p, gone, matricesGone)

		var told []string
		if err := plan.Carry(p, func(path string) { told = append(told, path) }); err != nil {
			t.Fatal(err)
		}
		for path := range gone {
			if _, err := os.Lstat(filepath.Join(root, path)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s was to go and is there (%v)", path, err)
			}
		}
		if len(told) != len(gone) {
			t.Errorf("told of %v, gone are %v", told, gone)
		}
		d.checkRest(t, gone, left)
	})
}

// checkEnough: what age and size ask for goes, and no more.
func (d *drawn) checkEnough(t *rapid.T, plan *store.Plan, p store.Policy, gone map[string]bool, matricesGone []string) {
	after := plan.After.Bytes
	youngest := int64(-1) // bytes of the youngest test that went for the size alone
	for i, path := range d.order {
		x := d.tests[path]
		free := d.mustStay(x, p, matricesGone) == ""
		old := p.OlderThan != nil && x.started.Before(d.now.Add(-*p.OlderThan))
		must := free && (old || p.OlderThan == nil && p.MaxBytes == nil)
		switch {
		case must && !gone[path]:
			t.Errorf("%s is left", path)
		case !must && gone[path] && p.MaxBytes == nil:
			t.Errorf("%s goes, which nothing asked for", path)
		case !must && gone[path]:
			youngest = x.bytes
			for _, older := range d.order[:i] {
				if !gone[older] && d.mustStay(d.tests[older], p, matricesGone) == "" {
					t.Errorf("%s goes for the size, and %s, which is older, stays", path, older)
				}
			}
		case free && p.MaxBytes != nil && !gone[path] && after > *p.MaxBytes:
			t.Errorf("the store has %d bytes, more than %d, and %s could go", after, *p.MaxBytes, path)
		}
	}
	if p.MaxBytes != nil && youngest >= 0 && after+youngest <= *p.MaxBytes {
		t.Errorf("%d bytes are left: one test more would have fitted into %d", after, *p.MaxBytes)
	}
	if over := plan.Over; p.MaxBytes != nil && over != max(0, after-*p.MaxBytes) || p.MaxBytes == nil && over != 0 {
		t.Errorf("it is %d bytes over", over)
	}
}

// checkRest: the disk has what the plan left, and nothing besides.
func (d *drawn) checkRest(t *rapid.T, gone map[string]bool, left int64) {
	rest, err := store.List(d.root, store.Options{Use: true})
	if err != nil {
		t.Fatal(err)
	}
	newest, bytes := "", int64(0)
	for _, e := range rest {
		bytes += e.Use.Bytes
		if e.Word() != store.WordDamaged && !d.tests[e.Path].renamed && path.Base(e.Path) > path.Base(newest) {
			newest = e.Path
		}
	}
	matrices, err := store.Matrices(d.root)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range matrices {
		bytes += m.Use.Bytes
	}
	if len(rest)+len(matrices)+len(gone) != len(d.tests)+len(d.matrices) || bytes != left {
		t.Errorf("%d tests and %d matrices with %d bytes are left, want %d bytes", len(rest), len(matrices), bytes, left)
	}
	link, err := os.Readlink(filepath.Join(d.root, "latest"))
	latestGone := false
	for _, x := range d.tests {
		latestGone = latestGone || x.latest && gone[x.path]
	}
	switch {
	case latestGone && newest == "" && err == nil:
		if _, err := os.Stat(filepath.Join(d.root, link, "test.json")); err != nil {
			t.Errorf("latest points to %s, which is not there", link)
		}
	case latestGone && newest != "" && d.tests[filepath.ToSlash(link)] == nil:
		t.Errorf("latest points to %q (%v), want a test", link, err)
	case latestGone && newest != "" && path.Base(link) < path.Base(newest):
		t.Errorf("latest points to %s, want %s", link, newest)
	}
	names, err := os.ReadDir(d.root)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if inside, _ := os.ReadDir(filepath.Join(d.root, n.Name())); n.IsDir() && n.Name() != "matrices" && len(inside) == 0 || n.Name()[0] == '.' {
			t.Errorf("%s is left, with %d things in it", n.Name(), len(inside))
		}
	}
}

// TestPruneExamples: what goes of one store by policies that stand for themselves. Its
// tests are a to f, oldest first, f the latest.
func TestPruneExamples(t *testing.T) {
	root := t.TempDir()
	var paths []string
	for i, m := range []made{{verdict: models.Valid}, {verdict: models.Violated}, {}, {verdict: models.Valid}, {verdict: models.Unknown}, {verdict: models.Valid}} {
		m.lock, m.after, m.bulk = "setnx", time.Duration(i)*24*time.Hour, 50_000
		d := put(t, root, m)
		paths = append(paths, pathOf(t, root, d))
		if m.verdict == "" {
			mark, err := d.Hold()
			if err != nil {
				t.Fatal(err)
			}
			defer mark.Release()
			quiet(t, d)
		}
	}
	write(t, filepath.Join(root, "matrices", "nightly", "20260131T060000.000Z", "runs.jsonl"), fmt.Sprintf(`{"dir": %q}`, paths[3]))
	old := filepath.Join(root, "matrices", "nightly", "20260131T060000.000Z")
	for _, p := range []string{filepath.Join(old, "runs.jsonl"), old} {
		if err := os.Chtimes(p, morning, morning); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := store.PlanPrune(root, store.Policy{Keep: new(int)}, morning)
	if err != nil {
		t.Fatal(err)
	}
	ago := func(days int) *time.Duration { d := time.Duration(days) * 24 * time.Hour; return &d }
	count := func(n int) *int { return &n }
	bytes := func(n int64) *int64 { return &n }
	now := morning.Add(5*24*time.Hour + time.Minute)
	for _, c := range []struct {
		name   string
		p      store.Policy
		want   string
		matrix bool
	}{
		{"all of it", store.Policy{Keep: count(0)}, "ae", false},
		{"evidence, latest and matrix as well, but what runs", store.Policy{Keep: count(0), Violated: true, Latest: true, Matrices: true}, "abdef", false},
		{"beyond three", store.Policy{Keep: count(3), Violated: true}, "ab", false},
		{"older than two days", store.Policy{OlderThan: ago(2), Violated: true}, "abd", true},
		{"older than a day, but three of each name", store.Policy{OlderThan: ago(1), Keep: count(3)}, "a", false},
		{"one byte less", store.Policy{MaxBytes: bytes(whole.Before.Bytes - 1)}, "a", false},
		{"one test and a byte less", store.Policy{MaxBytes: bytes(whole.Before.Bytes - whole.Go[0].Use.Bytes - 1)}, "ae", false},
		{"unknown ones", store.Policy{Keep: count(0), Words: []store.Word{store.WordUnknown}}, "e", false},
	} {
		plan, err := store.PlanPrune(root, c.p, now)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, e := range plan.Go {
			got += string(rune('a' + slices.Index(paths, e.Path)))
		}
		if got != c.want || (len(plan.Matrices) > 0) != c.matrix {
			t.Errorf("%s: %q goes and %d matrices; want %q, a matrix: %v", c.name, got, len(plan.Matrices), c.want, c.matrix)
		}
	}
}

// TestPruneAfterACrash: what a removal, an import or a link left half done goes the next
// time; what is still at work stays.
func TestPruneAfterACrash(t *testing.T) {
	root := t.TempDir()
	put(t, root, made{lock: "setnx", verdict: models.Valid})
	write(t, filepath.Join(root, ".removing", "setnx~20260131T000000.000Z", "test.json"), "{}")
	write(t, filepath.Join(root, ".importing-1", "half"), "x")
	if err := os.Symlink("nowhere", filepath.Join(root, ".latest-x")); err != nil {
		t.Fatal(err)
	}
	keep := 1
	plan, err := store.PlanPrune(root, store.Policy{Keep: &keep}, time.Now())
	if err != nil || len(plan.Go) > 0 {
		t.Fatalf("%v goes (%v), want nothing", plan, err)
	}
	if err := plan.Carry(store.Policy{Keep: &keep}, func(string) {}); err != nil {
		t.Fatal(err)
	}
	var left []string
	names, err := os.ReadDir(root)
	for _, n := range names {
		left = append(left, n.Name())
	}
	sort.Strings(left)
	// The link may be of a test that is just beginning: it goes when it is older.
	if want := []string{".latest-x", "latest", "setnx+read-write_single_none"}; err != nil || !reflect.DeepEqual(left, want) {
		t.Errorf("left are %v (%v), want %v", left, err, want)
	}
}

// TestPruneRefuses: a folder that does not look like a store is not touched, nor is a
// policy taken that says nothing.
func TestPruneRefuses(t *testing.T) {
	none := time.Duration(0)
	all := store.Policy{OlderThan: &none, Latest: true, Violated: true, Words: store.Words}
	foreign := t.TempDir()
	write(t, filepath.Join(foreign, "project", "fixtures", "test.json"), `{"lock": "x"}`)
	for name, root := range map[string]string{"an empty folder": t.TempDir(), "a foreign one": foreign, "none": filepath.Join(foreign, "no")} {
		if _, err := store.PlanPrune(root, all, time.Now()); !errors.Is(err, store.ErrNotAStore) {
			t.Errorf("%s: %v, want ErrNotAStore", name, err)
		}
	}
	root := t.TempDir()
	put(t, root, made{lock: "setnx", verdict: models.Valid})
	below := -1
	for name, p := range map[string]store.Policy{"no rule": {}, "a negative count": {Keep: &below}, "violated, unsaid": {OlderThan: &none, Words: []store.Word{store.WordViolated}}, "no such verdict": {OlderThan: &none, Words: []store.Word{"fine"}}} {
		if _, err := store.PlanPrune(root, p, time.Now()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
