// Draws the timeline: what stands behind and above the lanes. A scene s has the context,
// data, what is shown of it, the view, layout and palette; drawing keeps no state.

// draw paints everything and returns how many holds are in view.
function draw(s) {
  const { ctx, shown, lay } = s;
  s.X = (t) => lay.left + (t - s.view.from) / (s.view.to - s.view.from) * lay.plot;
  s.clip = (t) => Math.min(Math.max(s.X(t), lay.left), lay.left + lay.plot);
  s.seen = (from, to) => to >= s.view.from && from <= s.view.to;
  s.level = levelFor(s.data, shown, s.view, lay.plot);
  ctx.clearRect(0, 0, lay.width, lay.height);
  ctx.font = "12px system-ui, sans-serif";
  ctx.textBaseline = "middle";
  drawRows(s);
  drawAxis(s);
  drawFaults(s);
  drawNodes(s);
  drawGaps(s);
  drawBreachBands(s);
  let holds = 0;
  for (const l of shown.lanes) holds += s.level ? drawBins(s, l) : drawSpans(s, l);
  drawLedger(s);
  drawInvolved(s);
  drawMarks(s);
  drawSelected(s);
  return holds;
}

function drawRows(s) {
  const { ctx, data, shown, lay, c } = s, y = (row) => row + ROW / 2;
  ctx.textAlign = "left";
  ctx.fillStyle = c.text;
  ctx.fillText("violations", 2, y(lay.marks));
  if (!shown.violations.length) {
    ctx.fillStyle = c.muted;
    ctx.fillText(data.violations.length ? "none that the filter shows" : "none", lay.left + 2, y(lay.marks));
    ctx.fillStyle = c.text;
  }
  if (data.faults.length) ctx.fillText("faults", 2, y(lay.faults));
  let shade = false, client = null;
  for (const [i, l] of shown.lanes.entries()) {
    const top = lay.lanes + i * lay.lane, fresh = data.lanes[l][0] !== client, [of, worker] = data.lanes[l];
    client = of;
    if (fresh) shade = !shade;
    if (shade) {
      ctx.fillStyle = c.lane;
      ctx.fillRect(0, top, lay.width - RIGHT, lay.lane);
    }
    ctx.fillStyle = c.text;
    const name = lay.narrow ? `c${client} w${worker}` : `client ${client} worker ${worker}`;
    if (lay.lane > 14) ctx.fillText(name, 2, top + lay.lane / 2);
    else if (fresh) ctx.fillText(lay.narrow ? `c${client}` : `client ${client}`, 2, top + lay.lane / 2);
  }
  ctx.fillStyle = c.text;
  ctx.fillText(lay.narrow ? "writes" : "writes to stock", 2, lay.ledger + 16);
  ctx.fillStyle = c.rule;
  ctx.fillRect(0, lay.ledger, lay.width - RIGHT, 1);
}

function drawAxis(s) {
  const { ctx, view, lay, c } = s;
  const [step, decimals] = niceStep((view.to - view.from) / 1e6 / (lay.plot / 90));
  ctx.textAlign = "center";
  for (let n = Math.ceil(view.from / 1e6 / step); n * step * 1e6 <= view.to; n++) {
    const x = s.X(n * step * 1e6), text = (n * step).toFixed(decimals) + " s", half = ctx.measureText(text).width / 2;
    ctx.fillStyle = c.rule;
    ctx.fillRect(x, OVERVIEW + AXIS - 4, 1, lay.ledger - OVERVIEW - AXIS + 4);
    ctx.fillStyle = c.muted;
    ctx.fillText(text, Math.min(x, lay.width - half), OVERVIEW + AXIS - 12);
  }
}

// drawFaults draws each as a named bar, with a band through the lanes below: dotted where
// it hits. A fault that was not proven to land has a hollow bar and a question mark.
function drawFaults(s) {
  const { ctx, data, shown, lay, c } = s;
  for (const [i, f] of data.faults.entries()) {
    if (!s.seen(f.from, f.to)) continue;
    const x = s.clip(f.from), w = Math.max(s.clip(f.to) - x, 2), y = lay.faults + f.row * ROW;
    ctx.fillStyle = c["fault-soft"];
    ctx.fillRect(x, y, w, lay.ledger - y);
    ctx.fillStyle = c.dots;
    const node = data.nodes.findIndex((n) => n.node === f.node);
    if (node >= 0) ctx.fillRect(x, lay.nodes + node * ROW + 1, w, ROW - 2);
    for (const l of shown.lanes) {
      if (hits(f, data.lanes[l][0])) ctx.fillRect(x, lay.lanes + lay.row[l] * lay.lane + 1, w, lay.lane - 2);
    }
    ctx.fillStyle = ctx.strokeStyle = c.fault;
    ctx.lineWidth = 1;
    if (f.landed) ctx.fillRect(x, y + 1, w, ROW - 3);
    else ctx.strokeRect(x + 0.5, y + 1.5, Math.max(1, w - 1), ROW - 4);
    const next = data.faults.findIndex((g, k) => k > i && g.row === f.row);
    const room = (next < 0 ? lay.left + lay.plot : s.clip(data.faults[next].from)) - x - w;
    faultName(s, f, x, w, room, y + ROW / 2);
  }
}

// hits tells whether a fault is one of a client: its own, or one of everybody.
function hits(f, client) {
  return f.client === client || f.client < 0 && !f.node;
}

// faultName writes into the fault's bar or, where that is too short, behind it.
function faultName(s, f, x, w, room, y) {
  const { ctx, c } = s, name = `${f.name}${f.landed ? "" : "?"} ${f.kind} · ${f.target}`, width = ctx.measureText(name).width;
  if (width + 8 > w && (width + 8 <= room || w < 26)) {
    const text = fitted(ctx, name, room - 8);
    ctx.fillStyle = c.fault;
    ctx.textAlign = "left";
    if (text.length >= f.name.length) ctx.fillText(text, x + w + 4, y);
  } else inside(s, [name, f.name], x, w, y, f.landed ? c.paper : c.fault);
}

// inside writes the first of the texts that fits into a bar.
function inside(s, texts, x, w, y, colour) {
  const text = texts.find((t) => s.ctx.measureText(t).width + 8 <= w);
  if (!text) return;
  s.ctx.fillStyle = colour;
  s.ctx.textAlign = "center";
  s.ctx.fillText(text, x + w / 2, y);
}

// drawNodes shows what each node was: primary full, replica hollow, anything else a line;
// with the word where it fits.
function drawNodes(s) {
  const { ctx, data, lay, c } = s;
  for (const [n, node] of data.nodes.entries()) {
    const y = lay.nodes + n * ROW;
    ctx.fillStyle = c.text;
    ctx.textAlign = "left";
    ctx.fillText(fitted(ctx, node.node, lay.left - 8), 2, y + ROW / 2);
    for (const [i, role] of node.r.entries()) {
      const x = s.clip(node.t[i]), w = s.clip(roleEnd(data, node, i)) - x;
      if (w <= 0) continue;
      const primary = role === "primary", replica = role.startsWith("replica");
      ctx.fillStyle = primary ? c.hold : c.wait;
      ctx.strokeStyle = c.hold;
      ctx.lineWidth = 1;
      if (primary) ctx.fillRect(x, y + 3, w, ROW - 6);
      else if (replica) {
        ctx.fillStyle = c.paper;
        ctx.fillRect(x, y + 3, w, ROW - 6);
        ctx.strokeRect(x + 0.5, y + 3.5, Math.max(1, w - 1), ROW - 7);
      } else {
        const text = [role, role.split(" ")[0]].find((t) => ctx.measureText(t).width + 8 <= w);
        const gap = text ? ctx.measureText(text).width / 2 + 4 : 0; // the line stops beside the word
        ctx.fillRect(x, y + ROW / 2 - 1, w / 2 - gap, 2);
        ctx.fillRect(x + w / 2 + gap, y + ROW / 2 - 1, w / 2 - gap, 2);
      }
      inside(s, [role, role.split(" ")[0]], x, w, y + ROW / 2, primary ? c["on-bar"] : c.text);
    }
    for (const f of data.faults) if (f.node === node.node && s.seen(f.from, f.to)) nodeFault(s, f, y);
  }
}

// nodeFault names a fault in the lane of its node, at its beginning.
function nodeFault(s, f, y) {
  const { ctx, c } = s, x = s.clip(f.from), w = s.clip(f.to) - x;
  const text = [`${f.name} ${f.kind}`, f.name].find((t, i) => (i ? 1 : 3.5) * (ctx.measureText(t).width + 10) <= w); // room for roles
  if (!text) return;
  ctx.fillStyle = c.paper;
  ctx.fillRect(x + 1, y + 2, ctx.measureText(text).width + 8, ROW - 4);
  ctx.fillStyle = c.fault;
  ctx.textAlign = "left";
  ctx.fillText(text, x + 5, y + ROW / 2);
}

// roleEnd is where the i-th role of a node ends.
function roleEnd(data, node, i) {
  return i + 1 < node.t.length ? node.t[i + 1] : data.end;
}

function drawGaps(s) {
  const { ctx, data, lay, c } = s;
  for (const [from, to] of data.gaps) {
    if (!s.seen(from, to)) continue;
    const x = s.clip(from), w = s.clip(to) - x;
    ctx.fillStyle = c.lane;
    ctx.fillRect(x, lay.lanes, w, lay.ledger - lay.lanes);
    inside(s, ["left out of this page: see history.jsonl", "left out"], x, w, lay.lanes + 12, c.muted);
  }
}
