package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/harness/matrix"
	"picklock/harness/store"
	"picklock/models"
)

// TestServe: it tells where it is, shows the store, and Ctrl-C ends it with 0.
func TestServe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	recorded(t, filepath.Join(dir, "store"))
	b := begin(t, dir, "serve", "--listen", "localhost:0")
	b.awaitOutput()
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(read(t, b.output()))
	if address == "" {
		t.Fatalf("it does not say where it is: %s", read(t, b.output()))
	}
	a, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(a.Body)
	_ = a.Body.Close()
	if err != nil || a.StatusCode != http.StatusOK || !strings.Contains(string(page), "1 test") {
		t.Errorf("%d %v: %.200s", a.StatusCode, err, page)
	}
	if status := b.end(os.Interrupt); status != 0 || b.errs.Len() > 0 {
		t.Errorf("Ctrl-C ends it with %d: %s", status, b.errs.String())
	}
	if _, err := http.Get(address); err == nil {
		t.Error("somebody answers after the end")
	}
}

// TestServeWhere: what it must not or cannot listen on is 254 and one line; who asks for
// everybody is warned.
func TestServeWhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "store"), 0o755); err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for args, says := range map[string]string{
		"--listen 0.0.0.0:0":                      "--public",
		"--listen [::]:0":                         "--public",
		"--listen :8080":                          "127.0.0.1:8080",
		"--listen 8080":                           "127.0.0.1:8080",
		"--listen 127.0.0.1:99999":                "99999",
		"--listen 127.0.0.1:http:":                "127.0.0.1:8080",
		"--listen " + taken.Addr().String():       "another program listens there",
		"--store none --listen 127.0.0.1:0":       "not a store",
		"--store output.txt --listen 127.0.0.1:0": "not a store",
		"here": "flags only",
		"--listen 192.0.2.1:0 --public --store none": "192.0.2.1",
		"--listen 127.0.0.1:0 --host store:80":       "--host",
	} {
		r := picklock(t, dir, nil, append([]string{"serve"}, strings.Fields(args)...)...)
		if r.status != 254 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, says) {
			t.Errorf("want 254 and a line with %q: %s", says, r)
		}
	}
	b := begin(t, dir, "serve", "--listen", "0.0.0.0:0", "--public", "--host", "store.example")
	b.awaitOutput()
	port := regexp.MustCompile(`:(\d+)/`).FindStringSubmatch(read(t, b.output()))
	if port == nil {
		t.Fatalf("it does not say where it is: %s", read(t, b.output()))
	}
	for host, want := range map[string]int{"store.example": http.StatusOK, "127.0.0.1": http.StatusOK, "evil.example": http.StatusMisdirectedRequest} {
		r, err := http.NewRequest(http.MethodGet, "http://127.0.0.1:"+port[1]+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		if a.StatusCode != want {
			t.Errorf("asked as %s: %d, want %d", host, a.StatusCode, want)
		}
	}
	if status := b.end(os.Interrupt); status != 0 || !strings.Contains(b.errs.String(), "whoever can reach") {
		t.Errorf("a public one: %d, %q", status, b.errs.String())
	}
}

// recorded makes a test in a store that is not judged.
func recorded(t *testing.T, root string) store.Dir {
	t.Helper()
	what := &store.Test{Run: "r", Started: store.Now(), Lock: "uuid-lua", Deduct: "read-write", Topology: "single", Name: "uuid-lua+read-write_single_none",
		TimeLimit: store.Duration(15 * time.Second), Seed: 7}
	d, err := store.Create(root, what)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestWatch: a test of another process is followed, and its verdict told when it ends.
func TestWatch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := recorded(t, filepath.Join(dir, "store"))
	mark, err := d.Hold()
	if err != nil {
		t.Fatal(err)
	}
	w, err := history.Create(d.Path(store.HistoryFile))
	if err != nil {
		t.Fatal(err)
	}
	begun := history.Now() - int64(2*time.Second)
	w.Append(&history.Event{Time: begun, Type: history.Begin, Client: -1, Worker: -1, Process: -1})
	for id := range int64(2) {
		w.Append(&history.Event{Time: begun + id, Type: history.Invoke, Op: history.Acquire, ID: id + 1, Client: int(id), Object: "stock:1"})
		w.Append(&history.Event{Time: begun + 10 + id, Type: history.OK, Op: history.Acquire, ID: id + 1, Client: int(id), Object: "stock:1", Token: "t", From: begun})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	stopped := begin(t, dir, "store", "show", "latest", "--watch")
	b := begin(t, t.TempDir(), "store", "--store", filepath.Join(dir, "store"), "show", string(d), "--watch")
	for _, x := range []*background{stopped, b} {
		await(t, "a line on how it goes", func() bool { return strings.Contains(read(t, x.output()), "violations so far: 1") })
	}
	if status := stopped.end(os.Interrupt); status != 0 {
		t.Errorf("whoever stops watching gets %d", status)
	}
	test, err := d.ReadTest()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteResult(&store.Result{Verdict: models.Violated, Test: *test, Rerun: "picklock run --seed 7",
		Properties: map[models.Property]*models.Judgement{models.MutualExclusion: {Verdict: models.Violated, Count: 1}}}); err != nil {
		t.Fatal(err)
	}
	mark.Release()
	if status := b.wait(); status != 0 {
		t.Errorf("status %d: %s", status, b.errs.String())
	}
	if out := read(t, b.output()); !strings.Contains(out, "of 15 s") || !strings.Contains(out, "VIOLATED") || !strings.Contains(out, "picklock run --seed 7") {
		t.Errorf("it does not end with the verdict:\n%s", out)
	}
}

// TestWatchMatrix: a matrix of another process is followed to its end.
func TestWatchMatrix(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := filepath.Join(dir, "store")
	p := &matrix.Plan{Name: "going", Rows: []matrix.Row{{Cell: matrix.Cell{Lock: "uuid-lua"}, Seeds: []uint64{1, 2}}}}
	st, err := matrix.Begin(root, p, matrix.Shard{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	b := begin(t, dir, "store", "show", "going/"+filepath.Base(st.Dir), "--watch")
	await(t, "a line on how it goes", func() bool { return strings.Contains(read(t, b.output()), "0 of 2 runs") })
	journal, err := os.OpenFile(filepath.Join(st.Dir, matrix.JournalFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`{"at":"2026-01-31T06:00:00Z","cell":"a\u001b","run":{"seed":1,"outcome":"as expected"}}`, `{"at":"2026-01-31T06:00:01Z","cell":"a","run":{"seed":2,"outcome":"vacuous"}}`} {
		if _, err := io.WriteString(journal, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	if err := (&matrix.Matrix{Name: "going"}).Write(st.Dir); err != nil {
		t.Fatal(err)
	}
	if status := b.wait(); status != 0 {
		t.Errorf("status %d: %s", status, b.errs.String())
	}
	if out := read(t, b.output()); !strings.Contains(out, "a·, seed 1: as expected") || !strings.Contains(out, "2 of 2 runs  1 as expected  1 vacuous") || strings.Contains(out, "\x1b") {
		t.Errorf("it says\n%s", out)
	}
}
