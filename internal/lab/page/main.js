// The page begins here, with its listeners and its address.
import { checkStrings, getLanguage, nameKinds, reason, say, setLanguage, WORDS } from "./strings.js";
import { looked, packetsIn } from "./film.js";
import { OPENINGS } from "./texts.js";
import { firstLanguage } from "./language.js";
import { branchName, parseLink } from "./link.js";
import { $, el, KINDS, SPEEDS, whole } from "./app.js";
import { app, on, open, tell } from "./store.js";
import { fillLocks, words } from "./words.js";
import { announce, calmNotice, notice, sayNotice, settleNotice } from "./notice.js";
import { currentLink, interfere, isOwn, showLink, showRuns, showScene, writeLink } from "./scene.js";
import { drawOverview, drawPanels, failed, readColors, sayPanels, setWaiting } from "./panels.js";
import { drawInstant, goto, setPlaying, setSpeed, showPlay } from "./time.js";
import { actions } from "./buttons.js";
import { closeMenu } from "./menu.js";
import { loadFilms } from "./films.js";
import { drawPlayHints, forgetPlay, loadPlay, sayPlay, showWatched } from "./choices.js";
import { showFate } from "./fate.js";
import { forgetFind, loadFind, sayFind } from "./find.js";
import { drawStory, reveal } from "./story.js";
import { drawPredict } from "./predict.js";
import { drawInspect } from "./inspect.js";
import { drawCost } from "./cost.js";
import { loadFile, openFiles, sayFile } from "./files.js";
import { sceneOf, setMode } from "./modes.js";
import { setProjector } from "./projector.js";
import { embed } from "./embed.js";
import "./keys.js";
import { VIOLATIONS } from "./texts.js";

nameKinds(VIOLATIONS);
const whenShown = f => () => { if (app.clock) f(); };
on("scene", closeMenu, forgetPlay, forgetFind, showScene, () => showRuns(), () => { if (app.file || app.scene.mode !== "schedule") showFate(); }, drawStory,
  options => app.file ? loadFile(options) : { watch: loadFilms, schedule: loadPlay, find: loadFind }[app.scene.mode](options));
on("at", drawStory, drawPredict, showWatched, ...[drawPanels, drawInspect, drawCost, drawInstant, drawOverview, drawPlayHints].map(whenShown));
on("rest", () => showLink());
on("play", showPlay);
on("words", words, sayNotice, showScene, sayPanels, sayFile, showPlay, () => showRuns(), sayPlay, sayFind);
on("selected", what => { if (what && what.packet !== undefined) announce(app.panels[what.panel].now.textContent); });
on("engine", () => engineStarts().catch(() => {}));

document.addEventListener("click", e => {
  const b = e.target.closest("[data-action]");
  if (b && actions[b.dataset.action] && !b.closest("#menu")) actions[b.dataset.action]();
  const m = e.target.closest("[data-mode]");
  if (m) setMode(m.dataset.mode);
  if (!$("menu").hidden && !e.target.closest("#menu") && !e.target.closest(".stage")) closeMenu();
});

$("t").addEventListener("input", () => { setPlaying(false); if (app.clock) goto(app.clock.instant(Number($("t").value) * 1e6)); showLink(); });
$("speed").addEventListener("change", () => setSpeed(Number($("speed").value)));
$("choose").addEventListener("submit", e => e.preventDefault());
$("choose").addEventListener("change", e => {
  if (!app.locks.length) { showScene(); return; } // the engine comes
  const s = app.scene, measured = $("latency").value === "measured", locks = [$("lock").value, $("versus").value].filter(Boolean);
  const change = {
    locks: s.mode === "watch" ? locks : [locks[0]], n: whole($("contenders"), 1, 100, 1), shared: $("shared").value === "1",
    measured, latency: measured ? s.latency : Number($("latency").value), seed: whole($("seed"), 0, Number.MAX_SAFE_INTEGER, 0), choices: [],
  };
  settleNotice();
  const other = change.locks[0] !== s.locks[0], l = app.byName.get(change.locks[0]);
  if (other) change.scripts = [];
  if (e.target.id === "lock" && other && l && l.scene) Object.assign(change, sceneOf(l));
  else if (e.target.id !== "lock" && e.target.id !== "versus") Object.assign(change, { changes: [], vs: false });
  open(change);
});
$("file").addEventListener("change", () => { openFiles($("file").files); $("file").value = ""; });
addEventListener("dragover", e => { e.preventDefault(); $("drop").hidden = false; });
addEventListener("dragleave", e => { if (!e.relatedTarget) $("drop").hidden = true; });
addEventListener("drop", e => { e.preventDefault(); $("drop").hidden = true; if (e.dataTransfer.files.length) openFiles(e.dataTransfer.files); });
// The event's own address: the page may have written another one since.
addEventListener("hashchange", e => { const { hash } = new URL(e.newURL); if (!isOwn(hash)) openLink(hash); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readColors);
matchMedia("(prefers-reduced-motion: reduce)").addEventListener("change", e => { app.calm = e.matches; if (app.calm) setPlaying(false); });

// openLink shows what the address says.
async function openLink(hash = location.hash) {
  let parsed;
  settleNotice();
  try {
    parsed = parseLink(/[#&](?!lang=|t=|projector=|speed=|play=)\w/.test(hash) ? hash : OPENINGS.scenes[0].address + hash.replace("#", "&"));
  } catch (e) {
    notice(() => say("badLink", reason(e)));
    parsed = parseLink("");
    const lang = /[#&]lang=(\w+)/.exec(hash);
    if (lang) parsed.extra.lang = lang[1];
  }
  const { scene, extra } = parsed;
  if (extra.lang && Object.hasOwn(WORDS, extra.lang) && extra.lang !== getLanguage()) { setLanguage(extra.lang); tell("words"); }
  if (extra.speed && SPEEDS.includes(extra.speed)) setSpeed(extra.speed);
  setProjector(!!extra.projector);
  if (scene.mode === "find" && scene.kinds.length === 0) scene.kinds = KINDS.slice(0, 5);
  await open(scene, extra.t !== undefined ? { start: extra.t } : {});
  if (extra.t !== undefined && extra.play === "1" && !app.calm) setPlaying(true);
  reveal();
}

// A server that watches the locks sends an event when one was saved.
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
  setLanguage(firstLanguage());
  try { const { extra } = parseLink(location.hash); if (extra.lang) setLanguage(extra.lang); } catch { /* openLink says so */ }
  tell("words");
  embed(async address => { writeLink(address); await openLink(); });
  listen(); // before the engine: a lock that does not compile must be reported
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
  performance.mark("lab engine");
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
  open: async hash => { writeLink(hash); await openLink(); },
  interfere: (who, what, t) => { if (t !== undefined) goto(t); interfere(who, what); return settled(); },
  settled,
  strings: checkStrings,
  state: () => ({
    t: app.t, end: app.clock ? app.clock.end : 0, playing: app.playing, mode: app.scene.mode, scene: app.scene, link: currentLink(),
    branches: app.branches.map(branchName), branch: app.branch,
    panels: app.panels.map(p => ({ lock: p.lock, which: p.which, hash: p.F.film.hash, violation: p.s && p.s.violation >= 0 ? p.F.marks[p.s.violation].violation : "", filmViolation: p.F.film.violation, requests: p.s.requests, events: p.s.events, wakeups: p.s.wakeups, holders: p.F.units.filter((_, i) => p.s.units[i].state === "holds"), flying: packetsIn(p.F, app.t, app.t).length })),
  }),
  // The cost of showing an instant: entries of the film that are looked at, what is
  // written to the stage, strips of the diagram and lines in them that are drawn.
  // Style and layout are done, too, for a test that takes the time.
  cost: t => {
    looked.marks = looked.packets = looked.writes = 0;
    const sum = what => app.panels.reduce((n, p) => n + p.diagram.count[what], 0);
    goto(t);
    void document.body.offsetHeight;
    return { ...looked, strips: sum("strips"), lines: sum("lines") };
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
