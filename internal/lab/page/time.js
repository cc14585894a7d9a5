// Time: the instant that is shown, and what plays it.
import { clockText, explainMark, say } from "./strings.js";
import { above } from "./film.js";
import { $, el } from "./app.js";
import { app, tell } from "./store.js";
import { announce } from "./notice.js";
import { lockTitle } from "./words.js";

export function goto(t) {
  if (!app.clock) return;
  app.t = Math.min(app.clock.end, Math.max(0, t));
  tell("at");
}

// drawInstant writes the instant at the bar.
export function drawInstant() {
  const shown = app.clock.shown(app.t), slider = $("t");
  slider.value = String(shown / 1e6);
  const text = say(app.growing ? "soFar" : "instant", clockText(app.t), clockText(app.clock.end));
  if ($("clock").textContent !== text) {
    const now = clockText(app.t);
    $("clock").replaceChildren(el("b", {}, now), el("span", {}, text.slice(now.length)));
    slider.setAttribute("aria-valuetext", text);
  }
  const speed = say("speed.is", clockText(plainRate()));
  if ($("rate").textContent !== speed) $("rate").textContent = speed;
  document.body.dataset.t = String(Math.round(app.t));
}

// A latency takes about half a second at speed 1, and a run at most two minutes. The way
// to a stop is at most as long as it may take.
const plainRate = () => Math.max(app.clock.latency / 0.55, app.clock.length / 120) * app.speed;
const rate = () => app.until ? Math.max(plainRate(), app.hurry) : plainRate();

// isPast reports whether the picture has gone on from the instant of a stop, and when says then of
// which instant its sentence is.
export const isPast = stop => !!stop && app.t > stop.at_ns;
export const when = stop => isPast(stop) ? say("story.was", clockText(stop.at_ns)) : "";

let before = 0, pending = 0, asked = () => Infinity;
// stopAt gives the instants before which playing stops: f returns the next one after t.
export function stopAt(f) { asked = f; }

function frame(now) {
  pending = 0;
  if (!app.playing || !app.clock) return;
  const passed = Math.max(0, Math.min(100, now - before)) / 1000;
  before = now;
  const was = app.t;
  const shown = app.clock.shown(app.t) + passed * rate();
  const end = app.clock.end;
  const asks = asked(was), stop = Math.min(asks, app.until > was ? app.until : end); // of a story
  const t = Math.min(stop, app.clock.instant(shown));
  app.t = t;
  tell("at");
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
  tell("play");
  if (app.playing && !was) { before = performance.now(); if (!pending) pending = requestAnimationFrame(frame); }
  if (!app.playing && was) tell("rest");
}

// playTo plays to an instant, and takes at most so many seconds, if it says how many. With
// little motion it goes there.
export function playTo(t, seconds) {
  if (app.calm) { jump(t); return; }
  app.until = t;
  app.hurry = seconds ? (app.clock.shown(t) - app.clock.shown(app.t)) / seconds : 0;
  setPlaying(true);
}

export function setSpeed(speed) {
  app.speed = speed;
  $("speed").value = String(speed);
  tell("at");
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
  tell("rest");
  announce(clockText(app.t) + say("fullStop") + say("sentenceGap") + app.panels.map(p => (app.panels.length > 1 ? (p.which ? p.branchName() : lockTitle(p.lock)) + say("colon") : "") + (p.verdict.textContent ? p.verdict.textContent + say("sentenceGap") : "") + p.now.textContent).join(say("sentenceGap")));
}

export const merged = pick => Float64Array.from(app.panels.flatMap(p => [...pick(p.F)])).sort();

export const JUMPS = { event: F => F.eventAt, hold: F => F.holds, violation: F => F.violations };
