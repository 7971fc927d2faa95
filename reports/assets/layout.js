// Where things are on the canvas, in CSS pixels, and in which colours and patterns.

const RIGHT = 14, OVERVIEW = 36, AXIS = 24, ROW = 19;

// layout says where the rows are.
function layout(data, shown, width) {
  const narrow = width < 640, left = narrow ? 78 : 128;
  const rows = Math.max(0, ...data.faults.map((f) => f.row + 1)), n = shown.lanes.length;
  const lane = n <= 12 ? 28 : n <= 30 ? 20 : 13;
  const marks = OVERVIEW + AXIS + 4, faults = marks + ROW, nodes = faults + rows * ROW + 2;
  const lanes = nodes + data.nodes.length * ROW + (data.nodes.length ? 3 : 0);
  const ledger = lanes + lane * n;
  const row = data.lanes.map(() => -1); // of each lane; -1: not shown
  shown.lanes.forEach((l, i) => { row[l] = i; });
  return { narrow, left, width, plot: Math.max(50, width - left - RIGHT), marks, faults, nodes, lanes, lane, ledger, row,
    height: ledger + 32, middle: (l) => lanes + (row[l] + 0.5) * lane };
}

// palette reads the page's colours, so that the canvas follows light and dark, and makes
// the patterns that tell things apart without colour.
function palette(element) {
  const css = getComputedStyle(element);
  const names = ["text", "muted", "rule", "lane", "hold", "overstay", "overstay-back", "remains", "wait", "breach",
    "breach-soft", "fault", "fault-soft", "fault-strong", "sale", "paper", "warn", "on-bar"];
  const c = Object.fromEntries(names.map((n) => [n, css.getPropertyValue("--" + n).trim()]));
  c.hatch = tile((t) => {
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
  });
  c.dots = tile((t) => {
    t.fillStyle = c["fault-strong"];
    t.fillRect(0, 0, 8, 8);
    t.fillStyle = c.fault;
    t.fillRect(1, 1, 1, 1);
    t.fillRect(5, 5, 1, 1);
  });
  return c;
}

function tile(paint) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 8;
  const t = canvas.getContext("2d");
  paint(t);
  return t.createPattern(canvas, "repeat");
}

// fitted cuts a text so that it fits.
function fitted(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  let n = Math.min(text.length, 200);
  while (n > 0 && ctx.measureText(text.slice(0, n) + "…").width > width) n--;
  return n > 0 ? text.slice(0, n) + "…" : "";
}

function niceStep(least) {
  for (let e = -6; e < 6; e++) {
    for (const m of [1, 2, 5]) {
      if (m * 10 ** e >= least) return [m * 10 ** e, Math.max(0, -e)];
    }
  }
  return [1e6, 0];
}

const seconds = (t) => (t / 1e6).toFixed(3) + " s";

function lasting(us) {
  return us < 1000 ? us.toFixed(0) + " µs" : us < 1e6 ? (us / 1000).toFixed(1) + " ms" : (us / 1e6).toFixed(3) + " s";
}
