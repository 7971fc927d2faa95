// Says in words what the timeline shows: for tooltips, and for those who cannot see it.

const MOST = 14; // lines of a tooltip

// describe tells what is at time t and height y; near is how far beside it counts.
function describe(s, t, y, near, violations) {
  const { data, shown, lay } = s;
  if (violations.length) return violationWords(data, violations);
  if (y >= lay.ledger) return ledgerWords(shown, data, t, near);
  const lines = [], node = y < lay.nodes || y >= lay.lanes ? null : data.nodes[Math.floor((y - lay.nodes) / ROW)];
  if (node) {
    const i = node.t.findLastIndex((at) => at <= t);
    if (i >= 0) lines.push(`${node.node}: ${node.r[i]}, ${seconds(node.t[i])} to ${seconds(roleEnd(data, node, i))}`);
  }
  const l = shown.lanes[Math.floor((y - lay.lanes) / lay.lane)];
  if (l !== undefined) lines.push(...laneWords(s, l, { from: t - near, to: t + near }));
  for (const f of data.faults) {
    if (t < f.from - near || t > f.to + near || y < lay.faults) continue;
    if (l !== undefined ? hits(f, data.lanes[l][0]) : y < lay.nodes ? f.row === Math.floor((y - lay.faults) / ROW) : f.node === node?.node) {
      lines.push(...faultWords(f));
    }
  }
  return lines;
}

function faultWords(f) {
  const end = f.open ? "the end of the record" : seconds(f.to);
  const lines = [`${f.name} ${f.kind}, ${f.target}: ${seconds(f.from)} to ${end}${f.landed ? "" : " (not proven to have landed)"}`];
  if (f.proof) lines.push("  proof: " + f.proof);
  if (f.healed) lines.push("  healed: " + f.healed);
  return lines;
}

function violationWords(data, violations) {
  const lines = violations.slice(0, 6).map((i) => {
    const v = data.violations[i];
    return `violation: ${v.p} ${v.n}, ${v.t > v.f ? `${seconds(v.f)} to ${seconds(v.t)}` : seconds(v.f)}`;
  });
  if (violations.length > 6) lines.push(`and ${violations.length - 6} more`);
  return [...lines, "click to see what happened"];
}

function ledgerWords(shown, data, t, near) {
  const lines = [], first = bisect(shown.ledgerAt, t - near), last = bisect(shown.ledgerAt, t + near);
  const lost = shown.ledger.slice(first, last).filter((e) => e.lost);
  for (const e of (lost.length ? lost : shown.ledger.slice(first, last)).slice(0, 5)) {
    lines.push(`${seconds(e.at)}: ${writeWords(e)} (operation ${data.ops.id[e.op]})`);
  }
  if (last - first > lines.length) lines.push(`${last - first} writes in ${lasting(2 * near)}`);
  return lines;
}

function writeWords(e) {
  return `stock ${e.found} → ${e.left}` + (e.lost ? `, computed from ${e.basis}: an update is lost` : "");
}

// laneWords tells the operations and holds of a lane in a window, or sums them up.
function laneWords(s, l, window) {
  const { data, shown } = s, { ops, holds } = data, found = [], held = [];
  each(shown.laneHolds[l], holds.from, window, (h) => { if (holds.remains[h] >= window.from) held.push(h); });
  each(shown.laneOps[l], ops.from, window, (i) => { if (ops.to[i] >= window.from) found.push(i); });
  if (found.length + held.length <= 8) {
    return [...held.flatMap((h) => holdWords(data, h)), ...found.flatMap((i) => opWords(data, i))].slice(0, MOST);
  }
  const kinds = KINDS.map((name, k) => [found.filter((i) => ops.kind[i] === k).length, name]).filter(([n]) => n > 0);
  const [client, worker] = data.lanes[l], over = held.filter((h) => holds.to[h] > holds.vouched[h]);
  const lines = [`client ${client} worker ${worker}, ${lasting(window.to - window.from)}: ` +
    [...kinds.map(([n, name]) => `${n} ${name}`), `${held.length} holds`].join(", ")];
  for (const h of over.slice(0, 2)) lines.push(...holdWords(data, h));
  if (over.length > 2) lines.push(`${over.length} holds here outlive their lease`);
  return [...lines, "zoom in to see each"];
}

function holdWords(data, i) {
  const h = data.holds, ending = ENDINGS[Number(h.ending[i])] || "";
  const lines = [`hold: ${seconds(h.from[i])} to ${seconds(h.to[i])} (${lasting(h.to[i] - h.from[i])}), ${ending}`];
  if (h.vouched[i] <= h.from[i] && h.to[i] > h.from[i]) lines.push("  nothing was granted: the client entered all the same");
  else if (h.vouched[i] < h.to[i]) lines.push(`  lease over at ${seconds(h.vouched[i])}: overstays by ${lasting(h.to[i] - h.vouched[i])}`);
  if (h.remains[i] > h.to[i]) lines.push(`  its lease goes on without a holder to ${seconds(h.remains[i])}`);
  return lines;
}

function opWords(data, i) {
  const o = data.ops, d = data.details[i], wrote = data.wrote.get(i);
  let line = `${KINDS[o.kind[i]]} (operation ${o.id[i]}): ${CODES[o.code[i]]}, ${seconds(o.from[i])}`;
  line += o.open[i] ? ", no known return" : ` + ${lasting(o.to[i] - o.from[i])}`;
  line += ` · ${data.objects[o.object[i]]}`;
  const lines = [line];
  if (wrote) lines.push("  " + writeWords(wrote));
  if (o.note.has(i)) lines.push("  " + data.notes[o.note.get(i)]);
  if (d) {
    const parts = Object.entries(d).map(([k, v]) => `${k} ${v}`);
    if (parts.length) lines.push("  " + parts.join(", "));
  }
  return lines;
}

// selectedWords tells all about one operation.
function selectedWords(data, i) {
  const [client, worker] = data.lanes[data.ops.lane[i]], h = data.holds.ofOp.get(i);
  const lines = [`client ${client} worker ${worker}`, ...opWords(data, i)];
  if (h !== undefined) lines.push(...holdWords(data, h));
  const span = spanOf(data, i);
  for (const f of data.faults) {
    if (f.from <= span.to && f.to >= span.from && hits(f, client)) lines.push(...faultWords(f));
  }
  const named = data.violations.flatMap((v) => (v.o.includes(i) ? [`${v.p} ${v.n}`] : []));
  if (named.length) lines.push("part of the violation " + named.slice(0, 5).join(", "));
  return lines;
}
