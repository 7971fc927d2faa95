//go:build browser

package changes_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"picklock/reports/browsertest"
)

// TestPagesAreAccessible: the pages of a difference and of a trend can be read, and used by
// keyboard alone, in light and in dark, wide and on a phone.
func TestPagesAreAccessible(t *testing.T) {
	for name, kinds := range map[string]int{"full.html": 15, "none.html": 3, "trend.html": 6} {
		file, err := filepath.Abs(filepath.Join("testdata", name)) // what the golden tests hold the package to
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(file); err != nil {
			t.Fatal(err)
		}
		address := (&url.URL{Scheme: "file", Path: file}).String()
		p := browsertest.Open(t, address, address, browsertest.Look{})
		for _, l := range []browsertest.Look{{Width: 1280, Height: 900}, {Dark: true, Width: 1280, Height: 900}, {Width: 390, Height: 844}, {Dark: true, Width: 390, Height: 844}} {
			p.LookAs(l)
			look := fmt.Sprintf("%s, %d wide, dark=%v", name, l.Width, l.Dark)
			stops, wrong := p.Keyboard()
			for _, w := range wrong {
				t.Errorf("%s: %s", look, w)
			}
			if name == "full.html" && stops == 0 {
				t.Errorf("%s: there is nothing to open", look)
			}
			browsertest.Eval[bool](p, `(document.querySelectorAll("details").forEach((d) => { d.open = true; }), true)`)
			if n := p.Accessible(look); n < kinds {
				t.Errorf("%s: only %d kinds of text were found", look, n)
			}
		}
	}
}
