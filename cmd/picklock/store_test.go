package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"picklock/harness"
	"picklock/harness/history/historytest"
	"picklock/harness/store"
)

// storedOptions make a stored test.
type storedOptions struct {
	lock       string
	started    time.Time
	operations int
	broken     bool // the history has no end
	explicit   bool // the schedule was given
}

// putTest puts a test with a generated history into a store, unjudged.
func putTest(t testing.TB, root string, x storedOptions) store.Dir {
	t.Helper()
	o := harness.Defaults()
	o.Lock, o.Nemesis, o.Seed = x.lock, nil, 7
	o, err := harness.Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	o.Started, o.Explicit = x.started, x.explicit
	d, err := store.Create(root, &o.Test)
	if err != nil {
		t.Fatal(err)
	}
	if err := historytest.Write(d.Path(store.HistoryFile), historytest.Config{Operations: x.operations, Unknown: 0.01, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	if x.broken {
		text := read(t.(*testing.T), d.Path(store.HistoryFile))
		if err := os.WriteFile(d.Path(store.HistoryFile), []byte(text[:len(text)*2/3]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

var january = time.Date(2026, 1, 31, 6, 0, 0, 0, time.UTC)

// TestStoreCommands goes through a store as its user does.
func TestStoreCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := filepath.Join(dir, "store")
	first := putTest(t, root, storedOptions{lock: "uuid-lua", started: january, operations: 4000})
	second := putTest(t, root, storedOptions{lock: "setnx", started: january.Add(24 * time.Hour), operations: 400})
	third := putTest(t, root, storedOptions{lock: "uuid-lua", started: january.Add(48 * time.Hour), operations: 50, broken: true})
	for _, d := range []store.Dir{first, second} {
		if r := picklock(t, dir, nil, "check", string(d)); r.status > 2 || r.stderr != "" {
			t.Fatalf("%s", r)
		}
	}
	if err := os.WriteFile(third.Path(store.LogFile), []byte("msg=\"test ends\" error=\"interrupted\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	aged(t, third)
	run := func(status int, has []string, args ...string) ran {
		t.Helper()
		r := picklock(t, dir, nil, append([]string{"store"}, args...)...)
		if r.status != status || status == 0 && r.stderr != "" {
			t.Fatalf("status %d, want %d: %s", r.status, status, r)
		}
		for _, s := range has {
			if !strings.Contains(r.stdout, s) {
				t.Errorf("it does not say %q: %s", s, r)
			}
		}
		for _, l := range strings.Split(r.stdout, "\n") {
			if n := utf8.RuneCountInString(l); n > 80 && args[0] == "list" && !strings.HasPrefix(strings.TrimSpace(l), `"`) {
				t.Errorf("a line of %d columns: %q", n, l)
			}
		}
		return r
	}
	all := run(0, []string{"START (UTC)", "20260131T060000", "20260201T060000", "uuid-lua", "setnx", "read-write", "single", "none", "unfinished", "3 tests"}, "list")
	if at := strings.Index(all.stdout, "20260202T"); at < 0 || at > strings.Index(all.stdout, "20260131T") {
		t.Errorf("not the newest first: %s", all)
	}
	for args, has := range map[string]string{
		"list --lock uuid-* --verdict unfinished":                                                 "1 test: 1 unfinished",
		"list --since 2026-02-01 --until 2026-02-01 --name setnx* --topology single --fault none": "setnx",
		"list --sort size --limit 1":                                                              "the first 1 are shown",
		"list --lock nobody":                                                                      "no such test is stored",
	} {
		run(0, []string{has}, strings.Fields(args)...)
	}
	var entries []store.Entry
	if err := json.Unmarshal([]byte(run(0, nil, "list", "--json", "--limit", "2").stdout), &entries); err != nil || len(entries) != 2 {
		t.Fatalf("%d entries: %v", len(entries), err)
	}
	if e := entries[0]; e.State != store.Interrupted || e.Why != "interrupted" || e.Use == nil || e.Use.Bytes == 0 || !e.Latest {
		t.Errorf("listed as %+v", e)
	}
	if r := run(0, nil, "list", "--json", "--lock", "nobody"); strings.TrimSpace(r.stdout) != "[]" {
		t.Errorf("nothing in JSON is %s", r)
	}
	run(0, []string{"INTERRUPTED: interrupted", "history.jsonl", "picklock run --lock uuid-lua"}, "show", "latest")
	for _, name := range []string{string(second), "setnx+read-write_single_none", "20260201", "setnx+read-write_single_none/20260201T060000.000Z"} {
		run(0, []string{"setnx + read-write, single", "Report", "report.html", "charts/ (", "picklock run --lock setnx"}, "show", name)
	}
	run(0, []string{`"state": "judged"`}, "show", "--json", "20260131T")

	// Nothing goes until it is said.
	run(0, []string{"goes   uuid-lua+read-write_single_none/20260131", "would go", "--yes"}, "prune", "--keep", "1", "--violated")
	run(0, []string{"would go"}, "prune", "--keep", "1", "--dry-run", "--violated")
	run(0, []string{"stays", "latest points to it"}, "prune", "--older-than", "1d", "--violated")
	if _, err := first.ReadTest(); err != nil {
		t.Fatalf("a test is gone: %v", err)
	}
	run(0, []string{"removed 1 of 3 tests"}, "prune", "--keep", "1", "--violated", "--yes")
	if _, err := os.Stat(filepath.Dir(string(first))); err != nil {
		t.Errorf("the others of that name are gone: %v", err)
	}
	if _, err := os.Stat(string(first)); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", first, err)
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(run(0, nil, "prune", "--max-size", "0B", "--violated", "--all", "--yes", "--json").stdout), &out); err != nil || out["done"] != true || out["left_bytes"] != 0.0 {
		t.Errorf("pruned to nothing: %v (%v)", out, err)
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left are %v (%v)", left, err)
	}
	run(254, nil, "prune", "--keep", "1")
}

// aged makes a test's files an hour old, so that it does not count as running.
func aged(t *testing.T, d store.Dir) {
	t.Helper()
	for _, name := range []string{store.TestFile, store.HistoryFile, store.LogFile, "."} {
		then := time.Now().Add(-time.Hour)
		if err := os.Chtimes(d.Path(name), then, then); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

// TestArchiveRoundTrip: what check says of an archive is what it says of the folder, byte
// for byte but for the folder's name, and beside the archive nothing is written.
func TestArchiveRoundTrip(t *testing.T) {
	t.Parallel()
	for _, x := range []storedOptions{
		{lock: "uuid-lua", started: january, operations: 3000},
		{lock: "uuid-lua", started: january, operations: 3000, broken: true},
		{lock: "setnx", started: january, operations: 300, explicit: true},
	} {
		for _, ending := range store.Endings[:2] {
			dir, tmp := t.TempDir(), t.TempDir()
			d := putTest(t, filepath.Join(dir, "store"), x)
			file := "found" + ending
			if r := picklock(t, dir, nil, "store", "export", "latest", "--out", file); r.status != 0 || !strings.Contains(r.stdout, file) {
				t.Fatalf("%s", r)
			}
			archive := read(t, filepath.Join(dir, file))
			if err := os.Chmod(filepath.Join(dir, file), 0o444); err != nil {
				t.Fatal(err)
			}
			folder := picklock(t, dir, nil, "check", "--json", string(d))
			packed := picklock(t, dir, []string{"TMPDIR=" + tmp}, "check", "--json", file)
			if folder.status > 2 || packed.status != folder.status || packed.stderr != "" {
				t.Fatalf("the statuses differ:\n%s\n%s", folder, packed)
			}
			want := strings.ReplaceAll(folder.stdout, string(d), file)
			if packed.stdout != want {
				t.Errorf("%+v: of the archive it says\n%s\nof the folder\n%s", x, packed.stdout, want)
			}
			if x.explicit != strings.Contains(packed.stdout, "picklock rerun "+file) {
				t.Errorf("the command that repeats it is another: %s", packed.stdout)
			}
			if got, err := os.ReadFile(d.Path(store.ResultFile)); err != nil || !bytes.Equal(got, []byte(folder.stdout)) {
				t.Errorf("results.json is not what was printed (%v)", err)
			}
			if read(t, filepath.Join(dir, file)) != archive {
				t.Error("the archive was changed")
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
				t.Errorf("beside the archive there are %v (%v)", left, err)
			}
			nothingLeft(t, tmp)
			if r := picklock(t, dir, nil, "check", file); r.status != folder.status || strings.Contains(r.stdout, "Report") || strings.Contains(r.stdout, os.TempDir()) {
				t.Errorf("it names a report that is gone: %s", r)
			}
			// Kept in a store, with results and report.
			if r := picklock(t, dir, nil, "check", file, "--out", "other"); r.status != folder.status || !strings.Contains(r.stdout, "report.html") {
				t.Errorf("%s", r)
			}
			if got := read(t, filepath.Join(dir, "other", "latest", store.ResultFile)); x.explicit == (got == folder.stdout) {
				t.Errorf("the results kept are others: %s", got)
			}
			if r := picklock(t, dir, nil, "store", "import", file, "--store", "third"); r.status != 0 || strings.TrimSpace(r.stdout) != filepath.Join("third", filepath.Base(filepath.Dir(string(d))), filepath.Base(string(d))) {
				t.Errorf("%s", r)
			}
		}
	}
}

// TestStoreBadInput: one clear line, status 254, nothing written.
func TestStoreBadInput(t *testing.T) {
	t.Parallel()
	dir, tmp := t.TempDir(), t.TempDir()
	d := putTest(t, filepath.Join(dir, "store"), storedOptions{lock: "setnx", started: january, operations: 100})
	putTest(t, filepath.Join(dir, "store"), storedOptions{lock: "setnx", started: january.Add(time.Minute), operations: 100})
	aged(t, d)
	if r := picklock(t, dir, nil, "store", "export", string(d), "--out", "a.tar.gz"); r.status != 0 {
		t.Fatalf("%s", r)
	}
	whole := read(t, filepath.Join(dir, "a.tar.gz"))
	for name, text := range map[string]string{"prose.tar.gz": "no archive", "cut.tar.gz": whole[:len(whole)/2], "damaged": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "foreign", "x", "y"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir)
	for _, c := range []struct {
		args string
		says []string
	}{
		{"store lst", []string{"lst", `"list"`}},
		{"store list --store nowhere", []string{"nowhere", "not a store"}},
		{"store list --verdict fine", []string{"fine", "valid, violated"}},
		{"store list --sort age", []string{"age", "started, name"}},
		{"store list --since yesterday", []string{"--since", "yesterday", "24h"}},
		{"store list --until 31.1.2026", []string{"--until", "2026-01-31"}},
		{"store list --limit -1", []string{"--limit"}},
		{"store list --lock [", []string{"["}},
		{"store list x", []string{"flags only"}},
		{"store show", []string{"one stored test"}},
		{"store show setnx+read-write_single_nome", []string{"did you mean", "setnx+read-write_single_none"}},
		{"store show 2026", []string{"2 tests"}},
		{"store show foreign", []string{"test.json"}},
		{"store show latest --store foreign", []string{"latest"}},
		{"store prune", []string{"--keep, --older-than or --max-size"}},
		{"store prune --keep -1", []string{"--keep"}},
		{"store prune --older-than soon", []string{"--older-than", "30d"}},
		{"store prune --older-than -1h", []string{"--older-than"}},
		{"store prune --max-size much", []string{"--max-size", "10GB"}},
		{"store prune --keep 1 --verdict violated", []string{"--violated"}},
		{"store prune --keep 1 --verdict fine", []string{"fine"}},
		{"store prune --keep 1 --yes --dry-run", []string{"--yes", "--dry-run"}},
		{"store prune --keep 0 --yes --store foreign", []string{"foreign", "not a store"}},
		{"store prune --keep 0 --yes --store nowhere", []string{"nowhere", "not a store"}},
		{"store prune --keep 0 --yes --store /", []string{"/", "not a store"}},
		{"store export nothing", []string{"nothing"}},
		{"store export " + string(d) + " --out a.zip", []string{".tar.zst"}},
		{"store export " + string(d) + " --out a.tar.gz", []string{"a.tar.gz", "would be lost"}},
		{"store import prose.tar.gz", []string{"prose.tar.gz", "zstd"}},
		{"store import cut.tar.gz", []string{"cut.tar.gz", "cut off"}},
		{"store import nowhere.tar.gz", []string{"nowhere.tar.gz"}},
		{"store import a.tar.gz", []string{"already"}},
		{"store import a.tar.gz --max-unpacked 10B", []string{"more than is allowed"}},
		{"store import a.tar.gz --max-unpacked x", []string{"--max-unpacked"}},
		{"check prose.tar.gz", []string{"prose.tar.gz", "zstd"}},
		{"check damaged", []string{"damaged", "zstd"}},
		{"check cut.tar.gz", []string{"cut.tar.gz", "cut off"}},
		{"check a.tar.gz --max-unpacked 10B", []string{"more than is allowed"}},
		{"check " + string(d) + " --out x", []string{"--out", "archives"}},
		{"check --format edn --model mutex --out x a.tar.gz", []string{"--out", "--format"}},
		{"rerun prose.tar.gz", []string{"prose.tar.gz", "zstd"}},
	} {
		r := picklock(t, dir, []string{"TMPDIR=" + tmp}, strings.Fields(c.args)...)
		if r.status != 254 || strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
			t.Errorf("status 254 and one line on stderr are wanted: %s", r)
		}
		for _, s := range c.says {
			if !strings.Contains(r.stderr, s) {
				t.Errorf("the line does not say %q: %s", s, r)
			}
		}
		nothingLeft(t, tmp)
	}
	if after := tree(t, dir); after != before {
		t.Errorf("something was written:\n%s\nbefore there was\n%s", after, before)
	}
}

// tree is what a folder holds, as text.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && !e.IsDir() {
			fmt.Fprintln(&b, p, info.Size(), info.ModTime().UnixNano())
		} else {
			fmt.Fprintln(&b, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAgeAndMoment(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 720 * time.Hour, "2w": 336 * time.Hour, "1w1d1h": 193 * time.Hour, "36h": 36 * time.Hour, "90m": 90 * time.Minute, "0d": 0, "0s": 0} {
		if got, err := age(text); err != nil || got != want {
			t.Errorf("%q is %s (%v), want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "5", "-5h", "1d-1h", "1h1d", "1.5d", "99999999d", "1d30h", "soon"} {
		if got, err := age(text); err == nil {
			t.Errorf("%q is %s, want an error", text, got)
		}
	}
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.FixedZone("somewhere", 2*3600))
	for text, want := range map[string]string{
		"24h": "2026-02-02T04:05:06+02:00", "2026-01-31": "2026-01-31T00:00:00+02:00", "2026-01-31 18:00": "2026-01-31T18:00:00+02:00",
		"2026-01-31T18:00:00Z": "2026-01-31T18:00:00Z", "20260131T180000.000Z": "2026-01-31T18:00:00Z",
	} {
		if got, err := moment(text, now, false); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%q is %s (%v), want %s", text, got.Format(time.RFC3339), err, want)
		}
	}
	if got, err := moment("2026-01-31", now, true); err != nil || got.Format(time.RFC3339) != "2026-01-31T23:59:59+02:00" {
		t.Errorf("a day ends at %s (%v)", got, err)
	}
}
