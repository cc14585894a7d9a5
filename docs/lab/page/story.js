// A scene's story: an instant, a sentence or two, and Next plays to the next one.
import { getLanguage, say, translated } from "./strings.js";
import { formatChange } from "./link.js";
import { $, el } from "./app.js";
import { app, open } from "./store.js";
import { jump, playTo } from "./time.js";
import { drawOpening } from "./opening.js";
import { secret } from "./levels.js";

// The story that is shown: only for exactly its own scene.
function currentStory() {
  const s = app.scene, l = app.byName.get(s.locks[0]), story = l && l.story;
  if (!story || app.file || s.locks.length > 1 || s.mode === "find") return null;
  const choices = story.scene.choices || [];
  const scheduled = choices.length > 0 || l.group === "museum"; // A1 has nothing to choose
  const scripts = x => JSON.stringify(x || []);
  const same = scripts(s.scripts) === scripts(story.scene.scripts) && s.n === story.scene.contenders && !s.shared && !s.measured && (scheduled
    ? s.mode === "schedule" && s.choices.join() === choices.join() && !s.packets
    : s.mode === "watch" && s.changes.map(formatChange).join() === (story.scene.changes || []).map(formatChange).join() && s.latency === story.scene.latency_ms && s.seed === story.scene.seed);
  // It gives a level away, as long as that is played.
  return same || !secret(l.name) ? { story, same, scheduled } : null;
}

// startStory opens the scene of the lock's story at its start.
function startStory() {
  const { story, scheduled } = currentStory(), from = story.scene;
  return open({
    n: from.contenders, shared: false, measured: false, changes: from.changes || [], scripts: from.scripts || [], vs: false, choices: from.choices || [], packets: false,
    ...scheduled ? { mode: "schedule", kinds: from.kinds || [], faults: from.faults || 0 } : { mode: "watch", latency: from.latency_ms, seed: from.seed },
  }, { start: 0 });
}

const longest = 12; // seconds from one stop to the next

function next() {
  const { story } = currentStory(), stop = story.stops.find(x => x.at_ns > app.t);
  if (stop) playTo(stop.at_ns, longest);
}

function previous() {
  const { story } = currentStory(), before = story.stops.filter(x => x.at_ns < app.t);
  jump(before.length ? before.at(-1).at_ns : 0);
}

// The buttons that a caption names. For a projector those of the page are hidden.
const named = text => [...text.matchAll(/“([^”]+)”/g)].map(([, name]) => el("button", { class: "named", onclick: () => {
  const b = [...document.querySelectorAll("button:not(.named)")].find(b => b.textContent.trim() === name);
  if (b) b.click();
} }, name));

export function drawStory() {
  if (drawOpening()) return;
  const box = $("story"), is = app.panels.length ? currentStory() : null;
  const at = is && is.same ? is.story.stops.filter(s => s.at_ns <= app.t).length : -1;
  const key = is ? [app.scene.locks[0], at, getLanguage(), app.projector].join() : "";
  if (box.dataset.shown === key) return;
  const had = box.contains(document.activeElement) ? document.activeElement.id : "";
  box.dataset.shown = key;
  box.hidden = !is;
  if (!is) { box.replaceChildren(); return; }
  if (!is.same) { box.replaceChildren(el("button", { id: "tell", onclick: startStory }, say("story.tell"))); return; }
  const stops = is.story.stops, stop = stops[at - 1];
  box.replaceChildren(
    el("p", { id: "caption" }, stop ? translated(stop.text) : say("story.start"), stop && stop.quote ? el("q", { lang: "zh-CN" }, stop.quote) : ""),
    el("span", { class: "group" }, ...app.projector && stop ? named(translated(stop.text)) : [],
      el("button", { id: "story-back", disabled: at < 1, onclick: previous, title: say("story.back"), "aria-label": say("story.back") }, "‹"),
      el("span", { class: "count" }, at + " / " + stops.length),
      el("button", { id: "story-next", class: "main", disabled: at >= stops.length, onclick: next }, say("story.next"))));
  const again = had && $(had);
  if (again && !again.disabled) again.focus();
}
