//go:build browser

package grid_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"picklock/reports/grid"
	"picklock/reports/grid/gridtest"
)

// These tests open the page in Chromium. They need the build tag "browser" and chromium in
// PATH.

// play loads the page, runs a script at its end, and gives what the script and the page's
// own scripts set on the body, and what they wrote to the console.
func play(t *testing.T, page []byte, fragment, script string, args ...string) (data func(string) string, console string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), grid.File)
	all := strings.Replace(string(page), "</body>", "<script>const say = (name, value) => { document.body.dataset[name] = value; };\n"+script+"</script></body>", 1)
	if err := os.WriteFile(file, []byte(all), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	address := url.URL{Scheme: "file", Path: file, Fragment: fragment}
	cmd := exec.CommandContext(ctx, "chromium", append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom",
		"--user-data-dir=" + t.TempDir()}, append(args, address.String())...)...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, errs.String())
	}
	for _, line := range strings.Split(errs.String(), "\n") {
		if strings.Contains(line, "CONSOLE") {
			console += line + "\n"
		}
	}
	return func(name string) string {
		m := regexp.MustCompile(`<body[^>]*\bdata-` + name + `="([^"]*)"`).FindStringSubmatch(out.String())
		if m == nil {
			return ""
		}
		return m[1]
	}, console
}

// TestFilterAndKeys plays a reader: only unexpected violations, then one lock, then all
// again; arrow keys within the grid.
func TestFilterAndKeys(t *testing.T) {
	m := gridtest.Mixed(1)
	got, console := play(t, written(t, form{"html", grid.HTML}, m, compared(m)...), "", `
const output = () => document.querySelector("#filter output").textContent;
const rows = () => [...document.querySelectorAll(".grid tbody tr")].filter((r) => r.getClientRects().length).length;
say("all", output());
for (const box of document.querySelectorAll("#filter input[name=mark]")) if (box.value !== "bad") box.click();
say("bad", output() + " in rows: " + rows());
const lock = document.querySelector("#filter input[name=lock]");
lock.value = "UUID";
lock.dispatchEvent(new Event("input", { bubbles: true }));
say("lock", output() + " in rows: " + rows());
document.querySelector("#filter button").click();
setTimeout(() => {
  say("again", output());
  const first = document.querySelector(".grid td a");
  first.focus();
  for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "ArrowUp"]) document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  say("focus", document.activeElement.getAttribute("aria-label"));
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  say("wide", String(wide));
});
`, "--window-size=400,900")
	if console != "" {
		t.Errorf("the scripts complain: %s", console)
	}
	n := len(m.Cells)
	for name, want := range map[string]string{
		"all": fmt.Sprintf("%d of %d cells", n, n), "bad": fmt.Sprintf("2 of %d cells in rows: 2", n), "lock": fmt.Sprintf("1 of %d cells in rows: 1", n),
		"again": fmt.Sprintf("%d of %d cells", n, n), "wide": "0",
	} {
		if got(name) != want {
			t.Errorf("%s: %q, want %q", name, got(name), want)
		}
	}
	if want := "fenced + fenced under drop-reply: "; !strings.HasPrefix(got("focus"), want) {
		t.Errorf("after the arrow keys the focus is on %q, want %q", got("focus"), want)
	}
}

// TestLinkOpensItsCell: a change leads to its cell in the list, which opens.
func TestLinkOpensItsCell(t *testing.T) {
	m := gridtest.Mixed(1)
	got, console := play(t, written(t, form{"html", grid.HTML}, m), "cell-7", `
say("open", [...document.querySelectorAll("details.cell[open]")].map((d) => d.id).join(" "));
`)
	if console != "" || got("open") != "cell-7" {
		t.Errorf("open is %q, want cell-7; console: %s", got("open"), console)
	}
}

// TestHostileMatrixRunsNothing: nothing that a server, a client or a user chose is executed,
// fetched or clickable out of the store.
func TestHostileMatrixRunsNothing(t *testing.T) {
	m := gridtest.Hostile()
	page := strings.Replace(string(written(t, form{"html", grid.HTML}, m, compared(m)...)), "<head>", `<head><script>window.alert = () => { document.title = "hit"; };</script>`, 1)
	got, console := play(t, []byte(page), "", `
say("hit", document.title === "hit" ? "yes" : "no");
say("scripts", String(document.scripts.length));
say("loads", String(performance.getEntriesByType("resource").length));
say("out", [...document.links].map((a) => a.getAttribute("href")).filter((h) => !/^(#cell-\d+|matrix\.json|https:\/\/ci\.example\/runs\/7|\.\.\/\.\.\/\.\.\/[^.\/][^\/]*\/report\.html)$/.test(h)).join(" "));
`)
	if console != "" {
		t.Errorf("the console says: %s", console)
	}
	for name, want := range map[string]string{"hit": "no", "scripts": "3", "loads": "0", "out": ""} {
		if got(name) != want {
			t.Errorf("%s is %q, want %q", name, got(name), want)
		}
	}
}
