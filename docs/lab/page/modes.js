// Which lock is taken, and in which of the three modes.
import { app, possible, UNUSUAL } from "./app.js";
import { settleNotice } from "./notice.js";
import { load, rootBranches } from "./scene.js";
import { stopFind } from "./find.js";

// Some locks have a scene that shows what they do wrong.
export function takeScene(l) {
  const s = app.scene, scene = l.scene;
  s.locks = [l.name];
  s.scripts = [];
  app.chosen = false;
  s.n = scene.contenders || s.n;
  s.shared = !!scene.shared;
  s.measured = false;
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
export function cureOf(name) { return app.locks.find(l => l.name.startsWith(name + "-")); }
export function bugOf(name) { const i = name.indexOf("-"); return i > 0 ? app.byName.get(name.slice(0, i)) : undefined; }

export function setMode(mode) {
  stopFind();
  settleNotice();
  app.file = null;
  app.search = null;
  app.play = null;
  const s = app.scene;
  if (s.mode === "watch" && mode !== "watch") app.watched = { locks: s.locks, n: s.n };
  s.mode = mode;
  if (mode === "watch" && app.watched && app.watched.locks[0] === s.locks[0]) { s.locks = app.watched.locks; s.n = app.watched.n; }
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
