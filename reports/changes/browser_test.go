//go:build browser

package changes_test

import (
	"bytes"
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
	kinds := map[string]int{"full": 15, "none": 3, "trend": 6} // of text, at least
	for name, write := range pages(t) {
		var page bytes.Buffer
		if err := write(&page); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), name+".html")
		if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
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
			if name == "full" && stops == 0 {
				t.Errorf("%s: there is nothing to open", look)
			}
			browsertest.Eval[bool](p, `(document.querySelectorAll("details").forEach((d) => { d.open = true; }), true)`)
			if n := p.Accessible(look); n < kinds[name] {
				t.Errorf("%s: only %d kinds of text were found", look, n)
			}
		}
	}
}
