// Draws what must never be hidden: violations, the operations that they name, lost
// updates; and what the reader selected.

function drawBreachBands(s) {
  const { ctx, data, shown, lay, c } = s;
  ctx.fillStyle = c["breach-soft"];
  for (const i of shown.violations) {
    const v = data.violations[i], x = s.clip(v.f), w = Math.max(s.clip(v.t) - x, 1.5);
    if (s.seen(v.f, v.t) && (i === s.picked || w < 3)) ctx.fillRect(x, lay.marks + ROW, w, lay.ledger - lay.marks - ROW);
  }
}

// drawMarks puts a triangle where each violation begins. Those that would cover each
// other share one, and their number stands beside it.
function drawMarks(s) {
  const { ctx, data, shown, lay, c } = s, groups = [];
  for (const i of shown.violations) {
    const v = data.violations[i];
    if (!s.seen(v.f, v.t)) continue;
    const x = s.clip(v.f), end = s.clip(v.t), g = groups[groups.length - 1];
    if (g && x - g.x < 11) {
      g.n++;
      if (end > g.spans[g.spans.length - 1][1]) g.spans.push([x, end]);
      if (i === s.picked) [g.picked, g.x] = [true, x];
    } else groups.push({ x, spans: [[x, end]], n: 1, picked: i === s.picked });
  }
  let line = -10; // lines that lie close would hide what is behind them
  for (const [k, g] of groups.entries()) {
    const y = lay.marks + 2, r = g.picked ? 7 : 5;
    ctx.fillStyle = c.breach;
    for (const [from, to] of g.spans) {
      if (to - from > 3) ctx.fillRect(from, y + 11, to - from, 3);
      if (from < line + 3 && !g.picked) continue;
      line = from;
      ctx.globalAlpha = g.picked ? 1 : 0.35;
      ctx.fillRect(from - 0.5, lay.lanes, 1, lay.ledger - lay.lanes);
      ctx.globalAlpha = 1;
    }
    ctx.beginPath();
    ctx.moveTo(g.x - r, y);
    ctx.lineTo(g.x + r, y);
    ctx.lineTo(g.x, y + 2 * r - 1);
    ctx.fill();
    const room = (k + 1 < groups.length ? groups[k + 1].x - 7 : lay.left + lay.plot) - g.x - 9, text = `×${g.n}`;
    if (g.n > 1 && ctx.measureText(text).width <= room) {
      ctx.textAlign = "left";
      ctx.fillText(text, g.x + 9, y + 5);
    }
  }
}

// drawInvolved frames the holds of each violation in view and marks its other operations;
// those of the violation that was jumped to stand out.
function drawInvolved(s) {
  const { data, shown } = s;
  for (const i of shown.violations) if (i !== s.picked && s.seen(data.violations[i].f, data.violations[i].t)) involved(s, i, 1, 4);
  if (data.violations[s.picked]) involved(s, s.picked, 2.5, 6);
}

function involved(s, violation, line, size) {
  const { ctx, data, lay, c } = s, { ops, holds } = data;
  ctx.strokeStyle = ctx.fillStyle = c.breach;
  ctx.lineWidth = line;
  for (const op of data.violations[violation].o) {
    if (lay.row[ops.lane[op]] < 0) continue;
    const mid = lay.middle(ops.lane[op]), half = lay.lane * 0.28 + 2, h = holds.ofOp.get(op);
    if (h !== undefined && s.seen(holds.from[h], holds.to[h])) {
      const x1 = s.clip(holds.from[h]) - 1, x2 = s.clip(holds.to[h]) + 1;
      ctx.strokeRect(x1, mid - half, Math.max(3, x2 - x1), 2 * half);
    } else if (ops.kind[op] !== ACQUIRE) {
      const t = ops.kind[op] === DEDUCT ? ops.to[op] : ops.from[op];
      if (s.seen(t, t)) diamond(ctx, s.X(t), mid, size);
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

// drawSelected frames the operation that the reader selected, with a dashed line.
function drawSelected(s) {
  const { ctx, data, lay, c } = s, span = spanOf(data, s.selected);
  if (!span || lay.row[data.ops.lane[s.selected]] < 0 || !s.seen(span.from, span.to)) return;
  const mid = lay.middle(data.ops.lane[s.selected]), half = lay.lane / 2 - 1;
  const x1 = s.clip(span.from) - 3, x2 = s.clip(span.to) + 3;
  ctx.strokeStyle = c.text;
  ctx.lineWidth = 1.5;
  ctx.setLineDash([4, 2]);
  ctx.strokeRect(x1, mid - half, Math.max(6, x2 - x1), 2 * half);
  ctx.setLineDash([]);
}

// spanOf is the time that an operation has to do with: a grant's hold, else itself.
function spanOf(data, op) {
  if (!(op >= 0 && op < data.ops.n)) return null;
  const h = data.holds.ofOp.get(op);
  if (h !== undefined) return { from: data.holds.from[h], to: data.holds.to[h] };
  return { from: data.ops.from[op], to: data.ops.to[op] };
}

// drawLedger draws the writes to the stock as ticks, the lost updates among them taller
// and with a cross.
function drawLedger(s) {
  const { ctx, shown, view, lay, c } = s, y = lay.ledger + 7, lost = [];
  let drawn = -1;
  ctx.fillStyle = c.sale;
  for (let k = bisect(shown.ledgerAt, view.from); k < shown.ledger.length && shown.ledgerAt[k] <= view.to; k++) {
    const x = s.X(shown.ledgerAt[k]);
    if (shown.ledger[k].lost && (!lost.length || x > lost[lost.length - 1] + 1)) lost.push(x);
    if (x < drawn + 1) continue;
    drawn = x;
    ctx.fillRect(x - 0.5, y + 3, 1, 12);
  }
  ctx.fillStyle = ctx.strokeStyle = c.breach;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  let last = -10;
  for (const x of lost) {
    ctx.fillRect(x - 1.5, y + 1, 3, 20);
    if (x < last + 8) continue;
    last = x;
    ctx.moveTo(x - 3, y - 5);
    ctx.lineTo(x + 3, y + 1);
    ctx.moveTo(x - 3, y + 1);
    ctx.lineTo(x + 3, y - 5);
  }
  ctx.stroke();
}
