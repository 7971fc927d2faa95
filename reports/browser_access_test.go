//go:build browser

package reports_test

import (
	"fmt"
	"strings"
	"testing"
)

// drawn gives the contrast of what the canvas draws, which the browser knows nothing of:
// what it writes, and the shapes that must be seen.
const drawn = `(() => {
  const rgba = (s) => { const m = s.match(/[\d.]+/g).map(Number); return [m[0], m[1], m[2], m.length > 3 ? m[3] : 1]; };
  const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => {
    const v = c[i] / 255;
    return sum + w * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  }, 0);
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const variable = (name) => {
    const probe = document.createElement("i");
    probe.style.color = "var(--" + name + ")";
    document.body.append(probe);
    const c = rgba(getComputedStyle(probe).color);
    probe.remove();
    return c;
  };
  // Of, on, least.
  const pairs = [["text", "paper", 4.5], ["text", "lane", 4.5], ["muted", "paper", 4.5], ["muted", "lane", 4.5], ["fault", "paper", 4.5],
    ["paper", "fault", 4.5], ["on-bar", "hold", 4.5], ["breach", "paper", 4.5], ["text", "overstay-back", 4.5],
    ["hold", "lane", 3], ["hold", "paper", 3], ["wait", "lane", 3], ["wait", "paper", 3], ["warn", "paper", 3],
    ["breach", "lane", 3], ["sale", "paper", 3], ["fault", "lane", 3], ["overstay", "paper", 3]];
  return pairs.map(([of, on, least]) => ({ What: of + " on " + on, Ratio: ratio(variable(of), variable(on)), Least: least }));
})()`

// TestContrast: all text has the contrast of WCAG's level AA, all shapes that of its
// graphical objects, light and dark, wide and narrow.
func TestContrast(t *testing.T) {
	r, h := failedOver(t)
	file := written(t, r, h)
	for _, l := range []look{{}, {dark: true}, {width: 390, height: 844}, {dark: true, width: 390, height: 844}} {
		t.Run(fmt.Sprintf("dark=%v,width=%d", l.dark, l.width), func(t *testing.T) {
			p := open(t, file, l)
			eval[bool](p, `(document.querySelectorAll("details").forEach((d) => { d.open = true; }), true)`)
			p.Click("#timeline [data-do=next]")
			if kinds := p.Accessible("the report"); kinds < 60 {
				t.Fatalf("only %d kinds of text were found: the test looks at nothing", kinds)
			}
			for _, c := range eval[[]struct {
				What         string
				Ratio, Least float64
			}](p, drawn) {
				if c.Ratio < c.Least {
					t.Errorf("the canvas draws %s: contrast %.2f, want %.1f", c.What, c.Ratio, c.Least)
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
	n, wrong := p.Keyboard()
	for _, w := range wrong {
		t.Error(w)
	}
	if n < 40 {
		t.Fatalf("only %d things can be used", n)
	}
	if !eval[bool](p, `Boolean(document.querySelector("#timeline canvas[tabindex]"))`) {
		t.Error("the timeline is not among them")
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
	p.Shot("without-scripts")
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
	p.Press("n", "n")
	p.Click("#violation-0 .story a")
	moving := eval[[]string](p, `[...document.querySelectorAll("*")].filter((e) => {
		const css = getComputedStyle(e);
		return css.animationName !== "none" || css.scrollBehavior !== "auto" || css.transitionDuration !== "0s";
	}).map((e) => e.tagName).concat(document.getAnimations().map((a) => String(a)))`)
	if len(moving) > 0 {
		t.Errorf("these move by themselves: %q", moving)
	}
}
