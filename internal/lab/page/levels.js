// The game: levels in chapters, each with an introduction, hints, and a rule at its end. What
// was reached, and how, is kept in the browser. Where nothing can be kept, it lasts as long
// as the page.
import { $, el } from "./app.js";
import { app, open } from "./store.js";
import { marked } from "./code.js";
import { sceneOf } from "./modes.js";
import { say, translated, violationText } from "./strings.js";
import { playTo } from "./time.js";
import { broke } from "./world.js";

const KEY = "zklock-lab-reached", WAYS = ["shown", "hints", "alone"]; // the best is the last
let reached = {};
try {
  const kept = JSON.parse(localStorage.getItem(KEY) || "{}");
  reached = Array.isArray(kept) ? Object.fromEntries(kept.map(name => [name, "alone"])) : kept;
} catch { /* file:// may have no storage */ }
const asked = new Map(), shown = new Set(); // by name: the number of hints; whose solution was shown

const levels = () => app.locks.filter(l => l.level).sort((a, b) => a.level.number - b.level.number);
const start = l => open({ ...sceneOf(l), mode: "schedule", choices: [] });

// toWatch reports whether a level has nothing to choose.
export const toWatch = (l, r) => !!l.level && !app.scene.choices.length && !(r.enabled || []).length;

// wasShown reports whether the picture has come to the violation with which a schedule ends.
export const wasShown = r => !r.F || !r.F.violations.length || app.t >= r.F.violations.at(-1);

// isWon reports whether a schedule ends a level: one that cannot be won ends when nothing is
// left to choose.
export function isWon(l, r) {
  if (!l.level) return false;
  if (!l.goal.kind) return r.over && !broke(r);
  return r.reached && wasShown(r);
}

// isReached reports whether a reader has reached a goal, ever.
export const isReached = name => name in reached;

// secret reports whether a level is played that was never reached: then neither its name, nor
// a mark in the code, nor its story gives away what is wrong.
export function secret(name) {
  const s = app.scene, l = app.byName.get(name), solution = l?.scene?.choices || [];
  return s.mode === "schedule" && !!l?.level && solution.length > 0 && !isReached(name) && !app.play?.reached && solution.join() !== s.choices.join();
}

// wasReached notes that a reader has reached the goal of a lock by choices of their own.
export function wasReached(name) {
  const way = shown.has(name) ? "shown" : asked.get(name) ? "hints" : "alone";
  if (WAYS.indexOf(way) <= WAYS.indexOf(reached[name])) return;
  reached[name] = way;
  try { localStorage.setItem(KEY, JSON.stringify(reached)); } catch { /* as above */ }
}

const title = ({ level }) => translated(level.chapter) + " · " + translated(level.name);

// nameOf is the name of a lock while it is to be a secret; "" otherwise.
export const nameOf = lock => secret(lock) ? title(app.byName.get(lock)) : "";

// introduction is in sight before the first choice, and can be opened later, with the hints
// before the last one.
export function introduction(l) {
  return el("details", { id: "intro", open: !app.scene.choices.length }, el("summary", {}, title(l)), el("p", {}, translated(l.level.intro)),
    ...(l.level.hints || []).slice(0, Math.max(0, (asked.get(l.name) || 0) - 1)).map(text => el("p", { class: "hint" }, translated(text))));
}

// hint is the last one that was asked for.
export function hint({ level, name }) {
  const n = asked.get(name) || 0;
  return n ? el("p", { id: "given", role: "status" }, translated(level.hints[n - 1])) : null;
}

// help is what a reader can ask for: hints, one at a time, of which the last one plays what is
// not decisive, and then the whole schedule.
export function help(l, r, again) {
  const { level, name, scene } = l, all = level.hints || [], n = asked.get(name) || 0, plays = n === all.length - 1 && level.plays.length;
  if (toWatch(l, r)) return [el("button", { id: "watch-it", class: "main", onclick: () => playTo(r.F.violations.at(-1), 12) }, say("level.watch"))];
  return [
    n < all.length ? el("button", { id: "hint", onclick: () => {
      asked.set(name, n + 1);
      if (plays) open({ choices: level.plays }, { keep: true, chosen: true }); else again();
    } }, say("level.hint", n + 1, all.length) + (plays ? say("level.plays", plays) : "")) : null,
    scene.choices?.length && scene.choices.join() !== app.scene.choices.join() && (n === all.length || isReached(name)) ? el("button", { id: "show-me", onclick: () => {
      shown.add(name);
      open({ ...sceneOf(l), choices: scene.choices });
    } }, say("showMe")) : null,
  ];
}

// lesson is what there is to learn from a level that is won, with the line at fault.
export function lesson({ level, name }) {
  return [el("p", { id: "lesson" }, translated(level.victory)),
    ...marked(name).map(line => el("pre", { class: "fault-line", title: line.file }, line.file.replace(/.*\//, "") + ":" + line.number + "  " + line.text))];
}

// instead answers a violation that is not the goal's, if the level has an answer.
export const instead = ({ level }, kind) => translated(level.else?.[kind]);

// showLevel says how many goals were reached, and leads on.
export function showLevel(lock) {
  const list = levels(), at = list.findIndex(l => l.name === lock), done = list.filter(l => isReached(l.name)).length;
  const next = [...list.slice(at + 1), ...list].find(l => !isReached(l.name) && l.name !== lock);
  return el("div", { class: "row", id: "level", "data-done": done, "data-of": list.length },
    el("button", { "data-action": "levels" }, say("levels.of", done, list.length)),
    next ? el("button", { id: "next-level", class: isReached(lock) ? "main" : null, title: translated(next.level.name), onclick: () => start(next) }, say("nextLevel")) : null);
}

// showLevels opens the list of all levels.
export function showLevels() {
  const box = $("levels-box"), list = levels(), parts = [];
  let chapter;
  for (const l of list) {
    if (chapter !== (chapter = translated(l.level.chapter))) parts.push(el("h3", {}, chapter), el("ol", {}));
    const how = reached[l.name];
    parts.at(-1).append(el("li", {}, el("button", { "data-level": l.name, "data-how": how, title: l.level.plays && l.fates ? say("levels.chance", l.fates[0]) : null, onclick: () => { box.close(); start(l); } },
      el("b", {}, translated(l.level.name)), el("small", {}, how ? "✓ " + say("levels." + how) : l.goal.kind ? violationText(l.goal.kind) : ""))));
  }
  box.replaceChildren(el("form", { method: "dialog" }, el("button", { class: "main" }, say("close"))), el("h2", {}, say("levels")),
    el("p", {}, say("levels.about")), ...parts);
  box.setAttribute("aria-label", say("levels"));
  box.showModal();
}
