// The contrast of each kind of text that is in sight to what is painted behind it, and of
// the edges of fields, as WCAG 2 computes it. What is behind is asked of the browser, point
// by point, so that text on the bars of a picture counts as standing on them.
(() => {
  const everything = new CSSStyleSheet(); // a policy lets a page's tools have such a sheet
  everything.replaceSync("* { pointer-events: auto !important }");
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, everything];
  const rgba = (s) => {
    const m = (s.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
    return /^color\(srgb/.test(s) ? [m[0] * 255, m[1] * 255, m[2] * 255, m.length > 3 ? m[3] : 1] : [m[0], m[1], m[2], m.length > 3 ? m[3] : 1];
  };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
  const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => {
    const v = c[i] / 255;
    return sum + w * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  }, 0);
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const faint = (c, e) => { for (; e; e = e.parentElement) c = [c[0], c[1], c[2], c[3] * Number(getComputedStyle(e).opacity)]; return c; };
  const paint = (e) => {
    const css = getComputedStyle(e);
    if (!(e instanceof SVGElement) || e.tagName === "svg") return rgba(css.backgroundColor);
    if (!(e instanceof SVGGeometryElement) || css.fill === "none" || css.fill.startsWith("url")) return [0, 0, 0, 0];
    const c = rgba(css.fill);
    return faint([c[0], c[1], c[2], c[3] * Number(css.fillOpacity)], e);
  };
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const canvas = dark ? [0, 0, 0, 1] : [255, 255, 255, 1];
  const ground = (stack) => stack.reverse().reduce((below, e) => over(paint(e), below), canvas);
  // What is behind an element at a point of the window; nothing if something covers it.
  const behind = (e, x, y) => {
    const stack = document.elementsFromPoint(x, y), at = stack.indexOf(e);
    return at < 0 ? null : stack.slice(e instanceof SVGElement ? at + 1 : at);
  };
  const name = (e) => e.tagName.toLowerCase() + (e.getAttribute("class") ? "." + e.getAttribute("class").trim().replace(/\s+/g, ".") : "");
  const kind = (e) => [e.parentElement?.parentElement, e.parentElement, e].filter(Boolean).map(name).join(" > ");
  const worst = new Map();
  const note = (what, text, r, least) => { if (!(worst.get(what)?.Ratio <= r)) worst.set(what, { What: what, Text: text, Ratio: r, Least: least }); };
  const enough = (css) => {
    const size = parseFloat(css.fontSize);
    return size >= 24 || (size >= 18.66 && Number(css.fontWeight) >= 700) ? 3 : 4.5;
  };
  const seen = new Map();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = texts.nextNode(); n; n = texts.nextNode()) {
    const e = n.parentElement, css = getComputedStyle(e);
    if (!n.textContent.trim() || !e.checkVisibility({ visibilityProperty: true }) || e.matches("title, script, style, option, noscript") || e.closest(":disabled")) continue;
    const what = kind(e);
    if ((seen.get(what) || 0) >= 40) continue; // of rows of tables some will do
    seen.set(what, (seen.get(what) || 0) + 1);
    const range = document.createRange();
    range.selectNodeContents(n);
    e.scrollIntoView({ block: "center", inline: "center" });
    if (e.getBoundingClientRect().right < 0) continue; // for readers of screens alone
    for (const box of [...range.getClientRects()].slice(0, 3)) {
      if (box.width < 2) continue;
      for (const part of [0.1, 0.5, 0.9]) {
        const stack = behind(e, box.left + part * box.width, box.top + box.height / 2);
        if (!stack) continue;
        const svg = e instanceof SVGElement;
        let on = ground(stack);
        // Letters with an outline stand on it.
        if (svg && css.stroke !== "none" && css.paintOrder.startsWith("stroke")) on = over(faint(rgba(css.stroke), e), on);
        const own = faint(rgba(svg ? css.fill : css.color), e);
        note(what, n.textContent.trim().slice(0, 40), ratio(over(own, on), on), enough(css));
      }
    }
  }
  for (const e of document.body.querySelectorAll("*")) {
    const css = getComputedStyle(e, "::before");
    if (!e.checkVisibility() || ["none", "normal", '""'].includes(css.content)) continue;
    e.scrollIntoView({ block: "center" });
    const box = e.getBoundingClientRect(), stack = behind(e, box.left + 1, box.top + box.height / 2);
    if (!stack) continue;
    const on = over(rgba(css.backgroundColor), ground(stack));
    note(kind(e) + "::before", css.content, ratio(over(rgba(css.color), on), on), enough(css));
  }
  // The edge of a field must be seen as well, against what it stands on.
  for (const e of document.querySelectorAll("input:not([type=checkbox], [type=radio], [type=hidden]), select, textarea")) {
    if (!e.checkVisibility()) continue;
    e.scrollIntoView({ block: "center" });
    const box = e.getBoundingClientRect(), stack = behind(e, box.left + box.width / 2, box.top + box.height / 2);
    if (!stack) continue;
    const on = ground(stack.slice(1));
    note(kind(e) + " (edge)", e.name, ratio(over(rgba(getComputedStyle(e).borderTopColor), on), on), 3);
  }
  document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== everything);
  scrollTo(0, 0);
  return [...worst.values()];
})()
