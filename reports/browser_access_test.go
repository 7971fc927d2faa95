//go:build browser

package reports_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// contrasts gives each kind of text that is in sight with the contrast of its colour to
// what is behind it, as WCAG computes it. What is translucent is blended with what is
// behind. Text in SVG stands on the bars that it names.
const contrasts = `(() => {
  const rgba = (s) => { const m = s.match(/[\d.]+/g).map(Number); return [m[0], m[1], m[2], m.length > 3 ? m[3] : 1]; };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => {
    const v = c[i] / 255;
    return sum + w * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  }, 0);
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const ground = (e) => {
    const layers = [];
    for (; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, c) => over(c, below), rgba(getComputedStyle(document.body).backgroundColor));
  };
  const variable = (name) => {
    const probe = document.createElement("i");
    probe.style.color = "var(--" + name + ")";
    document.body.append(probe);
    const c = rgba(getComputedStyle(probe).color);
    probe.remove();
    return c;
  };
  const worst = new Map();
  const note = (what, r) => { if (!(worst.get(what) <= r)) worst.set(what, r); };
  for (const e of document.querySelectorAll("body *")) {
    if (!e.checkVisibility() || ![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const css = getComputedStyle(e);
    if (e instanceof SVGElement) {
      if (e.tagName === "title") continue;
      const behind = e.matches(".bar-text.dark") ? "overstay-back" : e.matches(".bar-text") ? "hold" : e.matches(".fault-text.inside") ? "fault" :
        e.matches(".breach-text.inside") ? null : e.matches(".step-text") ? "text" : "paper";
      if (behind) note("svg " + (e.getAttribute("class") || "chart"), ratio(over(rgba(css.fill), variable(behind)), variable(behind)));
    } else note(e.tagName + "." + e.className, ratio(over(rgba(css.color), ground(e)), ground(e)));
  }
  // What the canvas writes, and the shapes that must be seen: [of, on, least].
  const pairs = [["text", "paper", 4.5], ["text", "lane", 4.5], ["muted", "paper", 4.5], ["muted", "lane", 4.5], ["fault", "paper", 4.5],
    ["paper", "fault", 4.5], ["on-bar", "hold", 4.5], ["breach", "paper", 4.5], ["text", "overstay-back", 4.5],
    ["hold", "lane", 3], ["hold", "paper", 3], ["wait", "lane", 3], ["wait", "paper", 3], ["warn", "paper", 3],
    ["breach", "lane", 3], ["sale", "paper", 3], ["fault", "lane", 3], ["overstay", "paper", 3]];
  const canvas = pairs.map(([of, on, least]) => ["canvas " + of + " on " + on, ratio(variable(of), variable(on)), least]);
  return [...[...worst].map(([k, r]) => [k, r, 4.5]), ...canvas].map(([What, Ratio, Least]) => ({ What, Ratio, Least }));
})()`

// TestContrast: all text has the contrast of WCAG's level AA, all shapes that of its
// graphical objects, light and dark.
func TestContrast(t *testing.T) {
	r, h := failedOver(t)
	file := written(t, r, h)
	for _, dark := range []bool{false, true} {
		t.Run(fmt.Sprintf("dark=%v", dark), func(t *testing.T) {
			p := open(t, file, look{dark: dark})
			p.press("n")
			eval[bool](p, `(document.querySelectorAll("details").forEach((d) => { d.open = true; }), true)`)
			found := eval[[]struct {
				What         string
				Ratio, Least float64
			}](p, contrasts)
			if len(found) < 40 {
				t.Fatalf("only %d kinds of text were found: the test looks at nothing", len(found))
			}
			for _, c := range found {
				if c.Ratio < c.Least {
					t.Errorf("%s: contrast %.2f, want %.1f", c.What, c.Ratio, c.Least)
				}
			}
		})
	}
}

// TestKeyboardReachesEverything: Tab goes through all that can be used, in the order of
// the page; the focus can be seen.
func TestKeyboardReachesEverything(t *testing.T) {
	plan := usual()
	h := plan.record(t)
	p := open(t, written(t, result(t, plan, h), h), look{})
	want := eval[[]string](p, `[...document.querySelectorAll("a[href], button, select, summary, canvas")].filter((e) => e.checkVisibility()).map((e) => e.outerHTML.slice(0, 90))`)
	if len(want) < 40 || !strings.Contains(strings.Join(want, ""), "<canvas") {
		t.Fatalf("only %d things can be used", len(want))
	}
	var unseen []string
	for i := range want {
		p.press(kb.Tab)
		at := eval[struct {
			HTML, Name string
			Seen       bool
		}](p, `(() => { const e = document.activeElement, css = getComputedStyle(e);
			return { HTML: e.outerHTML.slice(0, 90), Name: e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.[0]?.textContent || "",
				Seen: css.outlineStyle !== "none" && parseFloat(css.outlineWidth) >= 1 }; })()`)
		if at.HTML != want[i] {
			t.Fatalf("Tab number %d reaches %q, want %q", i+1, at.HTML, want[i])
		}
		if !at.Seen || at.Name == "" {
			unseen = append(unseen, at.HTML)
		}
	}
	if len(unseen) > 0 {
		t.Errorf("the focus cannot be seen on these, or they have no name: %q", unseen)
	}
	canvas := eval[string](p, `document.getElementById(document.querySelector("#timeline canvas").getAttribute("aria-describedby")).textContent`)
	for _, key := range []string{"zoom", "Enter", "next and previous violation", "in tables below"} {
		if !strings.Contains(canvas, key) {
			t.Errorf("the canvas is described without %q: %q", key, canvas)
		}
	}
}

// TestWithoutScripts: verdict, stories, pictures and tables of operations are there with
// JavaScript off.
func TestWithoutScripts(t *testing.T) {
	plan := usual()
	h := plan.record(t)
	r := result(t, plan, h)
	p := open(t, written(t, r, h), look{noScript: true})
	p.shot("without-scripts")
	type seen struct {
		Text             string
		Timeline, Canvas bool
		Stills, Tables   int
	}
	// Tools of the browser evaluate even so.
	got := eval[seen](p, `({ Text: document.body.innerText, Timeline: document.getElementById("timeline").checkVisibility(),
		Canvas: document.querySelector("canvas").checkVisibility(), Stills: document.querySelectorAll("svg.still").length,
		Tables: document.querySelectorAll(".violation details table").length })`)
	for _, want := range []string{"Violated:", "What broke first", r.Properties["ownership"].Violations[0].Story[2], "operations as a table", "The timeline needs JavaScript", "process 4711 is in state T"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("without scripts the page lacks %q", want)
		}
	}
	if got.Timeline || got.Canvas || got.Stills != 3 || got.Tables != 21 {
		t.Errorf("without scripts: %+v; want no timeline, 3 pictures, 21 tables", got)
	}
}

// TestNothingMovesByItself: for readers who asked for less motion, and for all others.
func TestNothingMovesByItself(t *testing.T) {
	plan := usual()
	h := plan.record(t)
	p := open(t, written(t, result(t, plan, h), h), look{})
	p.press("n", "n")
	p.click("#violation-0 .story a")
	moving := eval[[]string](p, `[...document.querySelectorAll("*")].filter((e) => {
		const css = getComputedStyle(e);
		return css.animationName !== "none" || css.scrollBehavior !== "auto" || css.transitionDuration !== "0s";
	}).map((e) => e.tagName).concat(document.getAnimations().map((a) => String(a)))`)
	if len(moving) > 0 {
		t.Errorf("these move by themselves: %q", moving)
	}
}
