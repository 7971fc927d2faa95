// The timeline's behaviour: what is in view, what is shown, what is selected.

function timeline(root, data) {
  const canvas = root.querySelector("canvas"), tip = root.querySelector(".tip"), panel = root.querySelector(".picked");
  const says = root.querySelector(".selected"), ctx = canvas.getContext("2d"), dark = matchMedia("(prefers-color-scheme: dark)");
  let view = { from: 0, to: data.end }, shown = choose(data, EVERYTHING), lay = null, scene = null, strip = null, colours = null;
  let picked = -1, selected = -1, cursor = null, queued = false;

  function paint() {
    queued = false;
    const width = canvas.clientWidth, ratio = window.devicePixelRatio || 1;
    if (width === 0) return;
    if (!lay || lay.width !== width) [lay, strip] = [layout(data, shown, width), null];
    const height = Math.round(lay.height * ratio);
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== height) {
      canvas.style.height = lay.height + "px";
      canvas.width = Math.round(width * ratio);
      canvas.height = height;
    }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    colours = colours || palette(root);
    scene = { ctx, data, shown, view, lay, c: colours, picked, selected, ratio };
    const holds = draw(scene);
    strip = strip || overview(data, shown, lay, colours, ratio);
    ctx.drawImage(strip, 0, 0, width, OVERVIEW);
    drawView(scene);
    if (cursor !== null && cursor >= view.from && cursor <= view.to) {
      ctx.fillStyle = colours.text;
      ctx.fillRect(scene.X(cursor) - 0.5, OVERVIEW, 1, lay.height - OVERVIEW);
    }
    root.querySelector(".span").textContent = `${seconds(view.from)} to ${seconds(view.to)}` +
      (scene.level ? ` · columns of ${lasting(scene.level.width)}: their height is the share in which the lock was held` : "");
    Object.assign(document.body.dataset, { timeline: "drawn", holds, detail: scene.level ? "columns" : "operations" });
  }
  function repaint() {
    if (!queued) requestAnimationFrame(paint);
    queued = true;
  }
  const timeAt = (x) => view.from + (x - lay.left) / lay.plot * (view.to - view.from);

  function show(from, to) {
    const length = Math.min(Math.max(to - from, 200), data.end); // at least 0.2 ms
    from = Math.min(Math.max(from, 0), data.end - length);
    view = { from, to: from + length };
    repaint();
  }
  function zoom(factor, around) {
    const t = around === undefined ? (view.from + view.to) / 2 : around;
    show(t - (t - view.from) * factor, t + (view.to - t) * factor);
  }
  const pan = (part) => show(view.from + (view.to - view.from) * part, view.to + (view.to - view.from) * part);
  function centre(x) {
    const t = (x - lay.left) / lay.plot * data.end, half = (view.to - view.from) / 2;
    show(t - half, t + half);
  }

  // filtered shows less, or everything again.
  function filtered(filter) {
    shown = choose(data, filter);
    lay = null;
    for (const select of root.querySelectorAll("select[data-filter]")) select.value = filter[select.dataset.filter];
    const n = shown.violations.length, all = data.violations.length;
    root.querySelector(".matches").textContent = shown.all ? "" :
      `${shown.operations} of ${data.ops.n} operations` + (all ? `, ${n} of ${all} violations` : "");
    repaint();
  }

  // pick jumps to one violation and tells its story below the picture.
  function pick(i) {
    const v = data.violations[i];
    if (!v) return;
    if (!shown.violations.includes(i)) filtered(EVERYTHING);
    [picked, selected, says.textContent] = [i, -1, ""];
    let from = v.f, to = v.t;
    for (const op of v.o) {
      const h = data.holds.ofOp.get(op);
      if (h !== undefined) {
        from = Math.min(from, data.holds.from[h]);
        to = Math.max(to, Math.min(data.holds.to[h], to + 2 * (to - from)));
      } else if (data.ops.kind[op] !== ACQUIRE) {
        from = Math.min(from, data.ops.from[op]);
        to = Math.max(to, data.ops.to[op]);
      }
    }
    const margin = Math.max((to - from) * 0.2, 2000);
    show(from - margin, to + margin);
    const head = document.createElement("p");
    head.className = "picked-head";
    head.textContent = `✗ ${v.p} · ${v.n}`;
    // What the promise is stands above the violations of it.
    const about = document.createElement("p"), article = document.querySelector(`#violation-${i}`);
    const promise = article?.closest("section")?.querySelector("h3 .lead")?.textContent.replace(/^[ ·]+/, "") || "";
    about.className = "hint";
    about.textContent = `${promise} Violation ${shown.violations.indexOf(i) + 1} of ${shown.violations.length} in order of time.`.trim();
    const story = article?.querySelector(".story");
    panel.replaceChildren(head, about, ...(story ? [story.cloneNode(true)] : []));
    panel.hidden = false;
  }
  function walk(step) {
    const order = shown.violations, at = order.indexOf(picked);
    if (order.length) pick(order[at < 0 ? (step > 0 ? 0 : order.length - 1) : (at + step + order.length) % order.length]);
  }

  // select tells about one operation, which comes into view.
  function select(i) {
    selected = i;
    says.textContent = selectedWords(data, i).join("\n");
    const { from, to } = spanOf(data, i), half = (view.to - view.from) / 2;
    if (from > view.to || to < view.from) show((from + to) / 2 - half, (from + to) / 2 + half);
    repaint();
  }
  function clear() {
    [picked, selected, cursor, says.textContent] = [-1, -1, null, ""];
    panel.hidden = tip.hidden = true;
    repaint();
  }
  // beside selects the next operation of the lane, or the first in view; step -1: the one before.
  function beside(step) {
    const l = selected >= 0 ? data.ops.lane[selected] : shown.lanes[0], items = l === undefined ? [] : shown.laneOps[l].items;
    const at = selected >= 0 ? items.indexOf(selected) + step : items.findIndex((i) => data.ops.from[i] >= view.from);
    if (items[at] !== undefined) select(items[at]);
  }
  // other selects what is nearest in the lane below, or above.
  function other(step) {
    const from = selected >= 0 ? shown.lanes.indexOf(data.ops.lane[selected]) + step : 0;
    const t = selected >= 0 ? spanOf(data, selected).from : (view.from + view.to) / 2;
    for (let k = from; k >= 0 && k < shown.lanes.length; k += step) {
      const { items } = shown.laneOps[shown.lanes[k]], far = (i) => Math.abs(spanOf(data, i).from - t);
      if (items.length) return select(items.reduce((best, i) => (far(i) < far(best) ? i : best)));
    }
  }
  // closer shows the selected operation as large as it makes sense.
  function closer(t) {
    const span = spanOf(data, selected);
    if (!span) return;
    const at = t === undefined ? (span.from + span.to) / 2 : t, half = Math.min(Math.max((span.to - span.from) * 1.2, 5000), 2e6);
    show(at - half, at + half);
  }
  // go leads to a moment and to the operation with that id, where one is given.
  function go(t, id) {
    const i = id === null ? -1 : data.ops.id.indexOf(id);
    cursor = t;
    if (i < 0) {
      const half = Math.min((view.to - view.from) / 2, Math.max(data.end / 20, 5e5));
      show(t - half, t + half);
      says.textContent = `${seconds(t)}` + (id === null ? "" : `: operation ${id} is not in this page`);
      return;
    }
    if (!shown.ok(i)) filtered(EVERYTHING);
    selected = i;
    closer(t);
    select(i);
  }

  function violationsAt(x, y) {
    if (y < lay.marks || y > lay.marks + ROW) return [];
    const far = (v) => Math.max(scene.X(v.f) - x, x - Math.max(scene.X(v.t), scene.X(v.f)), 0);
    return shown.violations.filter((i) => far(data.violations[i]) < 8)
      .sort((a, b) => far(data.violations[a]) - far(data.violations[b]));
  }
  function hover(x, y) {
    if (!scene) return;
    const near = 4 * (view.to - view.from) / lay.plot;
    const lines = x < lay.left || y < OVERVIEW ? [] : describe(scene, timeAt(x), y, near, violationsAt(x, y));
    tip.hidden = lines.length === 0;
    tip.textContent = lines.join("\n");
    tip.style.left = Math.max(0, Math.min(x + 14, root.clientWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = canvas.offsetTop + y + 18 + "px";
    point(x >= lay.left && y > OVERVIEW ? timeAt(x) : null);
  }
  function point(t) {
    cursor = t;
    repaint();
  }
  // click picks the violation or selects what is there: the shortest hold, else operation.
  function click(x, y) {
    const [violation] = violationsAt(x, y), l = shown.lanes[Math.floor((y - lay.lanes) / lay.lane)];
    if (violation !== undefined) return pick(violation);
    if (l === undefined || x < lay.left) return;
    const near = 3 * (view.to - view.from) / lay.plot, t = timeAt(x), window = { from: t - near, to: t + near };
    const { ops, holds } = data, held = [], others = [];
    each(shown.laneHolds[l], holds.from, window, (h) => { if (holds.to[h] >= window.from) held.push(holds.op[h]); });
    each(shown.laneOps[l], ops.from, window, (i) => { if (ops.to[i] >= window.from) others.push(i); });
    const hits = held.length ? held : others, length = (i) => spanOf(data, i).to - spanOf(data, i).from;
    if (hits.length) select(hits.reduce((best, i) => (length(i) < length(best) ? i : best)));
  }

  const actions = {
    in: () => zoom(0.5), out: () => zoom(2), left: () => pan(-0.25), right: () => pan(0.25), all: () => show(0, data.end),
    start: () => show(0, view.to - view.from), end: () => show(data.end - (view.to - view.from), data.end),
    next: () => walk(1), previous: () => walk(-1), after: () => beside(1), before: () => beside(-1),
    down: () => other(1), up: () => other(-1), closer: () => closer(), clear,
  };
  for (const button of root.querySelectorAll("button[data-do]")) button.addEventListener("click", () => actions[button.dataset.do]());
  offer(root, choices(data), filtered);
  listenToKeys(root, actions);
  listenToPointers(canvas, { view: () => view, layout: () => lay, timeAt, show, zoom, pan, centre, hover, click,
    leave: () => { tip.hidden = true; point(null); } });
  dark.addEventListener("change", () => { colours = strip = null; repaint(); });
  new ResizeObserver(repaint).observe(root);
  paint();
  listenToLinks(root, canvas, { pick, go, point });
}

// offer fills the filters with what there is to choose from, and hides those without a choice.
function offer(root, from, filtered) {
  const selects = [...root.querySelectorAll("select[data-filter]")];
  for (const select of selects) {
    const options = from[select.dataset.filter];
    select.append(...options.map(([value, text]) => new Option(text, value)));
    select.closest("label").hidden = options.length < 2;
    select.addEventListener("change", () =>
      filtered(Object.fromEntries(selects.map((one) => [one.dataset.filter, Number(one.value)]))));
  }
}
