//go:build browser

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"picklock/models"
	"picklock/reports/browsertest"
)

// TestFollowInBrowser: a test that really runs stands in the list of picklock serve as soon as
// it begins; its page goes on by itself as the test does, and shows the verdict and leads to
// the report when it ends, without the reader doing anything.
func TestFollowInBrowser(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "store")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	serve := begin(t, t.TempDir(), "serve", "--store", root, "--listen", "127.0.0.1:0")
	serve.awaitOutput()
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(read(t, serve.output()))
	p := browsertest.Open(t, address+"/", address, browsertest.Look{})
	if got := browsertest.Eval[string](p, `document.querySelector(".notice").textContent`); !strings.Contains(got, "Nothing is stored yet") {
		t.Errorf("the page of an empty store says %q", got)
	}

	run := begin(t, dir, strings.Fields("run --lock setex-del --nemesis pause-client --ttl 500ms --redis-timeout 300ms --clients 3 --time-limit 8s --seed 1 --runtime process")...)
	await(t, "the test standing in the list as running", func() bool {
		p.Go(address + "/")
		return browsertest.Eval[bool](p, `Boolean(document.querySelector(".now a"))`)
	})
	p.Go(browsertest.Eval[string](p, `document.querySelector(".now a").href`))
	p.Until(`document.querySelector("[data-live] progress")`)
	loads := p.Loads()

	// What is read while nobody does anything.
	operations := map[int]bool{}
	share, faults := 0.0, 0
	await(t, "the page ending with the test", func() bool {
		now := browsertest.Eval[struct {
			Live       bool
			Operations string
			Share      float64
			Faults     int
		}](p, `({ Live: Boolean(document.querySelector("[data-live]")), Operations: document.querySelector("[data-field=operations]")?.textContent || "",
			Share: document.querySelector("[data-live] progress")?.value || 0, Faults: document.querySelectorAll("[data-list=faults] li").length })`)
		if !now.Live {
			return browsertest.Eval[bool](p, `document.readyState === "complete" && Boolean(document.querySelector(".verdict h1"))`)
		}
		n, err := strconv.Atoi(strings.ReplaceAll(now.Operations, ",", ""))
		if err != nil {
			t.Fatalf("the page tells of %q operations", now.Operations)
		}
		operations[n] = true
		share, faults = max(share, now.Share), max(faults, now.Faults)
		return false
	})
	status := run.wait()
	if len(operations) < 4 || share < 0.5 || faults < 1 {
		t.Errorf("the page followed with %d numbers of operations, to %.2f of the load, and told of %d faults; want at least 4, 0.5 and 1", len(operations), share, faults)
	}
	if n := p.Loads() - loads; n != 1 {
		t.Errorf("the page was loaded %d times more, want once, for the verdict", n)
	}
	r, err := run.latest().ReadResult()
	if err != nil {
		t.Fatalf("%v; status %d: %s", err, status, run.errs.String())
	}
	if r.Verdict != models.Violated {
		t.Errorf("this lock under this fault is %s, want violated", r.Verdict)
	}
	said := browsertest.Eval[string](p, `document.querySelector(".verdict h1").textContent`)
	if !strings.Contains(strings.ToLower(said), string(r.Verdict)) {
		t.Errorf("the page ends with %q, the verdict is %s", said, r.Verdict)
	}
	p.Go(browsertest.Eval[string](p, `document.querySelector(".verdict .open a")?.href || ""`))
	p.Until(`document.body.dataset.timeline === "drawn"`)
	if got := browsertest.Eval[string](p, `document.querySelector("h1").textContent`); !strings.Contains(strings.ToLower(got), string(r.Verdict)+":") {
		t.Errorf("the link leads to %q", got)
	}
	if status := serve.end(os.Interrupt); status != 0 || serve.errs.Len() > 0 {
		t.Errorf("picklock serve ends with %d: %s", status, serve.errs.String())
	}
}
