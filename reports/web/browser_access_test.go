//go:build browser

package web_test

import (
	"fmt"
	"net/http"
	"testing"

	"picklock/reports/browsertest"
)

// TestPagesAreAccessible: in every page all text can be told from what is behind it, in light
// and in dark, wide and on a phone; everything has a name, nothing is wider than the window,
// and Tab goes through everything that can be used, with a focus that is seen.
func TestPagesAreAccessible(t *testing.T) {
	server, pages, _ := shown(t)
	pages["missing"], pages["off"] = "/tests/nothing/there", "/compare?t=a&t=b"
	for name, at := range pages {
		t.Run(name, func(t *testing.T) {
			p := browsertest.Open(t, server.URL+at, server.URL, browsertest.Look{})
			if get(t, server.Config.Handler, at).Code != http.StatusOK {
				p.Wrong() // the browser itself logs that the status is an error
			}
			for _, l := range []browsertest.Look{{Width: 1280, Height: 900}, {Dark: true, Width: 1280, Height: 900}, {Width: 800, Height: 900}, {Width: 390, Height: 844}, {Dark: true, Width: 390, Height: 844}} {
				p.LookAs(l)
				look := fmt.Sprintf("%d wide, dark=%v", l.Width, l.Dark)
				p.Accessible(look)
				if name == "trend" {
					continue // it has nothing to act on
				}
				if l.Dark != (l.Width < 500) {
					continue // what Tab reaches depends on the width alone
				}
				stops, wrong := p.Keyboard()
				for _, w := range wrong {
					t.Errorf("%s: %s", look, w)
				}
				if stops < 3 {
					t.Errorf("%s: Tab goes to %d things only", look, stops)
				}
			}
			if name == "trend" {
				p.Wrong() // it may run no scripts, and the browser logs that this test's were some
			}
		})
	}
}
