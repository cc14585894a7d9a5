// Before a release the page can ask which contender wakes first, and how many
// requests are sent until the next one holds the lock. The right answer is counted in
// the film.
import { above, shortName, stateAt } from "./film.js";
import { getLanguage, plainOp, say } from "./strings.js";
import { $, el } from "./app.js";
import { app, tell } from "./store.js";
import { lockTitle } from "./words.js";
import { jump, playTo, stopAt } from "./time.js";

let on = false;
const guesses = new Map();

export function togglePredict() {
  on = !on;
  guesses.clear();
  tell("at");
}

// The releases of a film after which a waiter holds the lock, each with what
// happens until then. A question is asked just before its release.
function questions(F) {
  if (F.questions) return F.questions;
  const list = [], states = new Map();
  let open = null;
  for (const m of F.marks) {
    if (m.kind === "wakeup" && open) open.woken.push({ who: m.who, at: m.at_ns });
    if (m.kind !== "state") continue;
    const was = states.get(m.who);
    states.set(m.who, m.state);
    if (m.state === "unlocks" && was === "holds") open = { at: m.at_ns - 1, who: m.who, waits: F.units.filter(u => states.get(u) === "waits"), woken: [] };
    if (m.state === "holds" && was === "waits" && open) {
      const one = w => F.unitIndex.has(w.who); // of a shared session it is not known which contender wakes
      if (open.waits.includes(m.who) && open.woken.every(one)) list.push({ ...open, next: m.who, until: m.at_ns, requests: above(F.requestAt, m.at_ns) - above(F.requestAt, open.at) });
      open = null;
    }
  }
  return F.questions = list;
}

const panel = () => app.panels[app.focus] || app.panels[0];
const keyOf = (p, q) => [p.lock, p.which, p.F.film.seed, p.F.units.length, q.at].join();

// Playing stops before the next release about which nothing was said.
stopAt(t => {
  const p = panel();
  if (!on || !p) return Infinity;
  const q = questions(p.F).find(q => q.at > t && !guesses.has(keyOf(p, q)));
  return q ? q.at : Infinity;
});

function answer(p, q, form) {
  guesses.set(keyOf(p, q), { who: form.elements.first.value, n: Number(form.elements.n.value) });
  playTo(q.until);
}

function ask(p, q) {
  const form = el("form", { id: "ask", autocomplete: "off", onsubmit: e => { e.preventDefault(); answer(p, q, form); } },
    el("strong", {}, say("predict.now", q.who)),
    el("label", {}, say("predict.who"), el("select", { name: "first", required: true }, el("option", { value: "" }, "…"), ...q.waits.map(u => el("option", { value: u }, u)), el("option", { value: "-" }, say("predict.nobody")))),
    el("label", {}, say("predict.n"), el("input", { name: "n", type: "number", min: 0, max: 9999, required: true, inputmode: "numeric" })),
    el("button", { id: "guess", class: "main" }, say("predict.play")));
  return form;
}

// The explanation: which events arrived, and which requests were sent.
function reasons(p, q) {
  const F = p.F, first = q.woken[0], list = [];
  if (!first) list.push(say("predict.noEvent"));
  else {
    const event = F.packets.find(x => x.kind === "event" && x.client === F.clientOf.get(first.who) && x.arrived_ns > q.at && x.arrived_ns <= first.at && !x.lost);
    const names = q.woken.map(w => w.who);
    list.push(say(names.length > 1 ? "predict.woke" : "predict.woke1", names.length, q.waits.length, names.length > 8 ? names.slice(0, 7).join(", ") + " …" : names.join(say("comma")), first.who, event ? shortName(event.path) : "?"));
  }
  if (first && first.who !== q.next) {
    const made = [...stateAt(F, q.until).nodes.values()].some(n => n.owner === q.next && n.at > q.at);
    list.push(say(made ? "predict.firstAtServer" : "predict.firstInQueue", q.next));
  }
  const ops = new Map();
  for (const x of F.packets) if (x.kind === "request" && x.sent_ns > q.at && x.sent_ns <= q.until) ops.set(plainOp(x.op), (ops.get(plainOp(x.op)) || 0) + 1);
  list.push(say("predict.sent", q.next, q.requests, [...ops].map(([op, n]) => n + " " + op).join(say("comma"))));
  return list.join(say("sentenceGap"));
}

function verdict(p, q, guess) {
  const who = q.woken.length ? q.woken[0].who : "-", name = w => w === "-" ? say("predict.nobody") : w;
  const line = (right, text) => el("b", { "data-right": right ? "yes" : "no" }, (right ? "✓ " : "✗ ") + say(right ? "predict.right" : "predict.wrong", text));
  return [
    line(guess.who === who, say("predict.saidWho", name(guess.who))), " ",
    line(guess.n === q.requests, say("predict.saidN", guess.n)), " ",
    el("span", {}, reasons(p, q)),
  ];
}

export function drawPredict() {
  const box = $("question"), p = panel();
  $("predict").setAttribute("aria-pressed", String(on));
  box.hidden = !on || !p;
  if (box.hidden) { box.dataset.shown = ""; return; }
  const list = questions(p.F), i = list.findLastIndex(q => q.at <= app.t), q = list[i];
  const guess = q && guesses.get(keyOf(p, q));
  const phase = !q ? "idle" : guess ? app.t < q.until ? "wait" : "answered" : app.t === q.at ? "ask" : "idle";
  const said = list.map(q => guesses.get(keyOf(p, q)) && { q, g: guesses.get(keyOf(p, q)) }).filter(Boolean);
  const right = said.filter(({ q, g }) => g.n === q.requests && g.who === (q.woken.length ? q.woken[0].who : "-")).length;
  const key = [p.lock, p.which, i, phase, said.length, list.length, list.some(q => q.at > app.t), getLanguage()].join();
  if (box.dataset.shown === key) return;
  box.dataset.shown = key;
  const next = list.find(q => q.at > app.t);
  box.replaceChildren(...[
    app.panels.length > 1 ? el("span", { class: "which" }, lockTitle(p.lock)) : null,
    phase === "ask" ? ask(p, q) : null,
    phase === "idle" ? el("span", {}, say(list.length ? "predict.idle" : "predict.none")) : null,
    phase === "wait" ? el("span", {}, say("predict.wait")) : null,
    phase === "answered" ? el("p", { id: "verdict", role: "status" }, ...verdict(p, q, guess)) : null,
    phase !== "ask" && next ? el("button", { id: "next-release", type: "button", onclick: () => jump(next.at) }, say("predict.next")) : null,
    said.length ? el("span", { class: "count" }, say("predict.score", right, said.length)) : null].filter(Boolean));
}
