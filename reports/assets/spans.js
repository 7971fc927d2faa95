// Draws the lanes: holds, leases, waits and what else a worker did.

// drawBins draws a lane from the bins of the scene's level: a column is as high as the
// share of the bin in which the lock was held, on a pale ground. What is rare and matters has its full
// height and at least two pixels. It returns how many holds are in view.
function drawBins(s, l) {
  const { ctx, data, shown, view, lay, c } = s, { width, lanes } = s.level, b = lanes[l];
  const mid = lay.middle(l), half = lay.lane * 0.28, snap = (x) => Math.round(x * s.ratio) / s.ratio;
  const first = Math.max(0, Math.floor(view.from / width)), last = Math.min(b.held.length - 1, Math.floor(view.to / width));
  const runs = (value, least, paint) => { // neighbours of equal value are one rectangle
    let start = first, v = first <= last ? value(first) : 0;
    for (let k = first + 1; k <= last + 1; k++) {
      const next = k <= last ? value(k) : -1;
      if (next === v) continue;
      if (v > 0) {
        const x = snap(Math.max(s.X(start * width), lay.left)), end = snap(Math.min(s.X(k * width), lay.left + lay.plot));
        paint(v, x, Math.max(end - x, least));
      }
      [start, v] = [k, next];
    }
  };
  ctx.fillStyle = c.wait;
  runs((k) => (b.wait[k] > 0 ? 1 : 0), 0.7, (_, x, w) => ctx.fillRect(x, mid - 0.75, w, 1.5));
  ctx.fillStyle = c.hold;
  ctx.globalAlpha = 0.2; // the height of a column that is full
  runs((k) => (b.held[k] > 0 ? 1 : 0), 0.7, (_, x, w) => ctx.fillRect(x, mid - half, w, 2 * half));
  ctx.globalAlpha = 1;
  const steps = 12, height = (k) => (b.held[k] > 0 ? Math.max(1, Math.round(Math.min(1, b.held[k]) * steps)) : 0);
  runs(height, 0.7, (v, x, w) => ctx.fillRect(x, mid - half * v / steps, w, 2 * half * v / steps));
  runs((k) => b.flags[k] & LINGERED, 2, (_, x, w) => lingering(s, x, x + w, mid, half));
  ctx.fillStyle = c.hatch;
  runs((k) => b.flags[k] & OVERSTAYED, 2, (_, x, w) => ctx.fillRect(x, mid - half, w, 2 * half));
  runs((k) => b.flags[k] & REFUSED, 2, (_, x) => refusal(s, x, mid, half));
  let count = 0;
  each(shown.laneHolds[l], data.holds.from, view, (i) => {
    count++;
    if (data.holds.ending[i] === DIED) cross(s, data.holds.to[i], mid, half);
  });
  return count;
}

// drawSpans draws a lane's operations and holds one by one. It returns how many holds are in view.
function drawSpans(s, l) {
  const { data, shown, view, lay } = s, { ops, holds } = data;
  const mid = lay.middle(l), half = lay.lane * 0.28;
  let drawn = -1, count = 0;
  each(shown.laneOps[l], ops.from, view, (i) => {
    if (ops.kind[i] !== ACQUIRE && ops.kind[i] !== RELEASE && ops.code[i] !== UNKNOWN) return;
    const end = s.clip(ops.to[i]);
    if (end < drawn + 0.7) return; // less than a pixel further: it would not show
    drawn = end;
    wait(s, i, s.clip(ops.from[i]), end, mid);
  });
  drawn = -1;
  const overstays = [], left = [];
  each(shown.laneHolds[l], holds.from, view, (i) => {
    count++;
    if (holds.to[i] > holds.vouched[i]) overstays.push(i);
    if (holds.remains[i] > holds.to[i] || holds.ending[i] === DIED) left.push(i);
    const end = s.clip(holds.vouched[i]);
    if (end < drawn + 0.4 || holds.vouched[i] < view.from) return;
    if (holds.vouched[i] === holds.from[i] && holds.to[i] > holds.from[i]) return; // nothing was granted
    drawn = end;
    const h = depth(s, i, half), x = s.clip(holds.from[i]);
    s.ctx.fillStyle = s.c.hold;
    s.ctx.fillRect(x, mid - h, Math.max(end - x, 1), 2 * h);
  });
  each(shown.laneOps[l], ops.from, view, (i) => within(s, i, mid, half));
  drawn = -1;
  for (const i of overstays) {
    const x = s.clip(holds.vouched[i]), end = s.clip(holds.to[i]), h = depth(s, i, half);
    if (!s.seen(holds.vouched[i], holds.to[i]) || end < drawn + 0.4) continue;
    drawn = end;
    s.ctx.fillStyle = s.c.hatch;
    s.ctx.fillRect(x, mid - h, Math.max(end - x, 2), 2 * h);
  }
  for (const i of left) {
    if (s.seen(holds.to[i], holds.remains[i]) && holds.remains[i] > holds.to[i]) {
      lingering(s, s.clip(holds.to[i]), s.clip(holds.remains[i]), mid, depth(s, i, half));
    }
    if (holds.ending[i] === DIED) cross(s, holds.to[i], mid, half);
  }
  each(shown.laneOps[l], ops.from, view, (i) => {
    if (refused(ops, i) && s.seen(ops.to[i], ops.to[i])) refusal(s, s.X(ops.to[i]), mid, half);
  });
  return count;
}

// depth is half the height of a hold: one inside another of its worker is lower.
function depth(s, hold, half) {
  return Math.max(2, half - 2 * (s.data.holds.depth ? s.data.holds.depth[hold] : 0));
}

// wait draws the line of an operation, dashed where its outcome is unknown.
function wait(s, i, x1, x2, mid) {
  const { ctx, data, c } = s;
  ctx.fillStyle = data.ops.kind[i] === ACQUIRE ? c.wait : c.muted;
  if (data.ops.code[i] !== UNKNOWN) ctx.fillRect(x1, mid - 0.75, Math.max(x2 - x1, 0.7), 1.5);
  else for (let x = x1; x < x2; x += 7) ctx.fillRect(x, mid - 0.75, Math.min(4, x2 - x), 1.5);
}

// within draws what happened inside a hold: a deduction as a line low in the bar, a renewal as
// a tick above it.
function within(s, i, mid, half) {
  const { ctx, data, c } = s, { ops } = data;
  if (ops.kind[i] === EXTEND && ops.code[i] < FAILED && ops.code[i] !== UNKNOWN && s.seen(ops.to[i], ops.to[i])) {
    ctx.fillStyle = c.hold;
    ctx.fillRect(s.X(ops.to[i]) - 0.5, mid - half - 4, 1, 4);
  }
  if (ops.kind[i] !== DEDUCT || ops.code[i] === UNKNOWN) return;
  const x = s.clip(ops.from[i]), w = s.clip(ops.to[i]) - x;
  if (w < 5) return;
  ctx.fillStyle = c["on-bar"];
  ctx.fillRect(x, mid + half * 0.45, w, 2);
}

// lingering draws a lease that goes on without its client: hollow.
function lingering(s, x1, x2, mid, half) {
  const { ctx, c } = s;
  ctx.fillStyle = c.remains;
  ctx.fillRect(x1, mid - half, Math.max(x2 - x1, 1), 2 * half);
  if (x2 - x1 < 4) return;
  ctx.strokeStyle = c.hold;
  ctx.lineWidth = 1;
  ctx.setLineDash([3, 2]);
  ctx.strokeRect(x1 + 0.5, mid - half + 0.5, x2 - x1 - 1, 2 * half - 1);
  ctx.setLineDash([]);
}

// refusal marks a release that the server refused: a tall tick with a head.
function refusal(s, x, mid, half) {
  const { ctx, lay, c } = s;
  ctx.fillStyle = c.warn;
  ctx.fillRect(x - 1, mid - half - 2, 2, half * 2 + 4);
  if (lay.lane > 14) ctx.fillRect(x - 3, mid - half - 4, 6, 3);
}

// cross marks where a client died.
function cross(s, t, mid, r) {
  if (!s.seen(t, t)) return;
  const { ctx, c } = s, x = s.X(t);
  ctx.strokeStyle = c.text;
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.moveTo(x - r, mid - r);
  ctx.lineTo(x + r, mid + r);
  ctx.moveTo(x - r, mid + r);
  ctx.lineTo(x + r, mid - r);
  ctx.stroke();
}
