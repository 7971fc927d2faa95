//go:build browser

package reports_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/reports"
)

// These tests open the report in Chromium. They need the build tag "browser" and
// chromium in PATH.

// browse loads a file and gives the document after its scripts ran, and what they wrote
// to the console.
func browse(t *testing.T, file, fragment string, args ...string) (dom, console string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	address := url.URL{Scheme: "file", Path: file, Fragment: fragment}
	cmd := exec.CommandContext(ctx, "chromium", append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr", "--window-size=1400,2400",
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
	return out.String(), console
}

func attribute(t *testing.T, dom, name string) string {
	t.Helper()
	m := regexp.MustCompile(`<body[^>]*\bdata-` + name + `="([^"]*)"`).FindStringSubmatch(dom)
	if m == nil {
		return ""
	}
	return m[1]
}

func TestScriptsDraw(t *testing.T) {
	of := func(p plan) func(testing.TB) (*store.Result, *history.History) {
		return func(t testing.TB) (*store.Result, *history.History) {
			h := p.record(t)
			return result(t, p, h), h
		}
	}
	for _, c := range []struct {
		name string
		made func(testing.TB) (*store.Result, *history.History)
	}{
		{"usual", of(usual())},
		{"overlapping faults and roles", failedOver},
		{"100,000 operations", of(plan{clients: 5, workers: 2, length: 150 * time.Second, think: 3200 * time.Microsecond, ttl: time.Second,
			pauseAt: 60 * time.Second, pause: 2 * time.Second})},
		{"many lanes", of(plan{clients: 20, workers: 3, length: 10 * time.Second, think: 20 * time.Millisecond, ttl: time.Second,
			pauseAt: 3 * time.Second, pause: 2 * time.Second})},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, h := c.made(t)
			dir := t.TempDir()
			if err := reports.Write(dir, r, h); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, reports.ReportFile)
			dom, console := browse(t, file, "", "--dump-dom")
			if console != "" || attribute(t, dom, "error") != "" {
				t.Errorf("the scripts complain: %s %s", attribute(t, dom, "error"), console)
			}
			holds, _ := strconv.Atoi(attribute(t, dom, "holds"))
			if want := len(decodeTimeline(t, page(t, r, h)).Holds.T); attribute(t, dom, "timeline") != "drawn" || holds != want || want == 0 {
				t.Errorf("timeline %q with %d holds, want it drawn with all %d in view", attribute(t, dom, "timeline"), holds, want)
			}

			// A link to a violation opens the timeline there, with its story below.
			dom, console = browse(t, file, "violation-0", "--dump-dom")
			part, _ := strconv.Atoi(attribute(t, dom, "holds"))
			if console != "" || part == 0 || part >= holds {
				t.Errorf("at the first violation %d of %d holds are in view, want some; console: %s", part, holds, console)
			}
			_, panel, _ := strings.Cut(dom, `<div class="picked">`)
			if story := r.Properties["mutual-exclusion"].Violations[0].Story[0]; !strings.Contains(textOf(panel), story) {
				t.Errorf("the story of the first violation is not told under the timeline: %.300s", panel)
			}

			for _, dark := range []bool{false, true} {
				shot := filepath.Join(dir, fmt.Sprintf("dark-%v.png", dark))
				scheme := 1
				if dark {
					scheme = 0
				}
				browse(t, file, "", "--screenshot="+shot, fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme))
				if info, err := os.Stat(shot); err != nil || info.Size() < 50_000 {
					t.Errorf("screenshot (dark: %v): %v %v; an empty page is smaller", dark, info, err)
				}
			}
		})
	}
}

// textOf takes the elements out of HTML.
func textOf(s string) string {
	return regexp.MustCompile(`<[^>]*>`).ReplaceAllString(s, "")
}

// TestKeysWheelAndTooltips plays a reader: n goes to the first violation, the wheel zooms
// in, the pointer over a lane tells what is there.
func TestKeysWheelAndTooltips(t *testing.T) {
	p := usual()
	h := p.record(t)
	r := result(t, p, h)
	file := filepath.Join(t.TempDir(), "played.html")
	play := `<script>
const set = (name, value) => { document.body.dataset[name] = value; };
const at = document.querySelector("#timeline canvas"), span = document.querySelector("#timeline .span");
set("all", span.textContent);
document.dispatchEvent(new KeyboardEvent("keydown", { key: "n" }));
requestAnimationFrame(() => requestAnimationFrame(() => {
  set("next", span.textContent);
  const box = at.getBoundingClientRect();
  for (let x = 130; x < box.width && !document.body.dataset.tip; x += 3) {
    for (let y = 60; y < box.height; y += 6) {
      at.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + x, clientY: box.top + y }));
      const text = document.querySelector("#timeline .tip").textContent;
      if (text.includes("overstays by")) set("tip", text);
    }
  }
  at.focus();
  at.dispatchEvent(new WheelEvent("wheel", { deltaY: -400, clientX: box.left + 600, clientY: box.top + 100, cancelable: true }));
  requestAnimationFrame(() => requestAnimationFrame(() => set("wheel", span.textContent)));
}));
</script></body>`
	// Without a window there may be no frames to wait for: timers take their place.
	s := strings.Replace(page(t, r, h), "<head>", "<head><script>window.requestAnimationFrame = (f) => setTimeout(f, 1);</script>", 1)
	s = strings.Replace(s, "</body>", play, 1)
	if err := os.WriteFile(file, []byte(s), 0o644); err != nil {
		t.Fatal(err)
	}
	dom, console := browse(t, file, "", "--virtual-time-budget=5000", "--dump-dom")
	if console != "" {
		t.Errorf("the scripts complain: %s", console)
	}
	width := func(name string) float64 {
		var from, to float64
		if _, err := fmt.Sscanf(attribute(t, dom, name), "%f s to %f s", &from, &to); err != nil {
			t.Fatalf("after %q the timeline shows %q: %v", name, attribute(t, dom, name), err)
		}
		return to - from
	}
	if all, next, wheel := width("all"), width("next"), width("wheel"); !(all > 14 && next < all/2 && wheel < next*0.6) {
		t.Errorf("in view: %.3f s at first, %.3f s after n, %.3f s after the wheel; each should be much less", all, next, wheel)
	}
	if tip := attribute(t, dom, "tip"); !strings.Contains(tip, "hold: 4.0") || !strings.Contains(tip, "acquire (operation ") && !strings.Contains(tip, "deduct (operation ") {
		t.Errorf("over the overstayed hold the tooltip says %q, want the hold and the operation under way", tip)
	}
}
