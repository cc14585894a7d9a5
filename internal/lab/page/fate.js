// When was it too late? A strip under the time: after each choice, the share of random
// continuations, with the faults that may still happen, that end in the bug. The scenes
// bring theirs; for a reader's own schedule an engine of its own counts them.
import { choiceWords, clockText, say, violationText } from "./strings.js";
import { Engine } from "./engine.js";
import { $, el } from "./app.js";
import { app } from "./store.js";
import { broke, faultsMade, world } from "./world.js";
import { jump } from "./time.js";

let counting = null, reach = "";

// outOfReach says, beside the choices, that no continuation reaches the goal; "" as long as one may.
export const outOfReach = () => reach;

// showFate shows the strip of the schedule that is played.
export function showFate() {
  if (counting) { counting.stop(); counting = null; }
  reach = "";
  const s = app.scene, l = app.byName.get(s.locks[0]) || {}, r = app.play, bad = r && broke(r);
  const goal = l.goal ? l.goal.kind : bad && bad.kind;
  $("fate").hidden = !(s.mode === "schedule" && !app.file && r && goal && (s.choices.length || l.fates?.length === 1)); // nobody chooses in a scene of one way
  if ($("fate").hidden) return;
  if (l.fates && (l.scene.choices || []).join() === s.choices.join() && !s.packets) { drawFate(l.fates, goal); return; }
  drawFate([], goal);
  const engine = counting = new Engine();
  setTimeout(() => { // not for each choice of a reader who chooses fast
    if (counting !== engine) return;
    engine.ask({ do: "fates", world: world(), choices: s.choices, goal }, list => { if (counting === engine) drawFate(list, goal); })
      .then(list => { if (counting === engine) { drawFate(list, goal); engine.stop(); counting = null; } }, () => {});
  }, 400);
}

// The first choice after which every continuation ends in the bug; -1: none.
const sealed = fates => {
  let k = fates.length;
  while (k > 0 && fates[k - 1] === 100) k--;
  return k < fates.length ? k : -1;
};

// The choice with which the chances began to fall: from it on the bug is likelier than at the start, by a fifth of all
// continuations at least; -1: none, before the one that makes it certain.
const turned = (fates, k) => fates.findIndex((_, i) => i > 0 && i < k && fates.slice(i).every(share => share >= fates[0] + 20));

function drawFate(fates, goal) {
  const F = app.panels[0] && app.panels[0].F;
  if (!F || !app.clock) return;
  const made = F.film.choices || [], X = t => app.clock.shown(t) / app.clock.length * 100;
  const whole = fates.length === app.scene.choices.length + 1, k = whole ? sealed(fates) : -1;
  const bars = fates.slice(0, made.length + 1).map((share, i) => {
    const from = i === 0 ? 0 : X(made[i - 1].at_ns), to = i < made.length ? X(made[i].at_ns) : 100;
    const text = (i === 0 ? say("fate.start") : say("fate.after", i, made[i - 1].choice)) + say("colon") + share + " %";
    const bar = el("span", { class: "bar", title: text, "data-share": share, "data-choices": i }, el("i", {}));
    bar.style.left = from + "%";
    bar.style.width = Math.max(0.4, to - from) + "%";
    bar.firstChild.style.height = Math.max(share ? 12 : 4, share) + "%";
    return bar;
  });
  // The continuations are few: as long as a fault may happen at the right moment, 0 % says little.
  const s = app.scene, over = app.play && !(app.play.enabled || []).length, spent = over || faultsMade() >= (s.kinds.length ? s.faults : 0);
  const none = whole && spent && fates.at(-1) === 0;
  let line = none ? say("fate.none", violationText(goal)) : !whole ? say("fate.counting") : k < 0 ? say("fate.open", violationText(goal)) : k === 0 ? say("fate.always", violationText(goal)) : say("fate.sealed", violationText(goal), fates[k - 1], k, made[k - 1] ? choiceWords(made[k - 1].choice) : "");
  const turn = k > 0 ? turned(fates, k) : -1, choice = made[turn - 1];
  if (choice) line += say("sentenceGap") + say("fate.turned", turn, choiceWords(choice.choice), Math.min(...fates.slice(turn)));
  $("fate-bars").replaceChildren(...bars);
  $("fate-bars").setAttribute("aria-label", say("fate") + say("sentenceGap") + line);
  $("fate-line").textContent = line;
  $("fate-line").title = line;
  const note = $("out-of-reach"); // beside the choices, where a reader looks
  reach = none && (app.byName.get(s.locks[0]) || {}).goal ? line : "";
  if (note) Object.assign(note, { hidden: !reach, textContent: reach });
  for (const [id, at] of [["turn", choice], ["last", made[k - 1]]]) {
    const button = $(id + "-moment");
    button.hidden = !at;
    if (at) Object.assign(button, { textContent: say("fate." + id), title: clockText(at.at_ns), onclick: () => jump(at.at_ns) });
  }
  document.querySelector("#fate b").textContent = say("fate");
}
