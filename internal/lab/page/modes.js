// Which lock is taken, and in which of the three modes.
import { possible, UNUSUAL } from "./app.js";
import { app, open } from "./store.js";
import { settleNotice } from "./notice.js";

const usual = l => possible(l).filter(k => !UNUSUAL.includes(k));

// sceneOf is the change to a lock. Some locks have a scene that shows what they do wrong.
export function sceneOf(l, mode = app.scene.mode) {
  const s = app.scene, scene = l.scene;
  const change = {
    mode, locks: [l.name], scripts: scene.scripts || [], n: scene.contenders || s.n, shared: !!scene.shared, measured: false, latency: scene.latency_ms || s.latency,
    seed: scene.seed || 1, changes: scene.changes || [], vs: false, kinds: scene.kinds || [], faults: scene.faults ?? s.faults, packets: false,
  };
  if (mode === "find") // and what is searched for is not given away
    return { ...change, n: Math.min(change.n, 4), changes: [], choices: [], kinds: change.kinds.length ? change.kinds : usual(l) };
  const choices = !l.level && scene.choices || []; // a level is not opened solved
  // A scene without changes is a schedule of choices, be they none.
  return { ...change, choices, mode: choices.length || l.goal && change.changes.length === 0 ? "schedule" : mode };
}

// The cure of a bug's listing is the lock whose name goes on where its own ends.
export function cureOf(name) { return app.byName.get(name)?.goal && app.locks.find(l => l.name.startsWith(name + "-")); }
export function bugOf(name) { const bug = app.byName.get(name.replace(/-.*/, "")); return bug?.goal && bug.name !== name ? bug : undefined; }

let watched = null; // what was beside each other before

export function setMode(mode) {
  settleNotice();
  const s = app.scene, l = app.byName.get(s.locks[0]) || {}, change = { mode };
  if (s.mode === "watch" && mode !== "watch") watched = { locks: s.locks, n: s.n };
  if (mode === "watch" && watched && watched.locks[0] === s.locks[0]) Object.assign(change, watched);
  if (mode === "watch") change.scripts = [];
  else {
    const kinds = l.scene?.kinds || s.kinds;
    Object.assign(change, {
      choices: [], kinds: mode === "find" && kinds.length === 0 ? usual(l) : kinds, faults: l.scene?.faults ?? s.faults,
      n: l.scene && l.goal ? l.scene.contenders || 2 : Math.min(s.n, mode === "find" ? 2 : 3), locks: [s.locks[0]],
    });
  }
  open(change);
}
