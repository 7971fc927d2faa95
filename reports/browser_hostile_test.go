//go:build browser

package reports_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"picklock/reports"
)

// TestHostileHistoryExecutesNothing: names, errors, proofs, roles and stories full of
// scripts are drawn and told as they are, wherever a reader goes; none of them runs.
func TestHostileHistoryExecutesNothing(t *testing.T) {
	r, h := hostile(t)
	p := open(t, written(t, r, h), look{}) // a dialog, an error or a request fails the test
	p.Press("n", "n", "p")
	at := p.Box(canvas)
	for x := 10.0; x < at.Width; x += at.Width / 25 {
		for y := 50.0; y < at.Height; y += at.Height / 12 {
			p.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at.Left+x, at.Top+y))
		}
	}
	p.Settle()
	p.Click(canvas)
	p.Press(".", ".", ".", ".")
	says := eval[string](p, `document.querySelector("#timeline .selected").textContent`)
	if !strings.Contains(says, "</script><script>window.pwned=1") {
		t.Errorf("the hostile name is not told as it is: %q", says)
	}
	options := eval[string](p, `document.querySelector("select[data-filter=client]").textContent + document.querySelector("select[data-filter=lock]").textContent`)
	if !strings.Contains(options, "client 0") {
		t.Errorf("the filters offer %q", options)
	}
	p.Click("#violation-0 .story a")
	for _, trace := range []string{"window.pwned", "document.querySelector('img')", "document.querySelector('main script:not(#timeline-data)')"} {
		if eval[bool](p, "Boolean("+trace+")") {
			t.Errorf("%s is there: foreign text became part of the page", trace)
		}
	}
	if n := eval[int](p, `document.scripts.length`); n != 2 {
		t.Errorf("%d scripts are in the page, want the data and our own", n)
	}
}

// TestPolicyStopsForeignScripts: even if foreign text got into the page as HTML, the
// browser would run none of it: the policy knows our own script by its hash.
func TestPolicyStopsForeignScripts(t *testing.T) {
	plan := usual()
	h := plan.record(t)
	file := written(t, result(t, plan, h), h)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const attack = `<img src="x" onerror="window.pwned=1"><script>window.pwned=2</script><svg onload="window.pwned=3"></svg></main>`
	broken := strings.Replace(string(b), "</main>", attack, 1)
	file = filepath.Join(t.TempDir(), reports.ReportFile)
	if err := os.WriteFile(file, []byte(broken), 0o644); err != nil {
		t.Fatal(err)
	}
	p := open(t, file, look{})
	p.Settle()
	if eval[bool](p, "Boolean(window.pwned)") {
		t.Errorf("a script that is not ours ran: %v", eval[int](p, "window.pwned"))
	}
	if refused := p.Wrong(); len(refused) < 3 { // the browser logs what it refused
		t.Errorf("the browser refused %q, want the picture, the script and the handlers", refused)
	}
}
