// The keyboard.
import { above, packetsIn } from "./film.js";
import { SPEEDS } from "./app.js";
import { app, select } from "./store.js";
import { announce } from "./notice.js";
import { setPlaying, setSpeed } from "./time.js";
import { compare, undoBranch } from "./scene.js";
import { actions } from "./buttons.js";
import { focused } from "./panels.js";
import { zoom } from "./panel.js";
import { closeMenu, hideTip, openMenu } from "./menu.js";
import { choose, keysOf, takeBack } from "./world.js";

// The buttons for which keys stand.
const BUTTONS = {
  " ": "play", ArrowLeft: "step-back", ArrowRight: "step-on", "Shift ArrowLeft": "event-back", "Shift ArrowRight": "event-on", h: "hold-on", H: "hold-back",
  v: "violation-on", V: "violation-back", Home: "to-start", End: "to-end", k: "code", f: "projector", l: "language", d: "theme", g: "levels", i: "hint", "?": "help",
};
const OTHERS = {
  "+": () => changeSpeed(1), "=": () => changeSpeed(1), "-": () => changeSpeed(-1), "[": () => zoom(1 / 1.5), "]": () => zoom(1.5),
  n: () => nextClient(1), p: () => nextClient(-1), ".": () => nextPacket(1), ",": () => nextPacket(-1), u: undoBranch, c: compare,
};

addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
  const tag = e.target.tagName, typing = tag === "INPUT" && e.target.type !== "range" && e.target.type !== "checkbox" || tag === "SELECT";
  // In a list of locks ↑ and ↓ choose. ← and → would, too, and here they move in time.
  if (typing && !(tag === "SELECT" && /^Arrow(Left|Right)$/.test(e.key))) return;
  // A button in focus is pressed by these.
  if (/^( |Enter)$/.test(e.key) && (tag === "BUTTON" || tag === "SUMMARY" || tag === "INPUT" && e.target.type === "checkbox")) return;
  const what = actions[BUTTONS[(e.shiftKey && /^Arrow/.test(e.key) ? "Shift " : "") + e.key]] || OTHERS[e.key] || special(e.key);
  if (!what) return;
  e.preventDefault();
  what();
});

// special is what a key does that means something only now and then.
function special(key) {
  const at = app.selected || focused();
  if (key === "Enter" && at && app.panels.length) return () => openMenuAt(at);
  if (key === "Escape") return () => { closeMenu(); hideTip(); if (app.selected) select(null); else if (app.projector) actions.projector(); };
  if (app.scene.mode !== "schedule") return null;
  if (key === "Backspace") return takeBack;
  const [choice] = [...keysOf(app.play?.enabled || [])].find(([, digit]) => digit === key) || [];
  return choice && (() => choose(choice.choice));
}

function openMenuAt(at) {
  const panel = app.panels[at.panel] || app.panels[0], client = panel.stage.clientEl(at.client);
  if (!client) return; // another scene has come
  const g = client.getBoundingClientRect();
  setPlaying(false);
  openMenu(panel, at.client, panel.F.packets[panel.F.byId.get(at.packet)] || null, g.left + scrollX + g.width / 2, g.top + scrollY + 40);
}

function changeSpeed(by) {
  const i = Math.max(0, Math.min(SPEEDS.length - 1, SPEEDS.indexOf(app.speed) + by));
  setSpeed(SPEEDS[i]);
}

// The packets on their way can be gone through by keys, too; if there are
// none, those that were sent last.
function nextPacket(by) {
  if (!app.panels.length) return;
  setPlaying(false);
  const panel = app.panels[app.selected ? app.selected.panel : 0] || app.panels[0], F = panel.F;
  let list = packetsIn(F, app.t, app.t).filter(i => F.packets[i].sent_ns <= app.t);
  if (list.length === 0) { const n = above(F.sent, app.t); list = [...Array(Math.min(n, 8)).keys()].map(i => n - Math.min(n, 8) + i); }
  if (list.length === 0) return;
  const at = list.findIndex(i => app.selected && F.packets[i].id === app.selected.packet);
  const p = F.packets[list[at < 0 ? by > 0 ? 0 : list.length - 1 : (at + by + list.length) % list.length]];
  select({ packet: p.id, client: panel.unitOfPacket(p), panel: panel.index });
}

function nextClient(by) {
  if (!app.panels.length) return;
  const panel = app.panels[app.selected ? app.selected.panel : 0] || app.panels[0], n = panel.F.units.length;
  const i = app.selected ? (panel.F.unitIndex.get(app.selected.client) + by + n) % n : by > 0 ? 0 : n - 1;
  select({ client: panel.F.units[i], panel: panel.index });
  panel.stage.clientEl(panel.F.units[i]).focus();
  announce(panel.stage.clientEl(panel.F.units[i]).getAttribute("aria-label"));
}
