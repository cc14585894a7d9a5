// A scene's story: an instant, a sentence or two, and Next plays to the next one.
import { getLanguage, say, translated } from "./strings.js";
import { formatLink } from "./link.js";
import { $, el, refill } from "./app.js";
import { app, open } from "./store.js";
import { isPast, jump, playTo, when } from "./time.js";
import { drawOpening, opening } from "./opening.js";
import { secret } from "./levels.js";
import { sceneOf } from "./modes.js";

// The story that is shown: only for exactly its own scene.
function currentStory() {
  const s = app.scene, l = app.byName.get(s.locks[0]), story = l && l.story;
  if (!story || app.file || s.locks.length > 1 || s.mode === "find") return null;
  const scene = sceneOf({ ...l, scene: story.scene, level: null }, "watch"), same = formatLink({ ...s, ...scene }) === formatLink(s);
  // It gives a level away, as long as that is played.
  return same || !secret(l.name) ? { story, same, scene } : null;
}

const longest = 12; // seconds from one stop to the next

// reveal scrolls to the story where the stage would else be below the window: on a phone, and in a low frame.
export function reveal() {
  const low = parent !== window && innerHeight < 700, narrow = innerWidth <= 760 && $("caption") && !opening();
  if (low || narrow) scrollTo(0, $($("story").hidden ? "panels" : "story").getBoundingClientRect().top + scrollY - 4);
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
  const shown = is && is.story.stops[at - 1], key = is ? [app.scene.locks[0], at, isPast(shown), getLanguage(), app.projector].join() : "";
  if (box.dataset.shown === key) return;
  box.dataset.shown = key;
  box.hidden = !is;
  if (!is) { box.replaceChildren(); return; }
  if (!is.same) { box.replaceChildren(el("button", { id: "tell", onclick: () => open(is.scene, { start: 0 }) }, say("story.tell"))); return; }
  const stops = is.story.stops, stop = stops[at - 1];
  refill(box, [
    el("p", { id: "caption", class: isPast(stop) ? "past" : null }, stop ? [when(stop), translated(stop.text)].join("") : say("story.start"), stop && stop.quote ? el("q", { lang: "zh-CN" }, stop.quote) : ""),
    el("span", { class: "group" }, ...app.projector && stop ? named(translated(stop.text)) : [],
      el("button", { id: "story-back", disabled: at < 1, onclick: () => jump(stops.findLast(x => x.at_ns < app.t)?.at_ns ?? 0), title: say("story.back"), "aria-label": say("story.back") }, "‹"),
      el("span", { class: "count" }, at + " / " + stops.length),
      el("button", { id: "story-next", class: "main", disabled: at >= stops.length, onclick: () => { reveal(); playTo(stops[at].at_ns, longest); } }, say("story.next")))]);
}
