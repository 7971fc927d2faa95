//go:build browser

package browsertest

import (
	_ "embed"
	"fmt"
	"slices"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

//go:embed contrast.js
var contrast string

// Accessible fails the test for what Contrast, Names, Fits and Texts find. It gives how many kinds of
// text there are, so that a test can see that it looked at something.
func (p *Tab) Accessible(what string) (kinds int) {
	p.T.Helper()
	kinds, wrong := p.Contrast()
	for _, w := range slices.Concat(wrong, p.Names(), p.Fits(), p.Texts()) {
		p.T.Errorf("%s: %s", what, w)
	}
	return kinds
}

// Contrast finds each text of the page whose contrast to what is behind it is less than WCAG 2
// wants on level AA (4.5, of large letters 3), and each field whose edge has less than 3. It
// looks at what is in sight: open what is folded first. It gives how many kinds of text there
// are.
func (p *Tab) Contrast() (kinds int, wrong []string) {
	p.T.Helper()
	got := Eval[[]struct {
		What, Text   string
		Ratio, Least float64
	}](p, contrast)
	for _, k := range got {
		if k.Ratio < k.Least {
			wrong = append(wrong, fmt.Sprintf("%s (%q): contrast %.2f, want %.1f", k.What, k.Text, k.Ratio, k.Least))
		}
	}
	return len(got), wrong
}

// usable is what a reader can act on, each of a group of radio buttons standing for itself
// only where it is the one that Tab goes to.
const usable = `[...document.querySelectorAll("a[href], button, input, select, textarea, summary, canvas[tabindex], [tabindex='0']")].filter((e) =>
	e.checkVisibility({ visibilityProperty: true }) && !e.disabled && e.type !== "hidden" && e.tabIndex >= 0 &&
	!(e.type === "radio" && !e.checked && document.querySelector("input[type=radio][name='" + e.name + "']:checked")))`

// focused tells of the element that has the focus.
const focused = `(() => {
	const e = document.activeElement, css = getComputedStyle(e), box = e.getBoundingClientRect();
	const rgb = (s) => s.match(/[\d.]+/g).map(Number);
	const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => {
		const v = c[i] / 255;
		return sum + w * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
	}, 0);
	let ground = e.parentElement;
	while (ground && rgb(getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
	const x = light(rgb(css.outlineColor)), y = light(rgb(getComputedStyle(ground || document.body).backgroundColor));
	const ring = css.outlineStyle === "auto" ? 21 : css.outlineStyle === "none" || parseFloat(css.outlineWidth) < 2 ? 0 : (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
	const away = box.bottom <= 0 || box.right <= 0 || box.top >= innerHeight || box.left >= innerWidth;
	return { At: ` + usable + `.indexOf(e), HTML: e.outerHTML.slice(0, 120), Ring: ring, Away: away, Parts: e.type === "date",
		Scrolls: e.tabIndex < 0 && (e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight) };
})()`

// Keyboard presses Tab until it went through all that a reader can act on, which must be in
// the order of the page; the focus must be in sight each time, with a ring around it whose
// contrast is at least 3. It gives how many there are, and what is wrong.
func (p *Tab) Keyboard() (stops int, wrong []string) {
	p.T.Helper()
	want := Eval[[]string](p, usable+`.map((e) => e.outerHTML.slice(0, 120))`)
	Eval[bool](p, `(document.body.tabIndex = -1, document.body.focus(), document.body.removeAttribute("tabindex"), scrollTo(0, 0), true)`)
	for i := 0; i < len(want); {
		p.Do(chromedp.KeyEvent(kb.Tab))
		at := Eval[struct {
			At            int
			HTML          string
			Ring          float64
			Away, Scrolls bool
			Parts         bool // it has stops within
		}](p, focused)
		if at.Scrolls || at.Parts && at.At == i-1 {
			continue // a box that scrolls is a stop by itself, and so is each part of a date
		}
		if at.At != i {
			return i, append(wrong, fmt.Sprintf("Tab number %d reaches %q, want %q", i+1, at.HTML, want[i]))
		}
		if at.Ring < 3 {
			wrong = append(wrong, fmt.Sprintf("the focus cannot be seen well (contrast %.1f) on %q", at.Ring, at.HTML))
		}
		if at.Away {
			wrong = append(wrong, fmt.Sprintf("the focus is out of sight on %q", at.HTML))
		}
		i++
	}
	return len(want), wrong
}

// Names finds each thing that can be used and each picture that has no name for those who
// cannot see it, and what else readers of screens miss: one h1, one main, a language, a title,
// heads of tables, ids that are there once.
func (p *Tab) Names() (wrong []string) {
	p.T.Helper()
	return Eval[[]string](p, `(() => {
	const wrong = [], named = (e) => {
		const by = (e.getAttribute("aria-labelledby") || "").split(/\s+/).filter(Boolean).map((id) => document.getElementById(id)?.textContent || "").join(" ");
		return (by || e.getAttribute("aria-label") || [...(e.labels || [])].map((l) => l.textContent).join(" ") || e.textContent || e.querySelector(":scope > title")?.textContent || e.title || "").trim();
	};
	for (const e of `+usable+`) if (!named(e)) wrong.push("no name: " + e.outerHTML.slice(0, 120));
	for (const e of document.querySelectorAll("svg, canvas, img, progress, [role=img], nav, form[role], section[role]")) {
		if (!e.checkVisibility() || e.closest("[aria-hidden=true], svg svg")) continue;
		const name = e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.alt || (e.tagName === "svg" && e.querySelector(":scope > title")?.textContent);
		if (!name) wrong.push("no name: " + e.outerHTML.slice(0, 120));
		if (e.tagName === "svg" && !["img", "group", "figure", "graphics-document"].includes(e.getAttribute("role"))) wrong.push("no role: " + e.outerHTML.slice(0, 120));
	}
	if (document.querySelectorAll("h1").length !== 1) wrong.push(document.querySelectorAll("h1").length + " headings of the first level");
	if (document.querySelectorAll("main").length !== 1) wrong.push(document.querySelectorAll("main").length + " main parts");
	if (!document.documentElement.lang || !document.title) wrong.push("no language or title");
	let level = 1;
	for (const h of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
		if (!h.checkVisibility()) continue;
		const l = Number(h.tagName[1]);
		if (l > level + 1) wrong.push("the heading " + h.textContent.trim().slice(0, 40) + " skips a level");
		level = l;
	}
	for (const t of document.querySelectorAll("table")) if (!t.querySelector("th")) wrong.push("a table without heads: " + t.outerHTML.slice(0, 120));
	const ids = new Set();
	for (const e of document.querySelectorAll("[id]")) { if (ids.has(e.id)) wrong.push("twice: #" + e.id); ids.add(e.id); }
	for (const e of document.querySelectorAll("[aria-describedby], [aria-labelledby], [aria-controls]"))
		for (const a of ["aria-describedby", "aria-labelledby", "aria-controls"])
			for (const id of (e.getAttribute(a) || "").split(/\s+/).filter(Boolean)) if (!document.getElementById(id)) wrong.push(a + " names #" + id + ", which is not there");
	return wrong;
})()`)
}

// Fits finds what is wider than the window, where it does not scroll by itself, and text that
// is cut off.
func (p *Tab) Fits() (wrong []string) {
	p.T.Helper()
	return Eval[[]string](p, `(() => {
	const wide = document.documentElement.scrollWidth - innerWidth, wrong = wide > 0 ? ["the page is " + wide + " pixels wider than the window"] : [];
	for (const e of document.querySelectorAll("body *")) {
		const css = getComputedStyle(e);
		if (!e.checkVisibility() || e instanceof SVGElement || css.overflowX !== "hidden" && css.overflowX !== "clip") continue;
		if (e.scrollWidth > e.clientWidth + 1 && e.textContent.trim() && css.position !== "absolute") wrong.push("cut off: " + e.outerHTML.slice(0, 120));
	}
	return wrong;
})()`)
}

// Texts finds texts of pictures that lie over one another or are cut off, in the fonts of the
// browser.
func (p *Tab) Texts() (wrong []string) {
	p.T.Helper()
	return Eval[[]string](p, `(() => {
	const wrong = [];
	for (const picture of document.querySelectorAll("svg")) {
		if (!picture.checkVisibility()) continue;
		const whole = picture.getBoundingClientRect(), name = picture.getAttribute("aria-label") || picture.querySelector(":scope > title")?.textContent || "a picture";
		const texts = [...picture.querySelectorAll("text")].map((e) => [e.lastChild?.textContent.trim() || "", e.getBoundingClientRect()]).filter(([s]) => s);
		texts.forEach(([a, x], i) => {
			if (x.left < whole.left - 0.5 || x.right > whole.right + 0.5 || x.top < whole.top - 1 || x.bottom > whole.bottom + 1) wrong.push(name + ": " + a + " is cut off");
			for (const [b, y] of texts.slice(i + 1)) {
				// The boxes of texts are higher than their letters.
				if (x.left < y.right - 1 && y.left < x.right - 1 && x.top < y.bottom - 4 && y.top < x.bottom - 4) wrong.push(name + ": " + a + " lies over " + b);
			}
		});
	}
	return wrong;
})()`)
}
