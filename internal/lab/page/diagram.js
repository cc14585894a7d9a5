import { above, lastOf, packetsIn } from "./film.js";
import { reachOf } from "./stage.js";
import { say, clockText } from "./strings.js";

// The diagram shows a stretch of time: the server on top, a lane for each
// contender, packets as lines between them. It is a canvas, because a crowd
// sends thousands of packets in a second.

const STRIP = 256; // device pixels

export class Diagram {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.zoom = 1;
    this.colors = {};
    this.width = 600;
    this.ratio = this.enlarge = 1;
    this.strips = new Map();
    this.count = { strips: 0, lines: 0 }; // drawn again for the last instant
  }

  setFilm(F, clock) {
    this.strips.clear();
    this.F = F;
    this.clock = clock;
    this.layout();
  }

  resize(width, enlarge) {
    this.enlarge = enlarge;
    this.width = width / enlarge;
    if (this.F) this.layout();
  }

  // The height, where letters are not enlarged.
  natural() {
    const n = this.F.units.length;
    this.lane = n <= 4 ? 30 : n <= 8 ? 25 : n <= 16 ? 16 : Math.max(2, 250 / n);
    this.top = 20;
    this.gap = n <= 16 ? 30 : 24;
    return Math.round(this.top + this.gap + this.lane * n + 24);
  }

  layout() {
    const n = this.F.units.length;
    this.crowd = n > 16;
    this.height = this.natural();
    this.left = n <= 26 ? 26 : 12;
    this.ratio = Math.min(3, window.devicePixelRatio || 1) * this.enlarge;
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
    this.canvas.style.height = this.height * this.enlarge + "px";
  }

  readColors() {
    const css = getComputedStyle(this.canvas);
    for (const k of ["ink", "soft", "line", "paper", "request", "reply", "event", "watch", "holds", "waits", "lost", "cut"]) this.colors[k] = css.getPropertyValue("--" + k).trim();
    this.font = css.fontFamily;
    this.strips.clear();
  }

  // Pixels of shown nanoseconds.
  scale() { return 58 * this.zoom / this.clock.latency; }
  head() { return this.left + (this.width - this.left) * 0.66; }
  x(shown, now) { return this.head() + (shown - now) * this.scale(); }
  y(unit) { return this.top + this.gap + this.lane * ((this.crowd ? this.F.order[unit] : unit) + 0.5); }
  clientY(c) {
    const list = this.F.unitsOf.get(this.F.clients[c]);
    return (this.y(list[0]) + this.y(list[list.length - 1])) / 2;
  }

  window(t) {
    const now = this.clock.shown(t), s = this.scale();
    const from = this.clock.instant(Math.max(0, now - (this.head() - this.left) / s));
    const to = this.clock.instant(Math.min(this.clock.length, now + (this.width - this.head()) / s));
    return { now, from, to };
  }

  // What is to come is drawn faintly, or, if only the past is asked for, not at all.
  draw(t, selected, past) {
    const { F, clock, context: g, colors: k, width: W, height: H } = this;
    const { now, from, to } = this.window(t);
    const X = ns => this.x(clock.shown(ns), now), server = this.top;
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    g.clearRect(0, 0, W, H);
    g.font = "11px " + this.font;
    g.textBaseline = "middle";
    const fine = this.lane >= 12, n = F.units.length, last = lastOf(F, clock);

    // Pauses that are shown short.
    for (const gap of clock.gaps) {
      if (gap.to < from || gap.from > to) continue;
      const a = Math.max(this.left, X(gap.from)), b = Math.min(W, X(gap.to));
      g.fillStyle = k.line;
      g.globalAlpha = 0.35;
      g.fillRect(a, server - 6, b - a, H - server - 14);
      g.globalAlpha = 1;
      const text = say("later", clockText(gap.to - gap.from));
      if (b - a > g.measureText(text).width + 8) {
        g.fillStyle = k.soft;
        g.textAlign = "center";
        g.fillText(text, (a + b) / 2, server + 12);
      }
    }
    // Lanes and what state each is in.
    g.lineWidth = 1;
    g.strokeStyle = k.line;
    g.beginPath();
    g.moveTo(this.left, server); g.lineTo(W, server);
    if (fine) for (let u = 0; u < n; u++) { g.moveTo(this.left, this.y(u)); g.lineTo(W, this.y(u)); }
    g.stroke();
    const thick = fine ? Math.min(14, this.lane * 0.52) : Math.max(1.4, this.lane * 0.8);
    for (let u = 0; u < n; u++) {
      const y = this.y(u);
      for (const s of F.lanes[u]) {
        if (s.to < from || s.from > to || s.state === "outside" || s.state === "done") continue;
        const a = Math.max(this.left, X(s.from));
        const end = Math.min(s.to, last, to), b = Math.min(W, X(end));
        const stretch = (x0, x1, alpha) => {
          if (x1 <= x0) return;
          g.globalAlpha = alpha;
          if (s.state === "holds") {
            g.fillStyle = s.lost ? k.lost : k.holds;
            g.fillRect(x0, y - thick / 2, Math.max(1.5, x1 - x0), thick);
            if (s.lost && fine) stripes(g, x0, y - thick / 2, x1 - x0, thick, k.paper);
          } else if (s.state === "waits") {
            g.fillStyle = k.waits;
            g.fillRect(x0, y - (fine ? 2 : thick / 4), x1 - x0, fine ? 4 : Math.max(0.8, thick / 2));
          } else if (s.state === "unlocks") {
            g.strokeStyle = k.holds;
            g.strokeRect(x0 + 0.5, y - thick / 2 + 0.5, Math.max(1, x1 - x0 - 1), thick - 1);
          } else {
            g.fillStyle = k.lost;
            g.fillRect(x0, y - 1, x1 - x0, 2);
          }
        };
        const head = this.head();
        stretch(a, Math.min(b, head), 1);
        stretch(Math.max(a, head), b, 0.22);
        if (fine && s.state === "holds" && Math.min(b, head) - a > 50) {
          g.globalAlpha = 1;
          g.fillStyle = k.paper;
          g.textAlign = "left";
          const text = say(s.lost ? "lost." + s.lost : "state.holds");
          if (g.measureText(text).width < Math.min(b, head) - a - 8 && thick >= 11) g.fillText(text, a + 5, y + 0.5);
        }
      }
      g.globalAlpha = 1;
    }
    F.clients.forEach((c, i) => {
      for (const s of F.breaks[i]) {
        if (s.to < from || s.from > to) continue;
        const a = Math.max(this.left, X(s.from)), b = Math.min(W, X(Math.min(s.to, last)));
        g.globalAlpha = s.from > t ? 0.3 : 1;
        g.strokeStyle = k.lost;
        g.setLineDash(s.state === "stopped" ? [2, 3] : [6, 4]);
        g.lineWidth = 2;
        for (const u of F.unitsOf.get(c)) {
          g.beginPath();
          g.moveTo(a, this.y(u) + thick / 2 + 3); g.lineTo(b, this.y(u) + thick / 2 + 3);
          g.stroke();
        }
        g.setLineDash([]);
        g.globalAlpha = 1;
      }
    });

    this.drawPackets(t, now);

    // Violations, the chosen packet, the present.
    for (const at of F.violations) {
      if (at < from || at > to) continue;
      g.strokeStyle = k.lost;
      g.globalAlpha = at > t ? 0.3 : 1;
      g.lineWidth = 2;
      g.beginPath(); g.moveTo(X(at), 4); g.lineTo(X(at), H - 20); g.stroke();
      g.globalAlpha = 1;
    }
    if (selected && F.byId.has(selected.packet)) {
      const s = this.ends(F.packets[F.byId.get(selected.packet)], now);
      g.strokeStyle = k.ink;
      g.lineWidth = 2.5;
      g.beginPath(); g.moveTo(s.x0, s.y0); g.lineTo(s.x1, s.y1); g.stroke();
    }
    const head = this.head();
    if (past) g.clearRect(head, 0, W - head, H);
    g.strokeStyle = k.ink;
    g.lineWidth = 1.5;
    g.beginPath(); g.moveTo(head, 6); g.lineTo(head, H - 18); g.stroke();
    g.fillStyle = k.ink;
    g.beginPath(); g.moveTo(head - 5, 2); g.lineTo(head + 5, 2); g.lineTo(head, 9); g.fill();

    // The margin and the scale.
    g.clearRect(0, 0, this.left, H);
    g.textAlign = "left";
    g.fillStyle = k.ink;
    g.font = "600 12px " + this.font;
    if (this.enlarge < 0.6) return; // letters would be too small
    if (this.lane >= 9) for (let u = 0; u < n; u++) g.fillText(F.units[u], 4, this.y(u));
    g.font = "11px " + this.font;
    g.fillStyle = k.soft;
    g.fillText("ZK", 4, server);
    const every = niceStep(90 / this.scale());
    g.textAlign = "center";
    for (let s = Math.ceil(from / every) * every; s <= to; s += every) {
      const x = X(s);
      if (x < this.left + 16 || x > W - 100) continue; // the buttons are there
      if (clock.gaps.some(b => s > b.from && s < b.to)) continue;
      g.fillText(tick(s, every), x, H - 8);
      g.fillRect(x, H - 19, 1, 4);
    }
  }

  // The lines of packets are drawn once, in strips of time, for there may be
  // thousands: what has been is shown strongly, what is to come faintly. A
  // packet that is lost, or waits for a choice, does not get as far as its time
  // does, and is drawn again for each instant.
  drawPackets(t, now) {
    const g = this.context, device = STRIP / this.ratio, W = this.width;
    const key = [this.zoom, this.ratio, this.height, W, this.clock.latency].join(" ");
    if (this.stripKey !== key) { this.strips.clear(); this.stripKey = key; }
    const round = x => Math.round(x * this.ratio) / this.ratio, head = round(this.head());
    const start = round(this.head() - now * this.scale()); // where time 0 is
    const first = Math.max(0, Math.floor((this.left - start) / device)), last = Math.floor((Math.min(W, this.x(this.clock.length, now)) - start) / device);
    this.count = { strips: 0, lines: 0 };
    for (let i = first; i <= last; i++) {
      let s = this.strips.get(i);
      if (!s) { s = this.strip(i, device); this.count.strips++; }
      this.strips.delete(i);
      this.strips.set(i, s); // the one used last is last
      const x = start + i * device, past = Math.max(0, Math.min(STRIP, Math.round((head - x) * this.ratio)));
      g.globalAlpha = s.alpha;
      if (past > 0) g.drawImage(s.canvas, 0, 0, past, s.canvas.height, x, 0, past / this.ratio, this.height);
      g.globalAlpha = 0.13;
      if (past < STRIP) g.drawImage(s.canvas, past, 0, STRIP - past, s.canvas.height, x + past / this.ratio, 0, (STRIP - past) / this.ratio, this.height);
      g.globalAlpha = 1;
    }
    for (const i of this.strips.keys()) {
      if (this.strips.size <= last - first + 9) break;
      this.strips.delete(i);
    }
    const { from, to } = this.window(t);
    for (const i of packetsIn(this.F, from, to)) {
      const p = this.F.packets[i];
      if (!p.lost && !p.pending) continue;
      this.count.lines++;
      const { x0, y0, x1, y1 } = this.ends(p, now);
      const f = p.sent_ns > t ? 0 : p.arrived_ns > t ? (t - p.sent_ns) / (p.arrived_ns - p.sent_ns) : 1;
      const hx = x0 + (x1 - x0) * f, hy = y0 + (y1 - y0) * f, been = new Path2D(), comes = new Path2D();
      line(been, x0, y0, hx, hy);
      line(comes, hx, hy, x1, y1);
      if (f === 1 && p.lost) cross(been, x1, y1);
      pen(g, p.lost ? "lost" : p.kind, false, this.colors);
      g.stroke(been);
      g.globalAlpha = 0.13;
      g.stroke(comes);
    }
    g.setLineDash([]);
    g.globalAlpha = 1;
  }

  // strip draws the packets of a stretch of shown time, those of one kind in
  // one path.
  strip(i, device) {
    const F = this.F, canvas = document.createElement("canvas"), g = canvas.getContext("2d");
    canvas.width = STRIP;
    canvas.height = this.canvas.height;
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    const at = x => this.clock.instant(Math.max(0, Math.min(this.clock.length, (i * device + x) / this.scale())));
    const list = packetsIn(F, at(-10), at(device + 10));
    // How crowded it is around here.
    const near = above(F.sent, at(device / 2 + this.width / 2)) - above(F.sent, at(device / 2 - this.width / 2));
    const crowd = near > 500, heads = near < 900;
    const paths = { request: new Path2D(), reply: new Path2D(), event: new Path2D() };
    for (const j of list) {
      const p = F.packets[j];
      if (p.lost || p.pending) continue;
      const { x0, y0, x1, y1 } = this.ends(p, 0), dx = -this.head() - i * device;
      line(paths[p.kind], x0 + dx, y0, x1 + dx, y1);
      if (heads) arrow(paths[p.kind], x0 + dx, y0, x1 + dx, y1);
      this.count.lines++;
    }
    for (const kind of ["reply", "request", "event"]) {
      pen(g, kind, crowd, this.colors);
      g.globalAlpha = 1;
      g.stroke(paths[kind]);
    }
    return { canvas, alpha: crowd ? 0.5 : 0.95 };
  }

  ends(p, now) {
    const X = ns => this.x(this.clock.shown(ns), now);
    const c = this.clientY(this.F.clientIndex.get(p.client) ?? 0), up = p.kind === "request", reach = reachOf(p);
    const x0 = X(p.sent_ns), x1 = X(p.queued_ns || p.arrived_ns), y0 = up ? c : this.top, y1 = up ? this.top : c;
    return { x0, y0, x1: x0 + (x1 - x0) * reach, y1: y0 + (y1 - y0) * reach };
  }

  // The packet whose line is under the pointer, or null.
  hit(x, y, t) {
    const now = this.clock.shown(t);
    let best = null, least = 7;
    const { from, to } = this.window(t);
    for (const i of packetsIn(this.F, from, to)) {
      const p = this.F.packets[i];
      const { x0, y0, x1, y1 } = this.ends(p, now);
      const l = (x1 - x0) ** 2 + (y1 - y0) ** 2 || 1;
      const f = Math.max(0, Math.min(1, ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / l));
      const d = Math.hypot(x - x0 - f * (x1 - x0), y - y0 - f * (y1 - y0));
      if (d < least) { least = d; best = p; }
    }
    return best;
  }
}

// pen sets how the packets of a kind are drawn.
function pen(g, kind, crowd, colors) {
  g.strokeStyle = colors[kind];
  g.lineWidth = kind === "event" || kind === "lost" ? crowd ? 1 : 1.8 : crowd ? 0.6 : 1.2;
  g.setLineDash(kind === "reply" && !crowd ? [5, 3] : []);
  g.globalAlpha = crowd ? 0.5 : 0.95;
}

function line(path, x0, y0, x1, y1) { path.moveTo(x0, y0); path.lineTo(x1, y1); }

function arrow(path, x0, y0, x1, y1) {
  const a = Math.atan2(y1 - y0, x1 - x0), l = 6;
  path.moveTo(x1 - l * Math.cos(a - 0.45), y1 - l * Math.sin(a - 0.45));
  path.lineTo(x1, y1);
  path.lineTo(x1 - l * Math.cos(a + 0.45), y1 - l * Math.sin(a + 0.45));
}

function cross(path, x, y) {
  line(path, x - 5, y - 5, x + 5, y + 5);
  line(path, x - 5, y + 5, x + 5, y - 5);
}

function stripes(g, x, y, w, h, color) {
  g.save();
  g.beginPath(); g.rect(x, y, w, h); g.clip();
  g.strokeStyle = color;
  g.lineWidth = 2;
  g.globalAlpha *= 0.55;
  g.beginPath();
  for (let i = x - h - (x % 8); i < x + w; i += 8) { g.moveTo(i, y + h); g.lineTo(i + h, y); }
  g.stroke();
  g.restore();
}

function niceStep(ns) {
  const p = 10 ** Math.floor(Math.log10(ns));
  for (const m of [1, 2, 5, 10]) if (m * p >= ns) return m * p;
  return 10 * p;
}

function tick(ns, every) {
  if (every >= 1e9) return (ns / 1e9).toFixed(0) + " s";
  return every >= 1e6 ? Math.round(ns / 1e6) + " ms" : (ns / 1e6).toFixed(2) + " ms";
}
