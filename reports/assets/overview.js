// The strip above the timeline: the whole test, how much happened when, its faults and
// violations, and which part of it is in view.

// overview paints the strip without view and violations. It is painted once for each size, palette and filter.
function overview(data, shown, lay, c, ratio) {
  const canvas = document.createElement("canvas"), height = OVERVIEW - 8, n = Math.floor(lay.plot / 2);
  canvas.width = Math.round(lay.width * ratio);
  canvas.height = Math.round(OVERVIEW * ratio);
  const ctx = canvas.getContext("2d"), X = (t) => lay.left + t / data.end * lay.plot;
  ctx.scale(ratio, ratio);
  ctx.fillStyle = c.lane;
  ctx.fillRect(lay.left, 0, lay.plot, height);
  const counts = new Float64Array(n);
  for (const l of shown.lanes) {
    for (const i of shown.laneOps[l].items) counts[Math.min(n - 1, Math.floor(data.ops.from[i] / data.end * n))]++;
  }
  ctx.fillStyle = c["fault-strong"];
  for (const f of data.faults) ctx.fillRect(X(f.from), 0, Math.max(X(Math.min(f.to, data.end)) - X(f.from), 2), height);
  const most = Math.max(1, counts.toSorted()[Math.floor(n * 0.98)]); // a burst must not flatten the rest
  ctx.fillStyle = c.wait;
  for (let k = 0; k < n; k++) {
    const h = counts[k] > 0 ? Math.max(1, Math.min(1, counts[k] / most) * (height - 10)) : 0;
    ctx.fillRect(lay.left + k * lay.plot / n, height - h, lay.plot / n, h);
  }
  ctx.font = "12px system-ui, sans-serif";
  ctx.textBaseline = "middle";
  ctx.fillStyle = c.text;
  ctx.fillText("whole test", 2, height / 2);
  return canvas;
}

// drawView frames the part of the strip that is in view and dims the rest, but for the violations.
function drawView(s) {
  const { ctx, data, shown, view, lay, c } = s, height = OVERVIEW - 8, X = (t) => lay.left + t / data.end * lay.plot;
  const x1 = X(view.from), x2 = Math.max(X(view.to), x1 + 4);
  ctx.globalAlpha = 0.45;
  ctx.fillStyle = c.paper;
  ctx.fillRect(lay.left, 0, x1 - lay.left, height);
  ctx.fillRect(x2, 0, lay.left + lay.plot - x2, height);
  ctx.globalAlpha = 1;
  ctx.fillStyle = c.breach;
  ctx.beginPath();
  for (const i of shown.violations) {
    const x = X(data.violations[i].f);
    ctx.fillRect(x - 1, 0, 2, height);
    ctx.moveTo(x - 4, 0);
    ctx.lineTo(x + 4, 0);
    ctx.lineTo(x, 7);
  }
  ctx.fill();
  ctx.strokeStyle = c.text;
  ctx.lineWidth = 2;
  ctx.strokeRect(x1, 1, x2 - x1, height - 2);
}
