package web_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"picklock/harness/store"
	"picklock/models"
)

// secret stands outside of the store, and must never be answered with.
const secret = "root:x:0:0:secret"

// guarded makes a store with all sorts of ways out of it, and the names of one test in it.
func guarded(t *testing.T) (root, name, start string) {
	t.Helper()
	outside := t.TempDir()
	write(t, filepath.Join(outside, "passwd"), secret)
	write(t, filepath.Join(outside, "20260131T060000.000Z", store.TestFile), secret)
	root = filepath.Join(t.TempDir(), "store")
	d := put(t, root, made{lock: "uuid-lua", verdict: models.Valid, report: true})
	name, start = filepath.Base(filepath.Dir(string(d))), filepath.Base(string(d))
	for link, to := range map[string]string{
		d.Path(store.ReportFile):                               filepath.Join(outside, "passwd"), // in place of the report
		d.Path(store.NodeLogs, "out.log"):                      filepath.Join(outside, "passwd"),
		d.Path(store.ClientLogs, "up.log"):                     "../../../../" + filepath.Base(outside) + "/passwd",
		d.Path("charts"):                                       outside,
		filepath.Join(root, "linked"):                          outside,
		filepath.Join(root, name, "20260131T070000.000Z"):      filepath.Join(outside, "20260131T060000.000Z"),
		filepath.Join(root, "matrices"):                        outside,
		filepath.Join(root, "inside"):                          name,
		d.Path(store.NodeLogs, "loop.log"):                     "loop.log",
		filepath.Join(string(d), store.NodeLogs, "inside.log"): "../" + store.TestFile,
	} {
		_ = os.Remove(link) // the report
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	write(t, d.Path(".running"), secret)
	write(t, d.Path("notes.txt"), secret)
	write(t, d.Path(store.NodeLogs, ".hidden.log"), secret)
	write(t, filepath.Join(root, ".hidden", start, store.TestFile), secret)
	write(t, filepath.Join(root, "foreign", "folder", "a.log"), secret)
	write(t, filepath.Join(root, "foreign", "folder", store.ReportFile), secret)
	write(t, filepath.Join(root, "passwd"), secret)
	if err := syscall.Mkfifo(d.Path(store.NodeLogs, "pipe.log"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(d.Path(store.NodeLogs, "folder.log"), 0o755); err != nil {
		t.Fatal(err)
	}
	return root, name, start
}

// TestTraversal: nothing outside of the store, nothing hidden and nothing foreign is
// answered with, however it is asked for: each time there is a clean 4xx.
func TestTraversal(t *testing.T) {
	root, name, start := guarded(t)
	s := started(t, root)
	n := url.PathEscape(name)
	in := "/store/" + n + "/" + start + "/"
	if got := raw(t, s.Listener.Addr().String(), "GET "+in+"test.json HTTP/1.1\r\nHost: localhost\r\n\r\n"); got != "HTTP/1.1 200 OK" {
		t.Fatalf("a file that is there: %s", got)
	}
	var targets []string
	for _, up := range []string{"../", "..%2f", "%2e%2e/", "%2e%2e%2f", "%252e%252e%252f", "%252e%252e/", "..\\", "..%5c", ".%2e/", "....//", "..;/", "%c0%ae%c0%ae/", "..%00/", "%2f..%2f", "../."} {
		deep := strings.Repeat(up, 8)
		targets = append(targets, "/"+deep+"etc/passwd", "/store/"+deep+"etc/passwd", in+deep+"etc/passwd", "/tests/"+up+n, "/assets/"+up+"web.go", "/assets/"+deep+"etc/passwd",
			"/store/"+n+"/"+up+"passwd", "/matrices/"+up+n, "/trend/"+up, "/store/"+up+"store/passwd")
	}
	targets = append(targets, "//etc/passwd", "/store//etc/passwd", "/store/%2fetc%2fpasswd", "/%2fetc/passwd", "/store/matrices/a/b/c", "/store/passwd", "/store", "/store/"+n,
		in, in+".running", in+"%2erunning", in+"notes.txt", in+"report.html", in+"charts/passwd", in+"charts/a.svg", in+"nodes", in+"nodes/out.log", in+"clients/up.log",
		in+"nodes/.hidden.log", in+"nodes/loop.log", in+"nodes/inside.log", in+"nodes/pipe.log", in+"nodes/folder.log", in+"nodes/folder.log/x.log", in+"test.json/", in+"test.json/x", in+"test.json%00",
		in+"test.json%00.html", in+"journal/a", in+"test.json?x", "/store/.hidden/"+start+"/test.json", "/store/foreign/folder/a.log", "/store/foreign/folder/report.html", "/store/linked/20260131T060000.000Z/test.json",
		"/store/"+n+"/20260131T070000.000Z/test.json", "/store/inside/"+start+"/test.json", "/store/matrices/20260131T060000.000Z/test.json", "/tests/linked/20260131T060000.000Z",
		"/tests/"+n+"/20260131T070000.000Z", "/tests/inside/"+start, "/tests/.hidden/"+start, "/tests/foreign/folder", "/matrices/x/20260131T060000.000Z", "/trend/20260131T060000.000Z", "/store/"+strings.Repeat("x", 300)+"/"+start+"/test.json",
		"/"+strings.Repeat("a/", 1500), "/assets/", "/assets/page.css/x", "/assets/frame.tmpl", "/assets/.page.css", "/tests/"+n+"/"+start+"/other.json", "/debug/pprof/", "/favicon.ico")
	for _, target := range targets {
		status, body := exchange(t, s, "GET "+target+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		slashed := target == in+"test.json/" // a slash at the end says nothing
		if !strings.HasPrefix(status, "HTTP/1.1 4") && !(slashed && strings.HasPrefix(status, "HTTP/1.1 200")) {
			t.Errorf("%.100s: %s", target, status)
		}
		if strings.Contains(body, secret) || strings.Contains(body, "root:") {
			t.Errorf("%.100s gave away what is secret:\n%s", target, body)
		}
	}
	// What the lists and pages tell of the folders.
	for _, page := range []string{"/", "/matrices", "/tests/" + n + "/" + start} {
		_, body := exchange(t, s, "GET "+page+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		for _, never := range []string{"secret", "out.log", "pipe.log", "notes.txt", ".hidden", "foreign", "linked", "report.html\""} {
			if strings.Contains(body, never) {
				t.Errorf("%s tells of %s", page, never)
			}
		}
	}
}

// exchange sends bytes to a real server and gives its answer: the first line, and all of it.
func exchange(t *testing.T, s *httptest.Server, text string) (status, all string) {
	t.Helper()
	c, err := net.DialTimeout("tcp", s.Listener.Addr().String(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(c) // it may be cut off after what matters
	status, _, _ = strings.Cut(string(b), "\r\n")
	return status, string(b)
}

// TestMalformed: whatever is no request gets a clean 4xx.
func TestMalformed(t *testing.T) {
	s := started(t, t.TempDir())
	for text, want := range map[string]string{
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n":                    "200",
		"GET / HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n":                    "200",
		"GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n":    "200",
		"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n": "421",
		"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n":                 "421",
		"GET / HTTP/1.1\r\nHost: localhost.evil.example:8080\r\n\r\n":  "421",
		"GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n":       "421",
		"GET / HTTP/1.1\r\nHost: 0.0.0.0\r\n\r\n":                      "421",
		"GET / HTTP/1.0\r\n\r\n":                                       "421",
		"GET / HTTP/1.1\r\n\r\n":                                       "400",
		"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n":                 "400",
		"GET /\r\n\r\n":    "400",
		"nonsense\r\n\r\n": "400",
		"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\r\n\r\n":                                                  "400",
		"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n":                                                             "505",
		"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                          "400",
		"GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                          "400",
		"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                         "400",
		"GET / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n":                                                 "400",
		"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n":                                        "400",
		"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello":                                   "413",
		"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n":                              "413",
		"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":                      "413",
		"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n":                   "431",
		"GET /" + strings.Repeat("x", 5000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n":                            "414",
		"GET /?q=" + strings.Repeat("x", 3000) + " HTTP/1.1\r\nHost: localhost\r\n\r\n":                         "400",
		"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi":                                     "405",
		"DELETE /store/a/b/c HTTP/1.1\r\nHost: localhost\r\n\r\n":                                               "405",
		"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                         "405",
		"TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                           "405",
		"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n":                                          "405",
		"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                            "405",
		"GET * HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                             "400",
		"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                            "200",
		"HEAD /none HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                        "404",
		"GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n":                                                            "200",
		"GET / HTTP/1.1\r\nHost: LOCALHOST:1\r\n\r\n":                                                           "200",
		"GET / HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n":               "413",
		"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n": "4",
	} {
		status := raw(t, s.Listener.Addr().String(), text)
		if _, got, _ := strings.Cut(status, " "); !strings.HasPrefix(got, want) {
			t.Errorf("%.70q: %q, want %s", text, status, want)
		}
	}
}

// hostile is text that would do something in a page that does not escape it.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>'onload='alert(3)</title></style><!--{{.}}` + "\u202e\x07"

// unescaped finds what would have become a part of a page.
var unescaped = regexp.MustCompile(`<script>alert|<img|'onload=|</style>|<!--|\x{202e}|\x07`)

var values = regexp.MustCompile(` value="[^"]*"`)

// TestHostile: nothing that is stored becomes a part of a page, be it the text of an error or
// the name of a folder.
func TestHostile(t *testing.T) {
	root := t.TempDir()
	lock := `<script>alert(1)<` + `script>"><img src=x onerror=alert(2)>'onload='`
	a := put(t, root, made{lock: strings.ReplaceAll(lock, "/", ""), nemesis: []string{"<img>", "a&b;c?d#e%2e"}, verdict: models.Violated, vacuous: true, said: hostile, report: true})
	b := put(t, root, made{lock: "javascript:alert(1)", after: time.Hour, said: hostile})
	damaged := filepath.Join(root, `"><img src=x> #?%2e&`+"\u202e\x07", "20260131T080000.000Z")
	write(t, filepath.Join(damaged, store.ResultFile), "{")
	write(t, filepath.Join(damaged, store.NodeLogs, `"><img src=x>.log`), "x")
	write(t, filepath.Join(root, "matrices", `"><img src=x>`, "20260131T080000.000Z", "matrix.json"), `{"name":"<img>","outcome":"<img>","cells":[{"outcome":"<img>"}]}`)
	write(t, filepath.Join(root, "matrices", `"><img src=y>`, "20260131T080000.000Z", "plan.json"), `{"name":"<img>","rows":[{"cell":{"lock":"<img>"},"seeds":[1,2]}]}`)
	write(t, filepath.Join(root, "matrices", `"><img src=y>`, "20260131T080000.000Z", "runs.jsonl"), `{"cell":"<img>","run":{"seed":1,"dir":"<img>/<img>","outcome":"<img>","why":"<img>"}}`+"\n")
	h := serve(t, root)
	rel := func(d store.Dir) string {
		p, _ := filepath.Rel(root, string(d))
		return url.QueryEscape(p)
	}
	pages := []string{"/", "/matrices", at("tests", a), at("tests", b), at("tests", store.Dir(damaged)), "/compare?t=" + rel(a) + "&t=" + rel(b), "/compare?t=" + rel(a) + "&t=" + rel(a),
		"/?q=" + url.QueryEscape(`"><img src=x>`), "/?lock=" + url.QueryEscape(`"><img src=x>`), "/?sort=" + url.QueryEscape(`<img src=x>`), "/" + url.PathEscape(`<img src=x>`),
		"/?since=" + url.QueryEscape(`"><img>`), "/?" + url.QueryEscape(`<img>`) + "=1", "/trend/" + url.PathEscape(`"><img src=x>`),
		"/matrices/" + url.PathEscape(`"><img src=x>`) + "/20260131T080000.000Z", "/matrices/" + url.PathEscape(`"><img src=y>`) + "/20260131T080000.000Z"}
	links := regexp.MustCompile(`(?:href|data-live)="([^"]*)"`)
	followed := map[string]bool{}
	for _, p := range pages {
		w := get(t, h, p)
		if w.Code >= 500 {
			t.Errorf("%s: %d: %s", p, w.Code, w.Body)
		}
		shown := values.ReplaceAllString(w.Body.String(), "") // of forms: what is in them must come back as it is
		if strings.HasPrefix(p, "/trend") {
			shown = strings.Replace(shown, "</style>", "", 1) // its own
		}
		if found := unescaped.FindString(shown); found != "" {
			t.Errorf("%s holds %q", p, found)
		}
		for _, m := range links.FindAllStringSubmatch(w.Body.String(), -1) {
			if !strings.HasPrefix(m[1], "/") && !strings.HasPrefix(m[1], "#") {
				t.Errorf("%s leads out of the store, to %s", p, m[1])
			}
			followed[m[1]] = true
		}
	}
	// Every link leads to something: names are escaped in addresses as well.
	for link := range followed {
		if strings.HasPrefix(link, "#") {
			continue
		}
		w := get(t, h, strings.ReplaceAll(strings.ReplaceAll(link, "&amp;", "&"), "&#43;", "+"))
		missing := w.Code == http.StatusNotFound && (strings.HasSuffix(link, "report.html") || strings.Contains(link, "%3Cimg%3E/%3Cimg%3E"))
		if w.Code != http.StatusOK && !missing {
			t.Errorf("the link %s: %d", link, w.Code)
		}
	}
	if live := get(t, h, at("tests", b, "live.json")); live.Code != http.StatusOK || strings.Contains(live.Body.String(), "<") {
		t.Errorf("the live state: %d %s", live.Code, live.Body)
	}
}

// TestHeaders: policies, types and caching of pages and files.
func TestHeaders(t *testing.T) {
	root := t.TempDir()
	d := put(t, root, made{lock: "uuid-lua", verdict: models.Valid, report: true})
	write(t, d.Path(store.HistoryFile), "{}\n")
	write(t, d.Path("charts", "latency.svg"), "<svg/>")
	write(t, d.Path(store.NodeLogs, "lock.log"), "<script>alert(1)</script>")
	h := serve(t, root)
	for _, c := range []struct{ address, kind, policy, cache string }{
		{"/", "text/html; charset=utf-8", "script-src 'self'", "no-store"},
		{"/none", "text/html; charset=utf-8", "script-src 'self'", "no-store"},
		{at("tests", d, "live.json"), "application/json", "script-src 'self'", "no-store"},
		{"/assets/page.js", "text/javascript; charset=utf-8", "default-src 'none'", "no-cache"},
		{"/assets/page.css", "text/css; charset=utf-8", "default-src 'none'", "no-cache"},
		{"/assets/icon.svg", "image/svg+xml", "default-src 'none'", "no-cache"},
		{at("store", d, "report.html"), "text/html; charset=utf-8", "sandbox allow-scripts; default-src 'none'", "no-cache"},
		{at("store", d, "results.json"), "application/json", "sandbox; default-src 'none'", "no-cache"},
		{at("store", d, "history.jsonl"), "application/jsonl; charset=utf-8", "sandbox; default-src 'none'", "no-cache"},
		{at("store", d, "charts", "latency.svg"), "image/svg+xml", "sandbox; default-src 'none'", "no-cache"},
		{at("store", d, "nodes", "lock.log"), "text/plain; charset=utf-8", "sandbox; default-src 'none'", "no-cache"},
	} {
		w := get(t, h, c.address)
		for key, want := range map[string]string{"Content-Type": c.kind, "Cache-Control": c.cache, "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin"} {
			if got := w.Header().Get(key); got != want {
				t.Errorf("%s: %s is %q, want %q", c.address, key, got, want)
			}
		}
		policy := w.Header().Get("Content-Security-Policy")
		if !strings.Contains(policy, c.policy) || strings.Contains(policy, "allow-same-origin") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: the policy is %q", c.address, policy)
		}
		if strings.Contains(policy, "unsafe-inline") && !strings.HasPrefix(policy, "sandbox") {
			t.Errorf("%s: a page of the server's own origin may run what is in it", c.address)
		}
		if c.cache != "no-cache" {
			continue
		}
		r := httptest.NewRequest(http.MethodGet, c.address, nil)
		r.Host = "localhost"
		r.Header.Set("If-None-Match", w.Header().Get("ETag"))
		again := httptest.NewRecorder()
		h.ServeHTTP(again, r)
		if again.Code != http.StatusNotModified || w.Header().Get("ETag") == "" {
			t.Errorf("%s: asked for with its ETag: %d, want 304", c.address, again.Code)
		}
		head := httptest.NewRecorder()
		r = httptest.NewRequest(http.MethodHead, c.address, nil)
		r.Host = "localhost"
		h.ServeHTTP(head, r)
		if head.Code != http.StatusOK || head.Header().Get("Content-Length") != w.Header().Get("Content-Length") || head.Body.Len() != 0 {
			t.Errorf("%s: HEAD gives %d and %d bytes", c.address, head.Code, head.Body.Len())
		}
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	h.ServeHTTP(w, r)
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
}
