// A way through the goals: the easiest first, what was reached is kept in the
// browser, and Next leads on. Where nothing can be kept, it lasts as long as the page.
import { el } from "./app.js";
import { app, open } from "./store.js";
import { sceneOf } from "./modes.js";
import { say } from "./strings.js";
import { lockTitle } from "./words.js";

const KEY = "zklock-lab-reached";
let reached = new Set();
try { reached = new Set(JSON.parse(localStorage.getItem(KEY) || "[]")); } catch { /* file:// may have no storage */ }

// The goals, those with the shortest schedules first; the tasks of exercise 12 show
// none, and come last.
function levels() {
  const length = l => l.scene?.choices?.length || Infinity;
  return app.locks.filter(l => l.goal).sort((a, b) => length(a) - length(b) || 0);
}

// wasReached notes that a reader has reached the goal of a lock by choices of their own.
export function wasReached(lock) {
  if (reached.has(lock)) return;
  reached.add(lock);
  try { localStorage.setItem(KEY, JSON.stringify([...reached])); } catch { /* as above */ }
}

// showLevel says how many goals were reached, and leads to the next one.
export function showLevel(lock) {
  const list = levels(), at = list.findIndex(l => l.name === lock);
  const next = [...list.slice(at + 1), ...list].find(l => !reached.has(l.name) && l.name !== lock);
  const done = list.filter(l => reached.has(l.name)).length;
  return el("div", { class: "row", id: "level", "data-done": done, "data-of": list.length },
    el("span", {}, say("levels", done, list.length)),
    next ? el("button", { id: "next-level", "data-action": "next-level", title: lockTitle(next.name), onclick: () => open({ ...sceneOf(next), mode: "schedule", choices: [] }) }, say("nextLevel")) : null);
}
