// Draws the timeline on its canvas. It keeps no state: view, data and selection come in.

const LEFT = 128, RIGHT = 14, OVERVIEW = 30, AXIS = 24, ROW = 19;

// layout says where the rows are, in CSS pixels.
function layout(data, width) {
  const rows = Math.max(0, ...data.faults.map((f) => f.row + 1));
  const lane = data.lanes.length <= 12 ? 28 : data.lanes.length <= 30 ? 20 : 13;
  const marks = OVERVIEW + AXIS + 4, faults = marks + ROW, nodes = faults + rows * ROW + 2;
  const lanes = nodes + data.nodes.length * ROW + (data.nodes.length ? 3 : 0);
  const ledger = lanes + lane * data.lanes.length;
  return { width, plot: Math.max(50, width - LEFT - RIGHT), marks, faults, nodes, lanes, lane, ledger,
    height: ledger + 28 };
}

// colours reads the page's palette, so that the canvas follows light and dark.
function colours(element) {
  const css = getComputedStyle(element);
  const get = (name) => css.getPropertyValue("--" + name).trim();
  const names = ["text", "muted", "rule", "lane", "hold", "overstay", "overstay-back", "remains", "wait", "breach",
    "breach-soft", "fault", "fault-soft", "fault-strong", "sale", "paper", "warn"];
  return Object.fromEntries(names.map((n) => [n, get(n)]));
}

function hatch(ctx, c) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const t = tile.getContext("2d");
  t.fillStyle = c["overstay-back"];
  t.fillRect(0, 0, 8, 8);
  t.strokeStyle = c.overstay;
  t.lineWidth = 2.6;
  for (const x of [-8, 0, 8]) {
    t.beginPath();
    t.moveTo(x, 8);
    t.lineTo(x + 8, 0);
    t.stroke();
  }
  return ctx.createPattern(tile, "repeat");
}

// draw paints everything and returns how many holds are in view.
function draw(ctx, data, view, lay, c, picked) {
  const X = (t) => LEFT + (t - view.from) / (view.to - view.from) * lay.plot;
  const clipX = (t) => Math.min(Math.max(X(t), LEFT), LEFT + lay.plot);
  const seen = (from, to) => to >= view.from && from <= view.to;
  const pattern = hatch(ctx, c);
  ctx.clearRect(0, 0, lay.width, lay.height);
  ctx.font = "12px system-ui, sans-serif";
  ctx.textBaseline = "middle";

  drawLanes(ctx, data, lay, c);
  drawAxis(ctx, view, lay, c, X);
  for (const [i, f] of data.faults.entries()) {
    if (!seen(f.from, f.to)) continue;
    const x = clipX(f.from), w = Math.max(clipX(f.to) - x, 2), y = lay.faults + f.row * ROW;
    ctx.fillStyle = c["fault-soft"];
    ctx.fillRect(x, y, w, lay.ledger - y);
    ctx.fillStyle = c["fault-strong"];
    for (const [l, [client]] of data.lanes.entries()) {
      if (f.client === client || f.client < 0) ctx.fillRect(x, lay.lanes + l * lay.lane + 1, w, lay.lane - 2);
    }
    ctx.fillStyle = c.fault;
    ctx.fillRect(x, y + 1, w, ROW - 3);
    const next = data.faults.findIndex((g, k) => k > i && g.row === f.row);
    const room = (next < 0 ? LEFT + lay.plot : clipX(data.faults[next].from)) - x - w;
    faultName(ctx, f, x, w, room, y + ROW / 2, c);
  }
  drawNodes(ctx, data, view, lay, c, clipX);
  for (const [from, to] of data.gaps) {
    if (!seen(from, to)) continue;
    ctx.fillStyle = c.lane;
    ctx.fillRect(clipX(from), lay.lanes, clipX(to) - clipX(from), lay.ledger - lay.lanes);
    inside(ctx, "left out of this page: see history.jsonl", "left out", clipX(from), clipX(to) - clipX(from), lay.lanes + 12, c.muted);
  }
  for (const [i, v] of data.violations.entries()) {
    if (!seen(v.f, v.t)) continue;
    const x = clipX(v.f), w = Math.max(clipX(v.t) - x, 1.5);
    ctx.fillStyle = c["breach-soft"];
    if (i === picked || w < 3) ctx.fillRect(x, lay.marks + ROW, w, lay.ledger - lay.marks - ROW);
  }

  let holds = 0;
  for (let l = 0; l < data.lanes.length; l++) {
    drawOps(ctx, data, view, lay, c, l, X);
    holds += drawHolds(ctx, data, view, lay, c, l, X, pattern);
  }
  drawLedger(ctx, data, view, lay, c, X);
  drawPicked(ctx, data, view, lay, c, X, picked);
  drawMarks(ctx, data, view, lay, c, clipX, picked);
  drawOverview(ctx, data, view, lay, c);
  return holds;
}

function inside(ctx, text, short, x, w, y, colour) {
  for (const s of [text, short]) {
    if (ctx.measureText(s).width + 8 <= w) {
      ctx.fillStyle = colour;
      ctx.textAlign = "center";
      ctx.fillText(s, x + w / 2, y);
      return;
    }
  }
}

// faultName writes into the fault's bar or, where that is too short, behind it.
function faultName(ctx, f, x, w, room, y, c) {
  const name = `${f.name} ${f.kind} · ${f.target}`, width = ctx.measureText(name).width;
  if (width + 8 > w && width + 8 <= room) {
    ctx.fillStyle = c.fault;
    ctx.textAlign = "left";
    ctx.fillText(name, x + w + 4, y);
  } else inside(ctx, name, f.name, x, w, y, c.paper);
}

// drawNodes shows what each node was: primary strong, replica soft, anything else hollow.
function drawNodes(ctx, data, view, lay, c, clipX) {
  for (const [n, node] of data.nodes.entries()) {
    const y = lay.nodes + n * ROW;
    ctx.fillStyle = c.text;
    ctx.textAlign = "left";
    ctx.fillText(node.node, 2, y + ROW / 2);
    for (const [i, role] of node.r.entries()) {
      const x = clipX(node.t[i]), w = clipX(roleEnd(data, node, i)) - x;
      if (w <= 0) continue;
      const primary = role === "primary", replica = role.startsWith("replica");
      ctx.fillStyle = primary ? c.hold : replica ? c.remains : c.rule;
      if (primary || replica) ctx.fillRect(x, y + 2, w, ROW - 4);
      else ctx.fillRect(x, y + ROW / 2 - 1, w, 2);
      if (!primary && !replica && ctx.measureText(role).width + 8 <= w) {
        ctx.fillStyle = c.paper;
        ctx.fillRect(x + w / 2 - ctx.measureText(role).width / 2 - 4, y + 2, ctx.measureText(role).width + 8, ROW - 4);
      }
      inside(ctx, role, role.split(" ")[0], x, w, y + ROW / 2, primary ? c.paper : c.text);
    }
  }
}

// roleEnd is where the i-th role of a node ends.
function roleEnd(data, node, i) {
  return i + 1 < node.t.length ? node.t[i + 1] : data.end;
}

function drawLanes(ctx, data, lay, c) {
  ctx.textAlign = "left";
  ctx.fillStyle = c.muted;
  ctx.fillText("violations", 2, lay.marks + ROW / 2);
  if (data.faults.length) ctx.fillText("faults", 2, lay.faults + ROW / 2);
  let shade = false;
  for (const [l, [client, worker]] of data.lanes.entries()) {
    const y = lay.lanes + l * lay.lane, fresh = l === 0 || data.lanes[l - 1][0] !== client;
    if (fresh) shade = !shade;
    if (shade) {
      ctx.fillStyle = c.lane;
      ctx.fillRect(0, y, lay.width - RIGHT, lay.lane);
    }
    ctx.fillStyle = c.text;
    if (lay.lane > 14) ctx.fillText(`client ${client} worker ${worker}`, 2, y + lay.lane / 2);
    else if (fresh) ctx.fillText(`client ${client}`, 2, y + lay.lane / 2);
  }
  ctx.fillStyle = c.text;
  ctx.fillText("writes to stock", 2, lay.ledger + 14);
  ctx.fillStyle = c.rule;
  ctx.fillRect(0, lay.ledger, lay.width - RIGHT, 1);
}

// each calls f with the spans of a list that are in view.
function each(list, starts, view, f) {
  for (let k = bisect(list.latest, view.from); k < list.items.length; k++) {
    const i = list.items[k];
    if (starts[i] > view.to) return;
    f(i);
  }
}

function drawOps(ctx, data, view, lay, c, l, X) {
  const ops = data.ops, mid = lay.lanes + (l + 0.5) * lay.lane, half = lay.lane * 0.28;
  let drawn = -1;
  each(data.laneOps[l], ops.from, view, (i) => {
    const x1 = Math.max(X(ops.from[i]), LEFT), x2 = Math.min(X(ops.to[i]), LEFT + lay.plot);
    if (ops.kind[i] === DEDUCT || ops.kind[i] === EXTEND && ops.code[i] < FAILED && x2 - x1 < 0.5) return;
    const unknown = ops.code[i] === UNKNOWN;
    if (x2 > drawn + 0.7) {
      ctx.fillStyle = ops.kind[i] === ACQUIRE ? c.wait : c.muted;
      if (unknown) for (let x = x1; x < x2; x += 7) ctx.fillRect(x, mid - 0.75, Math.min(4, x2 - x), 1.5);
      else ctx.fillRect(x1, mid - 0.75, Math.max(x2 - x1, 0.7), 1.5);
      drawn = x2;
    }
    if (ops.kind[i] === RELEASE && ops.code[i] > FAILED && x2 - drawn < 1) {
      ctx.fillStyle = c.warn; // the server said: not yours, or nothing changed
      ctx.fillRect(x2 - 1, mid - half - 3, 2, half * 2 + 6);
    }
    if (ops.kind[i] === EXTEND && ops.code[i] < FAILED && ops.code[i] !== UNKNOWN) {
      ctx.fillStyle = c.hold;
      ctx.fillRect(x2 - 0.5, mid - half - 4, 1, 4);
    }
  });
}

function drawHolds(ctx, data, view, lay, c, l, X, pattern) {
  const holds = data.holds, mid = lay.lanes + (l + 0.5) * lay.lane;
  let count = 0, drawn = -1;
  each(data.laneHolds[l], holds.from, view, (i) => {
    count++;
    const end = Math.min(X(holds.remains[i]), LEFT + lay.plot);
    if (end < drawn + 0.4) return; // less than a pixel further: it would not show
    drawn = end;
    const half = Math.max(2, lay.lane * 0.28 - 2 * (holds.depth ? holds.depth[i] : 0));
    const bar = (from, to, fill, least) => {
      const x1 = Math.max(X(from), LEFT), x2 = Math.min(X(to), LEFT + lay.plot);
      if (x2 < LEFT || x1 > LEFT + lay.plot) return;
      ctx.fillStyle = fill;
      ctx.fillRect(x1, mid - half, Math.max(x2 - x1, least), 2 * half);
    };
    if (holds.remains[i] > holds.to[i]) bar(holds.to[i], holds.remains[i], c.remains, 1);
    if (holds.vouched[i] > holds.from[i] || holds.to[i] === holds.from[i]) bar(holds.from[i], holds.vouched[i], c.hold, 1);
    if (holds.to[i] > holds.vouched[i]) bar(holds.vouched[i], holds.to[i], pattern, 1.5);
    if (holds.ending[i] === "2" && seenAt(view, holds.to[i])) {
      ctx.fillStyle = c.text; // its client died here
      cross(ctx, X(holds.to[i]), mid, half, c.text);
    }
  });
  return count;
}

function seenAt(view, t) {
  return t >= view.from && t <= view.to;
}

function cross(ctx, x, y, r, colour) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.moveTo(x - r, y - r);
  ctx.lineTo(x + r, y + r);
  ctx.moveTo(x - r, y + r);
  ctx.lineTo(x + r, y - r);
  ctx.stroke();
}

function drawLedger(ctx, data, view, lay, c, X) {
  const y = lay.ledger + 5;
  let drawn = -1;
  const lost = [];
  for (const e of data.ledger) {
    if (!seenAt(view, e.at)) continue;
    const x = X(e.at);
    if (e.lost) lost.push(x);
    if (x < drawn + 1) continue;
    drawn = x;
    ctx.fillStyle = c.sale;
    ctx.fillRect(x - 0.5, y + 3, 1, 12);
  }
  ctx.fillStyle = c.breach;
  for (const x of lost) ctx.fillRect(x - 1.5, y - 2, 3, 22);
}

function drawPicked(ctx, data, view, lay, c, X, picked) {
  const v = data.violations[picked];
  if (!v) return;
  ctx.strokeStyle = ctx.fillStyle = c.breach;
  ctx.lineWidth = 2;
  const ops = data.ops, holds = data.holds;
  for (const op of v.o) {
    const mid = lay.lanes + (ops.lane[op] + 0.5) * lay.lane, half = lay.lane * 0.28 + 2;
    const h = holds.ofOp.get(op);
    if (h !== undefined && holds.to[h] >= view.from && holds.from[h] <= view.to) {
      const x1 = Math.max(X(holds.from[h]), LEFT) - 1, x2 = Math.min(X(holds.to[h]), LEFT + lay.plot) + 1;
      ctx.strokeRect(x1, mid - half, Math.max(3, x2 - x1), 2 * half);
    } else if (ops.kind[op] !== ACQUIRE) {
      const t = ops.kind[op] === DEDUCT ? ops.to[op] : ops.from[op];
      if (seenAt(view, t)) diamond(ctx, X(t), mid, 6);
    }
  }
}

function diamond(ctx, x, y, r) {
  ctx.beginPath();
  ctx.moveTo(x, y - r);
  ctx.lineTo(x + r * 0.75, y);
  ctx.lineTo(x, y + r);
  ctx.lineTo(x - r * 0.75, y);
  ctx.fill();
}

function drawMarks(ctx, data, view, lay, c, clipX, picked) {
  for (const [i, v] of data.violations.entries()) {
    if (v.t < view.from || v.f > view.to) continue;
    const x = clipX(v.f), w = clipX(v.t) - x, y = lay.marks + 2;
    ctx.fillStyle = c.breach;
    ctx.globalAlpha = i === picked ? 1 : 0.75;
    if (w > 3) ctx.fillRect(x, y + 11, w, 3);
    ctx.beginPath();
    ctx.moveTo(x - 5, y);
    ctx.lineTo(x + 5, y);
    ctx.lineTo(x, y + 9);
    ctx.fill();
    ctx.globalAlpha = i === picked ? 1 : 0.3;
    ctx.fillRect(x - 0.5, lay.lanes, 1, lay.ledger - lay.lanes);
    ctx.globalAlpha = 1;
  }
}

function drawAxis(ctx, view, lay, c, X) {
  const [step, decimals] = niceStep((view.to - view.from) / 1e6 / (lay.plot / 90));
  ctx.textAlign = "center";
  for (let n = Math.ceil(view.from / 1e6 / step); n * step * 1e6 <= view.to; n++) {
    const x = X(n * step * 1e6);
    ctx.fillStyle = c.rule;
    ctx.fillRect(x, OVERVIEW + AXIS - 4, 1, lay.ledger - OVERVIEW - AXIS + 4);
    ctx.fillStyle = c.muted;
    const half = ctx.measureText((n * step).toFixed(decimals) + " s").width / 2;
    ctx.fillText((n * step).toFixed(decimals) + " s", Math.min(x, lay.width - half), OVERVIEW + AXIS - 12);
  }
}

function niceStep(least) {
  for (let e = -6; e < 6; e++) {
    for (const m of [1, 2, 5]) {
      if (m * 10 ** e >= least) return [m * 10 ** e, Math.max(0, -e)];
    }
  }
  return [1e6, 0];
}

// drawOverview shows the whole test in a strip, and which part of it is in view.
function drawOverview(ctx, data, view, lay, c) {
  const X = (t) => LEFT + t / data.end * lay.plot, h = OVERVIEW - 6;
  ctx.fillStyle = c.muted;
  ctx.textAlign = "left";
  ctx.fillText("whole test", 2, h / 2);
  ctx.fillStyle = c.lane;
  ctx.fillRect(LEFT, 0, lay.plot, h);
  ctx.fillStyle = c["fault-strong"];
  for (const f of data.faults) ctx.fillRect(X(f.from), 0, Math.max(X(f.to) - X(f.from), 2), h);
  ctx.fillStyle = c.breach;
  for (const v of data.violations) ctx.fillRect(X(v.f) - 1, 3, 2, h - 6);
  ctx.strokeStyle = c.text;
  ctx.lineWidth = 1.5;
  ctx.strokeRect(X(view.from) + 0.75, 0.75, Math.max(X(view.to) - X(view.from) - 1.5, 3), h - 1.5);
}
