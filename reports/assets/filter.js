// What a filter lets through: the lanes, and in each the operations and holds by their
// start, so that what is in view is found by bisection.

const EVERYTHING = { lock: -1, sku: -1, client: -1 };

// choices lists what can be filtered by: locks and SKUs as indexes of objects, clients.
function choices(data) {
  const locks = new Set(), skus = new Set();
  for (let i = 0; i < data.ops.n; i++) (data.ops.kind[i] === DEDUCT ? skus : locks).add(data.ops.object[i]);
  const named = (set) => [...set].sort((a, b) => data.objects[a].localeCompare(data.objects[b], "en", { numeric: true }))
    .map((o) => [o, data.objects[o] || "(no name)"]);
  return { lock: named(locks), sku: named(skus), client: [...new Set(data.lanes.map(([c]) => c))].map((c) => [c, `client ${c}`]) };
}

// passes gives the test whether an operation is let through. A lock and the SKUs that it
// guards belong together: filtering by one shows both.
function passes(data, filter) {
  const guards = new Set(data.guards.map(([sku, lock]) => `${sku} ${lock}`));
  const { object, kind, lane } = data.ops;
  const fits = (wanted, o, other) => wanted < 0 || o === wanted || other(wanted, o);
  return (i) => {
    if (filter.client >= 0 && data.lanes[lane[i]][0] !== filter.client) return false;
    if (filter.lock < 0 && filter.sku < 0) return true;
    const sells = kind[i] === DEDUCT, o = object[i];
    return fits(filter.lock, sells ? -1 : o, (lock) => sells && guards.has(`${o} ${lock}`)) &&
      fits(filter.sku, sells ? o : -1, (sku) => !sells && guards.has(`${sku} ${o}`));
  };
}

// choose gives what a filter shows. Violations are in order of time: n and p walk through them.
function choose(data, filter) {
  const ok = passes(data, filter), all = filter.lock < 0 && filter.sku < 0 && filter.client < 0;
  const lanes = [...data.lanes.keys()].filter((l) => filter.client < 0 || data.lanes[l][0] === filter.client);
  const shown = { filter, lanes, ok, all, laneOps: byLane(data.lanes.length, data.ops, ok),
    laneHolds: byLane(data.lanes.length, data.holds, (h) => ok(data.holds.op[h])) };
  shown.ledger = data.ledger.filter((e) => ok(e.op));
  shown.ledgerAt = Float64Array.from(shown.ledger, (e) => e.at);
  // A violation without operations in the page cannot be filtered: it is always shown.
  shown.violations = [...data.violations.keys()]
    .filter((i) => all || data.violations[i].o.length === 0 || data.violations[i].o.some(ok))
    .sort((a, b) => data.violations[a].f - data.violations[b].f || a - b);
  shown.operations = shown.laneOps.reduce((n, l) => n + l.items.length, 0);
  shown.levels = levels(data, shown);
  return shown;
}

// byLane lists the spans of each lane by their start, with the latest end so far: spans
// of a lane may overlap.
function byLane(lanes, spans, ok) {
  const lists = Array.from({ length: lanes }, () => ({ items: [], latest: [] }));
  for (let i = 0; i < spans.n; i++) {
    if (!ok(i)) continue;
    const l = lists[spans.lane[i]], end = spans.remains ? spans.remains[i] : spans.to[i];
    l.items.push(i);
    l.latest.push(Math.max(end, l.latest.length ? l.latest[l.latest.length - 1] : 0));
  }
  return lists;
}

// each calls f with the spans of a list that are in view.
function each(list, starts, view, f) {
  for (let k = bisect(list.latest, view.from); k < list.items.length; k++) {
    const i = list.items[k];
    if (starts[i] > view.to) return;
    f(i);
  }
}
