// The panels side by side, and the strip above the time: when the lock is held, events, violations.
import { reason, say } from "./strings.js";
import { lastOf, makeClock } from "./film.js";
import { $, el } from "./app.js";
import { app, open, tell } from "./store.js";
import { notice } from "./notice.js";
import { showCode } from "./code.js";
import { Panel } from "./panel.js";
import { JUMPS, merged } from "./time.js";
import { stopButton } from "./scene.js";
import { hideTip } from "./menu.js";
import { lockTitle } from "./words.js";

export function setPanels(list) {
  const had = focused();
  hideTip();
  app.failure = null;
  app.growing = list.some(w => w.F.growing);
  app.panels = list.map((w, i) => new Panel(w, i));
  $("panels").dataset.count = String(list.length);
  $("panels").setAttribute("aria-busy", "false");
  showCode();
  $("panels").replaceChildren(...app.panels.map(p => p.el));
  if (list.length === 0) {
    app.clock = null;
    $("clock").textContent = "";
    $("t").value = "0";
    drawOverviewBase();
    drawOverview();
    return;
  }
  for (const p of app.panels) {
    p.words();
    p.size();
    p.diagram.readColors();
  }
  showFilms();
  focus(had);
  resized.disconnect();
  resized.observe($("bar")); // what is above the panels leaves them more room or less
  for (const p of app.panels) for (const e of [p.el, ...p.el.querySelectorAll(".view")]) resized.observe(e); // Code takes room from the diagram
}

// growPanels goes on with longer films of the same runs.
export function growPanels(films) {
  const had = focused();
  app.growing = films.some(F => F.growing);
  app.panels.forEach((p, i) => { p.F = films[i]; });
  showFilms();
  tell("at");
  focus(had);
}

// focused is the client on a stage that has the focus, which focus gives to the same client
// of other films.
export function focused() {
  const at = document.activeElement && document.activeElement.closest(".stage [data-client]"), panel = at && app.panels.findIndex(p => p.svg.contains(at));
  return at ? { client: at.dataset.client, panel } : null;
}

function focus(had) {
  const panel = had && (app.panels[had.panel] || app.panels[0]), client = panel && panel.stage.clientEl(had.client);
  if (client) client.focus();
}

// whole leaves the films as they are: no more of them comes.
export function whole() { app.growing = false; }

// showFilms gives the panels' films to all that shows them.
function showFilms() {
  app.clock = makeClock(app.panels.map(p => p.F));
  app.roomForVerdict = app.panels.some(p => p.F.violations.length > 0);
  document.body.classList.toggle("loses", app.panels.some(p => p.F.film.marks.some(m => m.kind === "lost")));
  for (const kind of Object.keys(JUMPS)) {
    const none = merged(JUMPS[kind]).length === 0;
    for (const way of ["-back", "-on"]) document.querySelector(`[data-action="${kind + way}"]`).disabled = none;
  }
  $("t").max = String(app.clock.length / 1e6);
  for (const p of app.panels) {
    if (p.stage.F !== p.F) p.stage.setFilm(p.F);
    p.diagram.setFilm(p.F, app.clock);
  }
  alignHeights();
  if (app.projector) for (const p of app.panels) p.size();
  drawOverviewBase();
}

// Two panels are side by side only if their stages are level.
export function alignHeights() {
  const heads = app.panels.map(p => p.el.querySelector("header"));
  for (const h of heads) h.style.minHeight = "";
  if (heads.length === 2 && innerWidth > 760) {
    const h = Math.max(...heads.map(x => x.offsetHeight));
    for (const x of heads) x.style.minHeight = h + "px";
  }
}

let resizing = 0;
const resized = new ResizeObserver(() => {
  cancelAnimationFrame(resizing);
  resizing = requestAnimationFrame(() => {
    for (const p of app.panels) { p.size(); }
    alignHeights();
    drawOverviewBase();
    tell("at");
  });
});

export function drawPanels() { for (const p of app.panels) p.draw(app.t); }

// sayPanels says everything again, in the language that was chosen.
export function sayPanels() {
  if (app.failure) showFailure();
  for (const p of app.panels) p.words();
  alignHeights();
}

export function readColors() {
  for (const p of app.panels) p.diagram.readColors();
  drawOverviewBase();
  tell("at");
}

export function failed(e) {
  setPanels([]);
  app.failure = e;
  showFailure();
  if (e.name !== "Stopped") notice(() => say("engineError"), () => reason(e));
}

function showFailure() {
  const e = app.failure;
  const again = () => {
    $("notice").hidden = true;
    if (app.locks.length) open({}); else tell("engine");
  };
  $("panels").replaceChildren(el("div", { class: "panel waiting" }, el("p", {}, e.name === "Stopped" ? say("runStopped") : say("engineError") + say("sentenceGap") + reason(e)), el("button", { id: "retry", onclick: again }, say("retry"))));
}

// setWaiting says what is being done. With keep, the picture stays.
export function setWaiting(want, long, keep) {
  $("panels").setAttribute("aria-busy", "true");
  if (keep && app.panels.length) return;
  app.panels = [];
  app.failure = null;
  const text = app.locks.length ? say("running", want.map(w => lockTitle(w.lock)).join(say("comma"))) : say("loading");
  $("panels").dataset.count = "1";
  $("panels").replaceChildren(el("div", { class: "panel waiting", role: "status" }, el("p", {}, text), long ? el("p", {}, say("takesLong"), " ", stopButton()) : null));
}

let overviewBase = null;
export function drawOverviewBase() {
  const c = $("overview"), ratio = Math.min(3, devicePixelRatio || 1);
  const w = c.clientWidth, h = 34;
  if (!w || !app.clock) { overviewBase = null; return; }
  const base = document.createElement("canvas");
  base.width = c.width = Math.round(w * ratio);
  base.height = c.height = Math.round(h * ratio);
  const g = base.getContext("2d");
  g.scale(ratio, ratio);
  const css = getComputedStyle(document.documentElement), color = k => css.getPropertyValue("--" + k).trim();
  const X = t => app.clock.shown(Math.min(t, app.clock.end)) / app.clock.length * w;
  const rows = app.panels.length, room = h / rows;
  app.panels.forEach((p, i) => {
    const y = room * i;
    g.fillStyle = color("faint");
    g.fillRect(0, y + 2, w, room - 4);
    p.F.hold.forEach((s, j) => {
      const a = X(s.from), b = X(Math.min(s.to, lastOf(p.F, app.clock)));
      g.fillStyle = color(s.lost ? "lost" : "holds");
      g.globalAlpha = j % 2 ? 0.55 : 0.85;
      g.fillRect(a, y + 3, Math.max(1, b - a - (b - a > 4 ? 1 : 0)), room - 9);
    });
    g.globalAlpha = p.F.eventAt.length > 400 ? 0.25 : 0.8;
    g.fillStyle = color("event");
    for (const t of p.F.eventAt) g.fillRect(X(t), y + room - 5, 1, 3);
    g.globalAlpha = 1;
    g.fillStyle = color("lost");
    for (const t of p.F.violations) { g.fillRect(X(t) - 1, y, 3, room); }
  });
  g.strokeStyle = color("soft");
  g.setLineDash([2, 2]);
  for (const gap of app.clock.gaps) { g.strokeRect(X(gap.from), 0.5, X(gap.to) - X(gap.from), h - 1); }
  overviewBase = base;
}

export function drawOverview() {
  const c = $("overview"), g = c.getContext("2d");
  g.clearRect(0, 0, c.width, c.height);
  if (!overviewBase) return;
  const shown = app.slide ? app.clock.shown(app.t) / app.clock.length * c.width : c.width; // on a slide, what has been
  if (shown >= 1) g.drawImage(overviewBase, 0, 0, shown, c.height, 0, 0, shown, c.height);
}
