//go:build browser && shots

// Package shots takes the pictures of docs/shots from real tests: see make shots. It is a test,
// since it fails where a text in a picture lies over another one or is cut off.
package shots

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"picklock/models"
	"picklock/reports"
	"picklock/reports/browsertest"
	"picklock/reports/grid"
	"picklock/reports/web"
)

var (
	from = flag.String("store", "", "the store with the tests that make shots runs")
	to   = flag.String("out", "", "the folder for the pictures")
)

// wide is the width of the window: so that letters are still read where a page of
// documentation shows the picture narrower.
const wide = 1120

// A shot is a part of a page: from the top of its first element to the bottom of its last.
type shot struct {
	name        string
	first, last string // selectors
	press       string // a button to be pressed before
}

// TestShots takes every picture, light and dark.
func TestShots(t *testing.T) {
	if *from == "" || *to == "" {
		t.Fatal("-store and -out are missing: make shots gives them")
	}
	h, err := web.New(*from, web.Options{Loopback: true})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer func() {
		server.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	file := func(t *testing.T, path string) string {
		abs, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		return (&url.URL{Scheme: "file", Path: abs}).String()
	}
	report := func(test string, verdict models.Verdict) func(*testing.T) string {
		return func(t *testing.T) string { return file(t, newest(t, test, verdict)) }
	}
	const opening = "section:has(> .story) > .story"
	for _, s := range []struct {
		shot
		address func(t *testing.T) string
	}{
		{shot{"misdelete", "#property-ownership", "#property-ownership .violation", ""}, report("setex-del+read-write_single_pause-client", models.Violated)},
		{shot{"timeline", "#timeline", "#timeline + .legend", `#property-mutual-exclusion [data-violation]`}, report("setex-del+read-write_single_pause-client", models.Violated)},
		{shot{"pause-in-section", ".verdict", opening, ""}, report("uuid-lua+read-write_single_pause-client", models.Violated)},
		{shot{"stale-promotion", ".verdict", opening, ""}, report("uuid-lua+read-write_failover_partition-client,stale-promotion", models.Violated)},
		{shot{"redlock-restart", ".verdict", opening, ""}, report("redlock+read-write_redlock_partition-client,kill-node", models.Violated)},
		{shot{"valid", ".verdict", "section:has(td.verdict-cell)", ""}, report("uuid-lua+read-write_single_kill-client", models.Valid)},
		{shot{"matrix", ".verdict", "section:has(#filter)", ""}, func(t *testing.T) string {
			return file(t, one(t, filepath.Join(*from, "matrices", "small", "*", grid.File)))
		}},
		{shot{"store", "header.site", ".tests tbody tr:nth-child(9)", ""}, func(*testing.T) string { return server.URL + "/" }},
	} {
		t.Run(s.name, func(t *testing.T) {
			address := s.address(t)
			origin := address
			if strings.HasPrefix(origin, "http") {
				origin = server.URL
			}
			for _, dark := range []bool{false, true} {
				p := browsertest.Open(t, address, origin, browsertest.Look{Dark: dark, Width: wide, Height: 900})
				p.Until(`document.readyState === "complete" && (!document.getElementById("timeline-data") || document.body.dataset.timeline === "drawn")`)
				if s.press != "" {
					p.Click(s.press)
				}
				for _, wrong := range p.Texts() {
					t.Error(wrong)
				}
				scheme := map[bool]string{false: "light", true: "dark"}[dark]
				take(p, s.shot, filepath.Join(*to, s.name+"-"+scheme+".png"))
			}
		})
	}
}

// one gives the newest file that a pattern fits.
func one(t *testing.T, pattern string) string {
	t.Helper()
	all, err := filepath.Glob(pattern)
	if err != nil || len(all) == 0 {
		t.Fatalf("there is no %s (%v): make shots makes it", pattern, err)
	}
	return slices.Max(all)
}

// newest gives the report of the newest test of a name that has a verdict.
func newest(t *testing.T, test string, verdict models.Verdict) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(*from, test, "*", "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	for _, f := range slices.Backward(all) {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var r struct{ Verdict models.Verdict }
		if err := json.Unmarshal(b, &r); err != nil {
			t.Fatal(err)
		}
		if r.Verdict == verdict {
			return filepath.Join(filepath.Dir(f), reports.ReportFile)
		}
	}
	t.Fatalf("no test %s in %s is %s", test, *from, verdict)
	return ""
}

// take writes a part of the page as PNG.
func take(p *browsertest.Tab, s shot, file string) {
	p.T.Helper()
	b := browsertest.Eval[struct{ Top, Bottom float64 }](p, fmt.Sprintf(`(() => { scrollTo(0, 0);
		return { Top: document.querySelector(%q).getBoundingClientRect().top, Bottom: document.querySelector(%q).getBoundingClientRect().bottom }; })()`, s.first, s.last))
	const above, below = 12, 5 // what comes below must not be seen
	p.Settle()
	got, err := chromedp.Run(p.Ctx, func(ctx context.Context, to *chromedp.Target) (cdppage.CaptureScreenshotResult, error) {
		yes := true
		return cdp.Call(ctx, to, cdppage.CaptureScreenshot, cdppage.CaptureScreenshotParams{Format: cdppage.CaptureScreenshotFormatPng, CaptureBeyondViewport: &yes,
			Clip: &cdppage.Viewport{Y: max(0, b.Top-above), Width: wide, Height: b.Bottom - max(0, b.Top-above) + below, Scale: 1}})
	})
	if err != nil {
		p.T.Fatal(err)
	}
	small, err := packed(got.Data)
	if err != nil {
		p.T.Fatal(err)
	}
	if len(small) > 200_000 {
		p.T.Errorf("%s has %d bytes, want below 200,000", file, len(small))
	}
	if err := os.WriteFile(file, small, 0o644); err != nil {
		p.T.Fatal(err)
	}
}

// packed makes a picture small, with the few hundred colours that a page has.
func packed(picture []byte) ([]byte, error) {
	cmd := exec.Command("pngquant", "--quality", "90-100", "--speed", "1", "--strip", "-")
	cmd.Stdin = bytes.NewReader(picture)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("pngquant: %w: %s", err, errs.String())
	}
	return out.Bytes(), nil
}
