package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/harness/matrix"
	"picklock/harness/store"
	"picklock/models"
	"picklock/reports"
	"picklock/reports/grid"
	"picklock/reports/web"
)

// morning is when the tests of a store begin that a test makes.
var morning = time.Date(2026, 1, 31, 6, 0, 0, 0, time.UTC)

// made describes a stored test to be made.
type made struct {
	lock, topology string
	nemesis        []string
	after          time.Duration  // started so long after morning
	verdict        models.Verdict // empty: it was not judged
	vacuous        bool
	seed           uint64
	ttl            time.Duration
	said           string // what a server or a client said, wherever such text is stored
	report         bool
}

// put makes a stored test.
func put(t testing.TB, root string, m made) store.Dir {
	t.Helper()
	if m.topology == "" {
		m.topology = "single"
	}
	if m.ttl == 0 {
		m.ttl = time.Second
	}
	what := &store.Test{Run: fmt.Sprint(m.lock, m.after), Started: morning.Add(m.after), Lock: m.lock, Deduct: "read-write", Topology: m.topology,
		Nemesis: m.nemesis, Seed: m.seed, Server: "redis:7.0", Runtime: "process", Name: store.TestName(m.lock, "read-write", m.topology, m.nemesis),
		TimeLimit: store.Duration(15 * time.Second), Clients: 5, Workers: 2, TTL: store.Duration(m.ttl), Stock: 1000, SKUs: 1, StockOn: "own",
		Persistence: "none", Customer: m.said}
	d, err := store.Create(root, what)
	if err != nil {
		t.Fatal(err)
	}
	write(t, d.Path(store.LogFile), "time=2026-01-31T06:00:00Z level=INFO msg=\"test begins\" said=\""+m.said+"\"\n")
	if m.verdict == "" {
		return d
	}
	r := &store.Result{Verdict: m.verdict, Vacuous: m.vacuous, Test: *what, Rerun: "picklock run --lock " + m.lock + " --seed " + fmt.Sprint(m.seed) + m.said,
		Properties: map[models.Property]*models.Judgement{
			models.Liveness: {Verdict: models.Valid, Checked: 4000}, models.NoLostUpdate: {Verdict: m.verdict, Checked: 900, Note: m.said},
			models.MutualExclusion: {Verdict: m.verdict, Checked: 2000},
		},
		Expected: []store.Expected{{Property: "liveness", Expected: "valid", Met: true}, {Property: "mutual-exclusion", Expected: "valid", Met: m.verdict == models.Valid, Why: m.said}},
		Broken:   m.said,
		Measures: models.Measures{Operations: 12000, Sales: 3000 + int(m.seed), SalesPerS: 200 + 10*float64(m.seed), Grants: 3100, DurationS: 14.8, AcquireP50MS: 3.1, AcquireP99MS: 80.25, Availability: .97},
	}
	if m.vacuous {
		r.VacuousWhy = []string{"fewer sales than wanted" + m.said}
	}
	for i, k := range m.nemesis {
		r.Faults = append(r.Faults, store.Fault{Kind: k, Target: fmt.Sprintf("client %d%s", i, m.said), StartS: 3.2, EndS: 5.9, Landed: i == 0, Proof: "its cgroup is frozen" + m.said, Error: m.said})
	}
	if m.verdict == models.Violated {
		j := r.Properties[models.MutualExclusion]
		j.Count = 2
		for range 2 {
			j.Violations = append(j.Violations, models.Violation{Kind: "overlap", StartS: 3.3, EndS: 4.4, Operations: []int64{1, 2}, Story: []string{
				"At 3.204 s client 1, worker 0 acquires stock:1 with a lease of 1 s." + m.said, "From 3.210 s to 5.900 s client 1 is paused.",
				"At 4.220 s client 3, worker 1 acquires stock:1: the lease of client 1 is over.", "At 5.903 s client 1 goes on and writes the stock, which client 3 has changed."}})
		}
	}
	if err := d.WriteResult(r); err != nil {
		t.Fatal(err)
	}
	if m.report {
		if err := reports.Write(string(d), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

var (
	locksThere  = []string{"setnx", "uuid-lua", "redisson-like", "redlock", "fencing", "reentrant", "none"}
	faultsThere = [][]string{nil, {"pause-client"}, {"kill-client"}, {"pause-client", "kill-node"}, {"failover"}}
)

// many makes n judged tests, one in four violated.
func many(t testing.TB, root string, n int) {
	t.Helper()
	for i := range n {
		m := made{lock: locksThere[i%len(locksThere)], nemesis: faultsThere[i/7%len(faultsThere)], after: time.Duration(i) * time.Minute, verdict: models.Valid, seed: uint64(i)}
		switch {
		case i%4 == 0:
			m.verdict = models.Violated
		case i%23 == 0:
			m.verdict = models.Unknown
		case i%29 == 0:
			m.vacuous = true
		}
		put(t, root, m)
	}
}

// running is a test that runs: its folder is marked, and its history grows.
type running struct {
	t     testing.TB
	dir   store.Dir
	mark  *store.Mark
	w     *history.Writer
	start int64 // ns
	id    int64 // of the last operation
}

// run begins a test that began to run so long ago.
func run(t testing.TB, root string, ago time.Duration) *running {
	t.Helper()
	d := put(t, root, made{lock: "uuid-lua", nemesis: []string{"pause-client"}, after: 100 * 24 * time.Hour, seed: 7})
	mark, err := d.Hold()
	if err != nil {
		t.Fatal(err)
	}
	w, err := history.Create(d.Path(store.HistoryFile))
	if err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, dir: d, mark: mark, w: w, start: history.Now() - int64(ago)}
	r.add(history.Event{Time: r.start, Type: history.Begin, Client: -1, Worker: -1, Process: -1, Note: "picklock history 1"})
	t.Cleanup(func() { mark.Release(); _ = w.Close() })
	return r
}

func (r *running) add(e history.Event) {
	r.t.Helper()
	r.w.Append(&e)
	if err := r.w.Flush(); err != nil {
		r.t.Fatal(err)
	}
}

// sell makes n sections of one client, one after the other, after the start.
func (r *running) sell(n int, from, each time.Duration) {
	at := r.start + int64(from)
	for range n {
		r.id += 2
		for _, e := range []history.Event{
			{Type: history.Invoke, Op: history.Acquire, ID: r.id, Object: "stock:1"},
			{Type: history.OK, Op: history.Acquire, ID: r.id, Object: "stock:1", Token: "t", From: at, Validity: int64(time.Second)},
			{Type: history.Invoke, Op: history.Release, ID: r.id + 1, Object: "stock:1", Grant: r.id},
			{Type: history.OK, Op: history.Release, ID: r.id + 1, Object: "stock:1", Grant: r.id},
		} {
			at += int64(each) / 4
			e.Time = at
			r.w.Append(&e)
		}
	}
	if err := r.w.Flush(); err != nil {
		r.t.Fatal(err)
	}
}

// overlap makes two clients enter at once.
func (r *running) overlap(at time.Duration) {
	for c := range 2 {
		r.id += 2
		t := r.start + int64(at) + int64(c)*1000
		r.add(history.Event{Time: t, Type: history.Invoke, Op: history.Acquire, ID: r.id, Client: c, Object: "stock:1"})
		r.add(history.Event{Time: t + 100, Type: history.OK, Op: history.Acquire, ID: r.id, Client: c, Object: "stock:1", Token: fmt.Sprint(c), From: t})
	}
}

func (r *running) fault(typ history.Type, at time.Duration) {
	f := &history.Fault{N: 1, Kind: "pause-client", Target: "client 3", Client: 3, Start: r.start + int64(2*time.Second), Landed: true, Proof: "its processes are stopped"}
	if typ == history.FaultEnd {
		f.End = r.start + int64(at)
	}
	r.add(history.Event{Time: r.start + int64(at), Type: typ, Client: -1, Worker: -1, Process: -1, Fault: f})
}

// matrices makes n stored matrices of a name.
func matrices(t testing.TB, root, name string, n int) {
	t.Helper()
	for i := range n {
		at := morning.AddDate(0, 0, i)
		out := matrix.AsExpected
		if i%3 == 1 {
			out = matrix.UnexpectedViolation
		}
		m := &matrix.Matrix{Name: name, Plan: "p", Started: at, WallS: 900, Jobs: 2, Outcome: out}
		for j, lock := range locksThere {
			o := matrix.AsExpected
			if j == 1 {
				o = out
			}
			c := matrix.Result{Cell: matrix.Cell{Lock: lock, Deduct: "read-write", Topology: "single", Nemesis: []string{"pause-client"}}, Outcome: o,
				Counts: map[matrix.Outcome]int{o: 1}, Rates: map[models.Property]matrix.Rate{},
				Runs: []matrix.Run{{Seed: 1, Started: at, TookS: 20, WaitedS: 15, AfterS: -1, Outcome: o, Measures: models.Measures{SalesPerS: 100 + 3*float64(i)}}}}
			m.Cells = append(m.Cells, c)
		}
		dir := filepath.Join(root, matrix.Folder, name, at.Format("20060102T150405.000Z"))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := m.Write(dir); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(filepath.Join(dir, grid.File))
		if err != nil {
			t.Fatal(err)
		}
		if err := grid.HTML(f, m); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// serve makes a Handler of the store.
func serve(t testing.TB, root string) *web.Handler {
	t.Helper()
	h, err := web.New(root, web.Options{Loopback: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// get asks the Handler for an address, as a browser on this machine does.
func get(t testing.TB, h http.Handler, address string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, address, nil)
	r.Host = "127.0.0.1:8080"
	h.ServeHTTP(w, r)
	return w
}
