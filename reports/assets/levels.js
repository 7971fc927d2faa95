// Levels of detail: where many operations fall on one pixel, a lane is drawn from bins of
// equal length instead of from its operations. The finest level cuts the test into FINEST
// bins, each further one has half as many. A bin keeps how long the lock was held and
// waited for in it, and flags for what must be seen however small it is.

const FINEST = 8192, COARSEST = 256;
const OVERSTAYED = 1, REFUSED = 2, LINGERED = 4;

function levels(data, shown) {
  const width = data.end / FINEST;
  let level = { width, lanes: data.lanes.map(() => null) };
  for (const l of shown.lanes) level.lanes[l] = binned(data, shown, l, width);
  const all = [level];
  while (level.lanes.some(Boolean) && FINEST / 2 ** (all.length - 1) > COARSEST) {
    level = { width: level.width * 2, lanes: level.lanes.map((b) => b && halved(b)) };
    all.push(level);
  }
  return all;
}

function bins(n) {
  return { held: new Float32Array(n), wait: new Float32Array(n), flags: new Uint8Array(n) };
}

function binned(data, shown, l, width) {
  const { ops, holds } = data, b = bins(FINEST);
  const bin = (t) => Math.min(FINEST - 1, Math.max(0, Math.floor(t / width)));
  const spread = (array, from, to) => {
    const first = bin(from), last = bin(to);
    if (first === last) array[first] += (to - from) / width;
    else {
      array[first] += (first + 1) - from / width;
      for (let k = first + 1; k < last; k++) array[k] += 1;
      array[last] += Math.min(1, to / width - last);
    }
  };
  const flag = (f, from, to) => { for (let k = bin(from); k <= bin(to); k++) b.flags[k] |= f; };
  for (const h of shown.laneHolds[l].items) {
    spread(b.held, holds.from[h], Math.max(holds.vouched[h], holds.from[h] + 1));
    if (holds.to[h] > holds.vouched[h]) flag(OVERSTAYED, holds.vouched[h], holds.to[h]);
    if (holds.remains[h] > holds.to[h]) flag(LINGERED, holds.to[h], holds.remains[h]);
  }
  for (const i of shown.laneOps[l].items) {
    if (ops.kind[i] === ACQUIRE) spread(b.wait, ops.from[i], Math.max(ops.to[i], ops.from[i] + 1));
    else if (refused(ops, i)) flag(REFUSED, ops.to[i], ops.to[i]);
  }
  return b;
}

// refused tells a release of which the server said: not yours, or nothing changed.
function refused(ops, i) {
  return ops.kind[i] === RELEASE && ops.code[i] > FAILED;
}

function halved(b) {
  const n = b.held.length / 2, half = bins(n);
  for (let k = 0; k < n; k++) {
    half.held[k] = (b.held[2 * k] + b.held[2 * k + 1]) / 2;
    half.wait[k] = (b.wait[2 * k] + b.wait[2 * k + 1]) / 2;
    half.flags[k] = b.flags[2 * k] | b.flags[2 * k + 1];
  }
  return half;
}

// levelFor chooses the level whose bins are a pixel wide or a little more, or null where
// the operations themselves can be drawn: they are few, or the finest bins are too coarse.
function levelFor(data, shown, view, plot) {
  const perPixel = (view.to - view.from) / plot;
  const inView = shown.operations * (view.to - view.from) / data.end;
  if (inView < 0.5 * plot * Math.max(1, shown.lanes.length) || shown.levels[0].width > 2 * perPixel) return null;
  return shown.levels.find((level) => level.width >= perPixel) || shown.levels[shown.levels.length - 1];
}
