// The opening: a story over two panels, the herd and the chain, with the times of a
// measured server, and nothing else on the page.
import { getLanguage, say, translated } from "./strings.js";
import { OPENING } from "./texts.js";
import { DEFAULT, formatLink, parseLink } from "./link.js";
import { $, el } from "./app.js";
import { app, open } from "./store.js";
import { jump, playTo } from "./time.js";

// The openings, each after the one before; the one that the scene is, whatever instant is shown.
const current = () => app.file ? undefined : [OPENING, OPENING.next].find(o => o.address === formatLink(app.scene));

export const isOpening = () => !!current();

export function drawOpening() {
  const is = current();
  if (!is || app.panels.length !== 2) return false;
  const STOPS = is.stops, box = $("story"), at = STOPS.filter(s => s.at_ns <= app.t).length, key = [is.address, at, getLanguage()].join();
  if (box.dataset.shown === key) return true;
  const had = box.contains(document.activeElement) ? document.activeElement.id : "", last = at === STOPS.length;
  box.dataset.shown = key;
  box.hidden = false;
  const stop = STOPS[Math.max(0, at - 1)];
  box.replaceChildren(
    el("p", { id: "caption" }, el("span", {}, translated(stop.text)), stop.measured ? bars() : null),
    el("span", { class: "group" },
      el("button", { id: "story-back", disabled: at < 2, title: say("story.back"), "aria-label": say("story.back"), onclick: () => jump(STOPS[at - 2].at_ns) }, "‹"),
      el("span", { class: "count" }, Math.max(1, at) + " / " + STOPS.length),
      el("button", { id: "story-next", class: "main", onclick: () => last ? leave() : playTo(STOPS[Math.max(1, at)].at_ns, longest) }, say(last ? "opening.leave" : "story.next")),
      last && is.next ? el("button", { id: "story-more", onclick: () => open(parseLink(is.next.address).scene, { start: 0 }) }, say("opening.more")) : null));
  const again = had && $(had);
  if (again && !again.disabled) again.focus();
  return true;
}

const longest = 8; // seconds from one stop to the next

// The usual page begins with fewer contenders, which have time for a person.
function leave() { open(DEFAULT, { start: 0 }); }

// bars shows what a thousand contenders took at a real server.
function bars() {
  const most = Math.max(...OPENING.times);
  return el("span", { class: "real" }, ...["all", "one"].map((name, i) => el("span", { class: "row" }, el("span", {}, say("opening." + name)),
    el("i", { class: name, style: "width:" + Math.max(0.5, OPENING.times[i] / most * 60) + "%" }), el("b", {}, say("opening.seconds", (OPENING.times[i] / 1e9).toPrecision(3))))));
}
