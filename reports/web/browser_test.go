//go:build browser

package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/models"
	"picklock/reports/web"
)

// These tests open the pages in Chromium. They need the build tag "browser" and chromium in
// PATH. With PICKLOCK_SCREENSHOTS=DIR they leave pictures of all pages there, light and dark,
// wide and narrow.

// chromium runs the browser, and gives what it printed and what was written to the console.
func chromium(t *testing.T, args ...string) (out, console string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "chromium", append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
		"--enable-logging=stderr", "--user-data-dir=" + t.TempDir()}, args...)...)
	var got, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &got, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, errs.String())
	}
	for _, line := range strings.Split(errs.String(), "\n") {
		if strings.Contains(line, "CONSOLE") {
			console += line + "\n"
		}
	}
	return got.String(), console
}

// shown makes a store with something of everything, serves it, and gives the pages by name.
func shown(t *testing.T) (server *httptest.Server, pages map[string]string, r *running) {
	root := t.TempDir()
	many(t, root, 120)
	a := put(t, root, made{lock: "uuid-lua", nemesis: []string{"pause-client", "kill-node"}, after: 99 * 24 * time.Hour, verdict: models.Violated, seed: 3, report: true})
	b := put(t, root, made{lock: "uuid-lua", nemesis: []string{"pause-client", "kill-node"}, after: 98 * 24 * time.Hour, verdict: models.Valid, seed: 30, ttl: 2 * time.Second, report: true})
	matrices(t, root, "nightly", 9)
	r = run(t, root, 8*time.Second)
	r.sell(700, 0, 10*time.Millisecond)
	r.fault(history.FaultStart, 2*time.Second)
	r.overlap(7 * time.Second)
	h, err := web.New(root, web.Options{Loopback: true})
	if err != nil {
		t.Fatal(err)
	}
	server = httptest.NewServer(h)
	t.Cleanup(func() {
		server.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	rel := func(d store.Dir) string {
		p, err := filepath.Rel(root, string(d))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	return server, map[string]string{
		"list": "/", "filtered": "/?lock=uuid-lua&verdict=violated&sort=took", "none": "/?q=nothing+like+that", "wrong": "/?sort=colour",
		"test": "/tests/" + rel(a), "compare": "/compare?t=" + strings.ReplaceAll(rel(a), "+", "%2b") + "&t=" + strings.ReplaceAll(rel(b), "+", "%2b"),
		"live": "/tests/" + rel(r.dir), "matrices": "/matrices", "matrix": "/matrices/nightly/20260131T060000.000Z", "trend": "/trend/nightly",
		"report": "/store/" + rel(a) + "/report.html", "grid": "/store/matrices/nightly/20260131T060000.000Z/matrix.html",
	}, r
}

// TestPagesInBrowser: no page writes an error to the console, which it would if a policy
// kept it from its own script or style.
func TestPagesInBrowser(t *testing.T) {
	server, pages, _ := shown(t)
	shots := os.Getenv("PICKLOCK_SCREENSHOTS")
	for name, at := range pages {
		t.Run(name, func(t *testing.T) {
			dom, console := chromium(t, "--window-size=1280,1400", "--dump-dom", server.URL+at)
			if name == "wrong" {
				console = "" // the browser itself says that the status is 400
			}
			if console != "" {
				t.Errorf("the console says\n%s", console)
			}
			if !strings.Contains(dom, "</main>") {
				t.Error("there is no page")
			}
			if shots == "" {
				return
			}
			for _, width := range []int{1280, 400} {
				for scheme, word := range []string{"dark", "light"} { // as Blink counts them
					chromium(t, fmt.Sprintf("--window-size=%d,1500", width), fmt.Sprintf("--screenshot=%s/%s-%d-%s.png", shots, name, width, word),
						fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme), server.URL+at)
				}
			}
		})
	}
}

// prying is a report that was not made by picklock: it tries to read and to send what it can.
const prying = `<!doctype html><html><body><main><p id="got">begins</p></main><script>
const got = [];
const tell = () => { document.getElementById("got").textContent = "tried: " + got.join(", "); };
const attempt = (name, f) => { try { f(); got.push(name); } catch {} tell(); };
attempt("localStorage", () => localStorage.setItem("a", "b"));
attempt("cookie", () => { document.cookie = "a=b"; if (!document.cookie) throw 1; });
attempt("window", () => { if (!window.open("/")) throw 1; });
for (const [name, at] of [["page", "/"], ["file", "test.json"], ["live", "live.json"]])
  fetch(at).then((a) => a.text()).then((text) => { got.push(name + " " + text.length); tell(); }).catch(() => {});
const frame = document.createElement("iframe");
frame.src = "/";
frame.onload = () => attempt("frame", () => { if (!frame.contentDocument.title) throw 1; });
document.body.append(frame);
const picture = new Image();
picture.onload = () => { got.push("picture"); tell(); };
picture.src = "/assets/icon.svg";
</script></body></html>`

// TestSandbox: the script of a hostile report runs, and can read nothing of the server and
// keep nothing in the browser.
func TestSandbox(t *testing.T) {
	root := t.TempDir()
	d := put(t, root, made{lock: "uuid-lua", verdict: models.Valid})
	write(t, d.Path(store.ReportFile), prying)
	server := listening(t, serve(t, root))
	dom, _ := chromium(t, "--virtual-time-budget=3000", "--dump-dom", server.URL+at("store", d, store.ReportFile))
	if !strings.Contains(dom, `<p id="got">tried: </p>`) {
		t.Errorf("the report could do something, or did not run:\n%s", dom)
	}
}

// TestHostileInBrowser: no text that is stored runs in a page.
func TestHostileInBrowser(t *testing.T) {
	root := t.TempDir()
	evil := `"><script>document.title="RUN"</script><img src=x onerror="document.title='RUN'"><svg onload="document.title='RUN'">`
	d := put(t, root, made{lock: strings.ReplaceAll(evil, "/", ""), nemesis: []string{"<img src=x onerror=alert(1)>"}, verdict: models.Violated, said: evil, report: true})
	server := listening(t, serve(t, root))
	for _, page := range []string{"/", at("tests", d), at("store", d, store.ReportFile), "/?q=" + url.QueryEscape(evil)} {
		dom, console := chromium(t, "--virtual-time-budget=2000", "--dump-dom", server.URL+page)
		if strings.Contains(dom, "<title>RUN") || strings.Contains(dom, `<img`) || console != "" || !strings.Contains(dom, "</main>") {
			t.Errorf("%.60s: something ran, or would have:\n%s\n%.2000s", page, console, dom)
		}
	}
}

// TestFollowedInBrowser: the page of a running test changes as the test goes on, without
// being loaded anew.
func TestFollowedInBrowser(t *testing.T) {
	server, pages, r := shown(t)
	inner := server.Config.Handler
	asked := 0
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasSuffix(q.URL.Path, "/live.json") {
			if asked++; asked == 2 {
				time.Sleep(600 * time.Millisecond) // what was looked at before may be told for half a second
				r.sell(5000, 8*time.Second, 100*time.Microsecond)
			}
		}
		inner.ServeHTTP(w, q)
	})
	before := get(t, inner, pages["live"]).Body.String()
	dom, console := chromium(t, "--virtual-time-budget=5000", "--dump-dom", server.URL+pages["live"])
	if console != "" {
		t.Errorf("the console says\n%s", console)
	}
	if !strings.Contains(before, ">1,402</b> <span>operations") {
		t.Errorf("the page does not begin with the operations that there are")
	}
	if !strings.Contains(dom, ">11,402</b> <span>operations") || asked < 2 {
		t.Errorf("the page did not follow the test; it asked %d times", asked)
	}
}
