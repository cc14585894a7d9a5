// The page begins here, with its listeners and its address.
import { checkStrings, getLanguage, reason, say, setLanguage, WORDS } from "./strings.js";
import { looked, packetsIn } from "./film.js";
import { OPENING } from "./texts.js";
import { firstLanguage } from "./language.js";
import { parseLink } from "./link.js";
import { $, app, el, KINDS, SPEEDS, whole } from "./app.js";
import { fillLocks, words } from "./words.js";
import { calmNotice, notice, settleNotice } from "./notice.js";
import { branchName, currentLink, failed, interfere, load, rootBranches, setWaiting, showLink } from "./scene.js";
import { drawOverviewBase } from "./panels.js";
import { actions, draw, goto, setPlaying, showPlay } from "./time.js";
import { closeMenu } from "./menu.js";
import { stopFind } from "./find.js";
import { openFiles } from "./files.js";
import { setMode, takeScene } from "./modes.js";
import { setProjector } from "./projector.js";
import "./keys.js";

document.addEventListener("click", e => {
  const b = e.target.closest("[data-action]");
  if (b && actions[b.dataset.action] && !b.closest("#menu")) actions[b.dataset.action]();
  const m = e.target.closest("[data-mode]");
  if (m) setMode(m.dataset.mode);
  if (!$("menu").hidden && !e.target.closest("#menu") && !e.target.closest(".stage")) closeMenu();
});

$("t").addEventListener("input", () => { setPlaying(false); if (app.clock) goto(app.clock.instant(Number($("t").value) * 1e6)); showLink(); });
$("speed").addEventListener("change", () => { app.speed = Number($("speed").value); });
$("choose").addEventListener("submit", e => e.preventDefault());
$("choose").addEventListener("change", e => {
  const s = app.scene, before = s.locks[0];
  s.locks = [$("lock").value, $("versus").value].filter(Boolean);
  if (s.mode !== "watch") s.locks = [s.locks[0]];
  s.n = whole($("contenders"), 1, 100, 1);
  s.shared = $("shared").value === "1";
  s.measured = $("latency").value === "measured";
  if (!s.measured) s.latency = Number($("latency").value);
  s.seed = whole($("seed"), 0, Number.MAX_SAFE_INTEGER, 0);
  app.play = null;
  app.search = null;
  stopFind();
  settleNotice();
  s.choices = [];
  if (s.locks[0] !== before) s.scripts = [];
  const l = app.byName.get(s.locks[0]);
  if (e.target.id === "lock" && s.locks[0] !== before && l && l.scene) takeScene(l);
  else if (e.target.id !== "lock" && e.target.id !== "versus") {
    s.changes = [];
    s.vs = false;
    rootBranches();
  }
  load({});
});
$("file").addEventListener("change", () => { openFiles($("file").files); $("file").value = ""; });
addEventListener("dragover", e => { e.preventDefault(); $("drop").hidden = false; });
addEventListener("dragleave", e => { if (!e.relatedTarget) $("drop").hidden = true; });
addEventListener("drop", e => { e.preventDefault(); $("drop").hidden = true; if (e.dataTransfer.files.length) openFiles(e.dataTransfer.files); });
// The event's own address: the page may have written another one since.
addEventListener("hashchange", e => { const { hash } = new URL(e.newURL); if (hash !== app.ownHash) openLink(hash); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const p of app.panels) p.diagram.readColors(); drawOverviewBase(); draw(); });
matchMedia("(prefers-reduced-motion: reduce)").addEventListener("change", e => { app.calm = e.matches; if (app.calm) setPlaying(false); });

// openLink shows what the address says.
async function openLink(hash = location.hash) {
  let parsed;
  settleNotice();
  try {
    parsed = parseLink(/[#&](?!lang=|t=|projector=|speed=|play=)\w/.test(hash) ? hash : OPENING.address + hash.replace("#", "&"));
  } catch (e) {
    notice(() => say("badLink", reason(e)));
    parsed = parseLink("");
    const lang = /[#&]lang=(\w+)/.exec(hash);
    if (lang) parsed.extra.lang = lang[1];
  }
  const { scene, extra } = parsed;
  if (extra.lang && Object.hasOwn(WORDS, extra.lang) && extra.lang !== getLanguage()) { setLanguage(extra.lang); words(); showPlay(); }
  if (extra.speed && SPEEDS.includes(extra.speed)) { app.speed = extra.speed; $("speed").value = String(extra.speed); }
  setProjector(!!extra.projector);
  app.scene = scene;
  app.file = null;
  app.play = null;
  app.search = null;
  rootBranches();
  if (scene.mode === "find" && scene.kinds.length === 0) scene.kinds = KINDS.slice(0, 5);
  await load(extra.t !== undefined ? { start: extra.t } : {});
  if (extra.t !== undefined && extra.play === "1" && !app.calm) setPlaying(true);
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
  words();
  showPlay();
  listen(); // before the engine: a lock that does not compile must be reported
  await engineStarts();
}

export async function engineStarts() {
  setWaiting([], false);
  try {
    app.locks = await app.engine.ask({ do: "locks" });
    app.byName = new Map(app.locks.map(l => [l.name, l]));
  } catch (e) {
    failed(e);
    throw e;
  }
  fillLocks();
  await openLink();
  const film = document.querySelector('meta[name="lab-film"]'); // go run ./docs/lab -film FILE
  if (film) await openFiles([{ name: film.content, text: async () => (await fetch("film.json")).text() }]);
}

// For tests and for the curious.
window.lab = {
  ready: begin(),
  app,
  goto: t => { setPlaying(false); goto(t); showLink(true); },
  play: () => setPlaying(true),
  pause: () => setPlaying(false),
  open: async hash => { app.ownHash = hash; history.replaceState(null, "", hash); await openLink(); },
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
