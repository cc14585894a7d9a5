// The keyboard.
import { above, packetsIn } from "./film.js";
import { SPEEDS } from "./app.js";
import { app, select } from "./store.js";
import { announce } from "./notice.js";
import { setPlaying, setSpeed } from "./time.js";
import { compare, undoBranch } from "./scene.js";
import { actions } from "./buttons.js";
import { zoom } from "./panel.js";
import { closeMenu, hideTip, openMenu } from "./menu.js";
import { choose, keysOf, takeBack } from "./world.js";

addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
  const tag = e.target.tagName, typing = tag === "INPUT" && e.target.type !== "range" && e.target.type !== "checkbox" || tag === "SELECT";
  // In a list of locks ↑ and ↓ choose. ← and → would, too, and here they move in time.
  if (typing && !(tag === "SELECT" && /^Arrow(Left|Right)$/.test(e.key))) return;
  const on = what => { e.preventDefault(); what(); };
  const button = tag === "BUTTON" || tag === "SUMMARY" || tag === "INPUT" && e.target.type === "checkbox";
  switch (e.key) {
    case " ": if (!button) on(actions.play); return;
    case "ArrowLeft": on(actions[e.shiftKey ? "event-back" : "step-back"]); return;
    case "ArrowRight": on(actions[e.shiftKey ? "event-on" : "step-on"]); return;
    case "h": on(actions["hold-on"]); return;
    case "H": on(actions["hold-back"]); return;
    case "v": on(actions["violation-on"]); return;
    case "V": on(actions["violation-back"]); return;
    case "Home": on(actions["to-start"]); return;
    case "End": on(actions["to-end"]); return;
    case "+": case "=": on(() => changeSpeed(1)); return;
    case "-": on(() => changeSpeed(-1)); return;
    case "[": on(() => zoom(1 / 1.5)); return;
    case "]": on(() => zoom(1.5)); return;
    case "n": case "p": on(() => nextClient(e.key === "n" ? 1 : -1)); return;
    case ",": case ".": on(() => nextPacket(e.key === "." ? 1 : -1)); return;
    case "Enter": if (!button && app.selected && app.panels.length) on(() => {
      const panel = app.panels[app.selected.panel] || app.panels[0], client = panel.stage.clientEl(app.selected.client);
      if (!client) return; // another scene has come
      const g = client.getBoundingClientRect();
      setPlaying(false);
      const p = app.selected.packet !== undefined && panel.F.packets[panel.F.byId.get(app.selected.packet)];
      openMenu(panel, app.selected.client, p || null, g.left + scrollX + g.width / 2, g.top + scrollY + 40);
    }); return;
    case "u": on(undoBranch); return;
    case "c": on(compare); return;
    case "k": on(actions.code); return;
    case "f": on(actions.projector); return;
    case "l": on(actions.language); return;
    case "d": on(actions.theme); return;
    case "g": on(actions.levels); return;
    case "i": on(actions.hint); return;
    case "?": on(actions.help); return;
    case "Escape": closeMenu(); hideTip(); if (app.selected) select(null); else if (app.projector) actions.projector(); return;
    case "Backspace": if (app.scene.mode === "schedule") on(takeBack); return;
  }
  if (app.scene.mode === "schedule" && app.play && /^[1-9]$/.test(e.key)) {
    const c = [...keysOf(app.play.enabled || [])].find(([, key]) => key === e.key);
    if (c) on(() => choose(c[0].choice));
  }
});

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
