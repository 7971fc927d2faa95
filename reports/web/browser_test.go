//go:build browser

package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
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
		dom, console := chromium(t, "--window-size=1280,1400", "--dump-dom", server.URL+at)
		if name == "wrong" {
			console = "" // the browser itself says that the status is 400
		}
		if console != "" {
			t.Errorf("%s: the console says\n%s", name, console)
		}
		if !strings.Contains(dom, "</main>") {
			t.Errorf("%s: no page", name)
		}
		for _, width := range []int{1280, 400} {
			for _, dark := range []bool{false, true} {
				if shots == "" {
					continue
				}
				args := []string{fmt.Sprintf("--window-size=%d,%d", width, 1500), fmt.Sprintf("--screenshot=%s/%s-%d-%v.png", shots, name, width, dark)}
				if dark {
					args = append(args, "--blink-settings=preferredColorScheme=0")
				} else {
					args = append(args, "--blink-settings=preferredColorScheme=1")
				}
				chromium(t, append(args, server.URL+at)...)
			}
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
