//go:build browser

package browsertest_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picklock/reports/browsertest"
)

// sound is a page with nothing wrong; faulty are changes that each make one thing wrong.
const sound = `<!doctype html><html lang="en"><head><title>page</title><style>
body { background: #fff; color: #222; width: 600px } :focus-visible { outline: 2px solid #06c } select { border: 1px solid #666 }
.card { background: rgba(0, 0, 0, .7); color: #fff; } li::before { content: "1"; background: #222; color: #fff }
</style></head><body><main><h1>Title</h1><h2>Part</h2><p class="card">on half black <b>bold</b></p><ol><li>one</li></ol>
<svg role="img" aria-label="bar" width="200" height="30"><rect width="200" height="30" fill="#036"/><text x="5" y="20" fill="#fff">on a bar</text></svg>
<table><tr><th>head</th></tr><tr><td><a href="#a">link</a></td></tr></table><label>pick <select><option>1</option></select></label>
<input type="checkbox" aria-label="tick"><button>do</button></main></body></html>`

// TestFindsWhatIsWrong: each check finds what it is there for, and nothing in a page that is
// as it should be.
func TestFindsWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	address := (&url.URL{Scheme: "file", Path: dir}).String()
	var p *browsertest.Tab
	look := func(what, page string) string {
		if err := os.WriteFile(filepath.Join(dir, "page.html"), []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		if p == nil {
			p = browsertest.Open(t, address+"/page.html", address, browsertest.Look{})
		} else {
			p.Go(address + "/page.html")
		}
		kinds, wrong := p.Contrast()
		if kinds < 8 {
			t.Errorf("%s: %d kinds of text were found, want at least 8", what, kinds)
		}
		stops, keys := p.Keyboard()
		if stops < 3 && len(keys) == 0 {
			t.Errorf("Tab went to %d things", stops)
		}
		return strings.Join(append(append(append(wrong, keys...), p.Names()...), append(p.Fits(), p.Texts()...)...), "\n")
	}
	if wrong := look("sound", sound); wrong != "" {
		t.Fatalf("the sound page: %s", wrong)
	}
	for says, change := range map[string][2]string{
		`"on half black`:            {"color: #fff; }", "color: #999; }"},
		`"on a bar"): contrast`:     {`fill="#fff"`, `fill="#345"`},
		"::before":                  {"background: #222; color: #fff", "background: #222; color: #444"},
		"(edge)":                    {"1px solid #666", "1px solid #ccc"},
		"Tab number 4 reaches":      {"<button>", `<button tabindex="1">`},
		"the focus cannot be seen":  {"outline: 2px solid #06c", "outline: none"},
		"contrast 1.2) on":          {"outline: 2px solid #06c", "outline: 2px solid #eee"},
		"no name: <input":           {` aria-label="tick"`, ""},
		"no name: <svg":             {` aria-label="bar"`, ""},
		"skips a level":             {"<h2>Part</h2>", "<h3>Part</h3>"},
		"pixels wider":              {"width: 600px", "width: 2600px"},
		"0 headings":                {"<h1>Title</h1>", "<p>Title</p>"},
		"a table without heads":     {"<th>head</th>", "<td>head</td>"},
		"cut off: <p":               {`<p class="card">`, `<p class="card" style="width: 20px; overflow: hidden; white-space: nowrap">`},
		"on a bar lies over more":   {"</text>", `</text><text x="30" y="22" fill="#fff">more</text>`},
		"on a bar is cut off":       {`<text x="5"`, `<text x="180"`},
		"no language or title":      {` lang="en"`, ""},
		`aria-describedby names #x`: {"<button>", `<button aria-describedby="x">`},
		"twice: #x":                 {"<th>head</th>", `<th id="x">head <i id="x">it</i></th>`},
	} {
		page := strings.Replace(sound, change[0], change[1], 1)
		if page == sound {
			t.Fatalf("%q is not in the page", change[0])
		}
		if wrong := look(says, page); !strings.Contains(wrong, says) {
			t.Errorf("%q was not found; this was: %s", says, wrong)
		}
	}
}
