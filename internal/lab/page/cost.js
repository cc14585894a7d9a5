// The cost of an acquisition: a chart of runs that are counted, beside what the steps'
// formulas predict at most. The slider says for how many contenders.
import { getLanguage, reason, say } from "./strings.js";
import { Engine } from "./engine.js";
import { $, el } from "./app.js";
import { app, open, tell } from "./store.js";
import { lockTitle } from "./words.js";
import { svgEl } from "./stage.js";

let on = false, what = "requests", curves = null, engine = null, failure = "", shownFor = "";
const counted = new Map(); // by scene and lock: points by n
const LADDER = [2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 30, 40, 50, 60, 80, 100];

export function toggleCost() {
  on = !on;
  if (!on) stop();
  tell("at");
  if (on) count();
}

function stop() {
  if (engine) engine.stop();
  engine = null;
}

const size = () => Math.max(2, Math.min(100, app.scene.n));
const keyOf = lock => [lock, app.scene.shared, app.scene.latency, app.scene.seed].join();
function pointsOf(lock) {
  if (!counted.has(keyOf(lock))) counted.set(keyOf(lock), new Map());
  return counted.get(keyOf(lock));
}

// count plays a run for each number of contenders that the chart has room for, the
// smallest first, in an engine of its own: each gives one point more.
async function count() {
  stop();
  failure = "";
  const mine = engine = new Engine(), n = size(), { shared, latency, seed, locks } = app.scene;
  const sizes = [...new Set([n, ...LADDER.filter(x => x < n)])].sort((a, b) => a - b);
  try {
    curves ??= await mine.ask({ do: "curves" });
    for (const contenders of sizes) for (const lock of locks) {
      const points = pointsOf(lock);
      if (points.has(contenders)) continue;
      const c = await mine.ask({ do: "cost", scene: { lock, contenders, shared, latency_ms: latency, seed } });
      if (engine !== mine) return;
      points.set(contenders, c);
      drawCost();
    }
  } catch (e) {
    if (engine === mine && e.name !== "Stopped") failure = reason(e);
  }
  if (engine === mine) stop();
  drawCost();
}

const WIDTH = 720, HEIGHT = 230, LEFT = 44, RIGHT = 192, TOP = 12, BOTTOM = 26;

function chart(n, live) {
  const far = Math.max(10, n), X = x => LEFT + (x - 1) / (far - 1) * (WIDTH - LEFT - RIGHT);
  const lines = (curves || []).filter((c, i, all) => app.scene.locks.includes(c.lock) || c.lock === "naive" || c.lock === "predecessor" && !all.some(o => app.scene.locks.includes(o.lock) && o.requests[99] === c.requests[99]));
  const points = app.scene.locks.flatMap((lock, i) => [...pointsOf(lock).values()].filter(p => !p.broken && p.contenders <= far).map(p => ({ ...p, lock, i, y: p[what] / p.contenders })));
  const top = Math.max(1, ...lines.map(c => c[what][far - 1] / far), ...points.map(p => p.y)) * 1.08, Y = y => HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM);
  const svg = svgEl("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": say("cost.chart", say(what)) }), fix = x => x.toFixed(1);
  const text = (x, y, words, attributes) => { svgEl("text", { x: fix(x), y: fix(y), ...attributes }, svg).textContent = words; };
  for (let i = 0, step = [1, 2, 5, 10, 20, 50].find(s => top / s <= 6) || 100; i * step <= top; i++) {
    svgEl("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: fix(Y(i * step)), y2: fix(Y(i * step)) }, svg);
    text(LEFT - 6, Y(i * step) + 4, String(i * step), { "text-anchor": "end" });
  }
  for (let x = 0, step = far <= 12 ? 1 : far <= 30 ? 5 : far <= 60 ? 10 : 20; x <= far; x += step) if (x > 0) text(X(x), HEIGHT - 8, String(x), { "text-anchor": "middle" });
  text(WIDTH - RIGHT + 22, HEIGHT - 8, "n", {});
  svgEl("line", { class: "at", x1: fix(X(n)), x2: fix(X(n)), y1: TOP, y2: HEIGHT - BOTTOM }, svg);
  let last = Infinity;
  for (const c of lines.sort((a, b) => a[what][far - 1] - b[what][far - 1])) {
    const i = app.scene.locks.indexOf(c.lock), l = app.byName.get(c.lock);
    svgEl("polyline", { class: "curve of" + i, "data-lock": c.lock, points: c[what].slice(0, far).map((y, x) => fix(X(x + 1)) + "," + fix(Y(y / (x + 1)))).join(" ") }, svg);
    last = Math.min(Y(c[what][far - 1] / far) + 4, last - 13);
    text(WIDTH - RIGHT + 6, last, lockTitle(c.lock).split(/[:：]/)[0] + say("colon") + "≤ (" + l[what] + ") / n", { class: "of" + i });
  }
  for (const p of points) {
    const data = { class: "point of" + p.i, "data-lock": p.lock, "data-n": p.contenders, "data-requests": p.requests, "data-events": p.events };
    const dot = p.i ? svgEl("rect", { ...data, x: fix(X(p.contenders) - 4), y: fix(Y(p.y) - 4), width: 8, height: 8 }, svg) : svgEl("circle", { ...data, cx: fix(X(p.contenders)), cy: fix(Y(p.y)), r: 4.5 }, svg);
    svgEl("title", {}, dot).textContent = say("cost.point", lockTitle(p.lock), p.contenders, p.requests, p.events);
  }
  for (const p of live) if (p.holds > 0 && p[what] / p.holds <= top) svgEl( // the words below say what has no room here
    "circle", { class: "live of" + p.i, cx: fix(X(n)), cy: fix(Y(p[what] / p.holds)), r: 7 }, svg);
  return svg;
}

// The cost of each panel's run up to the instant that is shown.
function soFar() {
  return app.panels.filter(p => p.s && app.scene.locks.includes(p.lock)).map(p => ({ i: app.scene.locks.indexOf(p.lock), lock: p.lock, requests: p.s.requests, events: p.s.events, holds: p.F.hold.filter(h => h.from <= app.t).length }));
}

// The runs below are counted already.
function takeShown(n) {
  const { shared, latency, seed } = app.scene;
  for (const { lock, F: { growing, film: f } } of app.panels) {
    if (growing || f.changes.length || f.lock !== lock || f.contenders !== n || f.shared !== shared || f.latency_ns !== latency * 1e6 || f.seed !== seed) continue;
    if (!pointsOf(lock).has(n)) pointsOf(lock).set(n, { contenders: n, ...f.counters, broken: f.violation ? f.violation.kind : "" });
  }
}

export function drawCost() {
  const box = $("costs"), possible = app.scene.mode === "watch" && !app.file;
  $("cost").setAttribute("aria-pressed", String(on));
  $("cost").hidden = !possible;
  box.hidden = !on || !possible;
  if (box.hidden) { box.dataset.shown = ""; if (engine) stop(); return; }
  const want = [app.scene.locks.map(keyOf), size()].join();
  if (want !== shownFor) { shownFor = want; count(); }
  const n = size();
  takeShown(n);
  const live = soFar(), known = app.scene.locks.map(l => pointsOf(l).size);
  const key = JSON.stringify([want, what, known, live, !!curves, !!engine, failure, getLanguage()]);
  if (box.dataset.shown === key) return;
  box.dataset.shown = key;
  if (!$("cost-n")) {
    box.replaceChildren(el("div", { class: "row" },
      el("label", {}, el("span", { id: "cost-label" }), el("input", { id: "cost-n", type: "range", min: 2, max: 100, step: 1, oninput: () => { $("cost-of").textContent = $("cost-n").value; }, onchange: () => open({ n: Number($("cost-n").value) }) }), el("output", { id: "cost-of", for: "cost-n" })),
      ...["requests", "events"].map(k => el("button", { "data-cost": k, onclick: () => { what = k; drawCost(); } })),
      el("span", { id: "cost-state", role: "status" })), el("div", { id: "cost-chart" }), el("div", { id: "cost-words" }));
  }
  $("cost-label").textContent = say("contenders");
  $("cost-n").value = $("cost-of").textContent = n;
  for (const b of box.querySelectorAll("[data-cost]")) { b.textContent = say(b.dataset.cost); b.setAttribute("aria-pressed", String(b.dataset.cost === what)); }
  $("cost-state").textContent = failure || (engine ? say("cost.counting") : "");
  $("cost-chart").replaceChildren(chart(n, live));
  $("cost-words").replaceChildren(...app.scene.locks.map((lock, i) => {
    const p = pointsOf(lock).get(n), now = live.find(x => x.lock === lock);
    return el("p", { class: "of" + i }, el("b", {}, lockTitle(lock) + say("colon")),
      p && p.broken ? say("cost.broken") : p ? say("cost.each", (p.requests / n).toFixed(1), (p.events / n).toFixed(1), p.requests, p.events) : "…",
      now && now.holds > 0 && now.holds < n ? say("sentenceGap") + say("cost.soFar", now.holds, (now.requests / now.holds).toFixed(1)) : "");
  }), el("p", { class: "hint" }, say("cost.hint")));
}
