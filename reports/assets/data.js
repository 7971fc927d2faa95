// Reads the timeline's data: columns of small numbers, most of them less the one before
// (data.go writes them, pack.go packs them). Out come plain arrays. Times are microseconds since the load began.

const KINDS = ["acquire", "extend", "release", "deduct", "operation"];
const CODES = ["unknown", "ok", "ok, sold", "failed", "failed: not acquired",
  "failed: not held", "failed: no effect", "failed: not done"];
const ACQUIRE = 0, EXTEND = 1, RELEASE = 2, DEDUCT = 3;
const UNKNOWN = 0, FAILED = 3;
const DIED = "2"; // an ending
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ENDINGS = ["to the end of the record", "until its release", "until its client dies",
  "until the client gives it up"];

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const DIGIT = new Uint8Array(128);
for (let i = 0; i < DIGITS.length; i++) DIGIT[DIGITS.charCodeAt(i)] = i;

// inflate gives the text that stands in the page as a base64 string of a deflate stream.
async function inflate(base64) {
  const binary = atob(base64), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

// unpack reads a column: five bits a character, lowest first, the sixth bit saying that
// more follow, the lowest bit of a number being its sign.
function unpack(text) {
  const out = [];
  let value = 0, place = 1;
  for (let k = 0; k < (text || "").length; k++) {
    const d = DIGIT[text.charCodeAt(k)];
    value += (d & 31) * place; // no shifts: numbers may need more than 32 bits
    place *= 32;
    if (d >= 32) continue;
    out.push(value % 2 ? -(value + 1) / 2 : value / 2);
    value = 0;
    place = 1;
  }
  return out;
}

// columns unpacks every column of a table but those named.
function columns(table, ...plain) {
  return Object.fromEntries(Object.entries(table).map(([k, v]) => [k, plain.includes(k) ? v : unpack(v)]));
}

function decode(raw) {
  const data = {
    end: Math.max(raw.end, 1), lanes: raw.lanes || [], objects: raw.objects, notes: raw.notes, guards: raw.guards,
    faults: (raw.faults || []).map((f) => ({ ...f, from: f.from * 1e6, to: f.to * 1e6 })),
    nodes: raw.nodes || [], violations: raw.violations, details: raw.details, gaps: raw.gaps || [],
    ops: decodeOps(columns(raw.ops, "k"), (raw.lanes || []).length),
  };
  data.holds = decodeHolds(columns(raw.holds, "e"), data.ops);
  data.ledger = decodeLedger(columns(raw.ledger), data.ops);
  data.wrote = new Map(data.ledger.map((e) => [e.op, e]));
  return data;
}

function decodeOps(c, lanes) {
  const n = c.t.length, ids = new Array(lanes).fill(0);
  const ops = {
    n, from: new Float64Array(n), to: new Float64Array(n), open: new Uint8Array(n), kind: new Uint8Array(n),
    code: new Uint8Array(n), lane: Int32Array.from(c.l), id: new Float64Array(n), note: new Map(),
    object: c.o ? Int32Array.from(c.o) : new Int32Array(n), // absent: there is only one
  };
  const codeOf = Object.fromEntries([...ALPHABET].map((character, i) => [character, i]));
  let t = 0;
  for (let i = 0; i < n; i++) {
    t += c.t[i];
    ops.open[i] = c.d[i] < 0 ? 1 : 0;
    ops.from[i] = t;
    ops.to[i] = t + (c.d[i] < 0 ? -c.d[i] - 1 : c.d[i]);
    const k = codeOf[c.k[i]];
    ops.kind[i] = k / CODES.length | 0;
    ops.code[i] = k % CODES.length;
    ids[ops.lane[i]] += c.i[i];
    ops.id[i] = ids[ops.lane[i]];
  }
  for (let i = 0, op = 0; i < c.n.length; i += 2) {
    op += c.n[i];
    ops.note.set(op, c.n[i + 1]);
  }
  return ops;
}

function decodeHolds(c, ops) {
  const n = c.t.length;
  const holds = {
    n, op: new Int32Array(n), lane: new Int32Array(n), from: new Float64Array(n), to: new Float64Array(n),
    vouched: new Float64Array(n), remains: new Float64Array(n), ending: c.e, depth: c.d, ofOp: new Map(),
  };
  let op = 0;
  for (let i = 0; i < n; i++) {
    op += c.a[i];
    holds.op[i] = op;
    holds.ofOp.set(op, i);
    holds.lane[i] = ops.lane[op];
    holds.from[i] = ops.to[op];
    holds.to[i] = holds.remains[i] = ops.to[op] + c.t[i];
    holds.vouched[i] = c.v[i] < 0 ? holds.to[i] : holds.from[i] + c.v[i];
  }
  for (let i = 0; i < c.r.length; i += 2) holds.remains[c.r[i]] += c.r[i + 1];
  return holds;
}

function decodeLedger(c, ops) {
  const n = c.o.length, lost = new Map();
  for (let i = 0; i < c.b.length; i += 2) lost.set(c.b[i], c.b[i + 1]);
  const entries = [];
  let op = 0, left = 0;
  for (let i = 0; i < n; i++) {
    op += c.o[i];
    const found = left + c.f[i];
    left = found + c.l[i];
    entries.push({ op, found, left, lost: lost.has(i), basis: found + (lost.get(i) || 0), at: ops.to[op] });
  }
  return entries.sort((a, b) => a.at - b.at);
}

// bisect finds the first index of a sorted array whose value is at least v.
function bisect(array, v) {
  let lo = 0, hi = array.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (array[mid] < v) lo = mid + 1; else hi = mid;
  }
  return lo;
}
