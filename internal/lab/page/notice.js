// Notices above the page, and texts for screen readers.
import { say } from "./strings.js";
import { $, el } from "./app.js";

// Title and detail are functions, so that a notice can be said in the other
// language, too.
export function notice(title, detail) {
  const n = $("notice");
  n.className = "";
  delete n.dataset.stays;
  n.replaceChildren(el("div", {}, el("strong", {}), detail ? el("pre", {}) : null), el("div", {}, el("button", { onclick: () => { n.hidden = true; }, "data-action": "close-notice" })));
  n.hidden = false;
  again = () => {
    n.querySelector("strong").textContent = title();
    if (detail) n.querySelector("pre").textContent = detail();
    n.querySelector("button").textContent = say("close");
  };
  again();
}

let again = () => {};

// sayNotice says the notice again, in the language that was chosen.
export function sayNotice() { again(); }

// settleNotice removes the notice of a scene that is left. The compiler's message on a
// lock stays until the lock compiles.
export function settleNotice() { if (!$("notice").dataset.stays) $("notice").hidden = true; }

export function calmNotice(key) {
  notice(() => say(key));
  $("notice").className = "calm";
  const shown = $("notice").firstChild;
  setTimeout(() => { if ($("notice").firstChild === shown) $("notice").hidden = true; }, 4000);
}

let spoken = "";
export function announce(text) {
  if (text && text !== spoken) { spoken = text; $("live").textContent = text; }
}
