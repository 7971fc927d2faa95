package web_test

import (
	"bufio"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
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
	"picklock/reports/web"
)

// at is the address of a test's folder below first.
func at(first string, d store.Dir, file ...string) string {
	dir := string(d)
	names := append([]string{first, filepath.Base(filepath.Dir(dir)), filepath.Base(dir)}, file...)
	for i := range names {
		names[i] = url.PathEscape(names[i])
	}
	return "/" + strings.Join(names, "/")
}

// want asks for an address that must be there and gives the page.
func want(t *testing.T, h http.Handler, address string, says ...string) string {
	t.Helper()
	w := get(t, h, address)
	body := w.Body.String()
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d, %.300s", address, w.Code, body)
	}
	for _, s := range says {
		if !strings.Contains(body, s) && !strings.Contains(html.UnescapeString(body), s) {
			t.Errorf("%s does not say %q", address, s)
		}
	}
	return body
}

var rows = regexp.MustCompile(`(?s)<tr class="[a-z]+"><td class="tick">.*?</tr>`)

// TestList: search, filters, order and pages show what they ask for and nothing else.
func TestList(t *testing.T) {
	root := t.TempDir()
	many(t, root, 210)
	put(t, root, made{lock: "odd[lock", topology: "failover", nemesis: []string{"failover"}, after: 30 * 24 * time.Hour, verdict: models.Valid, seed: 99})
	if err := os.MkdirAll(filepath.Join(root, "broken", "20260301T060000.000Z"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "broken", "20260301T060000.000Z", store.ResultFile), "no JSON")
	h := serve(t, root)
	for _, c := range []struct {
		query, says string
		n           int // rows
		all, none   string
	}{
		{"", "212 tests", 50, "", ""},
		{"?page=5", "212 tests", 12, "", ""},
		{"?per=200", "212 tests", 200, "", ""},
		{"?lock=uuid-lua", "30 tests", 30, "<b>uuid-lua</b>", ""},
		{"?lock=re*", "90 tests", 50, "<b>re", ""},
		{"?lock=odd%5Block", "", 0, "", ""}, // 400, below
		{"?topology=failover", "1 test ", 1, "odd[lock", ""},
		{"?fault=none", "42 tests", 42, `<td class="fault">none</td>`, ""},
		{"?fault=kill-node", "42 tests", 42, "kill-node", ""},
		{"?fault=kill-node%2Bpause-client", "0 tests", 0, "", ""},
		{"?fault=pause-client%2Bkill-node", "42 tests", 42, "pause-client + kill-node", ""},
		{"?verdict=damaged", "1 test ", 1, "! damaged", ""},
		{"?verdict=violated&per=200", "53 tests", 53, "✗ violated", "✓ valid"},
		{"?verdict=violated&verdict=unknown&per=200", "", 60, "", "✓ valid"},
		{"?unmet=1&per=200", "", 60, "not as expected", ""},
		{"?q=UUID+seed+98", "0 tests", 0, "", ""},
		{"?q=odd+seed+99", "1 test ", 1, "odd[lock", ""},
		{"?q=no-lost-update&lock=setnx", "", 8, "<b>setnx</b>", "✓ valid"},
		{"?since=2026-02-01", "2 tests", 2, "2026-03-0", ""},
		{"?until=2026-01-31T06:00", "1 test ", 1, "06:00:00", ""},
		{"?until=2026-01-31&per=200", "210 tests", 200, "2026-01-31", ""},
		{"?since=2026-01-31T07:00&until=2026-01-31T07:09", "10 tests", 10, "07:0", ""},
		{"?since=20000d&until=1h", "", 50, "", ""},
		{"?q=&lock=&verdict=&since=&page=&sort=", "212 tests", 50, "", ""},
	} {
		if c.query == "?lock=odd%5Block" {
			if w := get(t, h, "/"+c.query); w.Code != http.StatusBadRequest {
				t.Errorf("%s: %d, want 400", c.query, w.Code)
			}
			continue
		}
		body := want(t, h, "/"+c.query, c.says)
		found := rows.FindAllString(body, -1)
		if len(found) != c.n {
			t.Errorf("%s: %d rows, want %d", c.query, len(found), c.n)
		}
		for _, r := range found {
			if !strings.Contains(html.UnescapeString(r), c.all) {
				t.Errorf("%s: a row without %q:\n%s", c.query, c.all, r)
				break
			}
			if c.none != "" && strings.Contains(r, c.none) {
				t.Errorf("%s: a row with %q:\n%s", c.query, c.none, r)
				break
			}
		}
	}
	if w := get(t, h, "/?page=6"); w.Code != http.StatusNotFound {
		t.Errorf("a page beyond the last: %d, want 404", w.Code)
	}
}

// TestOrder: each column sorts both ways, and the links of the heads lead to it.
func TestOrder(t *testing.T) {
	root := t.TempDir()
	for i, lock := range []string{"b", "a", "c"} {
		put(t, root, made{lock: lock, after: time.Duration(i) * time.Hour, verdict: []models.Verdict{models.Valid, models.Violated, models.Unknown}[i]})
	}
	h := serve(t, root)
	name := regexp.MustCompile(`<td class="lock"><b>(.)</b>`)
	for sort, wanted := range map[string]string{"": "cab", "started": "cab", "-started": "bac", "lock": "abc", "-lock": "cba", "verdict": "acb", "-verdict": "bca", "topology": "cab", "took": "cab"} {
		got := ""
		for _, m := range name.FindAllStringSubmatch(want(t, h, "/?sort="+sort), -1) {
			got += m[1]
		}
		if got != wanted {
			t.Errorf("sort=%s gives %s, want %s", sort, got, wanted)
		}
	}
	want(t, h, "/", `href="/?sort=lock"`, `href="/?sort=-started"`)
	want(t, h, "/?sort=lock&verdict=violated", `href="/?sort=-lock&amp;verdict=violated"`)
}

// TestBadQuery: what cannot be meant is 400 and says what would be right.
func TestBadQuery(t *testing.T) {
	h := serve(t, t.TempDir())
	for _, q := range []string{
		"colour=red", "sort=colour", "sort=--lock", "page=0", "page=-1", "page=1e3", "page=01", "page=99999999999999999999", "per=1000", "verdict=good",
		"verdict=valid&verdict=good", "since=yesterday", "since=2026-13-01", "since=-1d", "since=d", "until=1w", "lock=%5B", "lock=a&lock=b", "unmet=2",
		"q=%zz", "q=a;b", "q=%00", "q=%ff", "q=a%0ab", "%00=a", "q=" + strings.Repeat("x", 2100),
	} {
		w := get(t, h, "/?"+q)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "<h1>") {
			t.Errorf("%.60s: %d, want 400 with a page", q, w.Code)
		}
	}
	for _, q := range []string{"", "t=a", "t=a/b", "t=a/b&t=c/d&t=e/f", "t=a/b&t=../..", "t=a/b&t=/etc/passwd", "t=a/b&u=1", "t=a/b&t=a", "t=a/b&t=a/b/c"} {
		if w := get(t, h, "/compare?"+q); w.Code != http.StatusBadRequest {
			t.Errorf("compare?%s: %d, want 400", q, w.Code)
		}
	}
	for _, q := range []string{"t=a/b&t=c/d", "t=.x/b&t=c/d", "t=matrices/b&t=c/d"} {
		if w := get(t, h, "/compare?"+q); w.Code != http.StatusNotFound {
			t.Errorf("compare?%s: %d, want 404", q, w.Code)
		}
	}
}

// TestTest: the page of a test tells its verdict, its story and its files.
func TestTest(t *testing.T) {
	root := t.TempDir()
	d := put(t, root, made{lock: "uuid-lua", nemesis: []string{"pause-client", "kill-node"}, verdict: models.Violated, seed: 3, report: true})
	put(t, root, made{lock: "uuid-lua", nemesis: []string{"pause-client", "kill-node"}, verdict: models.Valid, seed: 4, after: time.Hour})
	vacuous := put(t, root, made{lock: "setnx", verdict: models.Valid, vacuous: true})
	stopped := put(t, root, made{lock: "setnx", after: time.Hour})
	write(t, stopped.Path(store.LogFile), "x msg=\"test ends\" error=\"interrupted\"\n")
	for _, name := range []string{".", store.TestFile, store.LogFile} {
		if err := os.Chtimes(stopped.Path(name), morning, morning); err != nil {
			t.Fatal(err)
		}
	}
	write(t, d.Path(store.NodeLogs, "lock.log"), "ready\n")
	write(t, d.Path("mine.txt"), "not picklock's")
	h := serve(t, root)
	body := want(t, h, at("tests", d), "✗ violated:", "uuid-lua + read-write", "under pause-client + kill-node", "mutual-exclusion should be valid", "Never two clients at once",
		"client 3, worker 1 acquires", "? not proven", "✓ landed", "picklock run --lock uuid-lua --seed 3", "Open the report", "nodes/lock.log", "seed 4", "time limit", "15s")
	if strings.Contains(body, "mine.txt") {
		t.Error("a file that is not picklock's is listed")
	}
	want(t, h, at("tests", vacuous), "∅ vacuous", "Proves nothing.", "fewer sales than wanted")
	body = want(t, h, at("tests", stopped), "unfinished", "interrupted")
	if strings.Contains(body, "Open the report") || strings.Contains(body, "data-live") {
		t.Error("a test that was interrupted has a report, or is followed")
	}
	for _, address := range []string{"/tests/a/b", "/tests/" + filepath.Base(filepath.Dir(string(d))), "/tests/matrices/20260131T060000.000Z"} {
		if w := get(t, h, address); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", address, w.Code)
		}
	}
}

// TestCompare: two tests side by side, with what differs in words.
func TestCompare(t *testing.T) {
	root := t.TempDir()
	a := put(t, root, made{lock: "uuid-lua", nemesis: []string{"pause-client"}, verdict: models.Violated, seed: 3})
	b := put(t, root, made{lock: "uuid-lua", nemesis: []string{"pause-client"}, verdict: models.Valid, seed: 30, ttl: 2 * time.Second, after: time.Hour})
	c := put(t, root, made{lock: "setnx"})
	h := serve(t, root)
	of := func(dirs ...store.Dir) string {
		v := url.Values{}
		for _, d := range dirs {
			p, _ := filepath.Rel(root, string(d))
			v.Add("t", p)
		}
		return "/compare?" + v.Encode()
	}
	want(t, h, of(a, b), "A is violated, B is valid.", "mutual-exclusion is violated (2 times) in A, valid in B.", "They were told otherwise in: seed, TTL.",
		"B has 2.17 times A&#39;s (230 and 500)", "A had 1 fault, of which 1 landed")
	same := want(t, h, of(a, a), "Both are violated.", "They were told the same, seed and all.")
	if strings.Contains(same, `class="differ"`) {
		t.Error("a test differs from itself")
	}
	want(t, h, of(a, c), "A is violated, B is", "without a verdict")
}

// TestMatrices: the list, newest first, a page of each, its report, and the trend.
func TestMatrices(t *testing.T) {
	root := t.TempDir()
	matrices(t, root, "nightly", 4)
	p := &matrix.Plan{Name: "going", Rows: []matrix.Row{{Cell: matrix.Cell{Lock: "uuid-lua"}, Seeds: []uint64{1, 2, 3, 4}}}}
	sitting, err := matrix.Begin(root, p, matrix.Shard{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sitting.Close() })
	journal := filepath.Join(sitting.Dir, matrix.JournalFile)
	line := `{"at":"2026-01-31T06:00:00Z","cell":"uuid-lua","run":{"seed":%d,"dir":"a/b","outcome":"%s"}}` + "\n"
	write(t, journal, fmt.Sprintf(line, 1, matrix.AsExpected)+fmt.Sprintf(line, 2, matrix.Vacuous)+`{"at":`)
	h := serve(t, root)
	body := want(t, h, "/matrices", "✗ unexpected violation", "6 as expected, 1 unexpected violation", `href="/trend/nightly"`, "▸ running")
	if newest, oldest := strings.Index(body, "2026-02-03"), strings.Index(body, "2026-01-31"); newest < 0 || newest > oldest {
		t.Error("the newest matrix is not above the oldest")
	}
	want(t, h, "/matrices/nightly/20260131T060000.000Z", "✓ as expected", "/store/matrices/nightly/20260131T060000.000Z/matrix.html")
	want(t, h, "/store/matrices/nightly/20260131T060000.000Z/matrix.html", "nightly")
	want(t, h, "/trend/nightly", "4 matrices", "uuid-lua+read-write_single_pause-client", `href="/matrices"`)
	of := "/matrices/going/" + filepath.Base(sitting.Dir)
	want(t, h, of, "data-live", `<b data-field="done">2</b>`, `<span data-field="total">4</span>`, "1 as expected, 1 vacuous")
	want(t, h, of+"/live.json", `"done":"2"`, `"share":0.5`)
	for _, address := range []string{"/trend/none", "/trend/going", "/matrices/nightly", "/matrices/nightly/x", "/matrices/none/20260131T060000.000Z/live.json", "/matrices/nightly/20260131T060000.000Z/live.json"} {
		if w := get(t, h, address); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", address, w.Code)
		}
	}
}

// TestLive: the state of a running test grows with its history, and ends with its verdict.
func TestLive(t *testing.T) {
	root := t.TempDir()
	r := run(t, root, 3*time.Second)
	h := serve(t, root)
	page, live := at("tests", r.dir), at("tests", r.dir, "live.json")
	r.sell(250, 0, 10*time.Millisecond)
	want(t, h, "/", "Running now", "▸ running")
	want(t, h, page, `data-live="`, "under load", ">500</b> <span>operations", `data-field="violations">0<`)
	r.fault(history.FaultStart, 2*time.Second)
	r.overlap(2600 * time.Millisecond)
	time.Sleep(600 * time.Millisecond)
	want(t, h, live, `"operations":"502"`, `"violations":"1"`, `"fault":"pause-client on client 3"`, `"over":false`, "2.0 s: pause-client on client 3, works now")
	r.fault(history.FaultEnd, 2700*time.Millisecond)
	r.add(history.Event{Time: r.start + int64(3*time.Second), Type: history.End, Client: -1, Worker: -1, Process: -1})
	time.Sleep(600 * time.Millisecond)
	want(t, h, live, `"phase":"judging"`, `"fault":"none"`, "until 2.7 s")
	test, err := r.dir.ReadTest()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.dir.WriteResult(&store.Result{Verdict: models.Violated, Test: *test}); err != nil {
		t.Fatal(err)
	}
	r.mark.Release()
	// The report is written after the verdict: who follows is led to both at once.
	want(t, h, live, `"over":false`)
	time.Sleep(600 * time.Millisecond)
	want(t, h, live, `"over":false`, `"phase":"writing the report"`)
	write(t, r.dir.Path(store.ReportFile), "<main></main>")
	want(t, h, live, `"over":true`)
	if body := want(t, h, page, "✗ violated", "Open the report"); strings.Contains(body, "data-live") {
		t.Error("the page of a test that ended follows it on")
	}
	if err := os.Remove(r.dir.Path(store.ReportFile)); err != nil {
		t.Fatal(err)
	}
	want(t, h, live, `"over":false`)
	long := time.Now().Add(-time.Minute)
	if err := os.Chtimes(r.dir.Path(store.ResultFile), long, long); err != nil {
		t.Fatal(err)
	}
	want(t, h, live, `"over":true`) // it will not get one
}

// TestRefresh: a page shows what was stored since, without waiting for it.
func TestRefresh(t *testing.T) {
	root := t.TempDir()
	put(t, root, made{lock: "a", verdict: models.Valid})
	h := serve(t, root)
	want(t, h, "/", "1 test")
	put(t, root, made{lock: "b", verdict: models.Valid, after: time.Hour})
	for range 100 {
		if strings.Contains(want(t, h, "/"), "2 tests") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("the new test was not shown within ten seconds")
}

// TestNothing: an empty store has a page that says so, and no store is an error.
func TestNothing(t *testing.T) {
	h := serve(t, t.TempDir())
	want(t, h, "/", "Nothing is stored yet")
	want(t, h, "/matrices", "No matrix is stored yet")
	if _, err := web.New(filepath.Join(t.TempDir(), "none"), web.Options{}); err == nil || !strings.Contains(err.Error(), "not a store") {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// raw sends bytes to a real server and gives the status of the answer, or "" without one.
func raw(t *testing.T, addr, text string) string {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = c.Write([]byte(text)) }() // it may be refused before its end
	line, _ := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line)
}

// started is a real server of the store.
func started(t *testing.T, root string) *httptest.Server {
	t.Helper()
	return listening(t, serve(t, root))
}

// listening is a real server, as picklock serve has it.
func listening(t testing.TB, h *web.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.Config = web.Server(h)
	s.Listener = web.Bounded(s.Listener)
	s.Start()
	t.Cleanup(s.Close)
	return s
}
