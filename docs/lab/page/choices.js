// You are the scheduler: each packet waits until it is chosen.
import { choiceWords, explain, has, inEnglish, plainOp, reason, say, translated, violationText, whoWords } from "./strings.js";
import { indexFilm, shortName, stateAt } from "./film.js";
import { DEFAULT } from "./link.js";
import { $, app, el, KINDS, possible, whole } from "./app.js";
import { announce, notice, settleNotice } from "./notice.js";
import { showFate } from "./fate.js";
import { failed, load, showLink, showScene } from "./scene.js";
import { setPanels } from "./panels.js";
import { goto, setPlaying } from "./time.js";
import { showLevel, wasReached } from "./levels.js";
import { bugOf, cureOf, takeScene } from "./modes.js";

export function world(lock = app.scene.locks[0]) {
  const s = app.scene;
  return { lock, contenders: s.n, shared: s.shared, packets: s.packets, sequence: s.sequence, one_owner: s.oneOwner, stranger: s.stranger, behind: s.behind, ensemble: s.ensemble, scripts: s.scripts, kinds: s.kinds, faults: s.kinds.length ? s.faults : 0 };
}

export async function loadPlay(turn, options) {
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
    const panels = [{ lock: s.locks[0], which: "", F }];
    if (s.locks[1] && app.byName.has(s.locks[1])) {
      const beside = await along(s.locks[1], s.choices, [], turn);
      if (turn !== app.turn) return;
      panels.push({ lock: s.locks[1], which: "", F: indexFilm(inStep(beside.played.film, r.film)) });
    }
    app.play = { ...r, F, lock: s.locks[0], length: s.choices.length, end: Math.max(...panels.map(p => p.F.end)) };
    setPanels(panels);
    showPlayBench();
    showFate();
    if (from !== null && !app.calm && from < app.play.end) {
      app.t = Math.min(from, app.play.end);
      goto(app.t);
      app.speed = Math.max(app.speed, 1);
      setPlaying(true);
    } else if (from === null && s.choices.length > 0 && !(options && (options.keep || options.start !== undefined))) {
      // A schedule that was chosen elsewhere is shown from its start.
      goto(app.calm ? app.play.end : 0);
      if (!app.calm) setPlaying(true);
    } else goto(options && options.start !== undefined ? options.start : app.play.end);
    showLink(true);
    const last = broke(r) ? violationText(broke(r).kind) + say("fullStop") : "";
    announce(last + app.panels[0].sentence(F.end, stateAt(F, F.end)));
  } catch (e) {
    if (turn !== app.turn) return;
    const wrong = /^choice (\d+) is |^the schedule ends after (\d+) of /.exec(e.message);
    const valid = wrong ? wrong[1] ? wrong[1] - 1 : Number(wrong[2]) : s.choices.length;
    if (valid < s.choices.length) { // what is possible of it is shown
      const asked = s.choices.length;
      s.choices = s.choices.slice(0, valid);
      await load({ keep: true });
      notice(() => say("validBeginning", valid, asked), () => reason(e));
      return;
    }
    failed(e);
    showPlayBench();
  }
}

// The violation in a schedule. A holder that outlives its session is known of every
// lock without a clock, and worth seeing.
export function broke(r) {
  const known = "holder outlives its session";
  return r.violation || ((r.known || []).some(k => inEnglish(k) === known) ? { kind: known } : null);
}

export function choiceText(c) {
  const what = c.what || c.choice.replace(/^[^:]*: /, "");
  return has("do." + what) ? say("do." + what) : what;
}

// A gap is a place between two lines of a listing. Its name is that of a bug; a
// button shows which contender is kept there.
const gapWords = c => c.of ? say("inGap", c.of) : "";

// The packet of a choice, which waits.
function choicePacket(c) {
  const F = app.play && app.play.F;
  if (!F || !["request", "reply", "event"].includes(c.what)) return null;
  const list = F.packets.filter(p => p.client === c.who && p.pending && (p.kind === "request") === (c.what === "request"));
  return list[0] || null;
}

// refill shows the workbench again. The element that had the focus has it again.
export function refill(box, parts) {
  const had = box.contains(document.activeElement) ? document.activeElement : null;
  box.replaceChildren(...parts.filter(Boolean));
  if (!had) return;
  const find = q => [...box.querySelectorAll(q)].find(e => !e.disabled);
  const next = had.id ? find("#" + had.id) : had.dataset.kind ? find(`[data-kind="${had.dataset.kind}"]`) : null;
  (next || find("[data-choice]") || find("button") || document.body).focus();
}

// faultBox is the box of what may go wrong. Whether it is open stays as it is. A goal
// brings its faults: its box is closed at first, and the choices are in sight.
export function faultBox(changed) {
  const s = app.scene, choosing = s.mode === "schedule", given = choosing && !!(app.byName.get(s.locks[0]) || {}).goal;
  const of = s.mode + (given ? " goal" : ""), was = document.querySelector("#workbench details.faults");
  const open = was && was.dataset.of === of ? was.open : !choosing || !given && innerWidth > 760;
  return el("details", { class: "faults", "data-of": of, open }, el("summary", {}, say("faultKinds") + (choosing ? say("colon") + faultWords() : "")), kindBoxes(changed), countBox(changed),
    el("label", {}, el("input", { type: "checkbox", id: "packets", checked: s.packets, onchange: e => { s.packets = e.target.checked; changed(); } }), say("packetsToo")));
}

// The faults that a schedule has had.
export const faultsMade = () => app.scene.choices.filter(c => KINDS.some(kind => c.endsWith(": " + kind))).length;

// The faults that may happen, in words, and the number of those so far.
function faultWords() {
  const s = app.scene, made = faultsMade();
  if (!s.kinds.length || !s.faults) return say("none");
  return say("faultsAre", s.kinds.map(k => say("kind." + k)).join(say("comma")), s.faults === 1 ? say("fault1") : say("faultN", s.faults)) + (made ? say("faultsMade", made) : "");
}

// A choice that was made, with the operation of its request.
function madeText(choice, made) {
  const op = made && made.choice === choice && made.op ? say("colon") + plainOp(made.op) + (made.path ? " " + shortName(made.path).replace(/^(?!#)/, "/") : "") : "";
  return choiceWords(choice) + op;
}

export function showPlayBench() {
  const box = $("workbench"), s = app.scene, r = app.play, l = app.byName.get(s.locks[0]) || {};
  box.hidden = false;
  const goal = l.goal ? el("p", { class: "goal", id: "goal" }, say("goal") + say("colon") + translated(l.goal.text)) : null;
  const settings = el("div", { class: "row" }, faultBox(() => restartPlay()));
  const parts = [goal, settings];
  if (r) {
    const enabled = r.enabled || [];
    const bad = broke(r);
    if (bad) {
      const reached = l.goal && (!l.goal.kind || l.goal.kind === bad.kind);
      if (reached && app.chosen) wasReached(l.name); // and not only looked at
      parts.push(el("div", { class: "reached" + (reached ? "" : " bad"), id: "reached", "data-reached": reached ? "yes" : "no" },
        el("strong", {}, say(reached ? "goalReached" : l.goal ? "brokeElse" : "broke") + say("colon") + violationText(bad.kind) + say("fullStop")), say("sentenceGap"),
        l.goal && l.goal.kind === "two holders" && !r.violation ? say("notTwo") : translated(bad.what)));
    }
    if (enabled.length === 0) { if (!bad) parts.push(el("p", { id: "over" }, r.over ? say("over") : say("noEnabled"))); } else {
      parts.push(el("strong", { id: "your-turn" }, say("yourTurn")), el("div", { class: "choices", role: "group", "aria-labelledby": "your-turn" }, ...enabled.map((c, i) => {
        const p = choicePacket(c), detail = p ? explain({ ...p, lost: false }) : "";
        return el("button", { "data-choice": c.choice, "data-action": "choose", class: c.fault ? "fault" : null, title: detail, onclick: () => choose(c.choice) }, el("b", {}, gapWords(c) || whoWords(c.who)), " ", choiceText(c), p ? say("colon") + (p.op || p.event) : "", i < 9 ? el("kbd", { "aria-hidden": "true" }, String(i + 1)) : null);
      })));
    }
    parts.push(el("p", { id: "out-of-reach", class: "reached bad", role: "status", hidden: true })); // fate.js says so
    parts.push(el("div", { class: "row" },
      el("button", { id: "take-back", "data-action": "take-back", disabled: s.choices.length === 0, onclick: takeBack }, say("undoChoice")),
      el("button", { id: "restart", "data-action": "restart", disabled: s.choices.length === 0, onclick: restartPlay }, say("restart")),
      enabled.some(c => !c.fault) ? el("button", { id: "rest", "data-action": "rest", onclick: () => follow([]) }, say("rest")) : null,
      r.trace && s.choices.length ? saveButton(r.trace) : null,
      l.goal && l.scene.choices?.length && l.scene.choices.join() !== s.choices.join() ? el("button", { id: "show-me", "data-action": "show-me", onclick: () => { takeScene(l); load({}); } }, say("showMe")) : null,
      cureOf(s.locks[0]) ? el("button", { id: "cure", "data-action": "cure", onclick: () => other(cureOf(s.locks[0])) }, say("withCure")) : null,
      cureOf(s.locks[0]) && s.choices.length ? el("button", { id: "beside", "data-action": "beside", "aria-pressed": String(s.locks.length > 1), onclick: () => { s.locks = s.locks[1] ? [s.locks[0]] : [s.locks[0], cureOf(s.locks[0]).name]; load({ start: 0 }); } }, say("besideCure")) : null,
      bugOf(s.locks[0]) ? el("button", { id: "bug", "data-action": "bug", onclick: () => other(bugOf(s.locks[0])) }, say("withBug")) : null));
    if (l.goal) parts.push(showLevel(l.name));
    if (s.choices.length) parts.push(el("details", { open: !!broke(r) }, el("summary", {}, say("choicesMade", s.choices.length)), el("ol", { id: "trace" }, ...s.choices.map((c, i) => el("li", {}, madeText(c, (r.film.choices || [])[i]))))));
  }
  refill(box, parts);
}

export function saveButton(trace) {
  return el("button", { "data-action": "save", onclick: () => {
    const a = el("a", { href: URL.createObjectURL(new Blob([JSON.stringify(trace, null, "\t") + "\n"], { type: "application/json" })), download: (trace.world && trace.world.lock || "trace") + ".json" });
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 10000);
  } }, say("save"));
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

export function choose(choice) { app.chosen = true; app.scene.choices = [...app.scene.choices, choice]; load({ keep: true }); }
export function takeBack() { if (app.scene.choices.length) { app.scene.choices = app.scene.choices.slice(0, -1); load({ keep: true }); } }
// other goes on with another lock. The schedule of the first one is followed: a
// choice that is not possible is left out. A fault nearly always is possible, so
// it comes, and comes before what came after it. At the end the first action
// that is not a fault is taken.
function other(l) {
  const way = app.scene.choices;
  takeScene(l);
  app.scene.mode = "schedule";
  if (app.scene.choices.length || l.goal) load({}); else follow(way);
}

// follow makes choices until nothing is left to choose, or something breaks.
async function follow(way) {
  const turn = ++app.turn, s = app.scene;
  setPlaying(false);
  let done;
  try {
    done = await along(s.locks[0], way.filter(c => !c.startsWith("gap ")), s.choices, turn);
  } catch (e) {
    if (turn === app.turn) failed(e);
    return;
  }
  if (turn !== app.turn) return;
  const from = app.play && s.choices.length && app.play.lock === s.locks[0];
  s.choices = done.choices;
  await load({ keep: from });
}

// along plays a lock along the way of another one, from some choices on: a choice
// that is not possible is left out.
async function along(lock, way, from, turn) {
  const choices = [...from];
  let next = 0, played;
  do {
    played = await app.engine.ask({ do: "play", world: world(lock), choices });
    const enabled = played.enabled || [];
    if (turn !== app.turn || enabled.length === 0 || played.violation) break;
    const at = way.findIndex((w, i) => i >= next && enabled.some(c => c.choice === w));
    if (at >= 0) next = at + 1;
    const take = at >= 0 ? way[at] : (enabled.find(c => !c.fault) || {}).choice;
    if (!take) break;
    choices.push(take);
  } while (choices.length <= 80);
  return { choices, played };
}

// inStep stretches a film so that each choice that another film has, too, comes at
// the same moment in both. Time in a schedule counts the choices, and nothing else.
function inStep(film, with_) {
  const points = [[0, 0]];
  let next = 0;
  for (const c of film.choices || []) {
    const at = (with_.choices || []).findIndex((d, i) => i >= next && d.choice === c.choice);
    if (at < 0) continue;
    next = at + 1;
    if (c.at_ns > points.at(-1)[0] && with_.choices[at].at_ns > points.at(-1)[1]) points.push([c.at_ns, with_.choices[at].at_ns]);
  }
  const to = t => {
    const i = points.findLastIndex(p => p[0] <= t), [a, b] = points[Math.max(i, 0)], end = points[i + 1];
    return Math.round(end ? b + (t - a) * (end[1] - b) / (end[0] - a) : b + t - a);
  };
  const moved = (list, ...keys) => (list || []).map(x => ({ ...x, ...Object.fromEntries(keys.filter(k => k in x).map(k => [k, to(x[k])])) }));
  return { ...film, end_ns: to(film.end_ns || 0), packets: moved(film.packets, "sent_ns", "arrived_ns"), marks: moved(film.marks, "at_ns"), where: moved(film.where, "at_ns"), choices: moved(film.choices, "at_ns") };
}

function restartPlay() {
  settleNotice();
  app.scene.choices = [];
  app.play = null;
  load({ keep: true });
}

// Clients for whom a choice waits are marked on the stage.
export function drawPlayHints() {
  const panel = app.panels[0];
  if (app.scene.mode !== "schedule" || !panel || !app.play) return;
  const turn = new Set((app.play.enabled || []).filter(c => !c.fault).map(c => c.who));
  panel.F.units.forEach(u => {
    const e = panel.stage.clientEl(u), on = turn.has(u) || turn.has(panel.F.clientOf.get(u));
    if ((e.dataset.turn === "yes") !== on) e.dataset.turn = on ? "yes" : "";
  });
}
