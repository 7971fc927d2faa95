//go:build browser

package reports_test

import (
	"fmt"
	"net/url"
	"path/filepath"
	"testing"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/reports"
	"picklock/reports/browsertest"
)

// The tests of this file's build tag open reports from disk in a headless Chromium, and
// play the reader with its own keys, mouse and fingers. They need chromium in PATH.

// tab is a report that is open in the browser.
type tab struct{ *browsertest.Tab }

// look is how a report is looked at. The zero value is a light desktop.
type look struct {
	dark, noScript bool
	width, height  int    // CSS pixels; 0: 1400 × 1000
	fragment       string // behind #
}

// written writes the report of a test into a folder of its own and gives its path.
func written(t testing.TB, r *store.Result, h *history.History) string {
	t.Helper()
	dir := t.TempDir()
	if err := reports.Write(dir, r, h); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, reports.ReportFile)
}

// open opens a report. At the end of the test it must have asked for nothing but itself.
func open(t *testing.T, file string, l look) *tab {
	t.Helper()
	address := url.URL{Scheme: "file", Path: file}
	from := address.String()
	address.Fragment = l.fragment
	p := &tab{browsertest.Open(t, address.String(), from, browsertest.Look{Dark: l.dark, NoScript: l.noScript, Width: l.width, Height: l.height})}
	t.Cleanup(func() {
		if n := p.Loads(); n != 1 {
			t.Errorf("%d documents were loaded, want the report alone", n)
		}
	})
	if !l.noScript {
		p.Until(`document.body.dataset.timeline === "drawn" || !document.getElementById("timeline-data")`)
	}
	return p
}

// eval gives the value of an expression, or of the promise that it gives.
func eval[V any](p *tab, js string) V {
	p.T.Helper()
	return browsertest.Eval[V](p.Tab, js)
}

// span is what part of the test the timeline says it shows, in seconds.
func (p *tab) span() (from, to float64) {
	p.T.Helper()
	s := eval[string](p, `document.querySelector("#timeline .span").textContent`)
	if _, err := fmt.Sscanf(s, "%f s to %f s", &from, &to); err != nil {
		p.T.Fatalf("the timeline says that it shows %q: %v", s, err)
	}
	return from, to
}
