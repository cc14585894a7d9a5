// The opening: a story over two panels, the herd and the chain, with the times of a
// measured server, and nothing else on the page.
import { getLanguage, say, translated } from "./strings.js";
import { OPENINGS } from "./texts.js";
import { formatLink, parseLink } from "./link.js";
import { $, el, refill } from "./app.js";
import { app, open } from "./store.js";
import { isPast, jump, playTo, when } from "./time.js";

// The openings, each after the one before. opening is the one that the scene is, whatever instant is shown.
const { scenes, times } = OPENINGS;
export const opening = () => app.file ? undefined : scenes.find(o => o.address === formatLink(app.scene));

export function drawOpening() {
  const is = opening();
  if (!is || app.panels.length !== 2) return false;
  const STOPS = is.stops, box = $("story"), at = STOPS.filter(s => s.at_ns <= app.t).length, stop = STOPS[Math.max(0, at - 1)], key = [is.address, at, isPast(stop), getLanguage()].join();
  if (box.dataset.shown === key) return true;
  const last = at === STOPS.length, next = scenes[scenes.indexOf(is) + 1];
  box.dataset.shown = key;
  box.hidden = false;
  refill(box, [
    el("p", { id: "caption", class: isPast(stop) ? "past" : null }, el("span", {}, when(stop), translated(stop.text)), last && is === scenes[0] ? bars() : null),
    el("span", { class: "group" },
      el("button", { id: "story-back", disabled: at < 2, title: say("story.back"), "aria-label": say("story.back"), onclick: () => jump(STOPS[at - 2].at_ns) }, "‹"),
      el("span", { class: "count" }, Math.max(1, at) + " / " + STOPS.length),
      el("button", { id: "story-next", class: "main", onclick: () => last ? leave() : playTo(STOPS[Math.max(1, at)].at_ns, longest) }, say(last ? "opening.leave" : "story.next")),
      last && next ? el("button", { id: "story-more", onclick: () => open(parseLink(next.address).scene, { start: 0 }) }, translated(next.name)) : null)]);
  return true;
}

const longest = 8; // seconds from one stop to the next

// It goes on with the opening's run of fewer contenders, which have time for a person, and with few
// controls: the button of more settings brings the others.
function leave() {
  document.body.classList.add("trying");
  open({ ...parseLink(scenes[0].address).scene, n: 5 }, { start: 0 });
}

// bars shows what a thousand contenders took at a real server.
function bars() {
  return el("span", { class: "real" }, ...["all", "one"].map((name, i) => {
    const bar = el("i", { class: name });
    bar.style.width = Math.max(0.5, times[i] / Math.max(...times) * 60) + "%"; // the served page's policy forbids the attribute
    return el("span", { class: "row" }, el("span", {}, say("opening." + name)), bar, el("b", {}, say("opening.seconds", (times[i] / 1e9).toPrecision(3))));
  }));
}
