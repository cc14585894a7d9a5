// You are the scheduler: each packet waits until it is chosen.
import { choiceWords, explain, plainOp, reason, say, translated, violationText, whoWords } from "./strings.js";
import { indexFilm, shortName, stateAt } from "./film.js";
import { DEFAULT } from "./link.js";
import { $, el, refill } from "./app.js";
import { amend, app, nextTurn, open } from "./store.js";
import { announce, notice, settleNotice } from "./notice.js";
import { outOfReach, showFate } from "./fate.js";
import { showLink, showScene } from "./scene.js";
import { failed, setPanels, setWaiting } from "./panels.js";
import { goto, setPlaying, setSpeed } from "./time.js";
import { help, hint, instead, introduction, isWon, lesson, secret, showLevel, toWatch, wasReached, wasShown } from "./levels.js";
import { bugOf, cureOf, sceneOf } from "./modes.js";
import { broke, choiceText, choose, faultBox, keysOf, saveButton, takeBack, world } from "./world.js";

// forgetPlay forgets what was played when another scene is opened.
export function forgetPlay({ keep }) { if (!keep) app.play = null; }

// mend makes the scene one that can be played.
function mend() {
  const { locks: [lock], n } = app.scene;
  if (app.byName.size && !app.byName.has(lock)) { notice(() => say("unknownLock", lock)); amend({ locks: [DEFAULT.locks[0]] }); }
  if (n > 6) amend({ n: 6 });
  showScene();
}

export async function loadPlay({ keep, start }) {
  const turn = app.turn;
  setPlaying(false);
  mend();
  const s = app.scene;
  const early = setTimeout(() => { if (turn === app.turn) setWaiting([{ lock: s.locks[0] }], false, keep); }, 150);
  const from = app.play && app.play.lock === s.locks[0] && s.choices.length > app.play.length ? app.play.end : null;
  try {
    const r = await app.engine.ask({ do: "play", world: world(), choices: s.choices, want: s.want });
    if (turn !== app.turn) return;
    clearTimeout(early);
    const F = indexFilm(r.film);
    const panels = [{ lock: s.locks[0], which: "", F }];
    if (s.locks[1] && app.byName.has(s.locks[1])) {
      const beside = await along(world(s, s.locks[1]), s.choices, [], turn);
      if (turn !== app.turn) return;
      panels.push({ lock: s.locks[1], which: "", F: indexFilm(inStep(beside.played.film, r.film)) });
    }
    app.play = { ...r, F, lock: s.locks[0], length: s.choices.length, end: Math.max(...panels.map(p => p.F.end)) };
    setPanels(panels);
    const watch = toWatch(app.byName.get(s.locks[0]) || {}, r);
    if (watch) goto(start ?? 0);
    showPlayBench();
    showFate();
    if (from !== null && !app.calm && from < app.play.end) {
      goto(from);
      setSpeed(Math.max(app.speed, 1));
      setPlaying(true);
    } else if (from === null && s.choices.length > 0 && !keep && start === undefined) {
      // A schedule that was chosen elsewhere is shown from its start.
      goto(app.calm ? app.play.end : 0);
      if (!app.calm) setPlaying(true);
    } else goto(start ?? (watch ? 0 : app.play.end));
    showLink(true);
    const last = broke(r) ? violationText(broke(r).kind) + say("fullStop") : "";
    announce(last + app.panels[0].sentence(F.end, stateAt(F, F.end)));
  } catch (e) {
    clearTimeout(early);
    if (turn !== app.turn) return;
    const wrong = /^choice (\d+) is |^the schedule ends after (\d+) of /.exec(e.message);
    const valid = wrong ? wrong[1] ? wrong[1] - 1 : Number(wrong[2]) : s.choices.length;
    if (valid < s.choices.length) { // what is possible of it is shown
      const asked = s.choices.length;
      await open({ choices: s.choices.slice(0, valid) }, { keep: true });
      notice(() => say("validBeginning", valid, asked), () => reason(e));
      return;
    }
    failed(e);
    showPlayBench();
  }
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

// A choice that was made, with the operation of its request.
function madeText(choice, made) {
  const op = made && made.choice === choice && made.op ? say("colon") + plainOp(made.op) + (made.path ? " " + shortName(made.path).replace(/^(?!#)/, "/") : "") : "";
  return choiceWords(choice) + op;
}

let told = false; // whether it has said with what the schedule ends

function showPlayBench() {
  const box = $("workbench"), s = app.scene, r = app.play, l = app.byName.get(s.locks[0]) || {};
  box.hidden = false;
  told = !!r && wasShown(r);
  document.body.dataset.secret = secret(s.locks[0]) ? "yes" : "";
  const goal = l.goal ? el("p", { class: "goal", id: "goal" }, say("goal") + say("colon") + translated(l.goal.text)) : null;
  const settings = el("div", { class: "row" }, faultBox(restartPlay));
  const parts = [l.level ? introduction(l) : null, goal, settings];
  if (r) {
    const enabled = r.enabled || [];
    const bad = broke(r), won = isWon(l, r), keys = keysOf(enabled);
    if (won && (app.chosen || toWatch(l, r))) wasReached(l.name); // and not only looked at
    if (won || bad && wasShown(r)) { // and not before there is anything to see
      const what = !l.level ? "broke" : !won ? "brokeElse" : !bad ? "level.held" : app.chosen || toWatch(l, r) ? "goalReached" : "endsWith";
      parts.push(el("div", { class: "reached" + (won ? "" : " bad"), id: "reached", "data-reached": won ? "yes" : "no" },
        el("strong", {}, say(what) + (bad ? say("colon") + violationText(bad.kind) + say("fullStop") : "")), say("sentenceGap"),
        ...won ? [...lesson(l), showLevel(l.name)] : [l.level && instead(l, bad.kind) || (l.goal && l.goal.kind === "two holders" && !r.violation ? say("notTwo") : translated(bad.what))]));
    }
    if (l.level && !won) parts.push(hint(l));
    if (enabled.length === 0) { if (!bad && !won) parts.push(el("p", { id: "over" }, r.over ? say("over") : say("noEnabled"))); } else {
      parts.push(el("strong", { id: "your-turn" }, say("yourTurn")), el("div", { class: "choices", role: "group", "aria-labelledby": "your-turn" }, ...[...enabled].sort((a, b) => (keys.get(a) || 10) - (keys.get(b) || 10)).map(c => {
        const p = choicePacket(c), detail = p ? explain({ ...p, lost: false }) : "";
        return el("button", { "data-choice": c.choice, "data-action": "choose", class: c.fault ? "fault" : null, title: detail, onclick: () => choose(c.choice) }, el("b", {}, gapWords(c) || whoWords(c.who)), " ", choiceText(c), p ? say("colon") + (p.op || p.event) : "", keys.has(c) ? el("kbd", { "aria-hidden": "true" }, keys.get(c)) : null);
      })));
    }
    parts.push(el("p", { id: "out-of-reach", class: "reached bad", role: "status", hidden: !outOfReach() }, outOfReach())); // fate.js says so
    parts.push(el("div", { class: "row" },
      ...l.level ? help(l, r, showPlayBench) : [],
      el("button", { id: "take-back", "data-action": "take-back", disabled: s.choices.length === 0, onclick: takeBack }, say("undoChoice")),
      el("button", { id: "restart", "data-action": "restart", disabled: s.choices.length === 0, onclick: () => restartPlay() }, say("restart")),
      enabled.some(c => !c.fault) ? el("button", { id: "rest", "data-action": "rest", onclick: () => follow([]) }, say("rest")) : null,
      r.trace && s.choices.length ? saveButton(r.trace) : null,
      cureOf(s.locks[0]) ? el("button", { id: "cure", "data-action": "cure", onclick: () => other(cureOf(s.locks[0])) }, say("withCure")) : null,
      cureOf(s.locks[0]) && s.choices.length ? el("button", { id: "beside", "data-action": "beside", "aria-pressed": String(s.locks.length > 1), onclick: () => open({ locks: s.locks[1] ? [s.locks[0]] : [s.locks[0], cureOf(s.locks[0]).name] }, { start: 0 }) }, say("besideCure")) : null,
      bugOf(s.locks[0]) ? el("button", { id: "bug", "data-action": "bug", onclick: () => other(bugOf(s.locks[0])) }, say("withBug")) : null));
    if (l.level && !won) parts.push(showLevel(l.name));
    if (s.choices.length) parts.push(el("details", { open: !!broke(r) }, el("summary", {}, say("choicesMade", s.choices.length)), el("ol", { id: "trace" }, ...s.choices.map((c, i) => el("li", {}, madeText(c, (r.film.choices || [])[i]))))));
  }
  refill(box, parts);
}

// other goes on with another lock. The schedule of the first one is followed: a
// choice that is not possible is left out. A fault nearly always is possible, so
// it comes, and comes before what came after it. At the end the first action
// that is not a fault is taken.
function other(l) {
  const scene = { ...sceneOf(l), mode: "schedule" };
  if (l.goal) open({ ...scene, choices: l.scene.choices || [] }); else follow(app.scene.choices, scene);
}

// follow makes choices in a scene until nothing is left to choose, or something breaks.
async function follow(way, change = {}) {
  const turn = nextTurn(), scene = { ...app.scene, ...change };
  setPlaying(false);
  let done;
  try {
    done = await along(world(scene), way.filter(c => !c.startsWith("gap ")), scene.choices, turn);
  } catch (e) {
    if (turn === app.turn) failed(e);
    return;
  }
  if (turn === app.turn) await open({ ...change, choices: done.choices }, { keep: app.play?.lock === scene.locks[0] });
}

// along plays in a world along the way of another one, from some choices on: a choice
// that is not possible is left out.
async function along(world, way, from, turn) {
  const choices = [...from];
  let next = 0, played;
  do {
    played = await app.engine.ask({ do: "play", world, choices });
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

function restartPlay(change) {
  settleNotice();
  open({ ...change, choices: [] }, { keep: true });
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

// showWatched says what there is to learn when the picture comes to it, and takes it back before.
export function showWatched() {
  if (app.scene.mode === "schedule" && app.play && wasShown(app.play) !== told) showPlayBench();
}

export function sayPlay() {
  if (app.scene.mode !== "schedule" || app.file) return;
  showPlayBench();
  showFate();
}
