// Pointing at packets and clients, and the menu of what can be done to them.
import { clockText, explain, explainMark, say } from "./strings.js";
import { stateAt } from "./film.js";
import { $, el, FAULTS } from "./app.js";
import { app } from "./store.js";
import { calmNotice } from "./notice.js";
import { interfere } from "./scene.js";

export function showTip(p, x, y) {
  if (!p) { hideTip(); return; }
  const tip = $("tip");
  tip.replaceChildren(explain(p), el("small", {}, say(p.lost ? "on.way.lost" : "on.way", clockText(p.sent_ns), clockText(p.arrived_ns))));
  tip.hidden = false;
  const w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.left = Math.max(8, Math.min(scrollX + document.documentElement.clientWidth - w - 8, x - w / 2)) + "px";
  tip.style.top = Math.max(scrollY + 8, y - h - 16) + "px";
}

export function hideTip() { $("tip").hidden = true; }

let menuFrom = null;
export function openMenu(panel, who, packet, x, y) {
  if (app.scene.mode !== "watch" || app.file) {
    if (app.file || app.scene.mode === "find") calmNotice("filmIsFixed");
    return;
  }
  const F = panel.F, unit = F.unitIndex.get(who);
  const s = stateAt(F, app.t), conn = s.conns[F.clientIndex.get(F.clientOf.get(who))];
  const l = app.byName.get(panel.lock) || {};
  const list = s.stopped[F.clientIndex.get(F.clientOf.get(who))] ? ["runs on"] : packet ? packet.kind === "request" ? ["lose request", "lose reply", "cut", "expire", "stop"] : ["lose reply", "cut", "expire", "stop"] : FAULTS.filter(f => f !== "end ctx" || l.contexts);
  const state = s.units[unit];
  const about = packet ? explain(packet) : explainMark({ kind: "state", who, state: state.state, text: state.text }) + (state.lost ? say("sentenceGap") + explainMark({ kind: "lost", who, knows: state.lost === "knows" }) : "") + (conn !== "connected" ? say("sentenceGap") + explainMark({ kind: "client", who, state: conn }) : "");
  showMenu(say("interfere", who, clockText(app.t)), about, list.map(f => ({ id: f, text: say("do." + f), tip: say("tip." + f), run: () => interfere(who, f) })), x, y);
}

export function showMenu(title, about, items, x, y) {
  const menu = $("menu");
  menu.setAttribute("aria-label", title);
  menu.replaceChildren(el("h3", {}, title), about ? el("p", {}, about) : "", ...items.map(i => el("button", { role: "menuitem", "data-do": i.id, tabindex: -1, onclick: () => { closeMenu(); i.run(); } }, i.text, i.tip ? el("small", {}, i.tip) : null)));
  menu.hidden = false;
  const w = menu.offsetWidth, h = menu.offsetHeight;
  const right = scrollX + document.documentElement.clientWidth, bottom = scrollY + innerHeight;
  menu.style.left = Math.max(8, Math.min(right - w - 8, x + 14)) + "px";
  menu.style.top = Math.max(scrollY + 8, Math.min(bottom - h - 8, y - 40)) + "px";
  menuFrom = document.activeElement;
  menu.querySelector("button").focus();
  hideTip();
}

export function closeMenu() {
  if ($("menu").hidden) return;
  $("menu").hidden = true;
  if (menuFrom && menuFrom.isConnected) menuFrom.focus();
}

$("menu").addEventListener("keydown", e => {
  const items = [...$("menu").querySelectorAll("button")], i = items.indexOf(document.activeElement);
  if (e.key === "ArrowDown" || e.key === "ArrowUp") items[(i + (e.key === "ArrowDown" ? 1 : items.length - 1)) % items.length].focus();
  else if (e.key === "Escape" || e.key === "Tab") closeMenu();
  else return;
  e.preventDefault();
  e.stopPropagation();
});
