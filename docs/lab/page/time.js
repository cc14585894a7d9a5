// Time: the instant that is shown, what plays it, and the buttons that move it.
import { clockText, explainMark, getLanguage, say, setLanguage } from "./strings.js";
import { above, nextOf } from "./film.js";
import { $, app, el } from "./app.js";
import { lockTitle, words } from "./words.js";
import { announce, calmNotice, notice } from "./notice.js";
import { codeShown, showCode } from "./code.js";
import { load, showLink, showRuns } from "./scene.js";
import { alignHeights, drawOverview, drawOverviewBase } from "./panels.js";
import { drawPlayHints, showPlayBench } from "./choices.js";
import { showFate } from "./fate.js";
import { drawStory } from "./story.js";
import { drawCost, toggleCost } from "./cost.js";
import { toggleProjector } from "./projector.js";
import { drawInspect, toggleInspect } from "./inspect.js";
import { drawPredict, nextQuestion, togglePredict } from "./predict.js";
import { showFind } from "./find.js";

export function goto(t) {
  if (!app.clock) return;
  app.t = Math.min(app.clock.end, Math.max(0, t));
  draw();
}

export function draw() {
  drawStory();
  drawPredict();
  if (!app.clock) return;
  for (const p of app.panels) p.draw(app.t);
  drawInspect();
  drawCost();
  const shown = app.clock.shown(app.t), slider = $("t");
  slider.value = String(shown / 1e6);
  const text = say(app.growing ? "soFar" : "instant", clockText(app.t), clockText(app.clock.end));
  if ($("clock").textContent !== text) {
    const now = clockText(app.t);
    $("clock").replaceChildren(el("b", {}, now), el("span", {}, text.slice(now.length)));
    slider.setAttribute("aria-valuetext", text);
  }
  document.body.dataset.t = String(Math.round(app.t));
  drawOverview();
  if (app.play) drawPlayHints();
}

// A latency takes about half a second at speed 1, and a run at most two minutes. The way
// to a stop is at most as long as it may take.
function rate() {
  const plain = Math.max(app.clock.latency / 0.55, app.clock.length / 120) * app.speed;
  return app.until ? Math.max(plain, app.hurry) : plain;
}

export let before = 0, pending = 0;
function frame(now) {
  pending = 0;
  if (!app.playing || !app.clock) return;
  const passed = Math.max(0, Math.min(100, now - before)) / 1000;
  before = now;
  const was = app.t;
  const shown = app.clock.shown(app.t) + passed * rate();
  const end = app.clock.end;
  const asks = nextQuestion(was), stop = Math.min(asks, app.until > was ? app.until : end); // of a story
  const t = Math.min(stop, app.clock.instant(shown));
  app.t = t;
  draw();
  for (const p of app.panels) {
    const F = p.F, i = above(F.violations, was);
    if (i < F.violations.length && F.violations[i] <= t) announce(p.verdict.textContent || p.now.textContent);
    else {
      const h = above(F.holds, was);
      if (h < F.holds.length && F.holds[h] <= t) {
        const m = F.marks.slice(above(F.markAt, F.holds[h] - 1), above(F.markAt, F.holds[h])).find(m => m.kind === "state" && m.state === "holds");
        announce((app.panels.length > 1 ? lockTitle(p.lock) + ": " : "") + explainMark(m));
      }
    }
  }
  if (t >= end && !app.growing || (stop === app.until || stop === asks) && t >= stop) { setPlaying(false); return; }
  pending = requestAnimationFrame(frame);
}

export function setPlaying(on) {
  if (on && app.clock && app.t >= app.clock.end && !app.growing) app.t = 0;
  const was = app.playing;
  app.playing = on && !!app.clock;
  if (!app.playing) app.until = 0;
  showPlay();
  if (app.playing && !was) { before = performance.now(); if (!pending) pending = requestAnimationFrame(frame); }
  if (!app.playing && was) showLink();
}

export function showPlay() {
  const b = $("play");
  b.innerHTML = '<svg viewBox="0 0 16 16" aria-hidden="true"><path d="' + (app.playing ? "M3 2h4v12H3zM9 2h4v12H9z" : "M3 1.500v13L14.500 8z") + '"/></svg> ';
  b.append(say(app.playing ? "pause" : "play"));
  b.setAttribute("aria-pressed", String(app.playing));
}

// Paused, the page says what there is to see at the new instant.
export function jump(t) {
  setPlaying(false);
  if (t < 0) return;
  goto(t);
  showLink();
  announce(clockText(app.t) + say("fullStop") + say("sentenceGap") + app.panels.map(p => (app.panels.length > 1 ? (p.which ? p.branchName() : lockTitle(p.lock)) + say("colon") : "") + (p.verdict.textContent ? p.verdict.textContent + say("sentenceGap") : "") + p.now.textContent).join(say("sentenceGap")));
}

export function merged(pick) {
  const all = Float64Array.from(app.panels.flatMap(p => [...pick(p.F)])).sort();
  return all;
}

export const JUMPS = { event: F => F.eventAt, hold: F => F.holds, violation: F => F.violations };

export const actions = {
  "to-start": () => jump(0),
  "to-end": () => app.clock && jump(app.clock.end),
  "step-back": () => app.clock && jump(Math.max(0, nextOf(app.clock.instants, app.t, false))),
  "step-on": () => app.clock && jump(nextOf(app.clock.instants, app.t, true)),
  "play": () => setPlaying(!app.playing),
  "share": shareLink, "open": () => $("file").click(), "help": () => $("help-box").showModal(),
  "theme": () => {
    const dark = getTheme() === "dark";
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    for (const p of app.panels) p.diagram.readColors();
    drawOverviewBase();
    draw();
  },
  "language": () => switchLanguage(getLanguage() === "en" ? "zh" : "en"),
  "code": () => { app.code = !codeShown(); showCode(); draw(); },
  "predict": togglePredict, "inspect": toggleInspect, "cost": toggleCost, "projector": toggleProjector,
  "more": () => $("more").setAttribute("aria-expanded", String($("choose").classList.toggle("open"))),
  "another": () => { app.scene.seed = app.scene.seed % 1000000 + 1; load({}); },
};
for (const kind of Object.keys(JUMPS)) {
  actions[kind + "-on"] = () => app.clock && jump(nextOf(merged(JUMPS[kind]), app.t, true));
  actions[kind + "-back"] = () => app.clock && jump(nextOf(merged(JUMPS[kind]), app.t, false));
}

function getTheme() {
  return document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function switchLanguage(l) {
  setLanguage(l);
  words();
  for (const p of app.panels) p.words();
  if (app.file) app.file.words();
  alignHeights();
  showPlay();
  showRuns();
  if (app.scene.mode === "schedule") { showPlayBench(); showFate(); }
  if (app.scene.mode === "find") showFind();
  draw();
  showLink();
}

async function shareLink() {
  showLink(true);
  try {
    await navigator.clipboard.writeText(location.href);
    calmNotice("shared_ok");
  } catch {
    notice(() => location.href);
  }
  announce(say("shared_ok"));
}
