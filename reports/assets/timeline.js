// The timeline's behaviour: zoom, pan, keys, tooltips, walking through the violations.

function timeline(root, data) {
  const canvas = root.querySelector("canvas"), tip = root.querySelector(".tip"), panel = root.querySelector(".picked");
  const ctx = canvas.getContext("2d");
  let view = { from: 0, to: data.end }, lay = null, picked = -1, drag = null, cursor = null, queued = false;
  // Violations in order of time: what n and p walk through.
  const order = data.violations.map((_, i) => i).sort((a, b) => data.violations[a].f - data.violations[b].f);

  function paint() {
    queued = false;
    const width = canvas.clientWidth, ratio = window.devicePixelRatio || 1;
    lay = layout(data, width);
    canvas.style.height = lay.height + "px";
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(lay.height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(lay.height * ratio);
    }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    const c = colours(root), holds = draw(ctx, data, view, lay, c, picked);
    if (cursor !== null && cursor >= view.from && cursor <= view.to) {
      ctx.fillStyle = c.text;
      ctx.fillRect(toX(cursor) - 0.5, OVERVIEW, 1, lay.height - OVERVIEW);
    }
    document.body.dataset.timeline = "drawn";
    document.body.dataset.holds = String(holds);
    root.querySelector(".span").textContent = `${seconds(view.from)} to ${seconds(view.to)}`;
  }
  function repaint() {
    if (!queued) requestAnimationFrame(paint);
    queued = true;
  }
  const toX = (t) => LEFT + (t - view.from) / (view.to - view.from) * lay.plot;
  const toT = (x) => view.from + (x - LEFT) / lay.plot * (view.to - view.from);
  const seconds = (t) => (t / 1e6).toFixed(3) + " s";

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

  // pick shows one violation, with its story below the picture.
  function pick(i) {
    const v = data.violations[i];
    if (!v) return;
    picked = i;
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
    panel.replaceChildren();
    const head = document.createElement("p");
    head.className = "picked-head";
    head.textContent = `${v.p} · ${v.n} · violation ${order.indexOf(i) + 1} of ${order.length} in order of time`;
    panel.append(head);
    const story = document.querySelector(`#violation-${i} .story`);
    if (story) panel.append(story.cloneNode(true));
    panel.hidden = false;
  }
  function walk(step) {
    if (!order.length) return;
    const at = order.indexOf(picked);
    pick(order[at < 0 ? (step > 0 ? 0 : order.length - 1) : (at + step + order.length) % order.length]);
  }

  const actions = {
    in: () => zoom(0.5), out: () => zoom(2), left: () => pan(-0.25), right: () => pan(0.25),
    all: () => show(0, data.end), next: () => walk(1), previous: () => walk(-1),
  };
  const keys = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "all", n: "next", p: "previous" };
  for (const button of root.querySelectorAll("button[data-do]")) {
    button.addEventListener("click", () => actions[button.dataset.do]());
  }
  document.addEventListener("keydown", (e) => {
    const field = /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName);
    const name = Object.hasOwn(keys, e.key) ? keys[e.key] : null;
    if (field || e.ctrlKey || e.metaKey || e.altKey || !name) return;
    // Arrows belong to the page unless the timeline has the focus; n and p work everywhere.
    if (!root.contains(document.activeElement) && name !== "next" && name !== "previous") return;
    if (name === "next" || name === "previous") root.scrollIntoView({ block: "nearest" });
    actions[name]();
    e.preventDefault();
  });

  canvas.addEventListener("wheel", (e) => {
    if (document.activeElement !== canvas && !e.ctrlKey && !e.metaKey) return; // the page scrolls
    e.preventDefault();
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan((e.deltaX || e.deltaY) / lay.plot);
    else zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 400))), toT(Math.max(e.offsetX, LEFT)));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (e) => {
    canvas.setPointerCapture(e.pointerId);
    drag = { x: e.offsetX, view, moved: false, overview: e.offsetY < OVERVIEW };
    if (drag.overview) centre(e.offsetX);
  });
  canvas.addEventListener("pointermove", (e) => {
    if (!drag) return hover(e);
    if (drag.overview) return centre(e.offsetX);
    drag.moved = drag.moved || Math.abs(e.offsetX - drag.x) > 3;
    const by = (drag.x - e.offsetX) / lay.plot * (drag.view.to - drag.view.from);
    if (drag.moved) show(drag.view.from + by, drag.view.to + by);
  });
  canvas.addEventListener("pointerup", (e) => {
    if (drag && !drag.moved && !drag.overview) {
      const hit = violationAt(e.offsetX, e.offsetY);
      if (hit >= 0) pick(hit);
    }
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("dblclick", (e) => { if (e.offsetY >= OVERVIEW) zoom(0.4, toT(e.offsetX)); });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; point(null); });
  function centre(x) {
    const t = (x - LEFT) / lay.plot * data.end, half = (view.to - view.from) / 2;
    show(t - half, t + half);
  }
  function point(t) {
    cursor = t;
    repaint();
  }

  function hover(e) {
    const lines = e.offsetX < LEFT ? [] : describe(data, lay, toT(e.offsetX), e.offsetY,
      4 * (view.to - view.from) / lay.plot, violationAt(e.offsetX, e.offsetY));
    tip.hidden = lines.length === 0;
    tip.textContent = lines.join("\n");
    const room = root.clientWidth - tip.offsetWidth - 8;
    tip.style.left = Math.max(0, Math.min(e.offsetX + 14, room)) + "px";
    tip.style.top = canvas.offsetTop + e.offsetY + 18 + "px";
    point(e.offsetX >= LEFT && e.offsetY > OVERVIEW ? toT(e.offsetX) : null);
  }
  function violationAt(x, y) {
    if (y < lay.marks || y > lay.marks + ROW) return -1;
    let best = -1, far = 8;
    for (const [i, v] of data.violations.entries()) {
      const d = Math.max(toX(v.f) - x, x - Math.max(toX(v.t), toX(v.f)), 0);
      if (d < far || d === far && i === picked) [best, far] = [i, d];
    }
    return best;
  }

  // Times in the stories point into the timeline, buttons beside them lead there.
  document.addEventListener("mouseover", (e) => {
    const t = e.target.closest && e.target.closest("[data-t]");
    if (t) point(Number(t.dataset.t) * 1e6);
  });
  document.addEventListener("click", (e) => {
    const button = e.target.closest && e.target.closest("[data-violation]");
    if (!button) return;
    pick(Number(button.dataset.violation));
    root.scrollIntoView({ block: "start" });
    canvas.focus({ preventScroll: true });
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  new ResizeObserver(repaint).observe(root);

  const hash = /^#violation-(\d+)$/.exec(location.hash);
  paint();
  if (hash) pick(Number(hash[1]));
}

// describe says in words what is at time t and height y; near is how far beside it counts.
function describe(data, lay, t, y, near, violation) {
  const s = (v) => (v / 1e6).toFixed(3) + " s";
  const lines = [];
  if (violation >= 0) {
    const v = data.violations[violation];
    return [`violation: ${v.p} ${v.n}`, v.t > v.f ? `${s(v.f)} to ${s(v.t)}` : s(v.f), "click to see what happened"];
  }
  if (y >= lay.ledger) {
    for (const e of data.ledger) {
      if (Math.abs(e.at - t) > near || lines.length > 8) continue;
      lines.push(`${s(e.at)}: stock ${e.found} → ${e.left} (operation ${data.ops.id[e.op]})`);
      if (e.lost) lines.push(`computed from ${e.basis}, but ${e.found} was there: an update is lost`);
    }
    return lines;
  }
  const node = data.nodes[Math.floor((y - lay.nodes) / ROW)];
  if (node && y < lay.lanes) {
    const i = node.t.findLastIndex((at) => at <= t);
    if (i >= 0) lines.push(`${node.node}: ${node.r[i]}, ${s(node.t[i])} to ${s(roleEnd(data, node, i))}`);
  }
  const l = Math.floor((y - lay.lanes) / lay.lane);
  if (l >= 0 && l < data.lanes.length) {
    const window = { from: t - near, to: t + near };
    each(data.laneHolds[l], data.holds.from, window, (i) => { if (lines.length < 9) lines.push(...holdWords(data, i, s)); });
    each(data.laneOps[l], data.ops.from, window, (i) => { if (lines.length < 14) lines.push(...opWords(data, i, s)); });
  }
  const client = l >= 0 && l < data.lanes.length ? data.lanes[l][0] : -1;
  for (const f of data.faults) {
    if (t < f.from - near || t > f.to + near || y < lay.faults) continue;
    if (client >= 0 && f.client >= 0 && f.client !== client) continue;
    lines.push(`${f.name} ${f.kind}, ${f.target}: ${s(f.from)} to ${s(f.to)}${f.landed ? "" : " (did not land)"}`);
    if (f.proof) lines.push("  proof: " + f.proof);
  }
  return lines;
}

function holdWords(data, i, s) {
  const h = data.holds, ending = ENDINGS[Number(h.ending[i])] || "";
  const lines = [`hold: ${s(h.from[i])} to ${s(h.to[i])} (${ms(h.to[i] - h.from[i])}), ${ending}`];
  if (h.vouched[i] <= h.from[i] && h.to[i] > h.from[i]) lines.push("  nothing was granted: the client entered all the same");
  else if (h.vouched[i] < h.to[i]) lines.push(`  lease over at ${s(h.vouched[i])}: overstays by ${ms(h.to[i] - h.vouched[i])}`);
  if (h.remains[i] > h.to[i]) lines.push(`  its lease goes on without a holder to ${s(h.remains[i])}`);
  return lines;
}

function opWords(data, i, s) {
  const o = data.ops, d = data.details[i];
  let line = `${KINDS[o.kind[i]]} (operation ${o.id[i]}): ${CODES[o.code[i]]}, ${s(o.from[i])}`;
  line += o.open[i] ? ", no known return" : ` + ${ms(o.to[i] - o.from[i])}`;
  if (o.object) line += ` · ${data.objects[o.object[i]]}`;
  const lines = [line];
  if (o.note.has(i)) lines.push("  " + data.notes[o.note.get(i)]);
  if (d) {
    const parts = Object.entries(d).map(([k, v]) => `${k} ${v}`);
    if (parts.length) lines.push("  " + parts.join(", "));
  }
  return lines;
}

function ms(us) {
  return us < 1000 ? us.toFixed(0) + " µs" : us < 1e6 ? (us / 1000).toFixed(1) + " ms" : (us / 1e6).toFixed(3) + " s";
}
