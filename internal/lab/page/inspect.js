// The details of a znode, a watch or a contender: the data of the server and the lock
// at the instant that is shown.
import { shortName } from "./film.js";
import { clockText, getLanguage, say, translated } from "./strings.js";
import { $, el, refill } from "./app.js";
import { app, focusOn, tell } from "./store.js";

let on = false, chosen = null; // {panel, kind: "node", "watch" or "client", key}
const MOST = 24; // of a crowd the first ones; the others can be clicked

export const inspecting = () => on;

// inspected is what is looked into on a panel, for its stage.
export function inspected(panel) { return on && chosen && chosen.panel === panel.index ? chosen : null; }

export function toggleInspect() {
  on = !on;
  tell("at");
}

function inspect(panel, kind, key) {
  chosen = { panel: panel.index, kind, key };
  focusOn(panel.index);
}

// inspectAt looks into what is under the pointer; false: that is a packet, or nothing.
export function inspectAt(panel, e) {
  const hit = panel.stage.thingAt(e);
  if (!hit) return false;
  inspect(panel, hit.kind, hit.key);
  return true;
}

// The most interesting thing for a reader: a value that changes, as /stock does.
function first(panel) {
  const changes = panel.F.marks.find(m => m.kind === "data");
  return changes ? { panel: panel.index, kind: "node", key: changes.path } : { panel: panel.index, kind: "client", key: panel.F.units[0] };
}

const sessionOf = (F, s, unit) => s.sessions[F.clientIndex.get(F.clientOf.get(unit))] || "";
const watchOwner = w => w.who || w.client;
const watchText = w => watchOwner(w) + " → " + shortName(w.path);

// The data of a node. The stock of E1 and E2 has a number and a token in it.
function dataText(path, data) {
  if (!data) return say("inspect.empty");
  const stock = path === "/stock" && /^(\d+) (\d+)$/.exec(data);
  return stock ? data + say("sentenceGap") + say("inspect.stock", stock[1], stock[2]) : data;
}

function aboutNode(F, s, path) {
  const n = s.nodes.get(path), rows = [[say("inspect.path"), path]];
  if (!n) return [...rows, [say("inspect.state"), say("inspect.notThere")]];
  const on = [...s.watches.values()].filter(w => w.path === path);
  return [...rows,
    [say("inspect.data"), dataText(path, n.data)],
    n.version ? [say("inspect.version"), String(n.version)] : null,
    [say("inspect.owner"), n.owner ? n.owner + say("comma") + say("inspect.ofSession", n.session) : say("inspect.persistent")],
    n.czxid ? ["czxid", String(n.czxid)] : null,
    [say("inspect.made"), n.at ? clockText(n.at) : say("inspect.before")],
    [say("inspect.watches"), on.map(w => watchOwner(w)).join(say("comma")) || say("inspect.none")]].filter(Boolean);
}

function aboutWatch(F, s, key) {
  const w = s.watches.get(key), [client, path, of] = key.split("|");
  if (!w) return [[say("inspect.path"), path], [say("inspect.state"), say("inspect.usedUp", client)]];
  return [[say("inspect.whose"), watchOwner(w)], [say("inspect.kind"), say("inspect.of." + of)], [say("inspect.path"), path], [say("inspect.set"), clockText(w.at)]];
}

function aboutClient(F, s, unit) {
  const i = F.unitIndex.get(unit), client = F.clientOf.get(unit), u = s.units[i], conn = s.conns[F.clientIndex.get(client)];
  const mine = x => x === unit || x === client;
  const nodes = [...s.nodes].filter(([, n]) => mine(n.owner)).map(([p]) => p), watches = [...s.watches.values()].filter(w => mine(watchOwner(w)));
  return [[say("inspect.state"), say("state." + u.looks) + (u.lost ? say("comma") + say("lost." + u.lost) : "") + (u.error ? say("comma") + translated(u.error) : "")],
    [say("inspect.since"), clockText(u.since)],
    [say("inspect.connection"), say("conn." + (conn === "runs on" ? "connected" : conn))],
    [say("inspect.session"), sessionOf(F, s, unit) || say("inspect.none")],
    u.fence ? [say("inspect.token"), String(u.fence)] : null,
    ...s.variables[i].map(v => [v.name, v.value, "variable"]),
    [say("inspect.nodes"), nodes.join(say("comma")) || say("inspect.none")],
    [say("inspect.itsWatches"), watches.map(w => shortName(w.path)).join(say("comma")) || say("inspect.none")]].filter(Boolean);
}

const ABOUT = { node: aboutNode, watch: aboutWatch, client: aboutClient };

// The things to choose from, each with the text of its button.
function things(F, s) {
  return [
    ["node", [...s.nodes].map(([p, n]) => [p, (F.leafIndex.has(p) ? shortName(p) : p) + (n.owner ? " " + n.owner : "")])],
    ["watch", [...s.watches].map(([key, w]) => [key, watchText(w)])],
    ["client", F.units.map(u => [u, u])],
  ].map(([kind, list]) => [kind, list.slice(0, MOST), list.length]);
}

export function drawInspect() {
  const box = $("inspector"), panel = app.panels[(chosen && app.panels[chosen.panel] ? chosen.panel : 0)];
  $("inspect").setAttribute("aria-pressed", String(on));
  box.hidden = !on || !panel || !panel.s;
  if (box.hidden) { box.dataset.shown = ""; return; }
  const { F, s } = panel;
  if (!chosen || !app.panels[chosen.panel] || chosen.kind === "client" && !F.unitIndex.has(chosen.key)) chosen = first(panel);
  const list = things(F, s), rows = ABOUT[chosen.kind](F, s, chosen.key);
  const key = JSON.stringify([getLanguage(), panel.index, chosen, list, rows]);
  if (box.dataset.shown === key) return;
  box.dataset.shown = key;
  const title = chosen.kind === "watch" ? watchText(s.watches.get(chosen.key) || { client: chosen.key.split("|")[0], path: chosen.key.split("|")[1] }) : shortName(chosen.key);
  refill(box, [
    el("div", { class: "things" }, ...list.filter(([, some]) => some.length).map(([kind, some, all]) => el("div", { class: "row", role: "group", "aria-label": say("inspect." + kind) }, el("span", {}, say("inspect." + kind)),
      ...some.map(([k, text]) => el("button", { "data-kind": kind, "data-key": k, "aria-pressed": String(kind === chosen.kind && k === chosen.key), onclick: () => inspect(panel, kind, k) }, text)), all > some.length ? el("span", {}, "… " + all) : null))),
    el("div", { class: "thing", "data-kind": chosen.kind, "data-key": chosen.key }, el("h2", {}, say("inspect." + chosen.kind) + say("colon") + title, app.panels.length > 1 ? el("span", { class: "which" }, panel.el.querySelector("h2").textContent) : null),
      el("dl", {}, ...rows.map(([name, value, cls]) => el("div", { class: cls }, el("dt", {}, name), el("dd", {}, value)))))]);
}
