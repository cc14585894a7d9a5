// A film is a recorded run. Everything that the page shows is a function of a
// film and an instant; this module makes that function fast: an index with
// checkpoints, so that no instant is computed from the start.
import { failure, inEnglish } from "./strings.js";

const LAST = Number.MAX_SAFE_INTEGER; // instant that a film can have, 104 days
const EVERY = 256; // entries between two checkpoints

// The first index of a sorted array whose value is above x.
export function above(sorted, x) {
  let lo = 0, hi = sorted.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (sorted[mid] > x) hi = mid; else lo = mid + 1;
  }
  return lo;
}

// The index of a film. A film that lacks what it must have is an error, for
// films are dropped onto the page, too.
export function indexFilm(film) {
  if (!film || !Array.isArray(film.packets) || !Array.isArray(film.marks) || !Array.isArray(film.clients)) {
    throw failure("not a film: it needs clients, packets and marks", "不是录像：里面必须有 clients、packets 和 marks");
  }
  const instants = [film.end_ns ?? 0, ...film.packets.flatMap(p => [p.sent_ns, p.arrived_ns]), ...film.marks.map(m => m.at_ns)];
  if (!instants.every(x => Number.isFinite(x) && x >= 0 && x <= LAST)) throw failure("not a film: it has an instant that is not a number of nanoseconds from 0 to " + LAST,
    "不是录像：其中有一个时刻不是 0 到 " + LAST + " 之间的纳秒数");
  const packets = film.packets, marks = film.marks;
  const clients = film.clients.map(c => c.name);
  const units = [], clientOf = new Map();
  for (const c of film.clients) {
    for (const u of c.contenders && c.contenders.length ? c.contenders : [c.name]) {
      units.push(u);
      clientOf.set(u, c.name);
    }
  }
  const unitIndex = new Map(units.map((u, i) => [u, i]));
  const clientIndex = new Map(clients.map((c, i) => [c, i]));
  const unitsOf = new Map(clients.map(c => [c, []]));
  for (const u of units) unitsOf.get(clientOf.get(u)).push(unitIndex.get(u));
  const F = { film, packets, marks, clients, units, clientOf, unitIndex, clientIndex, unitsOf };
  F.shared = units.length > clients.length;
  F.sent = Float64Array.from(packets, p => p.sent_ns);
  F.markAt = Float64Array.from(marks, m => m.at_ns);
  const of = kind => Float64Array.from(packets.filter(p => p.kind === kind && (kind === "request" || !p.lost)), p => kind === "request" ? p.sent_ns : p.arrived_ns).sort();
  F.requestAt = of("request");
  F.eventAt = of("event");
  F.wakeAt = Float64Array.from(marks.filter(m => m.kind === "wakeup"), m => m.at_ns).sort();
  F.wasteAt = wasted(marks, packets);
  const done = marks.filter(m => m.kind === "state" && m.state === "done");
  F.doneAt = new Set(done.map(m => m.who)).size < units.length ? Infinity : Math.max(0, ...done.map(m => m.at_ns));
  F.byId = new Map(packets.map((p, i) => [p.id, i]));
  F.end = film.end_ns || 0;
  F.growing = !!film.growing; // it is known up to its end, and goes on
  if (!F.growing) {
    for (const p of packets) if (p.arrived_ns > F.end) F.end = p.arrived_ns;
    for (const m of marks) if (m.at_ns > F.end) F.end = m.at_ns;
  }
  F.latency = film.latency_ns > 0 ? film.latency_ns : 1e8; // in a schedule of choices each action takes this time

  const all = new Float64Array(packets.length * 2 + marks.length + 1);
  let n = 1; // instant 0
  for (const p of packets) { all[n++] = p.sent_ns; all[n++] = p.arrived_ns; }
  for (const m of marks) all[n++] = m.at_ns;
  F.instants = unique(all.sort());
  F.arrivalOrder = packets.map((_, i) => i).sort((a, b) => packets[a].arrived_ns - packets[b].arrived_ns || a - b);
  F.arrivals = Float64Array.from(F.arrivalOrder, i => packets[i].arrived_ns);
  const when = f => unique(Float64Array.from(marks.filter(f), m => m.at_ns).sort());
  F.holds = when(m => m.kind === "state" && m.state === "holds");
  F.violations = when(m => m.kind === "violation" || m.kind === "lost" && !m.knows);

  // Packets on their way at the instant of each EVERY-th.
  F.flying = [];
  let flying = [];
  for (let i = 0; i < packets.length; i++) {
    if (i % EVERY === 0) {
      flying = flying.filter(j => packets[j].arrived_ns >= packets[i].sent_ns);
      F.flying.push(flying.slice());
    }
    flying.push(i);
  }
  // If several contenders share a session, the server records only the session.
  // The packets say which contender has made a node or set a watch.
  F.makers = new Map();
  F.watchers = new Map();
  for (const p of packets) {
    if (!p.who || p.who === p.client) continue;
    if (p.made) F.makers.set(p.made, p.who);
    if (p.kind === "request" && p.watch) F.watchers.set(p.client + "|" + p.path + "|" + p.arrived_ns, p.who);
  }
  indexNodes(F);
  F.states = [];
  let s = firstState(F);
  for (let i = 0; i < marks.length; i++) {
    if (i % EVERY === 0) F.states.push(copyState(s));
    apply(F, s, marks[i], i);
  }
  if (F.states.length === 0) F.states.push(copyState(s));
  indexSegments(F);
  indexWhere(F);
  return F;
}

// way is the part of its way that a packet has gone. A request that waits at the server
// has gone all of it.
export function way(p, t) {
  const to = p.queued_ns || p.arrived_ns;
  return t >= to ? 1 : Math.max(0, (t - p.sent_ns) / Math.max(1, to - p.sent_ns));
}

// wasted are the instants at which a contender that was woken has read that it is not its turn:
// the last of its requests is answered, and it waits.
function wasted(marks, packets) {
  const asked = new Map(), answers = new Map(), states = new Map(), list = [];
  for (const p of packets) {
    if (p.kind === "request") asked.set(p.who + p.sent_ns, p);
    if (p.kind === "reply" && !p.lost && !p.pending) answers.set(p.of, p.arrived_ns);
  }
  for (const m of marks) if (m.kind === "state") states.set(m.who, [...states.get(m.who) || [], m]);
  for (const m of marks) {
    if (m.kind !== "wakeup") continue;
    let at = m.at_ns;
    for (let p; at !== undefined && (p = asked.get(m.who + at));) at = answers.get(p.id);
    if (at !== undefined && states.get(m.who)?.findLast(s => s.at_ns <= at)?.state === "waits") list.push(at);
  }
  return Float64Array.from(list).sort();
}

function unique(sorted) {
  let n = 0;
  for (let i = 0; i < sorted.length; i++) if (n === 0 || sorted[i] !== sorted[n - 1]) sorted[n++] = sorted[i];
  return sorted.slice(0, n);
}

// Each znode of the queue has a place of its own for the whole film, in the
// order of the numbers in the names: so nothing jumps.
function indexNodes(F) {
  const paths = new Set();
  F.firstMade = new Map();
  for (const m of F.marks) {
    if (m.kind === "node") { paths.add(m.path); if (m.made && !F.firstMade.has(m.path)) F.firstMade.set(m.path, m.at_ns); }
    if (m.kind === "watch") paths.add(m.path);
  }
  const parents = new Set();
  for (const p of paths) for (let d = dirOf(p); d; d = dirOf(d)) parents.add(d);
  const leaves = [...paths].filter(p => !parents.has(p));
  const number = p => { const m = /(\d{6,})$/.exec(p); return m ? Number(m[1]) : -1; };
  leaves.sort((a, b) => dirOf(a) < dirOf(b) ? -1 : dirOf(a) > dirOf(b) ? 1 : number(a) - number(b) || (a < b ? -1 : a > b ? 1 : 0));
  F.leaves = leaves;
  F.leafIndex = new Map(leaves.map((p, i) => [p, i]));
  // The place of each contender in a crowd: that of its first node, so that
  // the queue can be seen; then the others, as they are named.
  const first = F.units.map(() => Infinity);
  for (const m of F.marks) {
    if (m.kind !== "node" || !m.made || !m.owner) continue;
    const at = F.leafIndex.get(m.path);
    for (const u of F.unitIndex.has(m.owner) ? [F.unitIndex.get(m.owner)] : F.unitsOf.get(m.owner) || []) if (at < first[u]) first[u] = at;
  }
  const sorted = F.units.map((_, i) => i).sort((a, b) => first[a] === first[b] ? a - b : first[a] - first[b]);
  F.order = [];
  sorted.forEach((u, i) => { F.order[u] = i; });
  const near = new Map();
  for (const p of leaves) near.set(dirOf(p), (near.get(dirOf(p)) || 0) + 1);
  let root = "";
  for (const [d, k] of near) if (d && (!root || k > near.get(root))) root = d;
  F.root = root;
}

export function dirOf(path) {
  const i = path.lastIndexOf("/");
  return i > 0 ? path.slice(0, i) : "";
}

// The part of a node's name that a person reads: its number, without the zeros in
// front.
export function shortName(path) {
  const m = /(\d{6,})$/.exec(path);
  return m ? "#" + Number(m[1]) : path.slice(path.lastIndexOf("/") + 1);
}

function firstState(F) {
  return {
    units: F.units.map(() => ({ state: "outside", looks: "outside", since: 0, text: "", lost: "", token: 0, fence: 0, error: "" })),
    variables: F.units.map(() => []), // that its lock remembers
    sessions: F.film.clients.map(c => c.session || ""),
    conns: F.clients.map(() => "connected"),
    stopped: F.clients.map(() => false), // it may be "expired" besides
    woken: F.units.map(() => -1),
    nodes: new Map(), watches: new Map(), violation: -1, last: -1,
  };
}

function copyState(s) {
  return { units: s.units.slice(), variables: s.variables.slice(), sessions: s.sessions.slice(), conns: s.conns.slice(), stopped: s.stopped.slice(), woken: s.woken.slice(), nodes: new Map(s.nodes), watches: new Map(s.watches), violation: s.violation, last: s.last };
}

// The words of a contender whose call has returned an error. Its script ends
// all the same, and then it is not drawn as one that has succeeded.
const FAILED = /^(gives up|gets an error|cannot unlock|Unlock fails|finds that the lock was lost)/;

// apply carries a state over one mark. Values are replaced, never changed in
// place, for checkpoints share them.
function apply(F, s, m, i) {
  s.last = i;
  switch (m.kind) {
    case "state": {
      const u = F.unitIndex.get(m.who);
      if (u === undefined) break;
      const old = s.units[u];
      const keep = m.state === "unlocks" || m.state === "holds" && old.state === "holds";
      const error = m.state === "outside" && m.text ? FAILED.test(inEnglish(m.text)) ? m.text : "" : m.state === "outside" || m.state === "done" ? old.error : "";
      const looks = !error ? m.state : /^gives up/.test(inEnglish(error)) ? "gave up" : "failed";
      s.units[u] = { state: m.state, looks, since: m.at_ns, text: m.text || "", lost: keep ? old.lost : "", token: old.token, fence: m.state === "holds" ? m.token || (old.state === "holds" ? old.fence : 0) : m.state === "unlocks" ? old.fence : 0, error };
      break;
    }
    case "client": {
      const c = F.clientIndex.get(m.who);
      if (c === undefined) break;
      s.conns[c] = m.state === "runs on" ? "connected" : m.state;
      if (m.session) s.sessions[c] = m.session;
      if (m.state === "stopped") s.stopped[c] = true;
      if (m.state === "runs on") s.stopped[c] = false;
      break;
    }
    case "lost": {
      const list = F.unitIndex.has(m.who) ? [F.unitIndex.get(m.who)] : F.unitsOf.get(m.who) || [];
      for (const u of list) s.units[u] = { ...s.units[u], lost: m.knows ? "knows" : "unaware", token: m.token || 0 };
      break;
    }
    case "node":
      if (m.made) s.nodes.set(m.path, { owner: F.clientIndex.has(m.owner) && !F.unitIndex.has(m.owner) && F.makers.get(m.path) || m.owner || "", at: m.at_ns, session: m.session || "", data: m.data || "", czxid: m.czxid || 0, version: 0 }); else s.nodes.delete(m.path);
      break;
    case "data":
      s.nodes.set(m.path, { ...s.nodes.get(m.path), data: m.data || "", czxid: m.czxid || 0, version: m.version || 0 });
      break;
    case "variables":
      if (F.unitIndex.has(m.who)) s.variables[F.unitIndex.get(m.who)] = m.variables || [];
      break;
    case "watch": {
      const key = m.client + "|" + m.path + "|" + m.of;
      if (m.set) s.watches.set(key, { client: m.client, who: F.watchers.get(m.client + "|" + m.path + "|" + m.at_ns) || "", path: m.path, of: m.of, at: m.at_ns }); else s.watches.delete(key);
      break;
    }
    case "wakeup": {
      const u = F.unitIndex.get(m.who);
      if (u !== undefined) s.woken[u] = m.at_ns;
      break;
    }
    case "violation":
      s.violation = i;
      break;
  }
}

// How many entries of films were looked at, and how many attributes and texts of the
// stage have changed; tests hold it down.
export const looked = { marks: 0, packets: 0, writes: 0 };

// The state at an instant, everything of that instant included.
export function stateAt(F, t) {
  const n = above(F.markAt, t);
  const c = Math.min(F.states.length - 1, Math.floor(n / EVERY));
  const s = copyState(F.states[c]);
  for (let i = c * EVERY; i < n; i++) apply(F, s, F.marks[i], i);
  looked.marks += n - c * EVERY;
  s.requests = above(F.requestAt, t);
  s.events = above(F.eventAt, t);
  s.wakeups = above(F.wakeAt, t);
  s.wasted = above(F.wasteAt, t);
  return s;
}

// The packets of which something can be seen between two instants.
export function packetsIn(F, from, to) {
  const first = above(F.sent, from), last = above(F.sent, to);
  const c = Math.max(0, Math.min(F.flying.length - 1, Math.floor(first / EVERY)));
  const list = [];
  if (F.flying.length > 0) {
    for (const i of F.flying[c]) if (F.packets[i].arrived_ns >= from) list.push(i);
    for (let i = c * EVERY; i < first; i++) if (F.packets[i].arrived_ns >= from) list.push(i);
  }
  for (let i = first; i < last; i++) list.push(i);
  looked.packets += (F.flying[c] || []).length + last - c * EVERY;
  return list;
}

// The contents of each lane: stretches of time in one state.
function indexSegments(F) {
  F.lanes = F.units.map(() => []);
  const open = F.units.map(() => ({ from: 0, state: "outside", lost: "" }));
  const conn = F.clients.map(() => ({ from: 0, state: "connected" }));
  F.breaks = F.clients.map(() => []);
  const s = firstState(F);
  F.marks.forEach((m, i) => {
    apply(F, s, m, i);
    if (m.kind === "state" || m.kind === "lost") {
      const list = F.unitIndex.has(m.who) ? [F.unitIndex.get(m.who)] : F.unitsOf.get(m.who) || [];
      for (const u of list) {
        const now = s.units[u], o = open[u];
        if (now.state === o.state && now.lost === o.lost) continue;
        F.lanes[u].push({ from: o.from, to: m.at_ns, state: o.state, lost: o.lost });
        open[u] = { from: m.at_ns, state: now.state, lost: now.lost };
      }
    }
    if (m.kind === "client") {
      const c = F.clientIndex.get(m.who);
      if (c === undefined || conn[c].state === s.conns[c]) return;
      if (conn[c].state !== "connected") F.breaks[c].push({ from: conn[c].from, to: m.at_ns, state: conn[c].state });
      conn[c] = { from: m.at_ns, state: s.conns[c] };
    }
  });
  open.forEach((o, u) => F.lanes[u].push({ from: o.from, to: Infinity, state: o.state, lost: o.lost }));
  conn.forEach((o, c) => { if (o.state !== "connected") F.breaks[c].push({ from: o.from, to: Infinity, state: o.state }); });
  // When two hold at once: for the strip above the time.
  F.hold = [];
  F.lanes.forEach((lane, u) => { for (const g of lane) if (g.state === "holds") F.hold.push({ unit: u, from: g.from, to: g.to, lost: g.lost }); });
  F.hold.sort((a, b) => a.from - b.from);
}

// Where each contender is in the lock's source, by instants.
function indexWhere(F) {
  F.places = F.film.places || [];
  F.where = F.units.map(() => ({ at: [], list: [] }));
  for (const w of F.film.where || []) {
    const u = F.unitIndex.get(w.who);
    if (u === undefined) continue;
    F.where[u].at.push(w.at_ns);
    F.where[u].list.push(w.at);
  }
}

// The places of each contender at an instant, from the line that it is at to
// the call of the lock, and the last instant at which one has moved.
export function whereAt(F, t) {
  return F.where.map((w, u) => {
    const i = above(w.at, t) - 1;
    return { unit: F.units[u], at: i < 0 ? [] : w.list[i], since: i < 0 ? -1 : w.at[i], left: i < 1 ? [] : w.list[i - 1] };
  });
}

// lastOf is the instant up to which a film's last state is drawn. It goes on beside a longer film, as when a hang ends it.
export const lastOf = (F, clock) => F.growing ? F.end : clock.end;

// Time as it is shown. Where nothing happens for long (a session timeout of
// 40 s among packets of 20 ms), the clock hurries: a gap is shown as a short
// one. Films side by side share one clock.
export function makeClock(films) {
  let latency = films.every(F => F.latency < 1e6) ? 1e4 : 1e6, end = 0, total = 0;
  for (const F of films) { latency = Math.max(latency, F.latency); end = Math.max(end, F.end); total += F.instants.length; }
  const all = new Float64Array(total + 1);
  let n = 0;
  for (const F of films) { all.set(F.instants, n); n += F.instants.length; }
  all[n] = end;
  const at = unique(all.sort());
  const limit = latency * 12;
  const t = [0], w = [0], gaps = [];
  for (let i = 1; i < at.length; i++) {
    const gap = at[i] - at[i - 1];
    if (gap <= limit) continue;
    const from = w[w.length - 1] + (at[i - 1] - t[t.length - 1]);
    t.push(at[i - 1], at[i]);
    const shown = latency * 4 * Math.min(2, 1 + Math.log10(gap / limit) / 4);
    w.push(from, from + shown);
    gaps.push({ from: at[i - 1], to: at[i] });
  }
  const clock = { instants: at, gaps, end, latency };
  // Shown time of an instant, and back.
  clock.shown = x => between(t, w, x);
  clock.instant = x => Math.min(end, Math.max(0, between(w, t, x)));
  clock.length = clock.shown(end);
  return clock;
}

function between(from, to, x) {
  const i = Math.max(0, above(from, x) - 1);
  if (i + 1 >= from.length) return to[i] + (x - from[i]);
  const a = from[i], b = from[i + 1];
  return a === b ? to[i] : to[i] + (x - a) / (b - a) * (to[i + 1] - to[i]);
}

// The next instant of a sorted list after t, or the last one before it; -1 if
// there is none.
export function nextOf(sorted, t, forward) {
  if (forward) {
    const i = above(sorted, t);
    return i < sorted.length ? sorted[i] : -1;
  }
  let i = above(sorted, t) - 1;
  while (i >= 0 && sorted[i] >= t) i--;
  return i >= 0 ? sorted[i] : -1;
}
