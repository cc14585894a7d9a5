// The world in which a schedule is played, and the choices that a reader makes in it.
import { has, inEnglish, say } from "./strings.js";
import { el, KINDS, possible, whole } from "./app.js";
import { app, open } from "./store.js";

export function world(s = app.scene, lock = s.locks[0]) {
  return { lock, contenders: s.n, shared: s.shared, packets: s.packets, sequence: s.sequence, one_owner: s.oneOwner, stranger: s.stranger, behind: s.behind, ensemble: s.ensemble, missing: s.missing, scripts: s.scripts, kinds: s.kinds, faults: s.kinds.length ? s.faults : 0 };
}

export function choose(choice) { open({ choices: [...app.scene.choices, choice] }, { keep: true, chosen: true }); }
export function takeBack() { if (app.scene.choices.length) open({ choices: app.scene.choices.slice(0, -1) }, { keep: true }); }

// The violation in a schedule. A holder that outlives its session is known of every
// lock without a clock, and worth seeing.
export function broke(r) {
  const known = "holder outlives its session";
  return r.violation || ((r.known || []).some(k => inEnglish(k) === known) ? { kind: known } : null);
}

export function choiceText(c) {
  const what = c.what || c.choice.replace(/^[^:]*: /, "");
  return has("do." + what) ? say("do." + what) : what;
}

// keysOf gives the choices their digits. A row of digits has the contenders in their order:
// what lets them go on, then their unlock, then each fault. So a digit keeps its meaning.
export function keysOf(enabled) {
  const s = app.scene, rows = ["", "unlock", ...s.packets ? ["reply", "event"] : [], ...s.kinds], keys = new Map();
  for (const c of enabled) {
    const who = c.of || c.who, what = c.what || c.choice.replace(/^[^:]*: /, "");
    const key = String(Math.max(0, rows.indexOf(what)) * s.n + (/^[A-I]$/.test(who) ? who.charCodeAt(0) - 65 : 0) + 1);
    if (key <= 9 && ![...keys.values()].includes(key)) keys.set(c, key);
  }
  return keys;
}

// faultBox is the box of what may go wrong. Whether it is open stays as it is. A goal
// brings its faults: its box is closed at first, and the choices are in sight.
export function faultBox(changed) {
  const s = app.scene, choosing = s.mode === "schedule", given = choosing && !!(app.byName.get(s.locks[0]) || {}).goal;
  const of = s.mode + (given ? " goal" : ""), was = document.querySelector("#workbench details.faults");
  const open = was && was.dataset.of === of ? was.open : !choosing || !given && innerWidth > 760;
  return el("details", { class: "faults", "data-of": of, open }, el("summary", {}, say("faultKinds") + (choosing ? say("colon") + faultWords() : "")), kindBoxes(changed), countBox(changed),
    el("label", {}, el("input", { type: "checkbox", id: "packets", checked: s.packets, onchange: e => changed({ packets: e.target.checked }) }), say("packetsToo")));
}

// The faults that a schedule has had.
export const faultsMade = () => app.scene.choices.filter(c => KINDS.some(kind => c.endsWith(": " + kind))).length;

// The faults that may happen, in words, and the number of those so far.
function faultWords() {
  const s = app.scene, made = faultsMade();
  if (!s.kinds.length || !s.faults) return say("none");
  return say("faultsAre", s.kinds.map(k => say("kind." + k)).join(say("comma")), s.faults === 1 ? say("fault1") : say("faultN", s.faults)) + (made ? say("faultsMade", made) : "");
}

function kindBoxes(changed) {
  const s = app.scene, l = app.byName.get(s.locks[0]) || {};
  return el("fieldset", { class: "kinds", "aria-label": say("faultKinds") }, ...KINDS.filter(k => possible(l).includes(k) || s.kinds.includes(k)).map(k => el("label", {}, el("input", { type: "checkbox", "data-kind": k, title: has("tip." + k) ? say("tip." + k) : null, checked: s.kinds.includes(k),
    onchange: e => changed({ kinds: KINDS.filter(x => x === k ? e.target.checked : app.scene.kinds.includes(x)) }) }), say("kind." + k))));
}

function countBox(changed) {
  return el("label", {}, say("howMany"), el("input", { type: "number", id: "faults", min: 0, max: 3, value: app.scene.faults, onchange: e => changed({ faults: whole(e.target, 0, 3, 0) }) }));
}

export function saveButton(trace) {
  return el("button", { "data-action": "save", onclick: () => {
    const a = el("a", { href: URL.createObjectURL(new Blob([JSON.stringify(trace, null, "\t") + "\n"], { type: "application/json" })), download: (trace.world && trace.world.lock || "trace") + ".json" });
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 10000);
  } }, say("save"));
}
