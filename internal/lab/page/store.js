// The store: what the page shows, in one object that every module reads. A field has one
// module that writes it. Its listeners are told of a change; main.js lists them,
// and their order is the order in which the page is drawn.
import { DEFAULT } from "./link.js";
import { Engine } from "./engine.js";

export const app = {
  // The scene, and how it came about: written here.
  scene: Object.freeze({ ...DEFAULT }), branches: [], branch: 0, chosen: false, file: null, turn: 0, selected: null, focus: 0,
  // Its films: films.js has loaded them, panels.js shows them.
  engine: new Engine(), filming: new Set(), films: new Map(), panels: [], clock: null, growing: false, failure: null, roomForVerdict: false,
  // The instant: time.js.
  t: 0, until: 0, hurry: 0, playing: false, speed: 1,
  // What a reader does with it: choices.js, find.js, code.js, projector.js.
  play: null, search: null, finder: null, findFor: 60, onlyGoal: true, code: null, projector: false, slide: false,
  // main.js.
  locks: [], byName: new Map(), calm: matchMedia("(prefers-reduced-motion: reduce)").matches,
};

const listeners = { engine: [], scene: [], at: [], rest: [], play: [], words: [], selected: [] };

// on adds functions that are called when something has changed:
// "scene": it was opened, and its films are to be loaded; "at": the instant, or how it is
// shown; "rest": the instant stays; "play": it plays, or no longer; "words": the language;
// "selected": a client or a packet; "engine": it is to be started again.
export function on(what, ...f) { listeners[what].push(...f); }

// tell returns what the listeners return.
export function tell(what, about) { return listeners[what].map(f => f(about)); }

// open changes the scene, and returns when it is loaded. The options:
// keep: the instant stays, and so does what played; start: the instant to begin at;
// branches and branch: the runs that there are now, and which of them this is;
// chosen: a reader's own choice led here; file: films that are shown in place of the scene.
export function open(change, options = {}) {
  amend(change);
  if (options.branches) {
    app.branches = options.branches;
    app.branch = options.branch;
  } else if (change.changes) rootBranches();
  app.chosen = !!options.keep && (app.chosen || !!options.chosen);
  app.file = options.file || null;
  app.turn++;
  if (!options.keep) app.selected = null;
  return Promise.all(tell("scene", options));
}

// amend changes the scene and loads nothing.
export function amend(change) { app.scene = Object.freeze({ ...app.scene, ...change }); }

// nextTurn ends what is still loading.
export function nextTurn() { return ++app.turn; }

// Branches: each is a list of changes; the first is the run as it comes.
function rootBranches() {
  const list = app.scene.changes;
  app.branches = [{ changes: [], parent: null, name: "" }];
  list.forEach((_, i) => app.branches.push({ changes: list.slice(0, i + 1), parent: i, name: "" }));
  app.branch = app.branches.length - 1;
}

// select takes a client or a packet of a panel, or nothing.
export function select(what) {
  app.selected = what;
  if (what && what.panel !== undefined) app.focus = what.panel;
  tell("at");
  tell("selected", what);
}

// focusOn takes the panel that Inspect and Predict are about.
export function focusOn(panel) {
  app.focus = panel;
  tell("at");
}
