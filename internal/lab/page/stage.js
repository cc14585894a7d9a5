import { dirOf, looked, packetsIn, shortName, way } from "./film.js";
import { say, packetWord } from "./strings.js";

// The stage shows one instant: the server with the znodes above, the clients
// below, packets on their way, and the watches as threads. Its elements are a
// function of film and instant, whatever was shown before.

const SVG = "http://www.w3.org/2000/svg";

export function svgEl(name, attributes, parent) {
  const e = document.createElementNS(SVG, name);
  for (const k in attributes) e.setAttribute(k, attributes[k]);
  if (parent) parent.appendChild(e);
  return e;
}

// put sets an attribute if it is not set so already.
function put(e, name, value) {
  const have = e.had || (e.had = {});
  if (have[name] === value) return;
  have[name] = value;
  looked.writes++;
  e.setAttribute(name, value); // never removed: the order of attributes would depend on what was shown before
}

function write(e, text) {
  if (e.wrote === text) return;
  e.wrote = text;
  looked.writes++;
  e.textContent = text;
}

// A lost packet gets half way, and so does one that waits for a choice.
export function reachOf(p) { return p.lost ? 0.55 : p.pending ? 0.5 : 1; }

const round = x => Math.round(x * 10) / 10;

// The shapes differ as the colours do: a request points up, a reply points
// down and is hollow, an event is a star, a lost packet is a cross.
const SHAPES = {
  request: "M0-7L6 5L-6 5Z",
  reply: "M0 7L6-5L-6-5Z",
  event: "M0-9L2.3-2.9L8.8-2.8L3.7 1.2L5.6 7.5L0 3.8L-5.6 7.5L-3.7 1.2L-8.8-2.8L-2.3-2.9Z",
  lost: "M-6-4L-4-6L0-2L4-6L6-4L2 0L6 4L4 6L0 2L-4 6L-6 4L-2 0Z",
};

export class Stage {
  constructor(svg) {
    this.svg = svg;
    this.svg.classList.add("stage");
    this.width = 600;
    this.natural = 266; // height, as it is drawn where letters are not enlarged
    this.scale = 1;
    this.F = null;
  }

  setFilm(F) {
    this.F = F;
    this.build();
  }

  // On a projector letters are larger, and so is the stage: scale.
  resize(width, scale) {
    width /= scale;
    if (Math.abs(width - this.width) < 1 && scale === this.scale) return;
    this.width = width;
    this.scale = scale;
    if (this.F) this.build();
  }

  build() {
    const { svg, F } = this, W = this.width, n = F.units.length, k = Math.max(1, F.leaves.length);
    svg.replaceChildren();
    const pitch = (W - 24) / n, crowd = pitch < 24;
    const H = this.height = this.natural;
    svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
    svg.setAttribute("height", round(H * this.scale));
    svg.classList.toggle("narrow", pitch < 70);
    Object.assign(this, { pitch, crowd, shelf: 100, bottom: H - (crowd ? 48 : 60) });
    this.r = crowd ? Math.max(1.2, pitch * 0.36) : Math.min(22, pitch * 0.38);
    const place = n > 16 ? F.order : F.units.map((_, i) => i);
    this.unitX = F.units.map((_, i) => 12 + pitch * (place[i] + 0.5));
    const slot = Math.min(92, (W - 24) / k);
    this.leafX = F.leaves.map((_, i) => W / 2 + slot * (i - (F.leaves.length - 1) / 2));
    this.clientX = F.clients.map(c => {
      const list = F.unitsOf.get(c);
      const xs = list.map(i => this.unitX[i]);
      return (Math.min(...xs) + Math.max(...xs)) / 2;
    });

    svgEl("rect", { class: "shelf", x: 3, y: 3, width: W - 6, height: this.shelf - 3, rx: 12 }, svg);
    this.serverLabel = svgEl("text", { class: "shelf-label", x: 16, y: 24 }, svg);
    this.wireLayer = svgEl("g", {}, svg);
    this.threadLayer = svgEl("g", { class: "threads" }, svg);
    const nodes = svgEl("g", {}, svg);
    this.rootY = 20;
    this.leafY = 70;
    const rootText = F.root || "/";
    const rootW = rootText.length * 7.4 + 22;
    this.leafW = Math.max(2.4, Math.min(62, slot - (slot > 12 ? 6 : 1)));
    this.leafH = slot > 26 ? 38 : 26;
    this.branches = F.leaves.map((p, i) => svgEl("path", { class: "branch", d: `M${round(W / 2)} ${this.rootY + 11}C${round(W / 2)} ${this.rootY + 24} ${round(this.leafX[i])} ${this.rootY + 20} ${round(this.leafX[i])} ${this.leafY - this.leafH / 2}` }, nodes));
    svgEl("rect", { class: "root", x: round(W / 2 - rootW / 2), y: this.rootY - 11, width: round(rootW), height: 22, rx: 6 }, nodes);
    svgEl("text", { class: "root-label", x: round(W / 2), y: this.rootY + 4.5 }, nodes).textContent = rootText;
    this.leaves = F.leaves.map((p, i) => {
      const g = svgEl("g", { class: "node", "data-node": p, transform: `translate(${round(this.leafX[i])} ${this.leafY})` }, nodes);
      svgEl("rect", { x: round(-this.leafW / 2), y: -this.leafH / 2, width: round(this.leafW), height: this.leafH, rx: Math.min(7, this.leafW / 3) }, g);
      g.title = svgEl("title", {}, g);
      if (slot > 26) {
        g.owner = svgEl("text", { class: "owner", y: 0 }, g);
        svgEl("text", { class: "number", y: 13 }, g).textContent = fit(shortName(p), this.leafW);
      } else if (slot > 12) g.owner = svgEl("text", { class: "owner small", y: 4 }, g);
      return g;
    });

    this.wires = F.clients.map((c, i) => {
      const g = svgEl("g", { class: "wire" }, this.wireLayer);
      const list = F.unitsOf.get(c), xs = list.length > 1 ? [this.clientX[i]] : [this.unitX[list[0]]];
      for (const x of xs) svgEl("line", { x1: round(x), x2: round(x), y1: this.shelf, y2: this.top(i) }, g);
      g.cut = svgEl("path", { class: "cut", d: SHAPES.lost, transform: `translate(${round(xs[0])} ${(this.shelf + this.bottom - this.r) / 2}) scale(${crowd ? 0.7 : 1.3})` }, g);
      if (list.length > 1) {
        svgEl("rect", { class: "session", x: round(Math.min(...list.map(i => this.unitX[i])) - pitch / 2 + 1), y: this.top(i), width: round(pitch * list.length - 2), height: round(this.height - this.top(i) - 2), rx: 12 }, this.wireLayer);
      }
      return g;
    });
    this.unitEls = F.units.map((u, i) => {
      const g = svgEl("g", { class: "client", "data-client": u, role: "button", tabindex: i === 0 ? 0 : -1, "aria-haspopup": "menu", transform: `translate(${round(this.unitX[i])} ${this.bottom})` }, svg);
      g.had = { tabindex: i === 0 ? "0" : "-1" };
      svgEl("rect", { class: "touch", x: round(-pitch / 2), y: -34, width: round(pitch), height: 100 }, g);
      g.halo = svgEl("circle", { class: "halo", r: 0 }, g);
      if (crowd) {
        g.body = svgEl("rect", { class: "body", x: round(-this.r), y: -15, width: round(this.r * 2), height: 30, rx: round(Math.min(4, this.r)) }, g);
      } else {
        g.outer = svgEl("circle", { class: "outer", r: this.r + 5 }, g);
        g.body = svgEl("circle", { class: "body", r: this.r }, g);
        g.letter = svgEl("text", { class: "letter", y: 5.5 }, g);
        g.letter.textContent = u;
        g.badge = svgEl("text", { class: "badge", x: round(this.r * 1.2), y: round(-this.r * 0.75) }, g);
        g.lock = svgEl("path", { class: "padlock", d: "M-6 0h12v9h-12zM-3.6 0v-3.4a3.6 3.6 0 0 1 7.2 0v3.4", transform: `translate(${round(-this.r * 0.95)} ${round(-this.r * 0.95)})` }, g);
      }
      g.word = svgEl("text", { class: "word", y: crowd ? 30 : this.r + 22 }, g);
      return g;
    });
    this.packetLayer = svgEl("g", { class: "packets" }, svg);
    this.threads = [];
    this.packets = [];
  }

  top(client) {
    return this.F.unitsOf.get(this.F.clients[client]).length > 1 ? this.bottom - Math.max(this.r, 15) - 12 : this.bottom - (this.crowd ? 15 : this.r);
  }

  // Where a watch or an event ends at the server.
  anchor(path) {
    const i = this.F.leafIndex.get(path);
    if (i !== undefined) return { x: this.leafX[i], y: this.leafY + this.leafH / 2 };
    return { x: this.width / 2, y: this.rootY + 11 };
  }

  // Where a packet is on its way.
  place(p, f) {
    const F = this.F, c = F.clientIndex.get(p.client) ?? 0, list = F.unitsOf.get(F.clients[c]);
    let x = this.clientX[c];
    if (list.length > 1) x = this.unitX[F.unitIndex.has(p.who) ? F.unitIndex.get(p.who) : list[(p.of || p.id) * 7 % list.length]];
    const top = this.top(c);
    if (p.kind === "request") return { x: x - (this.crowd ? 0 : 5), y: top + (this.shelf - top) * f };
    if (p.kind === "reply") return { x: x + (this.crowd ? 0 : 5), y: this.shelf + (top - this.shelf) * f };
    // An event leaves the server at its edge, and covers no name on its way there.
    const a = this.anchor(p.path), b = { x: this.clientX[c], y: top };
    let from = 0;
    for (let step = 0.25; step > 0.005; step /= 2) if (curve(a, b, from + step).y < this.shelf) from += step;
    return curve(a, b, from + (1 - from) * f);
  }

  draw(t, s, selected, options) {
    const { F, crowd } = this;
    write(this.serverLabel, say("server"));
    const words = this.pitch >= 48;
    F.leaves.forEach((p, i) => {
      const node = s.nodes.get(p), g = this.leaves[i];
      const there = node ? "yes" : F.firstMade.has(p) && F.firstMade.get(p) <= t ? "gone" : "no";
      put(g, "data-there", there);
      put(this.branches[i], "data-there", dirOf(p) === F.root ? there : "no");
      const owner = node && node.owner || "";
      put(g, "data-owner", owner);
      if (g.owner) write(g.owner, node && (this.leafH > 26 || owner.length * 7 < this.leafW) ? fit(owner, this.leafW * 0.7) : ""); // a small one has room for a letter
      write(g.title, node ? p + (owner ? " · " + owner : "") : p + say("sentenceGap") + say("nothingThere"));
      const owners = F.unitIndex.has(owner) ? [F.unitIndex.get(owner)] : F.unitsOf.get(owner) || []; // a shared card is of all in its client
      put(g, "data-held", owners.some(i => s.units[i].state === "holds" && node.at <= s.units[i].since) ? "yes" : ""); // and not a card for which it waits besides
      put(g, "data-inspected", options && options.inspected && options.inspected.key === p ? "yes" : "");
    });
    F.clients.forEach((c, i) => {
      put(this.wires[i], "data-conn", s.conns[i]);
    });
    F.units.forEach((u, i) => {
      const g = this.unitEls[i], unit = s.units[i], conn = s.conns[F.clientIndex.get(F.clientOf.get(u))];
      put(g, "data-state", unit.looks);
      put(g, "data-conn", conn);
      put(g, "data-lost", unit.lost);
      put(g, "data-selected", selected && selected.client === u ? "yes" : "");
      put(g, "tabindex", (selected && F.unitIndex.has(selected.client) ? selected.client === u : i === 0) ? "0" : "-1");
      // A holder that has made another node since waits for its own lock.
      const besides = unit.state === "holds" && F.leaves.some(p => s.nodes.has(p) && s.nodes.get(p).owner === u && s.nodes.get(p).at > unit.since);
      const word = unit.lost ? say("lost." + unit.lost) : conn !== "connected" && conn !== "closed" && unit.state !== "holds" ? say("conn." + conn)
        : say("state." + unit.looks) + (besides ? say("comma") + say("state.waits") : "");
      const more = conn !== "connected" ? say("comma") + say("conn." + conn) : "";
      put(g, "aria-label", u + say("colon") + (unit.lost ? say("state." + unit.state) + say("comma") : "") + word + more);
      const loud = unit.state === "holds" || unit.lost || unit.looks === "failed";
      if (!crowd) put(g.word, "y", String(round(this.r + (unit.lost && this.pitch < 110 ? 35 : 21))));
      write(g.word, words ? word : crowd ? loud ? u : "" : "");
      if (!crowd) {
        write(g.badge, unit.lost ? "!" : conn === "stopped" ? "‖" : conn === "expired" ? "∅" : conn === "cut off" || conn === "unconnected" ? "✕" : { failed: "✕", "gave up": "←", done: "✓" }[unit.looks] || "");
      }
      const age = t - s.woken[i], last = F.latency * 1.5;
      const woke = s.woken[i] >= 0 && age <= last;
      put(g, "data-woken", woke ? "yes" : "");
      const f = options && options.calm ? 0.35 : age / last;
      put(g.halo, "r", woke && !crowd ? String(round(this.r + 22 * f)) : "0");
      put(g.halo, "opacity", woke ? String(round(1 - f)) : "0");
    });

    const threads = [];
    for (const [key, w] of s.watches) {
      const c = F.clientIndex.get(w.client);
      if (c === undefined) continue;
      const x = F.unitIndex.has(w.who) ? this.unitX[F.unitIndex.get(w.who)] : this.clientX[c];
      threads.push(["thread", w.who || w.client, w.path, this.anchor(w.path), { x, y: this.top(c) }, key]);
    }
    this.watches = threads.slice();
    const flying = packetsIn(F, t, t).filter(i => (F.packets[i].arrived_ns > t || F.packets[i].pending) && F.packets[i].sent_ns <= t);
    for (const i of flying) {
      const p = F.packets[i];
      if (p.kind !== "event") continue;
      const c = F.clientIndex.get(p.client) ?? 0;
      threads.push(["thread fired", p.client, p.path, this.anchor(p.path), { x: this.clientX[c], y: this.top(c) }]);
    }
    const into = options && options.inspected;
    threads.forEach(([cls, client, path, a, b, key], i) => {
      const e = this.threads[i] || (this.threads[i] = svgEl("path", {}, this.threadLayer));
      put(e, "class", into && into.kind === "watch" && into.key === key ? cls + " chosen" : cls);
      put(e, "data-watch", cls === "thread" ? client + " " + path : "");
      put(e, "d", thread(a, b, cls === "thread" && !crowd && Math.abs(a.x - b.x) < 2 ? 10 : 0));
    });
    while (this.threads.length > threads.length) this.threads.pop().remove();

    // A lost packet stays to be seen for a while where it was lost.
    const lost = packetsIn(F, t - F.latency * 2, t).filter(i => F.packets[i].lost && F.packets[i].arrived_ns <= t && F.packets[i].arrived_ns > t - F.latency * 2);
    const shown = flying.concat(lost).sort((a, b) => a - b);
    const labels = this.pitch >= 62 && this.width > 330;
    shown.forEach((index, i) => {
      const p = F.packets[index];
      let g = this.packets[i];
      if (!g) {
        g = this.packets[i] = svgEl("g", { class: "packet" }, this.packetLayer);
        if (!crowd) svgEl("circle", { class: "touch", r: 14 }, g);
        g.trail = svgEl("line", { class: "trail", x1: 0, y1: 0 }, g);
        g.shape = svgEl("path", {}, g);
        if (labels) g.text = svgEl("text", {}, g);
      }
      const over = p.arrived_ns <= t && !p.pending;
      const f = over ? 1 : way(p, t);
      const reach = reachOf(p);
      const at = this.place(p, f * reach), before = this.place(p, Math.max(0, f * reach - 0.16));
      put(g, "data-packet", String(p.id));
      put(g, "data-kind", p.kind);
      put(g, "data-queued", p.queued_ns && t >= p.queued_ns ? "yes" : "");
      put(g, "data-lost", p.lost && over ? "yes" : "");
      put(g, "data-pending", p.pending ? "yes" : "");
      put(g, "data-selected", selected && selected.packet === p.id ? "yes" : "");
      put(g, "transform", `translate(${round(at.x)} ${round(at.y)})`);
      put(g, "opacity", over ? String(round(1 - (t - p.arrived_ns) / (F.latency * 2.2))) : "1");
      put(g.trail, "x2", String(round(before.x - at.x)));
      put(g.trail, "y2", String(round(before.y - at.y)));
      put(g.shape, "d", SHAPES[over ? "lost" : p.kind]);
      put(g.shape, "transform", crowd ? `scale(${p.kind === "event" ? 0.55 : 0.42})` : "");
      if (g.text) {
        // Beside the wire, and inside the picture.
        const word = this.pitch >= 96 ? packetWord(p) : p.kind === "event" ? "" : short(packetWord(p));
        const room = 16 + word.length * 6.5, left = p.kind === "request" ? at.x > room : at.x + room > this.width && at.x > room;
        put(g, "data-side", left ? "left" : "right");
        put(g.text, "x", left ? "-10" : "11");
        put(g.text, "y", "4");
        write(g.text, word);
      }
    });
    while (this.packets.length > shown.length) this.packets.pop().remove();
  }

  // The thing under the pointer: a packet or a client.
  hit(target) {
    const packet = target.closest && target.closest("[data-packet]");
    if (packet) return { packet: Number(packet.getAttribute("data-packet")) };
    const client = target.closest && target.closest("[data-client]");
    return client ? { client: client.getAttribute("data-client") } : null;
  }

  // The part of the server or a client under the pointer; a watch is a thin line.
  thingAt(e) {
    const on = q => e.target.closest && e.target.closest(q);
    if (on("[data-packet]")) return null;
    const node = on("[data-node]"), client = on("[data-client]"), at = new DOMPoint(e.clientX, e.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    if (node && node.dataset.there !== "no") return { kind: "node", key: node.dataset.node };
    if (on(".root, .root-label") && this.F.root) return { kind: "node", key: this.F.root };
    let best = null, least = 9;
    for (const [, , , a, b, key] of this.watches || []) {
      for (let i = 0; i <= 40; i++) {
        const p = curve(a, b, i / 40), d = Math.hypot(p.x - at.x, p.y - at.y);
        if (d < least) { least = d; best = { kind: "watch", key }; }
      }
    }
    if (client && !(best && Math.abs(at.y - this.bottom) > this.r + 4)) return { kind: "client", key: client.dataset.client };
    return best;
  }

  clientEl(name) { return this.unitEls[this.F.unitIndex.get(name)]; }
}

function short(word) { return word.length > 9 ? word.slice(0, 8) + "…" : word; }

function fit(text, width) {
  const room = Math.floor(width / 6.2);
  return text.length > room ? text.slice(0, Math.max(1, room - 1)) + "…" : text;
}

// A watch above its own client bows, beside the wire.
function thread(a, b, bow) {
  const h = (b.y - a.y) * 0.45;
  return `M${round(a.x)} ${round(a.y)}C${round(a.x - bow)} ${round(a.y + h)} ${round(b.x - bow)} ${round(b.y - h)} ${round(b.x)} ${round(b.y)}`;
}

function curve(a, b, f) {
  const h = (b.y - a.y) * 0.45, g = 1 - f;
  const w0 = g * g * g, w1 = 3 * g * g * f, w2 = 3 * g * f * f, w3 = f * f * f;
  return { x: w0 * a.x + w1 * a.x + w2 * b.x + w3 * b.x, y: w0 * a.y + w1 * (a.y + h) + w2 * (b.y - h) + w3 * b.y };
}

