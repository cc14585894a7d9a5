// Find it for me: the explorer searches in an engine of its own.
import { choiceWords, inEnglish, isKind, reason, say, translated, violationText } from "./strings.js";
import { indexFilm } from "./film.js";
import { Engine } from "./engine.js";
import { $, el, refill, whole } from "./app.js";
import { amend, app } from "./store.js";
import { lockTitle } from "./words.js";
import { announce, notice, settleNotice } from "./notice.js";
import { showLink, showScene } from "./scene.js";
import { setPanels } from "./panels.js";
import { goto, setPlaying } from "./time.js";
import { faultBox, saveButton, world } from "./world.js";

// forgetFind ends the search when another scene is opened.
export function forgetFind({ keep }) {
  if (keep) return;
  stopFind();
  app.search = null;
}

export function loadFind() {
  setPlaying(false);
  showFind();
  setPanels([]);
  showLink(true);
}

function showFind() {
  const box = $("workbench"), s = app.scene, f = app.search || {};
  box.hidden = false;
  const goal = (app.byName.get(s.locks[0]) || {}).goal;
  const parts = [el("p", { class: "hint" }, say("findHint")),
    goal?.kind ? el("label", {}, el("input", { type: "checkbox", id: "only-goal", checked: app.onlyGoal, onchange: e => { app.onlyGoal = e.target.checked; } }), say("onlyGoal", violationText(goal.kind))) : null,
    el("div", { class: "row" }, faultBox(change => { amend(change); showLink(true); }),
      el("label", {}, el("input", { type: "number", id: "for", min: 1, max: 3600, value: app.findFor, onchange: e => { app.findFor = whole(e.target, 1, 3600, 60); } }), say("seconds")),
      f.running ? el("button", { id: "stop-find", "data-action": "stop-find", class: "main", onclick: () => { if (performance.now() - f.began > 500) stopFind(); } }, say("stop")) : el("button", { id: "start-find", "data-action": "start-find", class: "main", onclick: startFind }, say("start")))];
  if (f.running) parts.push(el("div", { class: "row" }, el("progress", {}), el("span", { id: "find-progress", role: "status" }, f.text())));
  else if (f.text) parts.push(el("div", { class: "reached" + (f.found ? " bad" : ""), id: "find-result", role: "status" }, el("strong", {}, f.text()), f.known ? el("p", {}, translated(f.known)) : null));
  for (const [name, trace] of Object.entries(f.others || {})) parts.push(el("div", { class: "row known" }, el("span", {}, say("known", knownText(trace.known.find(k => inEnglish(k) === name)))), el("button", { "data-known": name, onclick: () => watchTrace(f, trace) }, say("openTrace"))));
  if (f.trace) parts.push(el("details", { open: true }, el("summary", {}, say("choicesFound", f.trace.choices.length)), el("ol", { id: "trace" }, ...f.trace.choices.map(c => el("li", {}, choiceWords(c))))), el("div", { class: "row" }, saveButton(f.trace)));
  refill(box, parts);
}

async function startFind() {
  settleNotice();
  if (app.scene.n > 4) { amend({ n: 3 }); showScene(); }
  const s = app.scene, w = world(), goal = (app.byName.get(s.locks[0]) || {}).goal;
  stopFind();
  setPanels([]);
  const finder = app.finder = new Engine();
  const f = app.search = { running: true, began: performance.now(), text: () => say("loading") };
  showFind();
  try {
    const r = await finder.ask({ do: "find", world: { ...w, kinds: undefined, faults: undefined }, kinds: s.kinds, faults: w.faults, goal: goal && app.onlyGoal ? goal.kind : "", for_s: app.findFor }, p => {
      f.text = () => say("searching", p.schedules, Math.round(p.per_second));
      const e = $("find-progress");
      if (e) e.textContent = f.text();
    });
    if (app.search !== f) return;
    f.running = false;
    f.trace = r.trace;
    f.others = r.known || {};
    if (r.trace) {
      const v = r.trace.violation;
      f.text = () => say("foundIt", r.schedules, v ? violationText(v.kind) : (r.trace.known || []).map(knownText).join(say("comma")));
      f.known = v && v.what || "";
    } else f.text = () => say(r.complete ? "foundNone" : "foundNoneIncomplete", r.schedules, lockTitle(s.locks[0]), w.contenders, w.faults === 1 ? say("fault1") : say("faultN", w.faults)) + (Object.keys(f.others).length ? say("sentenceGap") + say("butKnown") : "");
    f.found = !!r.trace;
    announce(f.text());
    showFind();
    finder.stop();
    if (r.trace) await watchTrace(f, r.trace);
  } catch (e) {
    if (app.search !== f) return;
    f.running = false;
    f.text = e.name === "Stopped" ? () => say("stopped") : null;
    showFind();
    if (e.name !== "Stopped") notice(() => say("engineError"), () => reason(e));
  }
}

// A lock's page names what it is known to do wrong.
function knownText(known) { return isKind(inEnglish(known)) ? violationText(inEnglish(known)) : translated(known); }

async function watchTrace(f, trace) {
  const F = indexFilm(await app.engine.ask({ do: "replay", trace }));
  if (app.search !== f) return;
  f.trace = trace;
  showFind();
  setPanels([{ lock: app.scene.locks[0], which: "", F }]);
  goto(0);
  if (app.calm) goto(F.violations.length ? F.violations[0] : F.end); else setPlaying(true);
}

function stopFind() {
  if (app.finder) app.finder.stop();
  app.finder = null;
}

export function sayFind() { if (app.scene.mode === "find" && !app.file) showFind(); }
