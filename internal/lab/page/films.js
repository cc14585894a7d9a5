// How the films of a scene are loaded: the engine makes them, and the panels show them as
// far as they are there.
import { say } from "./strings.js";
import { indexFilm } from "./film.js";
import { DEFAULT } from "./link.js";
import { Engine } from "./engine.js";
import { $ } from "./app.js";
import { amend, app, tell } from "./store.js";
import { calmNotice, notice } from "./notice.js";
import { goto, setPlaying } from "./time.js";
import { showRuns, showScene, showsStop } from "./scene.js";
import { failed, growPanels, setPanels, setWaiting, whole } from "./panels.js";

function engineScene(lock, changes) {
  const s = app.scene;
  return { lock, contenders: s.n, shared: s.shared, latency_ms: s.latency, measured: s.measured, seed: s.seed, changes, scripts: s.scripts };
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

// mend leaves out locks that do not exist.
function mend() {
  if (!app.locks.length) return;
  const unknown = app.scene.locks.find(lock => !app.byName.has(lock));
  if (!unknown) return;
  notice(() => say("unknownLock", unknown));
  const locks = app.scene.locks.filter(l => app.byName.has(l));
  amend({ locks: locks.length ? locks : DEFAULT.locks });
  showScene();
}

// loadFilms makes what the scene asks for and shows it.
export async function loadFilms({ keep, start }) {
  $("workbench").hidden = true;
  const turn = app.turn, playing = keep && app.playing;
  setPlaying(false);
  mend();
  const want = wanted();
  let shown = false;
  const slow = setTimeout(() => { if (turn === app.turn) shown || keep ? showRuns(true) : setWaiting(want, true); }, 2500);
  const early = setTimeout(() => { if (turn === app.turn && !shown) setWaiting(want, false, keep); }, 150);
  const films = want.map(() => null);
  // The films are shown as far as they are there, once each panel has some of its film,
  // with the requested instant.
  const show = () => {
    if (turn !== app.turn || films.includes(null)) return;
    if (shown) {
      if (app.growing) growPanels(films);
      return;
    }
    const growing = films.some(F => F.growing), end = Math.max(...films.map(F => F.end));
    const at = start !== undefined ? start : keep ? app.t : 0;
    if (growing && at > Math.min(...films.map(F => F.growing ? F.end : Infinity))) return;
    shown = true;
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
      whole();
      calmNotice("runStopped");
      showRuns();
      tell("at");
    } else failed(e);
  } finally {
    clearTimeout(slow);
    clearTimeout(early);
  }
}
