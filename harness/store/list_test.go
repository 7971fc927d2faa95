package store_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"picklock/harness/history/historytest"
	"picklock/harness/store"
	"picklock/models"
)

// quiet makes a folder look as if nothing had been written to it for an hour.
func quiet(t failer, d store.Dir) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	for _, name := range []string{store.TestFile, store.HistoryFile, store.LogFile, "."} {
		if err := os.Chtimes(d.Path(name), then, then); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// list lists a store by the folders' paths.
func list(t failer, root string, o store.Options) (map[string]store.Entry, []string) {
	t.Helper()
	all, err := store.List(root, o)
	if err != nil {
		t.Fatal(err)
	}
	by, order := map[string]store.Entry{}, []string{}
	for _, e := range all {
		by[e.Path] = e
		order = append(order, e.Path)
	}
	return by, order
}

func pathOf(t failer, root string, d store.Dir) string {
	t.Helper()
	p, err := filepath.Rel(root, string(d))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.ToSlash(p)
}

// TestListStates: every way in which a test can stand is told apart, with how it is known,
// and what is no test is left out.
func TestListStates(t *testing.T) {
	root := t.TempDir()
	type want struct {
		state store.State
		word  store.Word
		why   string
	}
	wanted := map[string]want{}
	n := time.Duration(0)
	stored := func(m made, w want, change func(store.Dir)) {
		n++
		m.lock, m.after = "uuid-lua", n*time.Minute
		d := put(t, root, m)
		if change != nil {
			change(d)
		}
		wanted[pathOf(t, root, d)] = w
	}
	stored(made{verdict: models.Valid}, want{store.Judged, store.WordValid, ""}, nil)
	stored(made{verdict: models.Violated}, want{store.Judged, store.WordViolated, ""}, nil)
	stored(made{verdict: models.Violated, vacuous: true}, want{store.Judged, store.WordViolated, ""}, nil)
	stored(made{verdict: models.Unknown}, want{store.Judged, store.WordUnknown, ""}, nil)
	stored(made{verdict: models.Valid, vacuous: true}, want{store.Judged, store.WordVacuous, ""}, nil)
	var mark *store.Mark
	stored(made{}, want{store.Running, store.WordUnfinished, "holds .running"}, func(d store.Dir) {
		var err error
		if mark, err = d.Hold(); err != nil {
			t.Fatal(err)
		}
		quiet(t, d)
	})
	stored(made{}, want{store.Running, store.WordUnfinished, "changed"}, nil)
	stored(made{}, want{store.BrokenOff, store.WordUnfinished, "left .running"}, func(d store.Dir) { write(t, d.Path(".running"), "1\n"); quiet(t, d) })
	stored(made{}, want{store.BrokenOff, store.WordUnfinished, "neither harness.log"}, quietly(t))
	stored(made{}, want{store.Interrupted, store.WordUnfinished, "context canceled"}, func(d store.Dir) {
		write(t, d.Path(store.LogFile), "time=1 level=INFO msg=\"test begins\"\ntime=2 level=INFO msg=\"test ends\" error=\"context canceled\"\n")
		quiet(t, d)
	})
	stored(made{}, want{store.Recorded, store.WordUnfinished, "picklock check"}, func(d store.Dir) {
		write(t, d.Path(store.LogFile), "time=2 level=INFO msg=\"test ends\" error=<nil>\n")
		quiet(t, d)
	})
	stored(made{}, want{store.Recorded, store.WordUnfinished, "picklock check"}, func(d store.Dir) {
		if err := historytest.Write(d.Path(store.HistoryFile), historytest.Config{Operations: 20}); err != nil {
			t.Fatal(err)
		}
		quiet(t, d)
	})
	stored(made{}, want{store.Damaged, store.WordDamaged, "test.json"}, func(d store.Dir) { write(t, d.Path(store.TestFile), "{"); quiet(t, d) })
	stored(made{}, want{store.Damaged, store.WordDamaged, "has no test.json"}, func(d store.Dir) {
		if err := os.Remove(d.Path(store.TestFile)); err != nil {
			t.Fatal(err)
		}
		quiet(t, d)
	})
	stored(made{verdict: models.Valid}, want{store.Damaged, store.WordDamaged, "results.json: unexpected end"}, func(d store.Dir) { write(t, d.Path(store.ResultFile), `{"verdict"`) })
	stored(made{verdict: models.Valid}, want{store.Damaged, store.WordDamaged, `"fine"`}, func(d store.Dir) { write(t, d.Path(store.ResultFile), `{"verdict": "fine"}`) })
	outside := put(t, t.TempDir(), made{lock: "elsewhere", verdict: models.Valid})
	stored(made{verdict: models.Valid}, want{store.Damaged, store.WordDamaged, ""}, func(d store.Dir) { // a link leads out of the store
		if err := errors.Join(os.Remove(d.Path(store.ResultFile)), os.Symlink(outside.Path(store.ResultFile), d.Path(store.ResultFile))); err != nil {
			t.Fatal(err)
		}
	})
	// What is no test:
	for _, link := range []string{"linked", "uuid-lua+read-write_single_none/20260131T235959.000Z"} {
		if err := os.Symlink(string(outside), filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(root, "notes", "plan", "test.json"), `{"name": "of another program"}`)
	write(t, filepath.Join(root, "notes", "plan", "results.json"), `[]`)
	write(t, filepath.Join(root, "README"), "mine")
	write(t, filepath.Join(root, ".removing", "x~20260131T000000.000Z", "test.json"), "{}")
	write(t, filepath.Join(root, "matrices", "nightly", "20260131T000000.000Z", "matrix.json"), "{}")

	got, order := list(t, root, store.Options{})
	for path, w := range wanted {
		e, ok := got[path]
		if !ok || e.State != w.state || e.Word() != w.word || !strings.Contains(e.Why, w.why) || (e.Why == "") != (w.state == store.Judged) {
			t.Errorf("%s is listed (%v) as %s, %s, because %q; want %+v", path, ok, e.State, e.Word(), e.Why, w)
		}
		delete(got, path)
	}
	if len(got) > 0 {
		t.Errorf("listed besides: %v", got)
	}
	if !slices.IsSortedFunc(order, func(a, b string) int { return strings.Compare(filepath.Base(b), filepath.Base(a)) }) {
		t.Errorf("not the newest first: %v", order)
	}
	mark.Release()
	if after, _ := list(t, root, store.Options{Words: []store.Word{store.WordUnfinished}}); len(after) != 7 {
		t.Errorf("%d are unfinished, want 7", len(after))
	}
	if _, err := store.List(filepath.Join(root, "README"), store.Options{}); !errors.Is(err, store.ErrNotAStore) {
		t.Errorf("a file as a store: %v, want ErrNotAStore", err)
	}
}

func quietly(t *testing.T) func(store.Dir) { return func(d store.Dir) { quiet(t, d) } }

// TestMark: a mark that is released, or whose process died, is not held.
func TestMark(t *testing.T) {
	d := put(t, t.TempDir(), made{lock: "setnx"})
	quiet(t, d)
	state := func() store.State {
		e, ok := store.Look(d)
		if !ok {
			t.Fatalf("%s is no test", d)
		}
		return e.State
	}
	m, err := d.Hold()
	if err != nil {
		t.Fatal(err)
	}
	if s := state(); s != store.Running {
		t.Errorf("with its mark held it is %s", s)
	}
	if _, err := d.Hold(); err == nil {
		t.Error("two hold one mark")
	}
	m.Release()
	quiet(t, d)
	if s := state(); s != store.BrokenOff {
		t.Errorf("after its mark it is %s", s)
	}
	if _, err := os.Lstat(d.Path(".running")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the mark is still there: %v", err)
	}
}

// TestSummary: it says what results.json says, and is not believed when that has changed.
func TestSummary(t *testing.T) {
	root := t.TempDir()
	d := put(t, root, made{lock: "setnx", fault: "pause-client+kill-node", verdict: models.Violated})
	path := pathOf(t, root, d)
	look := func() store.Entry { got, _ := list(t, root, store.Options{}); return got[path] }
	with := look()
	if want := []models.Property{models.MutualExclusion}; !reflect.DeepEqual(with.Violated, want) || !reflect.DeepEqual(with.Unmet, want) || with.Compared != 2 || with.DurationS != 12.5 || with.Fault() != "pause-client+kill-node" {
		t.Errorf("listed as %+v", with)
	}
	text, err := os.ReadFile(d.Path("summary.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(d.Path("summary.json")); err != nil {
		t.Fatal(err)
	}
	if without := look(); !reflect.DeepEqual(with, without) {
		t.Errorf("with a summary it is\n%+v\nwithout\n%+v", with, without)
	}
	// A summary that says something else is believed as long as it is of these results.
	write(t, d.Path("summary.json"), strings.Replace(string(text), `"lock":"setnx"`, `"lock":"lies"`, 1))
	if got := look(); got.Lock != "lies" {
		t.Fatalf("the lock is %q: the summary was not read, so that this test shows nothing", got.Lock)
	}
	kept := store.NewLister(root)
	if _, err := kept.List(store.Options{}); err != nil {
		t.Fatal(err)
	}
	r, err := d.ReadResult()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(d.Path(store.ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	r.Test.Lock = "other"
	writeJSON(t, d.Path(store.ResultFile), r)
	results := read(t, d.Path(store.ResultFile))
	if int(info.Size()) != len(results) {
		t.Fatalf("the other results have %d bytes, not %d: what follows would show nothing about time", len(results), info.Size())
	}
	for _, c := range []struct {
		name   string
		change func() error
	}{
		{"other results of the same size", func() error { return nil }},
		{"longer ones of the same time", func() error {
			write(t, d.Path(store.ResultFile), results+"\n")
			return os.Chtimes(d.Path(store.ResultFile), info.ModTime(), info.ModTime())
		}},
		{"a summary of another form", func() error {
			write(t, d.Path("summary.json"), strings.Replace(string(text), `"version":1`, `"version":2`, 1))
			write(t, d.Path(store.ResultFile), results)
			return os.Chtimes(d.Path(store.ResultFile), info.ModTime(), info.ModTime())
		}},
		{"a summary that is none", func() error { write(t, d.Path("summary.json"), "{"); return nil }},
		{"a summary without an end", func() error {
			return errors.Join(os.Remove(d.Path("summary.json")), os.Symlink("/dev/zero", d.Path("summary.json")))
		}},
	} {
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		if got := look(); got.Lock != "other" {
			t.Errorf("%s: the lock is %q, want that of results.json", c.name, got.Lock)
		}
		if got, err := kept.List(store.Options{}); err != nil || len(got) != 1 || got[0].Lock != "other" {
			t.Errorf("%s: a lister that has seen it before says %+v (%v)", c.name, got, err)
		}
	}
}

func writeJSON(t failer, path string, v any) {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(b)+"\n")
}

func read(t failer, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestListFiltersAndOrders(t *testing.T) {
	root := t.TempDir()
	at := map[string]string{}
	for i, m := range []made{
		{lock: "setnx", verdict: models.Valid, bulk: 40_000},
		{lock: "uuid-lua", fault: "pause-client", verdict: models.Violated},
		{lock: "uuid-get-del", fault: "pause-client+kill-node", verdict: models.Unknown, bulk: 90_000},
		{lock: "setnx", fault: "kill-node", verdict: models.Valid, vacuous: true},
	} {
		m.after = time.Duration(i) * time.Hour
		at[pathOf(t, root, put(t, root, m))] = string(rune('a' + i))
	}
	letters := func(order []string) string {
		var b strings.Builder
		for _, p := range order {
			b.WriteString(at[p])
		}
		return b.String()
	}
	for _, c := range []struct {
		o    store.Options
		want string
	}{
		{store.Options{}, "dcba"},
		{store.Options{Lock: "uuid-*"}, "cb"},
		{store.Options{Name: "*_single_none"}, "a"},
		{store.Options{Topology: "fail*"}, ""},
		{store.Options{Fault: "kill-node"}, "dc"},
		{store.Options{Fault: "none"}, "a"},
		{store.Options{Words: []store.Word{store.WordVacuous, store.WordViolated}}, "db"},
		{store.Options{Since: morning.Add(time.Hour)}, "dcb"},
		{store.Options{Until: morning.Add(time.Hour)}, "ba"},
		{store.Options{Since: morning.Add(time.Hour), Until: morning.Add(time.Hour), Lock: "setnx"}, ""},
	} {
		if _, order := list(t, root, c.o); letters(order) != c.want {
			t.Errorf("%+v lists %q, want %q", c.o, letters(order), c.want)
		}
	}
	for by, want := range map[string]string{"started": "dcba", "lock": "dacb", "name": "dacb", "verdict": "bcda", "size": "cabd"} {
		all, err := store.List(root, store.Options{Use: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Sort(all, by); err != nil {
			t.Fatal(err)
		}
		var order []string
		for _, e := range all {
			order = append(order, e.Path)
		}
		got := letters(order)
		if by == "size" {
			got, want = got[:2], want[:2] // the others are as large as each other, nearly
		}
		if got != want {
			t.Errorf("by %s: %q, want %q", by, got, want)
		}
	}
	for _, bad := range []store.Options{{Lock: "["}, {Words: []store.Word{"fine"}}} {
		if _, err := store.List(root, bad); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
	if err := store.Sort(nil, "age"); err == nil {
		t.Error("sorted by what there is not")
	}
}

// TestMatricesOfATest: all JSON of a matrix's folder counts, whole or broken off.
func TestMatricesOfATest(t *testing.T) {
	root := t.TempDir()
	a := put(t, root, made{lock: "setnx", verdict: models.Valid})
	b := put(t, root, made{lock: "setnx", after: time.Hour, verdict: models.Valid})
	pa, pb := pathOf(t, root, a), pathOf(t, root, b)
	write(t, filepath.Join(root, "matrices", "nightly", "20260131T000000.000Z", "matrix.json"),
		`{"cells": [{"runs": [{"seed": 1, "dir" : "`+pa+`", "why": "it says \"dir\": \"`+pb+`\""}]}]}`)
	write(t, filepath.Join(root, "matrices", "ladder", "20260131T000001.000Z", "runs.jsonl"), `{"dir":"`+pb+`"}`+"\n"+`{"dir":"`+pa[:9])
	got, _ := list(t, root, store.Options{Matrices: true})
	for path, want := range map[string][]string{pa: {"matrices/nightly/20260131T000000.000Z"}, pb: {"matrices/ladder/20260131T000001.000Z"}} {
		if !reflect.DeepEqual(got[path].Matrices, want) {
			t.Errorf("%s is in %v, want %v", path, got[path].Matrices, want)
		}
	}
}
