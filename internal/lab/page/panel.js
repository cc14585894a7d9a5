// A panel shows one film: stage, diagram, counters, and the last event.
import { clockText, explain, explainMark, has, say, translated } from "./strings.js";
import { above, stateAt } from "./film.js";
import { Stage } from "./stage.js";
import { Diagram } from "./diagram.js";
import { branchName } from "./link.js";
import { $, el } from "./app.js";
import { app, select, tell } from "./store.js";
import { Code } from "./code.js";
import { nameOf } from "./levels.js";
import { lockNote, lockTitle, withBug } from "./words.js";
import { goto, setPlaying } from "./time.js";
import { closeMenu, hideTip, openMenu, showMenu, showTip } from "./menu.js";
import { choiceText, choose } from "./world.js";
import { opening } from "./opening.js";
import { inspectAt, inspected, inspecting } from "./inspect.js";

const COUNTERS = ["requests", "events", "wakeups", "wasted", "took"]; // the opening shows the first and the last two, and else the first three are

export function zoom(by) {
  for (const p of app.panels) p.diagram.zoom = Math.min(12, Math.max(0.05, p.diagram.zoom * by));
  tell("at");
}

// roomBelow is the height between an edge of an element and the bar of the time.
const roomBelow = (e, edge) => innerHeight - $("transport").offsetHeight - e.getBoundingClientRect()[edge] - scrollY;

export class Panel {
  constructor(want, index) {
    Object.assign(this, want);
    this.index = index;
    const crowd = this.F.units.length > 16;
    this.svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.svg.setAttribute("class", "stage" + (crowd ? " crowd" : ""));
    this.svg.setAttribute("role", "group");
    this.canvas = el("canvas", { class: "diagram", role: "img" });
    this.counters = {};
    const counters = el("div", { class: "counters" }, ...COUNTERS.map(k => {
      const b = el("b", { "data-counter": k }), small = el("small", {}), formula = el("small", { class: "formula" });
      this.counters[k] = { b, small, formula, box: el("div", { class: "counter " + k }, b, small, formula) };
      return this.counters[k].box;
    }));
    this.title = el("h2", {});
    this.note = el("p", { class: "note" });
    this.now = el("p", { class: "now" });
    this.verdict = el("p", { class: "verdict", hidden: true });
    this.code = new Code(this.lock);
    this.zoom = el("div", { class: "zoom" }, el("button", { onclick: () => zoom(1 / 1.5), class: "zoom-out" }, "−"), el("button", { onclick: () => zoom(1.5), class: "zoom-in" }, "+"));
    this.el = el("section", { class: "panel" + (crowd ? " many" : ""), "data-panel": index, "data-lock": this.lock }, el("header", {}, el("div", { class: "head" }, this.title, this.note), counters), el("div", { class: "views" }, el("div", { class: "view" }, this.svg, this.now, this.verdict), el("div", { class: "view" }, this.canvas), this.code.el), this.zoom);
    this.stage = new Stage(this.svg);
    this.diagram = new Diagram(this.canvas);
    this.pointers();
  }

  words() {
    const title = this.caption ? this.caption() : opening() ? translated(opening().titles[this.index]) : nameOf(this.lock) || lockTitle(this.lock);
    this.title.replaceChildren(title, this.which ? el("span", { class: "which" }, this.branchName()) : "");
    this.note.replaceChildren(...this.caption ? [] : withBug(lockNote(this.lock), this.lock));
    this.note.hidden = this.note.textContent === "";
    this.svg.setAttribute("aria-label", say("stage") + ", " + title);
    this.canvas.setAttribute("aria-label", say("diagram"));
    this.code.words();
    const l = this.caption ? null : app.byName.get(this.lock), f = this.F.film.formula || {};
    for (const k of COUNTERS) {
      const c = this.counters[k];
      c.box.title = say(k + ".tip");
      const text = l && l[k] ? l[k] : "", number = f[k];
      c.limit = number ?? null;
      c.small.textContent = say(k);
      c.formula.textContent = text ? say("atMost") + text + (number !== null && number !== undefined ? " = " + number : "") : "";
    }
    for (const [cls, key] of [["zoom-out", "zoomOut"], ["zoom-in", "zoomIn"]]) {
      const b = this.zoom.querySelector("." + cls);
      b.title = say(key);
      b.setAttribute("aria-label", say(key));
    }
  }

  branchName() { return app.branches[this.branch] ? branchName(app.branches[this.branch]) : say(this.which); }

  size() {
    const a = this.svg.parentElement.clientWidth, b = this.canvas.parentElement.clientWidth;
    if (app.projector && !this.diagram.F) return; // its film comes
    const scale = app.projector ? this.enlarge() : parseFloat(getComputedStyle(document.documentElement).fontSize) / 16 || 1;
    const opens = opening(), small = innerWidth <= 760; // both panels are in sight, and all of them
    if (a > 0) this.stage.resize(a, !opens ? scale : app.projector ? Math.min(scale, a / (28 * this.F.units.length + 25)) : small ? 0.55 : Math.min(scale, innerHeight / 850));
    if (b > 0) this.diagram.resize(b, opens && this.diagram.F ? Math.min(scale, this.fit(small ? 2 : 1)) : scale);
  }

  // enlarge is how much larger than usual the pictures are for a projector, so that both fit
  // above the bar.
  enlarge() {
    const room = roomBelow(this.el.querySelector("header"), "bottom") - this.now.offsetHeight - this.verdict.offsetHeight - 34;
    return Math.max(0.6, Math.min(2, room / (this.stage.natural + (opening() ? 0 : this.diagram.natural()))));
  }

  // fit is how much larger than usual the diagram of an opening may be, below all else of its panel.
  fit(rows) {
    const before = this.canvas.getBoundingClientRect().top - this.el.getBoundingClientRect().top;
    return Math.max(0.2, (roomBelow($("panels"), "top") / rows - before - 18) / this.diagram.natural());
  }

  draw(t) {
    const F = this.F, s = stateAt(F, t);
    this.s = s;
    const sel = app.selected, chosen = !sel || sel.panel === this.index ? sel : { client: sel.client };
    this.stage.draw(t, s, chosen, { calm: app.calm, inspected: inspected(this) });
    this.diagram.draw(t, chosen, app.slide);
    this.code.draw(F, t, s);
    for (const k of COUNTERS) {
      const c = this.counters[k], text = k === "took" ? clockText(Math.min(t, F.doneAt)) : String(s[k]);
      if (c.b.textContent !== text) c.b.textContent = text;
      c.box.classList.toggle("over", c.limit !== null && s[k] > c.limit && F.film.changes && F.film.changes.length === 0);
    }
    const text = this.sentence(t, s);
    if (this.now.textContent !== text) this.now.textContent = text;
    const bad = s.violation >= 0;
    this.el.classList.toggle("broken", bad);
    this.el.dataset.violation = bad ? F.marks[s.violation].violation || "" : "";
    // Its room is kept, so that nothing moves when it appears.
    this.verdict.hidden = !app.roomForVerdict;
    const line = bad ? explainMark(F.marks[s.violation]) : this.stale(s);
    this.verdict.classList.toggle("quiet", line === "");
    this.verdict.classList.toggle("stale", !bad);
    if (this.verdict.textContent !== line) this.verdict.textContent = line;
  }

  // A holder that has lost the lock unnoticed breaks no promise of a lock that cannot
  // notify it in time. The page says what protects the others.
  stale(s) {
    const i = s.units.findIndex(u => u.lost === "unaware" && (u.state === "holds" || u.state === "unlocks"));
    if (i < 0) return "";
    const who = this.F.units[i], token = s.units[i].token;
    return say(s.stopped[this.F.clientIndex.get(this.F.clientOf.get(who))] ? "stale.stopped" : "stale", who) + say("sentenceGap") + say(token ? "stale.token" : "stale.noToken", who, token);
  }

  // The last event, in a sentence.
  sentence(t, s) {
    const F = this.F, sel = app.selected;
    if (sel && sel.packet !== undefined && sel.panel === this.index && F.byId.has(sel.packet) && !app.playing) {
      const p = F.packets[F.byId.get(sel.packet)];
      return explain(p) + say("sentenceGap") + say(p.lost ? "on.way.lost" : "on.way", clockText(p.sent_ns), clockText(p.arrived_ns));
    }
    let best = "", at = -1;
    for (let i = s.last; i >= 0 && i > s.last - 24; i--) {
      const m = F.marks[i];
      if (m.kind === "wakeup" || m.kind === "violation" || m.kind === "watch" && !m.set) continue;
      if (m.kind === "state" && m.state === "done" && s.units[F.unitIndex.get(m.who)].error) continue;
      const text = explainMark(m);
      if (text) { best = text; at = m.at_ns; break; }
    }
    const sent = above(F.sent, t) - 1, came = above(F.arrivals, t) - 1;
    if (sent >= 0 && F.packets[sent].kind === "request" && F.sent[sent] > at) { best = explain({ ...F.packets[sent], lost: false }); at = F.sent[sent]; }
    if (came >= 0 && F.arrivals[came] > at && F.packets[F.arrivalOrder[came]].kind !== "request") best = explain(F.packets[F.arrivalOrder[came]]);
    return best || say("sentence.start");
  }

  pointers() {
    const show = e => {
      const hit = this.stage.hit(e.target);
      if (hit && hit.packet !== undefined) showTip(this.F.packets[this.F.byId.get(hit.packet)], e.pageX, e.pageY); else hideTip();
    };
    this.svg.addEventListener("pointermove", show);
    this.svg.addEventListener("pointerleave", hideTip);
    this.svg.addEventListener("click", e => {
      if (inspecting() && inspectAt(this, e)) return;
      const hit = this.stage.hit(e.target);
      if (!hit) { select(null); closeMenu(); return; }
      if (app.scene.mode === "schedule" && this.choose(hit, e)) return;
      const p = hit.packet === undefined ? null : this.F.packets[this.F.byId.get(hit.packet)], client = p ? this.unitOfPacket(p) : hit.client;
      setPlaying(false);
      select({ packet: p?.id, client, panel: this.index });
      openMenu(this, client, p, e.pageX, e.pageY);
    });
    this.svg.addEventListener("focusin", e => {
      const hit = this.stage.hit(e.target);
      if (hit && hit.client && (!app.selected || app.selected.client !== hit.client || app.selected.panel !== this.index)) select({ client: hit.client, panel: this.index });
    });
    // The diagram: drag through time, point at a packet.
    let drag = null;
    const c = this.canvas, at = e => { const b = c.getBoundingClientRect(); return [(e.clientX - b.left) / this.diagram.enlarge, (e.clientY - b.top) / this.diagram.enlarge]; };
    c.addEventListener("pointerdown", e => {
      drag = { x: e.clientX, shown: app.clock.shown(app.t), moved: false };
      c.setPointerCapture(e.pointerId);
    });
    c.addEventListener("pointermove", e => {
      if (drag) {
        const dx = e.clientX - drag.x;
        if (Math.abs(dx) > 3) drag.moved = true;
        if (drag.moved) { setPlaying(false); hideTip(); goto(app.clock.instant(Math.max(0, drag.shown - dx / this.diagram.enlarge / this.diagram.scale()))); }
        return;
      }
      const p = this.diagram.hit(...at(e), app.t);
      if (p) showTip(p, e.pageX, e.pageY); else hideTip();
    });
    c.addEventListener("pointerup", e => {
      const was = drag;
      drag = null;
      if (was && was.moved) { tell("rest"); return; }
      const p = this.diagram.hit(...at(e), app.t);
      if (!p) { select(null); return; }
      setPlaying(false);
      select({ packet: p.id, client: this.unitOfPacket(p), panel: this.index });
      showTip(p, e.pageX, e.pageY);
      if (app.t < p.sent_ns || app.t >= p.arrived_ns) goto(p.sent_ns + (p.arrived_ns - p.sent_ns) * 0.5);
    });
    c.addEventListener("pointerleave", () => { if (!drag) hideTip(); });
    c.addEventListener("wheel", e => {
      if (!e.ctrlKey && Math.abs(e.deltaX) <= Math.abs(e.deltaY)) return;
      e.preventDefault();
      if (e.ctrlKey) zoom(e.deltaY < 0 ? 1.2 : 1 / 1.2);
      else { setPlaying(false); goto(app.clock.instant(Math.max(0, app.clock.shown(app.t) + e.deltaX / this.diagram.scale()))); }
    }, { passive: false });
  }

  // A packet that waits goes on when it is clicked, and so does a client that
  // has only one choice; of several, a menu is shown.
  choose(hit, e) {
    const p = hit.packet !== undefined ? this.F.packets[this.F.byId.get(hit.packet)] : null;
    if (p && !p.pending) return false;
    const client = p ? p.client : this.F.clientOf.get(hit.client);
    const list = ((app.play || {}).enabled || []).filter(c => p ? c.what === p.kind && c.who === client : c.who === client || c.who === hit.client);
    if (list.length === 0) return false;
    if (list.length === 1 && !list[0].fault) { choose(list[0].choice); return true; }
    if (p) { choose(list[0].choice); return true; }
    showMenu(hit.client + say("colon") + say("whatHappens"), "", list.map(c => ({ id: c.choice, text: choiceText(c), tip: has("tip." + c.what) ? say("tip." + c.what) : "", fault: c.fault, run: () => choose(c.choice) })), e.pageX, e.pageY);
    return true;
  }

  unitOfPacket(p) {
    if (p.who && this.F.unitIndex.has(p.who)) return p.who;
    const list = this.F.unitsOf.get(p.client);
    return list && list.length ? this.F.units[list[0]] : p.client;
  }
}
