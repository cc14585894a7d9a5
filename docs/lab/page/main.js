import { WORDS, setLanguage, getLanguage, say, has, checkStrings, clockText, explain, explainMark, violationText, told, choiceWords, whoWords } from "./strings.js";
import { above, looked, indexFilm, stateAt, packetsIn, makeClock, nextOf } from "./film.js";
import { DEFAULT, formatLink, formatTime, parseLink } from "./link.js";
import { Engine } from "./engine.js";
import { Stage } from "./stage.js";
import { Diagram } from "./diagram.js";

const $ = id => document.getElementById(id);
const SPEEDS = [0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 64];
const LATENCIES = [5, 10, 20, 50, 100, 200, 500];
const FAULTS = ["lose request", "lose reply", "cut", "expire", "stop", "end ctx"];
// What may go wrong where somebody, or the explorer, chooses the schedule. What
// is not usual is not searched for unless its box is ticked.
const KINDS = ["lose request", "lose reply", "cut", "expire", "stop", "end ctx", "stall", "time passes", "refuse", "parent goes"];
const UNUSUAL = KINDS.slice(6);
const possible = l => KINDS.filter(k => k === "end ctx" ? l.contexts : k === "parent goes" ? l.parent : true);

const app = {
  engine: new Engine(), filming: new Set(), finder: null, locks: [], byName: new Map(),
  scene: { ...DEFAULT }, branches: [], branch: 0, panels: [], clock: null,
  t: 0, playing: false, speed: 1, selected: null, focus: 0, turn: 0, films: new Map(),
  file: null, play: null, search: null, growing: false, calm: matchMedia("(prefers-reduced-motion: reduce)").matches, drawn: -1,
};

// el makes an element: el("p", {class: "note"}, "text", child …).
function el(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const k in attributes || {}) {
    const v = attributes[k];
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v !== undefined && v !== null && v !== false) e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...children.filter(c => c !== null && c !== undefined));
  return e;
}

// ---- words

function words() {
  document.documentElement.lang = getLanguage() === "zh" ? "zh-CN" : "en";
  document.title = "zklock: " + say("title");
  for (const e of document.querySelectorAll("[data-say]")) e.textContent = say(e.dataset.say);
  for (const e of document.querySelectorAll("[data-tip]")) {
    e.title = say(e.dataset.tip);
    if (!e.dataset.say) e.setAttribute("aria-label", say(e.dataset.tip));
  }
  $("t").setAttribute("aria-label", say("time"));
  $("drop").textContent = say("dropHere");
  fillLocks();
  legend();
  helpBox();
  if (app.failure) showFailure();
  if (app.notice) app.notice();
}

function lockTitle(name) {
  const l = app.byName.get(name);
  return l && l.title && (l.title[getLanguage()] || l.title.en) || name;
}

function lockNote(name) {
  const l = app.byName.get(name);
  return l && l.note && (l.note[getLanguage()] || l.note.en) || "";
}

function fillLocks() {
  for (const [id, first] of [["lock", null], ["versus", say("none")]]) {
    const groups = new Map();
    for (const l of app.locks) {
      if (!groups.has(l.group)) groups.set(l.group, []);
      groups.get(l.group).push(el("option", { value: l.name }, lockTitle(l.name)));
    }
    const select = $(id);
    select.replaceChildren();
    if (first !== null) select.append(el("option", { value: "" }, first));
    for (const [g, options] of groups) select.append(el("optgroup", { label: has("group." + g) ? say("group." + g) : g }, ...options));
  }
  showScene();
}

function legend() {
  const shapes = {
    request: '<path class="l-request" d="M11 2L17 14L5 14Z"/>', reply: '<path class="l-reply" d="M11 16L17 4L5 4Z"/>',
    event: '<path class="l-event" d="M11 0L13.3 6.1L19.8 6.2L14.7 10.2L16.6 16.5L11 12.8L5.4 16.5L7.3 10.2L2.2 6.2L8.7 6.1Z"/>',
    watch: '<path class="l-watch" d="M2 16C2 6 20 12 20 2"/>', lost: '<path class="l-lost" d="M5 4L7 2L11 6L15 2L17 4L13 8L17 12L15 14L11 10L7 14L5 12L9 8Z"/>',
    holds: '<circle class="l-holds" cx="11" cy="9" r="8"/>', waits: '<circle class="l-waits" cx="11" cy="9" r="7"/>', unaware: '<circle class="l-unaware" cx="11" cy="9" r="7"/>',
  };
  $("legend").replaceChildren(...Object.keys(shapes).map(k => {
    const s = el("span", {});
    s.innerHTML = `<svg viewBox="0 0 22 18" aria-hidden="true">${shapes[k]}</svg>`;
    s.append(say("legend." + k));
    return s;
  }));
}

const KEYS = [["Space", "space"], ["← →", "arrows"], ["Shift ← →", "shift"], ["H", "h"], ["V", "v"], ["Home End", "home"], ["− +", "speed"], ["[ ]", "zoom"], ["N P", "letter"], [", .", "packet"], ["Enter", "enter"], ["U", "u"], ["C", "c"], ["1 … 9", "digits"], ["Backspace", "back"], ["L", "l"], ["D", "d"], ["?", "q"], ["Esc", "esc"]];

function helpBox() {
  $("help-box").replaceChildren(
    el("form", { method: "dialog" }, el("button", { class: "main", autofocus: true }, say("close"))),
    el("h2", {}, say("about")), ...["1", "2", "3", "4", "5"].map(i => el("p", {}, say("about." + i))),
    el("h2", {}, say("keys")), el("dl", {}, ...KEYS.flatMap(([k, what]) => [el("dt", {}, ...k.split(" ").map(x => x === "…" ? "… " : el("kbd", {}, x)).flatMap(x => [x, " "])), el("dd", {}, say("key." + what))])));
  $("help-box").setAttribute("aria-label", say("help"));
}

// ---- notices

// Title and detail are functions, so that a notice can be said in the other
// language, too.
function notice(title, detail) {
  const n = $("notice");
  n.className = "";
  delete n.dataset.stays;
  n.replaceChildren(el("div", {}, el("strong", {}), detail ? el("pre", {}) : null), el("div", {}, el("button", { onclick: () => { n.hidden = true; }, "data-action": "close-notice" })));
  n.hidden = false;
  app.notice = () => {
    n.querySelector("strong").textContent = title();
    if (detail) n.querySelector("pre").textContent = detail();
    n.querySelector("button").textContent = say("close");
  };
  app.notice();
}

// settleNotice takes away what was said of a scene that is left. What the
// compiler says of a lock stays until that compiles.
function settleNotice() { if (!$("notice").dataset.stays) $("notice").hidden = true; }

function calmNotice(key) {
  notice(() => say(key));
  $("notice").className = "calm";
  const shown = $("notice").firstChild;
  setTimeout(() => { if ($("notice").firstChild === shown) $("notice").hidden = true; }, 4000);
}

let spoken = "";
function announce(text) {
  if (text && text !== spoken) { spoken = text; $("live").textContent = text; }
}

// ---- the scene

function showScene() {
  const s = app.scene;
  $("lock").value = s.locks[0];
  $("versus").value = s.locks[1] || "";
  $("contenders").value = s.n;
  $("shared").value = s.shared ? "1" : "0";
  $("latency").replaceChildren(...[...new Set([...LATENCIES, s.latency])].sort((a, b) => a - b).map(x => el("option", { value: x }, x + " ms")));
  $("latency").value = String(s.latency);
  $("seed").value = s.seed;
  for (const b of document.querySelectorAll("[data-mode]")) b.setAttribute("aria-pressed", String(b.dataset.mode === s.mode));
  const watch = s.mode === "watch";
  document.body.dataset.view = s.mode;
  for (const e of document.querySelectorAll(".timing, .versus")) e.hidden = !watch;
  $("choose").hidden = !!app.file;
}

let linkTimer = 0;
function showLink(now) {
  clearTimeout(linkTimer);
  const write = () => {
    if (app.file) return;
    const link = currentLink();
    if (link !== location.hash) { app.ownHash = link; try { history.replaceState(null, "", link); } catch { location.hash = link; } }
  };
  if (now) write(); else linkTimer = setTimeout(write, 300);
}

function currentLink() {
  return formatLink(app.scene, { t: formatTime(app.t), lang: getLanguage() });
}

function engineScene(lock, changes) {
  const s = app.scene;
  return { lock, contenders: s.n, shared: s.shared, latency_ms: s.latency, seed: s.seed, changes };
}

// What the panels show.
function wanted() {
  const s = app.scene;
  if (s.vs && s.changes.length > 0) {
    const lock = s.locks[Math.min(app.focus, s.locks.length - 1)];
    return [{ lock, changes: parentChanges(), which: "without", branch: (app.branches[app.branch] || {}).parent || 0 }, { lock, changes: s.changes, which: "withit", branch: app.branch }];
  }
  return s.locks.map(lock => ({ lock, changes: s.changes, which: "" }));
}

function parentChanges() {
  const b = app.branches[app.branch];
  if (b && b.parent !== null && app.branches[b.parent]) return app.branches[b.parent].changes;
  return app.scene.changes.slice(0, -1);
}

// Branches: each is a list of changes; the first is the run as it comes.
function rootBranches() {
  app.branches = [{ changes: [], parent: null, name: "" }];
  const list = app.scene.changes;
  list.forEach((_, i) => app.branches.push({ changes: list.slice(0, i + 1), parent: i, name: "" }));
  app.branch = app.branches.length - 1;
}

function branchName(b) {
  if (b.name) return b.name;
  const c = b.changes[b.changes.length - 1];
  return c ? (has("name." + c.do) ? say("name." + c.do, c.who) : c.who + " " + c.do) + " · " + clockText(c.at_ns) : say("asItComes");
}

// A change comes just after what the page shows: at the very instant it would
// come before it, and a holder that was stopped at its first instant would not
// be one.
function interfere(who, what) {
  app.t = Math.round(app.t) + 1;
  addBranch({ at_ns: app.t, who, do: what });
}

function addBranch(change) {
  const parent = app.branch;
  const changes = app.scene.changes.filter(c => c.at_ns <= change.at_ns).concat([change]);
  app.branches.push({ changes, parent, name: "" });
  go(app.branches.length - 1);
}

function go(i) {
  settleNotice();
  app.branch = i;
  app.scene.changes = app.branches[i].changes;
  if (app.scene.changes.length === 0) app.scene.vs = false;
  load({ keep: true });
}

function undoBranch() {
  const b = app.branches[app.branch];
  if (!b || b.parent === null) return;
  const parent = b.parent, gone = new Set([app.branch]);
  app.branches.forEach((c, i) => { if (gone.has(c.parent)) gone.add(i); });
  const left = app.branches.map((_, i) => i).filter(i => !gone.has(i));
  const moved = new Map(left.map((old, now) => [old, now]));
  app.branches = left.map(i => ({ ...app.branches[i], parent: app.branches[i].parent === null ? null : moved.get(app.branches[i].parent) }));
  go(moved.get(parent));
}

const showsStop = () => !!document.querySelector("#runs #stop-run");

function showRuns(stop) {
  const box = $("runs");
  box.hidden = app.scene.mode !== "watch" || !!app.file;
  if (box.hidden) return;
  const items = [el("strong", {}, say("runs"))];
  app.branches.forEach((b, i) => {
    items.push(el("span", { class: "run" }, el("button", {
      "data-branch": i, "aria-current": i === app.branch ? "true" : null, onclick: () => go(i),
      title: b.parent === null ? "" : branchName(app.branches[b.parent]) + " → " + branchName(b),
    }, (b.parent ? "↳ " : "") + branchName(b))));
  });
  if (app.branch > 0) {
    items.push(
      el("button", { id: "compare", "data-action": "compare", "aria-pressed": String(app.scene.vs), onclick: compare }, say(app.scene.vs ? "compareOff" : "compare")),
      el("button", { id: "undo", "data-action": "undo", onclick: undoBranch }, say("undo")),
      el("button", { id: "rename", "data-action": "rename", onclick: rename }, say("rename")));
  } else items.push(el("span", { class: "hint" }, say("whatIfHint")));
  if (stop) items.push(el("span", {}, say("takesLong")), stopButton());
  box.replaceChildren(...items);
}

function compare() {
  if (app.branch === 0) return;
  app.scene.vs = !app.scene.vs;
  load({ keep: true });
}

function rename() {
  const b = app.branches[app.branch], chip = document.querySelector(`[data-branch="${app.branch}"]`);
  const input = el("input", { type: "text", value: branchName(b), "aria-label": say("nameOf"), id: "run-name" });
  const done = keep => { if (keep) b.name = input.value.trim(); showRuns(); };
  input.addEventListener("keydown", e => {
    e.stopPropagation();
    if (e.key === "Enter") done(true);
    if (e.key === "Escape") done(false);
  });
  input.addEventListener("blur", () => done(true));
  chip.replaceWith(input);
  input.focus();
  input.select();
}

// ---- loading

// film asks for a film. One that takes long comes in parts: grows is called
// with what is there so far.
async function film(lock, changes, grows) {
  const scene = engineScene(lock, changes), key = JSON.stringify(scene);
  if (!app.films.has(key)) {
    const packets = [], marks = [];
    const add = part => {
      for (const p of part.film.packets) packets.push(p);
      for (const m of part.film.marks) marks.push(m);
      return { ...part.film, packets: packets.slice(), marks: marks.slice() };
    };
    // Contenders that share more than their session wake one another in an
    // order that Go draws at random when the connection breaks. An engine of
    // its own draws the same each time: so this film repeats, too.
    const l = app.byName.get(lock), own = scene.shared && changes.length > 0 && l && !l.alone;
    const engine = own ? new Engine(true) : app.engine;
    app.filming.add(engine);
    let rest;
    try {
      rest = await engine.ask({ do: "run", scene, parts: true }, part => grows(add(part)));
    } finally {
      app.filming.delete(engine);
      if (own) engine.stop();
    }
    if (app.films.size > 12) app.films.delete(app.films.keys().next().value);
    app.films.set(key, indexFilm(add(rest)));
  }
  return app.films.get(key);
}

// load makes what the scene asks for and shows it. With keep, the instant
// stays, and so does what played.
async function load(options) {
  const { keep, start } = options || {};
  const turn = ++app.turn;
  app.growing = false;
  closeMenu();
  app.selected = keep ? app.selected : null;
  showScene();
  showRuns();
  if (app.file) return;
  if (app.scene.mode === "schedule") return loadPlay(turn, options);
  if (app.scene.mode === "find") showFind(); else $("workbench").hidden = true;
  const want = app.scene.mode === "find" ? [] : wanted();
  const playing = keep ? app.playing : false;
  setPlaying(false);
  const unknown = want.find(w => app.locks.length && !app.byName.has(w.lock));
  if (unknown) {
    notice(() => say("unknownLock", unknown.lock));
    app.scene.locks = app.scene.locks.filter(l => app.byName.has(l));
    if (app.scene.locks.length === 0) app.scene.locks = DEFAULT.locks;
    return load(options);
  }
  if (want.length === 0) {
    setPanels([]);
    showLink(true);
    return;
  }
  const slow = setTimeout(() => { if (turn === app.turn) app.growing ? showRuns(true) : setWaiting(want, true); }, 2500);
  const early = setTimeout(() => { if (turn === app.turn && !app.growing) setWaiting(want, false); }, 150);
  const films = want.map(() => null);
  // What is there is shown, once each panel has some of its film, and the
  // instant that is wanted is there.
  const show = () => {
    if (turn !== app.turn || films.includes(null)) return;
    const growing = films.some(F => F.growing), end = Math.max(...films.map(F => F.end));
    if (app.growing) {
      app.growing = growing;
      growPanels(films);
      return;
    }
    const at = start !== undefined ? start : keep ? app.t : 0;
    if (growing && at > Math.min(...films.map(F => F.growing ? F.end : Infinity))) return;
    app.growing = growing;
    setPanels(want.map((w, i) => ({ ...w, F: films[i] })));
    performance.mark("lab shown", { detail: growing ? "so far" : "whole" });
    goto(at);
    if (start === undefined && !app.calm && (keep ? playing || at < end : true)) setPlaying(true);
  };
  try {
    for (const [i, w] of want.entries()) {
      films[i] = await film(w.lock, w.changes, part => {
        if (turn !== app.turn) return;
        films[i] = indexFilm({ ...part, growing: true });
        show();
      });
      if (turn !== app.turn) return;
      show();
    }
    performance.mark("lab whole");
    if (showsStop()) showRuns();
  } catch (e) {
    if (turn !== app.turn) return;
    if (e.name === "Stopped" && app.growing) { // what there is stays
      app.growing = false;
      calmNotice("runStopped");
      showRuns();
      draw();
    } else failed(e, want);
  } finally {
    clearTimeout(slow);
    clearTimeout(early);
  }
}

function failed(e, want) {
  setPanels([]);
  app.failure = e;
  showFailure();
  if (e.name !== "Stopped") notice(() => say("engineError"), () => told(e.message));
}

function showFailure() {
  const e = app.failure;
  $("panels").replaceChildren(el("div", { class: "panel waiting" }, el("p", {}, e.name === "Stopped" ? say("runStopped") : say("engineError") + " " + told(e.message)), el("button", { id: "retry", onclick: () => { $("notice").hidden = true; if (app.locks.length) load({}); else engineStarts().catch(() => {}); } }, say("retry"))));
}

function setWaiting(want, long) {
  app.panels = [];
  app.failure = null;
  const text = app.locks.length ? say("running", want.map(w => lockTitle(w.lock)).join(", ")) : say("loading");
  $("panels").dataset.count = "1";
  $("panels").replaceChildren(el("div", { class: "panel waiting", role: "status" }, el("p", {}, text), long ? el("p", {}, say("takesLong"), " ", stopButton()) : null));
}

function stopButton() { return el("button", { id: "stop-run", "data-action": "stop-run", onclick: () => { for (const e of [...app.filming]) e.stop(); } }, say("stopRun")); }

class Panel {
  constructor(want, index) {
    Object.assign(this, want);
    this.index = index;
    const crowd = this.F.units.length > 16;
    this.svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    this.svg.setAttribute("class", "stage" + (crowd ? " crowd" : ""));
    this.svg.setAttribute("role", "group");
    this.canvas = el("canvas", { class: "diagram", role: "img" });
    this.counters = {};
    const counters = el("div", { class: "counters" }, ...["requests", "events", "wakeups"].map(k => {
      const b = el("b", { "data-counter": k }), small = el("small", {}), formula = el("small", { class: "formula" });
      this.counters[k] = { b, small, formula, box: el("div", { class: "counter " + k }, b, small, formula) };
      return this.counters[k].box;
    }));
    this.title = el("h2", {});
    this.note = el("p", { class: "note" });
    this.now = el("p", { class: "now" });
    this.verdict = el("p", { class: "verdict", hidden: true });
    this.zoom = el("div", { class: "zoom" }, el("button", { onclick: () => zoom(1 / 1.5), class: "zoom-out" }, "−"), el("button", { onclick: () => zoom(1.5), class: "zoom-in" }, "+"));
    this.el = el("section", { class: "panel" + (crowd ? " many" : ""), "data-panel": index, "data-lock": this.lock }, el("header", {}, el("div", { class: "head" }, this.title, this.note), counters), el("div", { class: "views" }, el("div", { class: "view" }, this.svg, this.now, this.verdict), el("div", { class: "view" }, this.canvas)), this.zoom);
    this.stage = new Stage(this.svg);
    this.diagram = new Diagram(this.canvas);
    this.pointers();
  }

  words() {
    this.title.replaceChildren(this.caption || lockTitle(this.lock), this.which ? el("span", { class: "which" }, this.branchName()) : "");
    this.note.textContent = this.caption ? "" : lockNote(this.lock);
    this.note.hidden = this.note.textContent === "";
    this.svg.setAttribute("aria-label", say("stage") + ", " + (this.caption || lockTitle(this.lock)));
    this.canvas.setAttribute("aria-label", say("diagram"));
    const l = this.caption ? null : app.byName.get(this.lock), f = this.F.film.formula || {};
    for (const k of ["requests", "events", "wakeups"]) {
      const c = this.counters[k];
      c.box.title = say(k + ".tip");
      const text = l && l[k] ? l[k] : "", number = f[k];
      c.limit = number ?? null;
      c.small.textContent = say(k);
      c.formula.textContent = text ? text + (number !== null && number !== undefined ? " = " + number : "") : "";
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
    const scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16 || 1;
    if (a > 0) this.stage.resize(a, scale);
    if (b > 0) this.diagram.resize(b, scale);
  }

  draw(t) {
    const F = this.F, s = stateAt(F, t);
    this.s = s;
    const sel = app.selected, chosen = !sel || sel.panel === this.index ? sel : { client: sel.client };
    this.stage.draw(t, s, chosen, { calm: app.calm });
    this.diagram.draw(t, chosen);
    for (const k of ["requests", "events", "wakeups"]) {
      const c = this.counters[k], text = String(s[k]);
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

  // A holder that has lost the lock without knowing it breaks no promise of a
  // lock that cannot tell it in time. What protects the others is said.
  stale(s) {
    const i = s.units.findIndex(u => u.lost === "unaware" && (u.state === "holds" || u.state === "unlocks"));
    if (i < 0) return "";
    const who = this.F.units[i], token = s.units[i].token;
    return say(s.stopped[this.F.clientIndex.get(this.F.clientOf.get(who))] ? "stale.stopped" : "stale", who) + " " + say(token ? "stale.token" : "stale.noToken", who, token);
  }

  // What has happened last, in a sentence.
  sentence(t, s) {
    const F = this.F, sel = app.selected;
    if (sel && sel.packet !== undefined && sel.panel === this.index && F.byId.has(sel.packet)) {
      const p = F.packets[F.byId.get(sel.packet)];
      return explain(p) + " " + say(p.lost ? "on.way.lost" : "on.way", clockText(p.sent_ns), clockText(p.arrived_ns));
    }
    let best = "", at = -1;
    for (let i = s.last; i >= 0 && i > s.last - 24; i--) {
      const m = F.marks[i];
      if (m.kind === "wakeup" || m.kind === "violation" || m.kind === "watch" && !m.set) continue;
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
      const hit = this.stage.hit(e.target);
      if (!hit) { select(null); closeMenu(); return; }
      if (app.scene.mode === "schedule" && this.choose(hit, e)) return;
      if (hit.packet !== undefined) {
        const p = this.F.packets[this.F.byId.get(hit.packet)];
        setPlaying(false);
        select({ packet: p.id, client: this.unitOfPacket(p), panel: this.index });
        openMenu(this, this.unitOfPacket(p), p, e.pageX, e.pageY);
      } else {
        setPlaying(false);
        select({ client: hit.client, panel: this.index });
        openMenu(this, hit.client, null, e.pageX, e.pageY);
      }
    });
    this.svg.addEventListener("focusin", e => {
      const hit = this.stage.hit(e.target);
      if (hit && hit.client && (!app.selected || app.selected.client !== hit.client || app.selected.panel !== this.index)) select({ client: hit.client, panel: this.index });
    });
    this.svg.addEventListener("keydown", e => {
      const hit = this.stage.hit(e.target);
      if (!hit || hit.client === undefined) return;
      if (e.key === "Enter") {
        e.preventDefault();
        e.stopPropagation();
        setPlaying(false);
        const box = e.target.getBoundingClientRect();
        openMenu(this, hit.client, null, box.left + scrollX + box.width / 2, box.top + scrollY + 40);
      }
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
      if (was && was.moved) { showLink(); return; }
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

function setPanels(list) {
  hideTip();
  app.failure = null;
  app.panels = list.map((w, i) => new Panel(w, i));
  $("panels").dataset.count = String(list.length);
  $("panels").replaceChildren(...app.panels.map(p => p.el));
  if (list.length === 0) {
    app.growing = false;
    app.clock = null;
    $("clock").textContent = "";
    $("t").value = "0";
    drawOverviewBase();
    drawOverview();
    return;
  }
  for (const p of app.panels) {
    p.words();
    p.size();
    p.diagram.readColors();
  }
  showFilms();
  resized.disconnect();
  for (const p of app.panels) resized.observe(p.el);
}

// growPanels goes on with longer films of the same runs.
function growPanels(films) {
  const at = document.activeElement && document.activeElement.closest(".stage [data-client]"), panel = at && app.panels.find(p => p.svg.contains(at));
  app.panels.forEach((p, i) => { p.F = films[i]; });
  showFilms();
  draw();
  if (panel) panel.stage.clientEl(at.dataset.client).focus();
}

// showFilms gives the panels' films to all that shows them.
function showFilms() {
  app.clock = makeClock(app.panels.map(p => p.F));
  app.roomForVerdict = app.panels.some(p => p.F.violations.length > 0);
  for (const kind of Object.keys(JUMPS)) {
    const none = merged(JUMPS[kind]).length === 0;
    for (const way of ["-back", "-on"]) document.querySelector(`[data-action="${kind + way}"]`).disabled = none;
  }
  $("t").max = String(app.clock.length / 1e6);
  for (const p of app.panels) {
    if (p.stage.F !== p.F) p.stage.setFilm(p.F);
    p.diagram.setFilm(p.F, app.clock);
  }
  alignHeights();
  drawOverviewBase();
}

// Two panels stand side by side only if their stages are level.
function alignHeights() {
  const heads = app.panels.map(p => p.el.querySelector("header"));
  for (const h of heads) h.style.minHeight = "";
  if (heads.length === 2 && innerWidth > 760) {
    const h = Math.max(...heads.map(x => x.offsetHeight));
    for (const x of heads) x.style.minHeight = h + "px";
  }
}

let resizing = 0;
const resized = new ResizeObserver(() => {
  cancelAnimationFrame(resizing);
  resizing = requestAnimationFrame(() => {
    for (const p of app.panels) { p.size(); }
    alignHeights();
    drawOverviewBase();
    draw();
  });
});

function zoom(by) {
  for (const p of app.panels) p.diagram.zoom = Math.min(12, Math.max(0.05, p.diagram.zoom * by));
  draw();
}

// ---- time

function goto(t) {
  if (!app.clock) return;
  app.t = Math.min(app.clock.end, Math.max(0, t));
  draw();
}

function draw() {
  if (!app.clock) return;
  for (const p of app.panels) p.draw(app.t);
  const shown = app.clock.shown(app.t), slider = $("t");
  slider.value = String(shown / 1e6);
  const text = say(app.growing ? "soFar" : "instant", clockText(app.t), clockText(app.clock.end));
  if ($("clock").textContent !== text) {
    const now = clockText(app.t);
    $("clock").replaceChildren(el("b", {}, now), el("span", {}, text.slice(now.length)));
    slider.setAttribute("aria-valuetext", text);
  }
  document.body.dataset.t = String(Math.round(app.t));
  drawOverview();
  if (app.play) drawPlayHints();
}

// A latency takes about half a second at speed 1, and a run at most two minutes.
function rate() { return Math.max(app.clock.latency / 0.55, app.clock.length / 120) * app.speed; }

let before = 0, pending = 0;
function frame(now) {
  pending = 0;
  if (!app.playing || !app.clock) return;
  const passed = Math.max(0, Math.min(100, now - before)) / 1000;
  before = now;
  const was = app.t;
  const shown = app.clock.shown(app.t) + passed * rate();
  const end = app.clock.end;
  const t = Math.min(end, app.clock.instant(shown));
  app.t = t;
  draw();
  for (const p of app.panels) {
    const F = p.F, i = above(F.violations, was);
    if (i < F.violations.length && F.violations[i] <= t) announce(p.verdict.textContent || p.now.textContent);
    else {
      const h = above(F.holds, was);
      if (h < F.holds.length && F.holds[h] <= t) {
        const m = F.marks.slice(above(F.markAt, F.holds[h] - 1), above(F.markAt, F.holds[h])).find(m => m.kind === "state" && m.state === "holds");
        announce((app.panels.length > 1 ? lockTitle(p.lock) + ": " : "") + explainMark(m));
      }
    }
  }
  if (t >= end && !app.growing) { setPlaying(false); return; }
  pending = requestAnimationFrame(frame);
}

function setPlaying(on) {
  if (on && app.clock && app.t >= app.clock.end && !app.growing) app.t = 0;
  const was = app.playing;
  app.playing = on && !!app.clock;
  showPlay();
  if (app.playing && !was) { before = performance.now(); if (!pending) pending = requestAnimationFrame(frame); }
  if (!app.playing && was) showLink();
}

function showPlay() {
  const b = $("play");
  b.innerHTML = '<svg viewBox="0 0 16 16" aria-hidden="true"><path d="' + (app.playing ? "M3 2h4v12H3zM9 2h4v12H9z" : "M3 1.500v13L14.500 8z") + '"/></svg> ';
  b.append(say(app.playing ? "pause" : "play"));
  b.setAttribute("aria-pressed", String(app.playing));
}

// Paused, the page says what there is to see at the new instant.
function jump(t) {
  setPlaying(false);
  if (t < 0) return;
  goto(t);
  showLink();
  announce(clockText(app.t) + ". " + app.panels.map(p => (app.panels.length > 1 ? (p.which ? p.branchName() : lockTitle(p.lock)) + ": " : "") + (p.verdict.textContent ? p.verdict.textContent + " " : "") + p.now.textContent).join(" "));
}

function merged(pick) {
  const all = Float64Array.from(app.panels.flatMap(p => [...pick(p.F)])).sort();
  return all;
}

const JUMPS = { event: F => F.eventAt, hold: F => F.holds, violation: F => F.violations };

const actions = {
  "to-start": () => jump(0),
  "to-end": () => app.clock && jump(app.clock.end),
  "step-back": () => app.clock && jump(Math.max(0, nextOf(app.clock.instants, app.t, false))),
  "step-on": () => app.clock && jump(nextOf(app.clock.instants, app.t, true)),
  "play": () => setPlaying(!app.playing),
  "share": shareLink, "open": () => $("file").click(), "help": () => $("help-box").showModal(),
  "theme": () => {
    const dark = getTheme() === "dark";
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    for (const p of app.panels) p.diagram.readColors();
    drawOverviewBase();
    draw();
  },
  "language": () => switchLanguage(getLanguage() === "en" ? "zh" : "en"),
  "more": () => $("more").setAttribute("aria-expanded", String($("choose").classList.toggle("open"))),
  "another": () => { app.scene.seed = app.scene.seed % 1000000 + 1; load({}); },
};
for (const kind of Object.keys(JUMPS)) {
  actions[kind + "-on"] = () => app.clock && jump(nextOf(merged(JUMPS[kind]), app.t, true));
  actions[kind + "-back"] = () => app.clock && jump(nextOf(merged(JUMPS[kind]), app.t, false));
}

function getTheme() {
  return document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function switchLanguage(l) {
  setLanguage(l);
  words();
  for (const p of app.panels) p.words();
  alignHeights();
  showPlay();
  showRuns();
  if (app.scene.mode === "schedule") showPlayBench();
  if (app.scene.mode === "find") showFind();
  draw();
  showLink();
}

async function shareLink() {
  showLink(true);
  try {
    await navigator.clipboard.writeText(location.href);
    calmNotice("shared_ok");
  } catch {
    notice(() => location.href);
  }
  announce(say("shared_ok"));
}

// ---- the strip above the time: which contender holds, and when; events; violations

let overviewBase = null;
function drawOverviewBase() {
  const c = $("overview"), ratio = Math.min(3, devicePixelRatio || 1);
  const w = c.clientWidth, h = 34;
  if (!w || !app.clock) { overviewBase = null; return; }
  const base = document.createElement("canvas");
  base.width = c.width = Math.round(w * ratio);
  base.height = c.height = Math.round(h * ratio);
  const g = base.getContext("2d");
  g.scale(ratio, ratio);
  const css = getComputedStyle(document.documentElement), color = k => css.getPropertyValue("--" + k).trim();
  const X = t => app.clock.shown(Math.min(t, app.clock.end)) / app.clock.length * w;
  const rows = app.panels.length, room = h / rows;
  app.panels.forEach((p, i) => {
    const y = room * i;
    g.fillStyle = color("faint");
    g.fillRect(0, y + 2, w, room - 4);
    p.F.hold.forEach((s, j) => {
      const a = X(s.from), b = X(Math.min(s.to, p.F.end));
      g.fillStyle = color(s.lost ? "lost" : "holds");
      g.globalAlpha = j % 2 ? 0.55 : 0.85;
      g.fillRect(a, y + 3, Math.max(1, b - a - (b - a > 4 ? 1 : 0)), room - 9);
    });
    g.globalAlpha = p.F.eventAt.length > 400 ? 0.25 : 0.8;
    g.fillStyle = color("event");
    for (const t of p.F.eventAt) g.fillRect(X(t), y + room - 5, 1, 3);
    g.globalAlpha = 1;
    g.fillStyle = color("lost");
    for (const t of p.F.violations) { g.fillRect(X(t) - 1, y, 3, room); }
  });
  g.strokeStyle = color("soft");
  g.setLineDash([2, 2]);
  for (const gap of app.clock.gaps) { g.strokeRect(X(gap.from), 0.5, X(gap.to) - X(gap.from), h - 1); }
  overviewBase = base;
}

function drawOverview() {
  const c = $("overview"), g = c.getContext("2d");
  g.clearRect(0, 0, c.width, c.height);
  if (overviewBase) g.drawImage(overviewBase, 0, 0);
}

// ---- pointing and interfering

function showTip(p, x, y) {
  if (!p) { hideTip(); return; }
  const tip = $("tip");
  tip.replaceChildren(explain(p), el("small", {}, say(p.lost ? "on.way.lost" : "on.way", clockText(p.sent_ns), clockText(p.arrived_ns))));
  tip.hidden = false;
  const w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.left = Math.max(8, Math.min(scrollX + document.documentElement.clientWidth - w - 8, x - w / 2)) + "px";
  tip.style.top = Math.max(scrollY + 8, y - h - 16) + "px";
}

function hideTip() { $("tip").hidden = true; }

function select(what) {
  app.selected = what;
  if (what && what.panel !== undefined) app.focus = what.panel;
  draw();
  if (what && what.packet !== undefined) announce(app.panels[what.panel].now.textContent);
}

let menuFrom = null;
function openMenu(panel, who, packet, x, y) {
  if (app.scene.mode !== "watch" || app.file) return;
  const F = panel.F, unit = F.unitIndex.get(who);
  const s = stateAt(F, app.t), conn = s.conns[F.clientIndex.get(F.clientOf.get(who))];
  const l = app.byName.get(panel.lock) || {};
  const list = s.stopped[F.clientIndex.get(F.clientOf.get(who))] ? ["runs on"] : packet ? packet.kind === "request" ? ["lose request", "lose reply", "cut", "expire", "stop"] : ["lose reply", "cut", "expire", "stop"] : FAULTS.filter(f => f !== "end ctx" || l.contexts);
  const state = s.units[unit];
  const about = packet ? explain(packet) : explainMark({ kind: "state", who, state: state.state, text: state.text }) + (state.lost ? " " + explainMark({ kind: "lost", who, knows: state.lost === "knows" }) : "") + (conn !== "connected" ? " " + explainMark({ kind: "client", who, state: conn }) : "");
  showMenu(say("interfere", who, clockText(app.t)), about, list.map(f => ({ id: f, text: say("do." + f), tip: say("tip." + f), run: () => interfere(who, f) })), x, y);
}

function showMenu(title, about, items, x, y) {
  const menu = $("menu");
  menu.setAttribute("aria-label", title);
  menu.replaceChildren(el("h3", {}, title), about ? el("p", {}, about) : "", ...items.map(i => el("button", { role: "menuitem", "data-do": i.id, tabindex: -1, onclick: () => { closeMenu(); i.run(); } }, i.text, i.tip ? el("small", {}, i.tip) : null)));
  menu.hidden = false;
  const w = menu.offsetWidth, h = menu.offsetHeight;
  const right = scrollX + document.documentElement.clientWidth, bottom = scrollY + innerHeight;
  menu.style.left = Math.max(8, Math.min(right - w - 8, x + 14)) + "px";
  menu.style.top = Math.max(scrollY + 8, Math.min(bottom - h - 8, y - 40)) + "px";
  menuFrom = document.activeElement;
  menu.querySelector("button").focus();
  hideTip();
}

function closeMenu() {
  if ($("menu").hidden) return;
  $("menu").hidden = true;
  if (menuFrom && menuFrom.isConnected) menuFrom.focus();
}

$("menu").addEventListener("keydown", e => {
  const items = [...$("menu").querySelectorAll("button")], i = items.indexOf(document.activeElement);
  if (e.key === "ArrowDown" || e.key === "ArrowUp") items[(i + (e.key === "ArrowDown" ? 1 : items.length - 1)) % items.length].focus();
  else if (e.key === "Escape" || e.key === "Tab") closeMenu();
  else return;
  e.preventDefault();
  e.stopPropagation();
});

// ---- you are the scheduler

function world() {
  const s = app.scene;
  return { lock: s.locks[0], contenders: s.n, shared: s.shared, packets: s.packets, kinds: s.kinds, faults: s.kinds.length ? s.faults : 0 };
}

async function loadPlay(turn, options) {
  setPlaying(false);
  const s = app.scene;
  if (app.byName.size && !app.byName.has(s.locks[0])) { const lock = s.locks[0]; notice(() => say("unknownLock", lock)); s.locks = [DEFAULT.locks[0]]; }
  if (s.n > 6) s.n = 6;
  showScene();
  const from = app.play && app.play.lock === s.locks[0] && s.choices.length > app.play.length ? app.play.end : null;
  try {
    const r = await app.engine.ask({ do: "play", world: world(), choices: s.choices });
    if (turn !== app.turn) return;
    const F = indexFilm(r.film);
    app.play = { ...r, F, lock: s.locks[0], length: s.choices.length, end: F.end };
    setPanels([{ lock: s.locks[0], which: "", F }]);
    showPlayBench();
    if (from !== null && !app.calm && from < F.end) {
      app.t = Math.min(from, F.end);
      goto(app.t);
      app.speed = Math.max(app.speed, 1);
      setPlaying(true);
    } else if (from === null && s.choices.length > 0 && !(options && (options.keep || options.start !== undefined))) {
      // A schedule that was chosen elsewhere is shown from its start.
      goto(app.calm ? F.end : 0);
      if (!app.calm) setPlaying(true);
    } else goto(options && options.start !== undefined ? options.start : F.end);
    showLink(true);
    const last = broke(r) ? violationText(broke(r).kind) + say("fullStop") : "";
    announce(last + app.panels[0].sentence(F.end, stateAt(F, F.end)));
  } catch (e) {
    if (turn !== app.turn) return;
    failed(e);
    showPlayBench();
  }
}

// What has gone wrong in a schedule. A holder that outlives its session is
// known of every lock without a clock, and worth seeing.
function broke(r) {
  const known = "holder outlives its session";
  return r.violation || ((r.known || []).includes(known) ? { kind: known } : null);
}

function choiceText(c) {
  const what = c.what || c.choice.replace(/^[^:]*: /, "");
  return has("do." + what) ? say("do." + what) : what;
}

// What a choice is about: the packet that waits.
function choicePacket(c) {
  const F = app.play && app.play.F;
  if (!F || !["request", "reply", "event"].includes(c.what)) return null;
  const list = F.packets.filter(p => p.client === c.who && p.pending && (p.kind === "request") === (c.what === "request"));
  return list[0] || null;
}

// refill shows the workbench anew. What had the focus has it again.
function refill(box, parts) {
  const had = box.contains(document.activeElement) ? document.activeElement : null;
  box.replaceChildren(...parts.filter(Boolean));
  if (!had) return;
  const find = q => [...box.querySelectorAll(q)].find(e => !e.disabled);
  const next = had.id ? find("#" + had.id) : had.dataset.kind ? find(`[data-kind="${had.dataset.kind}"]`) : null;
  (next || find("[data-choice]") || find("button") || document.body).focus();
}

// Whether the box of what may go wrong is open stays as it is.
function faultsOpen() {
  const e = document.querySelector("#workbench details.faults");
  return e ? e.open : app.scene.mode === "find" || innerWidth > 760;
}

function showPlayBench() {
  const box = $("workbench"), s = app.scene, r = app.play, l = app.byName.get(s.locks[0]) || {};
  box.hidden = false;
  const goal = l.goal ? el("p", { class: "goal", id: "goal" }, say("goal") + say("colon") + (l.goal[getLanguage()] || l.goal.en)) : null;
  const settings = el("div", { class: "row" }, el("details", { class: "faults", open: faultsOpen() }, el("summary", {}, say("faultKinds")), kindBoxes(() => restartPlay()), countBox(() => restartPlay()),
    el("label", {}, el("input", { type: "checkbox", id: "packets", checked: s.packets, onchange: e => { s.packets = e.target.checked; restartPlay(); } }), say("packetsToo"))));
  const parts = [goal, settings];
  if (r) {
    const enabled = r.enabled || [];
    const bad = broke(r);
    if (bad) {
      const reached = l.goal && (!l.goal.kind || l.goal.kind === bad.kind);
      parts.push(el("div", { class: "reached" + (reached ? "" : " bad"), id: "reached", "data-reached": reached ? "yes" : "no" },
        el("strong", {}, (reached ? say("goalReached") : say("broke")) + say("colon") + violationText(bad.kind) + say("fullStop")), " ", told(bad.what)));
    }
    if (enabled.length === 0) { if (!bad) parts.push(el("p", { id: "over" }, r.over ? say("over") : say("noEnabled"))); } else {
      parts.push(el("strong", { id: "your-turn" }, say("yourTurn")), el("div", { class: "choices", role: "group", "aria-labelledby": "your-turn" }, ...enabled.map((c, i) => {
        const p = choicePacket(c), detail = p ? explain({ ...p, lost: false }) : "";
        return el("button", { "data-choice": c.choice, "data-action": "choose", class: c.fault ? "fault" : null, title: detail, onclick: () => choose(c.choice) }, el("b", {}, whoWords(c.who)), " ", choiceText(c), p ? say("colon") + (p.op || p.event) : "", i < 9 ? el("kbd", { "aria-hidden": "true" }, String(i + 1)) : null);
      })));
    }
    parts.push(el("div", { class: "row" },
      el("button", { id: "take-back", "data-action": "take-back", disabled: s.choices.length === 0, onclick: takeBack }, say("undoChoice")),
      el("button", { id: "restart", "data-action": "restart", disabled: s.choices.length === 0, onclick: restartPlay }, say("restart")),
      enabled.some(c => !c.fault) ? el("button", { id: "rest", "data-action": "rest", onclick: () => follow([]) }, say("rest")) : null,
      r.trace && s.choices.length ? saveButton(r.trace) : null,
      l.goal && l.scene.choices?.length && l.scene.choices.join() !== s.choices.join() ? el("button", { id: "show-me", "data-action": "show-me", onclick: () => { takeScene(l); load({}); } }, say("showMe")) : null,
      cureOf(s.locks[0]) ? el("button", { id: "cure", "data-action": "cure", onclick: () => other(cureOf(s.locks[0])) }, say("withCure")) : null,
      bugOf(s.locks[0]) ? el("button", { id: "bug", "data-action": "bug", onclick: () => other(bugOf(s.locks[0])) }, say("withBug")) : null));
    if (s.choices.length) parts.push(el("details", { open: !!broke(r) }, el("summary", {}, say("choicesMade") + " (" + s.choices.length + ")"), el("ol", { id: "trace" }, ...s.choices.map(c => el("li", {}, choiceWords(c))))));
  }
  refill(box, parts);
}

function saveButton(trace) {
  return el("button", { "data-action": "save", onclick: () => {
    const a = el("a", { href: URL.createObjectURL(new Blob([JSON.stringify(trace, null, "\t") + "\n"], { type: "application/json" })), download: (trace.world && trace.world.lock || "trace") + ".json" });
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 10000);
  } }, say("save"));
}

// whole is the number in a field, as a whole one within bounds, which the field
// then shows.
function whole(field, least, most, otherwise) {
  const n = Math.max(least, Math.min(most, Math.round(Number(field.value)) || otherwise));
  field.value = n;
  return n;
}

function kindBoxes(changed) {
  const s = app.scene, l = app.byName.get(s.locks[0]) || {};
  return el("fieldset", { class: "kinds", "aria-label": say("faultKinds") }, ...KINDS.filter(k => possible(l).includes(k) || s.kinds.includes(k)).map(k => el("label", {}, el("input", { type: "checkbox", "data-kind": k, title: has("tip." + k) ? say("tip." + k) : null, checked: s.kinds.includes(k), onchange: e => {
    s.kinds = KINDS.filter(x => x === k ? e.target.checked : s.kinds.includes(x));
    changed();
  } }), say("kind." + k))));
}

function countBox(changed) {
  const s = app.scene;
  return el("label", {}, say("howMany"), el("input", { type: "number", id: "faults", min: 0, max: 3, value: s.faults, onchange: e => { s.faults = whole(e.target, 0, 3, 0); changed(); } }));
}

function choose(choice) { app.scene.choices = [...app.scene.choices, choice]; load({ keep: true }); }
function takeBack() { if (app.scene.choices.length) { app.scene.choices = app.scene.choices.slice(0, -1); load({ keep: true }); } }
// other goes on with another lock. The schedule of the first one is followed
// as far as it can be: where its next choice is not possible, the first action
// that is no fault comes instead.
function other(l) {
  const way = app.scene.choices;
  takeScene(l);
  app.scene.mode = "schedule";
  if (app.scene.choices.length || l.goal) load({}); else follow(way.filter(c => !c.startsWith("gap ")));
}

// follow makes choices until nothing is left to choose, or something breaks.
async function follow(way) {
  const turn = ++app.turn, s = app.scene;
  let next = 0;
  const choices = [...s.choices];
  setPlaying(false);
  try {
    while (choices.length < 80) {
      const r = await app.engine.ask({ do: "play", world: world(), choices });
      if (turn !== app.turn) return;
      const enabled = r.enabled || [];
      if (enabled.length === 0 || r.violation) break;
      const take = next < way.length && enabled.some(c => c.choice === way[next]) ? way[next++] : (enabled.find(c => !c.fault) || {}).choice;
      if (!take) break;
      choices.push(take);
    }
  } catch (e) {
    if (turn === app.turn) failed(e);
    return;
  }
  const from = app.play && s.choices.length && app.play.lock === s.locks[0];
  s.choices = choices;
  await load({ keep: from });
}

function restartPlay() {
  settleNotice();
  app.scene.choices = [];
  app.play = null;
  load({ keep: true });
}

// Clients for whom a choice waits are marked on the stage.
function drawPlayHints() {
  const panel = app.panels[0];
  if (app.scene.mode !== "schedule" || !panel || !app.play) return;
  const turn = new Set((app.play.enabled || []).filter(c => !c.fault).map(c => c.who));
  panel.F.units.forEach(u => {
    const e = panel.stage.clientEl(u), on = turn.has(u) || turn.has(panel.F.clientOf.get(u));
    if ((e.dataset.turn === "yes") !== on) e.dataset.turn = on ? "yes" : "";
  });
}

// ---- find it for me

function showFind() {
  const box = $("workbench"), s = app.scene, f = app.search || {};
  box.hidden = false;
  const parts = [el("p", { class: "hint" }, say("findHint")),
    el("div", { class: "row" }, el("details", { class: "faults", open: faultsOpen() }, el("summary", {}, say("faultKinds")), kindBoxes(() => showLink(true)), countBox(() => showLink(true)),
      el("label", {}, el("input", { type: "checkbox", id: "packets", checked: s.packets, onchange: e => { s.packets = e.target.checked; showLink(true); } }), say("packetsToo"))),
      el("label", {}, el("input", { type: "number", id: "for", min: 1, max: 3600, value: app.findFor || 60, onchange: e => { app.findFor = whole(e.target, 1, 3600, 60); } }), say("seconds")),
      f.running ? el("button", { id: "stop-find", "data-action": "stop-find", class: "main", onclick: stopFind }, say("stop")) : el("button", { id: "start-find", "data-action": "start-find", class: "main", onclick: startFind }, say("start")))];
  if (f.running) parts.push(el("div", { class: "row" }, el("progress", {}), el("span", { id: "find-progress", role: "status" }, f.text())));
  else if (f.text) parts.push(el("div", { class: "reached" + (f.found ? " bad" : ""), id: "find-result", role: "status" }, el("strong", {}, f.text()), f.known ? el("p", {}, told(f.known)) : null));
  for (const [name, trace] of Object.entries(f.others || {})) parts.push(el("div", { class: "row known" }, el("span", {}, say("known", knownText(name))), el("button", { "data-known": name, onclick: () => watchTrace(f, trace) }, say("openTrace"))));
  if (f.trace) parts.push(el("details", { open: true }, el("summary", {}, say("choicesFound") + " (" + f.trace.choices.length + ")"), el("ol", { id: "trace" }, ...f.trace.choices.map(c => el("li", {}, choiceWords(c))))), el("div", { class: "row" }, saveButton(f.trace)));
  refill(box, parts);
}

async function startFind() {
  settleNotice();
  const s = app.scene, w = world();
  if (s.n > 4) { s.n = w.contenders = 3; showScene(); }
  stopFind();
  setPanels([]);
  const finder = app.finder = new Engine();
  const f = app.search = { running: true, text: () => say("loading") };
  showFind();
  try {
    const r = await finder.ask({ do: "find", world: { ...w, kinds: undefined, faults: undefined }, kinds: s.kinds, faults: w.faults, for_s: app.findFor || 60 }, p => {
      f.text = () => say("searching", p.schedules, Math.round(p.per_second));
      const e = $("find-progress");
      if (e) e.textContent = f.text();
    });
    if (app.search !== f) return;
    f.running = false;
    f.trace = r.trace;
    f.others = r.known || {};
    if (r.trace) {
      const v = r.trace.violation;
      f.text = () => say("foundIt", r.schedules, v ? violationText(v.kind) : (r.trace.known || []).map(knownText).join(say("comma")));
      f.known = v && v.what || "";
    } else f.text = () => say(r.complete ? "foundNone" : "foundNoneIncomplete", r.schedules, lockTitle(s.locks[0]), w.contenders, w.faults === 1 ? say("fault1") : say("faultN", w.faults)) + (Object.keys(f.others).length ? " " + say("butKnown") : "");
    f.found = !!r.trace;
    announce(f.text());
    showFind();
    finder.stop();
    if (r.trace) await watchTrace(f, r.trace);
  } catch (e) {
    if (app.search !== f) return;
    f.running = false;
    f.text = e.name === "Stopped" ? () => say("stopped") : null;
    showFind();
    if (e.name !== "Stopped") notice(() => say("engineError"), () => told(e.message));
  }
}

// A lock's page names what it is known to do wrong.
function knownText(name) { return has("violation." + name) ? violationText(name) : told(name); }

async function watchTrace(f, trace) {
  const F = indexFilm(await app.engine.ask({ do: "replay", trace }));
  if (app.search !== f) return;
  f.film = F;
  f.trace = trace;
  showFind();
  setPanels([{ lock: app.scene.locks[0], which: "", F }]);
  goto(0);
  if (app.calm) goto(F.violations.length ? F.violations[0] : F.end); else setPlaying(true);
}

function stopFind() {
  if (app.finder) app.finder.stop();
  app.finder = null;
}

// ---- files

function readJSON(text) {
  try { return JSON.parse(text); } catch (e) { throw new Error("not JSON: " + e.message); }
}

async function openFiles(files) {
  const list = [];
  for (const file of [...files].slice(0, 2)) {
    try {
      const data = readJSON(await file.text());
      if (!data || !data.packets && !data.world) throw new Error("neither a film nor a trace");
      const F = indexFilm(data.packets ? data : await app.engine.ask({ do: "replay", trace: data }));
      list.push({ lock: F.film.lock || "", caption: lockTitle(F.film.lock || say("recorded")) + " " + say("fromFile", file.name) + (F.film.recorded ? " · " + say("recordedAt", F.film.server || "?") : ""), which: "", F });
    } catch (e) {
      notice(() => say("badFile", file.name, told(e.message)));
    }
  }
  if (list.length === 0) return;
  app.turn++;
  app.growing = false;
  app.file = list;
  setPlaying(false);
  showScene();
  showRuns();
  $("workbench").hidden = false;
  $("workbench").replaceChildren(el("div", { class: "row" }, el("strong", {}, list.map(x => x.caption).join(", ")), el("button", { id: "back-to-locks", onclick: () => { app.file = null; load({}); } }, say("backToLocks"))));
  setPanels(list);
  goto(0);
  if (!app.calm) setPlaying(true);
}

// ---- what the page listens to

document.addEventListener("click", e => {
  const b = e.target.closest("[data-action]");
  if (b && actions[b.dataset.action] && !b.closest("#menu")) actions[b.dataset.action]();
  const m = e.target.closest("[data-mode]");
  if (m) setMode(m.dataset.mode);
  if (!$("menu").hidden && !e.target.closest("#menu") && !e.target.closest(".stage")) closeMenu();
});

// Some locks have a scene that shows what they do wrong.
function takeScene(l) {
  const s = app.scene, scene = l.scene;
  s.locks = [l.name];
  s.n = scene.contenders || s.n;
  s.shared = !!scene.shared;
  s.latency = scene.latency_ms || s.latency;
  s.seed = scene.seed || 1;
  s.changes = scene.changes || [];
  s.vs = false;
  s.kinds = scene.kinds || [];
  s.faults = scene.faults ?? s.faults;
  s.packets = !!scene.packets || !!(l.world && l.world.packets);
  app.play = null;
  if (s.mode === "find") { // and what is searched for is not given away
    s.n = Math.min(s.n, 4);
    s.changes = [];
    s.choices = [];
    if (s.kinds.length === 0) s.kinds = possible(l).filter(k => !UNUSUAL.includes(k));
  } else {
    s.choices = scene.choices || [];
    // A scene without changes is a schedule of choices, be they none.
    if (s.choices.length || l.goal && s.changes.length === 0) s.mode = "schedule";
  }
  rootBranches();
}

// The cure of a listing is the lock whose name goes on where its own ends.
function cureOf(name) { return app.locks.find(l => l.name.startsWith(name + "-")); }
function bugOf(name) { const i = name.indexOf("-"); return i > 0 ? app.byName.get(name.slice(0, i)) : undefined; }

function setMode(mode) {
  stopFind();
  settleNotice();
  app.file = null;
  app.search = null;
  app.play = null;
  const s = app.scene;
  s.mode = mode;
  if (mode !== "watch") {
    s.choices = [];
    const l = app.byName.get(s.locks[0]) || {};
    if (l.scene && l.scene.kinds) s.kinds = l.scene.kinds;
    if (l.scene && l.scene.faults !== undefined) s.faults = l.scene.faults;
    if (mode === "find" && s.kinds.length === 0) s.kinds = possible(l).filter(k => !UNUSUAL.includes(k));
    s.n = l.scene && l.goal ? l.scene.contenders || 2 : Math.min(s.n, mode === "find" ? 2 : 3);
    s.locks = [s.locks[0]];
  }
  load({});
}

$("t").addEventListener("input", () => { setPlaying(false); if (app.clock) goto(app.clock.instant(Number($("t").value) * 1e6)); showLink(); });
$("speed").addEventListener("change", () => { app.speed = Number($("speed").value); });
$("choose").addEventListener("submit", e => e.preventDefault());
$("choose").addEventListener("change", e => {
  const s = app.scene, before = s.locks[0];
  s.locks = [$("lock").value, $("versus").value].filter(Boolean);
  if (s.mode !== "watch") s.locks = [s.locks[0]];
  s.n = whole($("contenders"), 1, 100, 1);
  s.shared = $("shared").value === "1";
  s.latency = Number($("latency").value);
  s.seed = Math.max(0, Math.round(Number($("seed").value)) || 0);
  app.play = null;
  app.search = null;
  stopFind();
  settleNotice();
  s.choices = [];
  const l = app.byName.get(s.locks[0]);
  if (e.target.id === "lock" && s.locks[0] !== before && l && l.scene) takeScene(l);
  else if (e.target.id !== "lock" && e.target.id !== "versus") {
    s.changes = [];
    s.vs = false;
    rootBranches();
  }
  load({});
});
$("file").addEventListener("change", () => { openFiles($("file").files); $("file").value = ""; });
addEventListener("dragover", e => { e.preventDefault(); $("drop").hidden = false; });
addEventListener("dragleave", e => { if (!e.relatedTarget) $("drop").hidden = true; });
addEventListener("drop", e => { e.preventDefault(); $("drop").hidden = true; if (e.dataTransfer.files.length) openFiles(e.dataTransfer.files); });
addEventListener("hashchange", () => { if (location.hash !== app.ownHash) openLink(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const p of app.panels) p.diagram.readColors(); drawOverviewBase(); draw(); });
matchMedia("(prefers-reduced-motion: reduce)").addEventListener("change", e => { app.calm = e.matches; if (app.calm) setPlaying(false); });

addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey || $("help-box").open) return;
  const tag = e.target.tagName, typing = tag === "INPUT" && e.target.type !== "range" && e.target.type !== "checkbox" || tag === "SELECT";
  if (typing) return;
  const on = what => { e.preventDefault(); what(); };
  const button = tag === "BUTTON" || tag === "SUMMARY" || tag === "INPUT" && e.target.type === "checkbox";
  switch (e.key) {
    case " ": if (!button) on(actions.play); return;
    case "ArrowLeft": on(actions[e.shiftKey ? "event-back" : "step-back"]); return;
    case "ArrowRight": on(actions[e.shiftKey ? "event-on" : "step-on"]); return;
    case "h": on(actions["hold-on"]); return;
    case "H": on(actions["hold-back"]); return;
    case "v": on(actions["violation-on"]); return;
    case "V": on(actions["violation-back"]); return;
    case "Home": on(actions["to-start"]); return;
    case "End": on(actions["to-end"]); return;
    case "+": case "=": on(() => changeSpeed(1)); return;
    case "-": on(() => changeSpeed(-1)); return;
    case "[": on(() => zoom(1 / 1.5)); return;
    case "]": on(() => zoom(1.5)); return;
    case "n": case "p": on(() => nextClient(e.key === "n" ? 1 : -1)); return;
    case ",": case ".": on(() => nextPacket(e.key === "." ? 1 : -1)); return;
    case "Enter": if (!button && app.selected) on(() => {
      const panel = app.panels[app.selected.panel] || app.panels[0], g = panel.stage.clientEl(app.selected.client).getBoundingClientRect();
      setPlaying(false);
      const p = app.selected.packet !== undefined && panel.F.packets[panel.F.byId.get(app.selected.packet)];
      openMenu(panel, app.selected.client, p || null, g.left + scrollX + g.width / 2, g.top + scrollY + 40);
    }); return;
    case "u": on(undoBranch); return;
    case "c": on(compare); return;
    case "l": on(actions.language); return;
    case "d": on(actions.theme); return;
    case "?": on(actions.help); return;
    case "Escape": closeMenu(); hideTip(); if (app.selected) select(null); return;
    case "Backspace": if (app.scene.mode === "schedule") on(takeBack); return;
  }
  if (app.scene.mode === "schedule" && app.play && /^[1-9]$/.test(e.key)) {
    const c = (app.play.enabled || [])[Number(e.key) - 1];
    if (c) on(() => choose(c.choice));
  }
});

function changeSpeed(by) {
  const i = Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(app.speed) + by));
  app.speed = SPEEDS[i];
  $("speed").value = String(app.speed);
}

// The packets on their way can be gone through by keys, too; if there are
// none, those that were sent last.
function nextPacket(by) {
  if (!app.panels.length) return;
  setPlaying(false);
  const panel = app.panels[app.selected ? app.selected.panel : 0] || app.panels[0], F = panel.F;
  let list = packetsIn(F, app.t, app.t).filter(i => F.packets[i].sent_ns <= app.t);
  if (list.length === 0) { const n = above(F.sent, app.t); list = [...Array(Math.min(n, 8)).keys()].map(i => n - Math.min(n, 8) + i); }
  if (list.length === 0) return;
  const at = list.findIndex(i => app.selected && F.packets[i].id === app.selected.packet);
  const p = F.packets[list[at < 0 ? by > 0 ? 0 : list.length - 1 : (at + by + list.length) % list.length]];
  select({ packet: p.id, client: panel.unitOfPacket(p), panel: panel.index });
}

function nextClient(by) {
  if (!app.panels.length) return;
  const panel = app.panels[app.selected ? app.selected.panel : 0] || app.panels[0], n = panel.F.units.length;
  const i = app.selected ? (panel.F.unitIndex.get(app.selected.client) + by + n) % n : by > 0 ? 0 : n - 1;
  select({ client: panel.F.units[i], panel: panel.index });
  panel.stage.clientEl(panel.F.units[i]).focus();
  announce(panel.stage.clientEl(panel.F.units[i]).getAttribute("aria-label"));
}

// openLink shows what the address says.
async function openLink() {
  let parsed;
  settleNotice();
  try {
    parsed = parseLink(location.hash);
  } catch (e) {
    notice(() => say("badLink", told(e.message)));
    parsed = parseLink("");
    const lang = /[#&]lang=(\w+)/.exec(location.hash);
    if (lang) parsed.extra.lang = lang[1];
  }
  const { scene, extra } = parsed;
  if (extra.lang && WORDS[extra.lang] && extra.lang !== getLanguage()) { setLanguage(extra.lang); words(); showPlay(); }
  if (extra.speed && SPEEDS.includes(extra.speed)) { app.speed = extra.speed; $("speed").value = String(extra.speed); }
  app.scene = scene;
  app.file = null;
  app.play = null;
  app.search = null;
  rootBranches();
  if (scene.mode === "find" && scene.kinds.length === 0) scene.kinds = KINDS.slice(0, 5);
  await load(extra.t !== undefined ? { start: extra.t } : {});
  if (extra.t !== undefined && extra.play === "1" && !app.calm) setPlaying(true);
}

// A server that watches the locks tells when one was saved.
function listen() {
  const meta = document.querySelector('meta[name="lab-events"]');
  if (!meta) return;
  new EventSource(meta.content).onmessage = e => {
    const m = JSON.parse(e.data);
    if (m.building) calmNotice("building");
    if (m.error) { notice(() => say("compileError"), () => m.error); $("notice").dataset.stays = "yes"; }
    if (m.reload) { showLink(true); location.reload(); }
  };
}

async function begin() {
  const wrong = checkStrings();
  if (wrong.length) console.error(wrong.join("\n"));
  $("speed").replaceChildren(...SPEEDS.map(x => el("option", { value: x }, (x < 1 ? { 0.125: "⅛", 0.25: "¼", 0.5: "½" }[x] : x) + "×")));
  $("speed").value = "1";
  setLanguage(/^zh/.test(navigator.language) ? "zh" : "en");
  try { const { extra } = parseLink(location.hash); if (extra.lang) setLanguage(extra.lang); } catch { /* openLink says so */ }
  words();
  showPlay();
  listen(); // before the engine: a lock that does not compile must be told of
  await engineStarts();
}

async function engineStarts() {
  setWaiting([], false);
  try {
    app.locks = await app.engine.ask({ do: "locks" });
    app.byName = new Map(app.locks.map(l => [l.name, l]));
  } catch (e) {
    failed(e);
    throw e;
  }
  fillLocks();
  await openLink();
}

// For tests and for the curious.
window.lab = {
  ready: begin(),
  app,
  goto: t => { setPlaying(false); goto(t); showLink(true); },
  play: () => setPlaying(true),
  pause: () => setPlaying(false),
  open: async hash => { app.ownHash = hash; history.replaceState(null, "", hash); await openLink(); },
  interfere: (who, what, t) => { if (t !== undefined) goto(t); interfere(who, what); return settled(); },
  settled,
  strings: checkStrings,
  state: () => ({
    t: app.t, end: app.clock ? app.clock.end : 0, playing: app.playing, mode: app.scene.mode, scene: app.scene, link: currentLink(),
    branches: app.branches.map(branchName), branch: app.branch,
    panels: app.panels.map(p => ({ lock: p.lock, which: p.which, hash: p.F.film.hash, violation: p.s && p.s.violation >= 0 ? p.F.marks[p.s.violation].violation : "", filmViolation: p.F.film.violation, requests: p.s.requests, events: p.s.events, wakeups: p.s.wakeups, holders: p.F.units.filter((_, i) => p.s.units[i].state === "holds"), flying: packetsIn(p.F, app.t, app.t).length })),
  }),
  // What it costs to show an instant: entries of the film that are looked at,
  // and strips of the diagram that are drawn.
  cost: t => {
    looked.marks = looked.packets = 0;
    goto(t);
    return { ...looked, strips: app.panels.reduce((n, p) => n + p.diagram.count.strips, 0) };
  },
};
window.lab.ready.catch(() => {});

// settled waits until nothing loads any more.
async function settled() {
  for (let turn = -1; turn !== app.turn || app.engine.waiting.size + app.filming.size > 0;) {
    turn = app.turn;
    await new Promise(r => setTimeout(r, 20));
  }
}
