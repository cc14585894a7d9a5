// The scene: its form, its address, and its runs, which are its branches.
import { getLanguage, say } from "./strings.js";
import { branchName, formatLink, formatTime } from "./link.js";
import { $, el, LATENCIES } from "./app.js";
import { app, open } from "./store.js";
import { settleNotice } from "./notice.js";
import { goto } from "./time.js";
import { opening } from "./opening.js";

export function showScene() {
  const s = app.scene;
  $("lock").value = s.locks[0];
  $("versus").value = s.locks[1] || "";
  $("contenders").value = s.n;
  $("shared").value = s.shared ? "1" : "0";
  $("latency").replaceChildren(...[...new Set([...LATENCIES, s.latency])].sort((a, b) => a - b).map(x => el("option", { value: x }, x + " ms")), s.measured ? el("option", { value: "measured" }, say("measured")) : "");
  $("latency").value = s.measured ? "measured" : String(s.latency);
  $("seed").value = s.seed;
  document.body.classList.toggle("opening", !!opening());
  for (const b of document.querySelectorAll("[data-mode]")) b.setAttribute("aria-pressed", String(b.dataset.mode === s.mode));
  const watch = s.mode === "watch";
  document.body.dataset.view = s.mode;
  for (const e of document.querySelectorAll(".timing, .versus")) e.hidden = !watch;
  $("choose").hidden = !!app.file;
}

let linkTimer = 0, ownHash = null;

// isOwn reports whether the page itself has written an address.
export const isOwn = hash => hash === ownHash;

export function writeLink(link) {
  ownHash = link;
  try { history.replaceState(null, "", link); } catch { location.hash = link; }
}

export function showLink(now) {
  clearTimeout(linkTimer);
  const write = () => {
    if (app.file) return;
    const link = currentLink();
    if (link !== location.hash) writeLink(link);
  };
  if (now) write(); else linkTimer = setTimeout(write, 300);
}

export function currentLink() {
  return formatLink(app.scene, { t: formatTime(app.t), lang: getLanguage(), projector: app.projector ? 1 : undefined });
}

// A change comes just after what the page shows: at the very instant it would
// come before it, and a holder that was stopped at its first instant would not
// be one.
export function interfere(who, what) {
  const change = { at_ns: Math.round(app.t) + 1, who, do: what };
  goto(change.at_ns);
  const changes = app.scene.changes.filter(c => c.at_ns <= change.at_ns).concat([change]);
  go(app.branches.length, [...app.branches, { changes, parent: app.branch, name: "" }]);
}

// go shows a run.
function go(branch, branches = app.branches) {
  settleNotice();
  const { changes } = branches[branch];
  open({ changes, vs: app.scene.vs && changes.length > 0 }, { keep: true, branches, branch });
}

export function undoBranch() {
  const b = app.branches[app.branch];
  if (app.file || !b || b.parent === null) return;
  const gone = new Set([app.branch]);
  app.branches.forEach((c, i) => { if (gone.has(c.parent)) gone.add(i); });
  const left = app.branches.map((_, i) => i).filter(i => !gone.has(i));
  const moved = new Map(left.map((old, now) => [old, now]));
  go(moved.get(b.parent), left.map(i => ({ ...app.branches[i], parent: app.branches[i].parent === null ? null : moved.get(app.branches[i].parent) })));
}

export const showsStop = () => !!document.querySelector("#runs #stop-run");

export function showRuns(stop) {
  const box = $("runs");
  box.hidden = app.scene.mode !== "watch" || !!app.file;
  if (box.hidden) return;
  const items = [el("strong", {}, say("runs"))];
  app.branches.forEach((b, i) => {
    items.push(el("span", { class: "run" }, el("button", {
      "data-branch": i, "aria-current": i === app.branch ? "true" : null, onclick: () => go(i),
      title: b.parent === null ? "" : branchName(app.branches[b.parent]) + " → " + branchName(b),
    }, (b.parent ? "↳ " : "") + branchName(b))));
  });
  if (app.branch > 0) {
    items.push(
      el("button", { id: "compare", "data-action": "compare", "aria-pressed": String(app.scene.vs), onclick: compare }, say(app.scene.vs ? "compareOff" : "compare")),
      el("button", { id: "undo", "data-action": "undo", onclick: undoBranch }, say("undo")),
      el("button", { id: "rename", "data-action": "rename", onclick: rename }, say("rename")));
  } else items.push(el("span", { class: "hint" }, say("whatIfHint")));
  if (stop === true) items.push(el("span", {}, say("takesLong")), stopButton());
  box.replaceChildren(...items);
}

export function stopButton() { return el("button", { id: "stop-run", "data-action": "stop-run", onclick: () => { for (const e of [...app.filming]) e.stop(); } }, say("stopRun")); }

export function compare() {
  if (app.file || app.branch === 0) return;
  open({ vs: !app.scene.vs }, { keep: true });
}

function rename() {
  const b = app.branches[app.branch], chip = document.querySelector(`[data-branch="${app.branch}"]`);
  const input = el("input", { type: "text", value: branchName(b), "aria-label": say("nameOf"), id: "run-name" });
  const done = keep => { if (keep) b.name = input.value.trim(); showRuns(); };
  input.addEventListener("keydown", e => {
    e.stopPropagation();
    if (e.key === "Enter") done(true);
    if (e.key === "Escape") done(false);
  });
  input.addEventListener("blur", () => done(true));
  chip.replaceWith(input);
  input.focus();
  input.select();
}
