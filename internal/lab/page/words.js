// The texts of the page around its panels: names of locks, legend, help.
import { getLanguage, has, say, translated } from "./strings.js";
import { BUGS } from "./texts.js";
import { $, el } from "./app.js";
import { app } from "./store.js";

export function words() {
  document.documentElement.lang = getLanguage() === "zh" ? "zh-CN" : "en";
  document.title = "zklock: " + say("title");
  for (const e of document.querySelectorAll("[data-say]")) e.textContent = say(e.dataset.say);
  for (const e of document.querySelectorAll("[data-tip]")) {
    e.title = say(e.dataset.tip);
    if (!e.dataset.say && e.id !== "rate") e.setAttribute("aria-label", say(e.dataset.tip));
  }
  $("t").setAttribute("aria-label", say("time"));
  $("drop").textContent = say("dropHere");
  fillLocks();
  legend();
  helpBox();
}

export function lockTitle(name) {
  const l = app.byName.get(name);
  return translated(l?.title) || name;
}

export function lockNote(name) {
  const l = app.byName.get(name);
  return translated(l?.note);
}

// Where a note names the catalogue of bugs, a reader can open what it says.
export function withBug(note, lock) {
  const [before, page, after] = note.split(/(docs\/bugs(?:\.zh-CN)?\.md)/);
  if (!page || !BUGS[getLanguage()][lock]) return [note];
  return [before, el("button", { class: "inline", "data-bug": lock, onclick: () => showBug(lock) }, page), after];
}

function showBug(id) {
  const box = $("bug-box"), bug = BUGS[getLanguage()][id];
  box.replaceChildren(el("form", { method: "dialog" }, el("button", { class: "main" }, say("close"))), el("h2", {}, id + say("colon") + bug.title), ...bug.text.map(html => {
    const p = el("p", {});
    p.innerHTML = html; // made of the catalogue when the page was built
    return p;
  }));
  box.setAttribute("aria-label", id);
  box.showModal();
}

export function fillLocks() {
  for (const [id, first] of [["lock", null], ["versus", say("none")]]) {
    const groups = new Map();
    for (const l of app.locks) {
      if (!groups.has(l.group)) groups.set(l.group, []);
      groups.get(l.group).push(el("option", { value: l.name }, lockTitle(l.name)));
    }
    const select = $(id);
    select.replaceChildren();
    if (first !== null) select.append(el("option", { value: "" }, first));
    for (const [g, options] of groups) select.append(el("optgroup", { label: has("group." + g) ? say("group." + g) : g }, ...options));
  }
}

function legend() {
  const shapes = {
    request: '<path class="l-request" d="M11 2L17 14L5 14Z"/>', queued: '<path class="l-queued" d="M11 2L17 14L5 14Z"/>', reply: '<path class="l-reply" d="M11 16L17 4L5 4Z"/>',
    event: '<path class="l-event" d="M11 0L13.3 6.1L19.8 6.2L14.7 10.2L16.6 16.5L11 12.8L5.4 16.5L7.3 10.2L2.2 6.2L8.7 6.1Z"/>',
    watch: '<path class="l-watch" d="M2 16C2 6 20 12 20 2"/>', lost: '<path class="l-lost" d="M5 4L7 2L11 6L15 2L17 4L13 8L17 12L15 14L11 10L7 14L5 12L9 8Z"/>',
    holds: '<path class="l-holds" d="M0 9a5 5 0 0 1 10 0a5 5 0 0 1-10 0M12 6h10v6H12Z"/>', unlocks: '<circle class="l-unlocks" cx="5" cy="9" r="5"/><path class="l-unlocks" d="M12 6h10v6H12Z"/>', waits: '<circle class="l-waits" cx="5" cy="9" r="5"/><path class="l-bar" d="M12 7h10v4H12Z"/>',
    later: '<path class="l-bar" d="M0 7h10v4H0Z"/><path class="l-now" d="M11 2v14"/><path class="l-bar later" d="M12 7h10v4H12Z"/>', unaware: '<circle class="l-unaware" cx="11" cy="9" r="7"/>',
  };
  $("legend").replaceChildren(...Object.keys(shapes).map(k => {
    const s = el("span", { "data-shape": k });
    s.innerHTML = `<svg viewBox="0 0 22 18" aria-hidden="true">${shapes[k]}</svg>`;
    s.append(say("legend." + k));
    return s;
  }));
}

const KEYS = [["Space", "space"], ["← →", "arrows"], ["Shift ← →", "shift"], ["H", "h"], ["V", "v"], ["Home End", "home"], ["− +", "speed"], ["[ ]", "zoom"], ["N P", "letter"], [", .", "packet"], ["Enter", "enter"], ["U", "u"], ["C", "c"], ["1 … 9", "digits"], ["Backspace", "back"], ["G", "g"], ["I", "i"], ["K", "k"], ["F", "f"], ["L", "l"], ["D", "d"], ["?", "q"], ["Esc", "esc"]];

function helpBox() {
  $("help-box").replaceChildren(
    el("form", { method: "dialog" }, el("button", { class: "main" }, say("close"))),
    el("h2", {}, say("about")), ...["1", "2", "3", "code", "speed", "4", "5"].map(i => el("p", {}, say("about." + i))),
    el("h2", {}, say("keys")), el("dl", {}, ...KEYS.flatMap(([k, what]) => [el("dt", {}, ...k.split(" ").map(x => x === "…" ? "… " : el("kbd", {}, x)).flatMap(x => [x, " "])), el("dd", {}, say("key." + what))])));
  $("help-box").setAttribute("aria-label", say("help"));
}
