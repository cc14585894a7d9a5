// The scene: its contents, its link, its branches, and how its films are loaded.
import { clockText, getLanguage, has, reason, say } from "./strings.js";
import { indexFilm } from "./film.js";
import { DEFAULT, formatLink, formatTime } from "./link.js";
import { Engine } from "./engine.js";
import { $, app, el, LATENCIES } from "./app.js";
import { lockTitle } from "./words.js";
import { calmNotice, notice, settleNotice } from "./notice.js";
import { growPanels, setPanels } from "./panels.js";
import { draw, goto, setPlaying } from "./time.js";
import { closeMenu } from "./menu.js";
import { loadPlay } from "./choices.js";
import { drawStory } from "./story.js";
import { isOpening } from "./opening.js";
import { showFate } from "./fate.js";
import { showFind } from "./find.js";
import { engineStarts } from "./main.js";

export function showScene() {
  const s = app.scene;
  $("lock").value = s.locks[0];
  $("versus").value = s.locks[1] || "";
  $("contenders").value = s.n;
  $("shared").value = s.shared ? "1" : "0";
  $("latency").replaceChildren(...[...new Set([...LATENCIES, s.latency])].sort((a, b) => a - b).map(x => el("option", { value: x }, x + " ms")), s.measured ? el("option", { value: "measured" }, say("measured")) : "");
  $("latency").value = s.measured ? "measured" : String(s.latency);
  $("seed").value = s.seed;
  document.body.classList.toggle("opening", isOpening());
  for (const b of document.querySelectorAll("[data-mode]")) b.setAttribute("aria-pressed", String(b.dataset.mode === s.mode));
  const watch = s.mode === "watch";
  document.body.dataset.view = s.mode;
  for (const e of document.querySelectorAll(".timing, .versus")) e.hidden = !watch;
  $("choose").hidden = !!app.file;
}

let linkTimer = 0;
export function showLink(now) {
  clearTimeout(linkTimer);
  const write = () => {
    if (app.file) return;
    const link = currentLink();
    if (link !== location.hash) { app.ownHash = link; try { history.replaceState(null, "", link); } catch { location.hash = link; } }
  };
  if (now) write(); else linkTimer = setTimeout(write, 300);
}

export function currentLink() {
  return formatLink(app.scene, { t: formatTime(app.t), lang: getLanguage(), projector: app.projector ? 1 : undefined });
}

function engineScene(lock, changes) {
  const s = app.scene;
  return { lock, contenders: s.n, shared: s.shared, latency_ms: s.latency, measured: s.measured, seed: s.seed, changes };
}

// The contents of the panels.
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
export function rootBranches() {
  app.branches = [{ changes: [], parent: null, name: "" }];
  const list = app.scene.changes;
  list.forEach((_, i) => app.branches.push({ changes: list.slice(0, i + 1), parent: i, name: "" }));
  app.branch = app.branches.length - 1;
}

export function branchName(b) {
  if (b.name) return b.name;
  const c = b.changes[b.changes.length - 1];
  return c ? (has("name." + c.do) ? say("name." + c.do, c.who) : c.who + " " + c.do) + " · " + clockText(c.at_ns) : say("asItComes");
}

// A change comes just after what the page shows: at the very instant it would
// come before it, and a holder that was stopped at its first instant would not
// be one.
export function interfere(who, what) {
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

export function undoBranch() {
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

export function showRuns(stop) {
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

export function compare() {
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
export async function load(options) {
  const { keep, start } = options || {};
  const turn = ++app.turn;
  app.growing = false;
  closeMenu();
  app.selected = keep ? app.selected : null;
  showScene();
  showRuns();
  if (app.file || app.scene.mode !== "schedule") showFate();
  drawStory();
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
  // The films are shown as far as they are there, once each panel has some of its film,
  // with the requested instant.
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

export function failed(e, want) {
  setPanels([]);
  app.failure = e;
  showFailure();
  if (e.name !== "Stopped") notice(() => say("engineError"), () => reason(e));
}

export function showFailure() {
  const e = app.failure;
  $("panels").replaceChildren(el("div", { class: "panel waiting" }, el("p", {}, e.name === "Stopped" ? say("runStopped") : say("engineError") + say("sentenceGap") + reason(e)), el("button", { id: "retry", onclick: () => { $("notice").hidden = true; if (app.locks.length) load({}); else engineStarts().catch(() => {}); } }, say("retry"))));
}

export function setWaiting(want, long) {
  app.panels = [];
  app.failure = null;
  const text = app.locks.length ? say("running", want.map(w => lockTitle(w.lock)).join(", ")) : say("loading");
  $("panels").dataset.count = "1";
  $("panels").replaceChildren(el("div", { class: "panel waiting", role: "status" }, el("p", {}, text), long ? el("p", {}, say("takesLong"), " ", stopButton()) : null));
}

function stopButton() { return el("button", { id: "stop-run", "data-action": "stop-run", onclick: () => { for (const e of [...app.filming]) e.stop(); } }, say("stopRun")); }
