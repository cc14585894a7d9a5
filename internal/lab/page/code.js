// The lock's source beside the picture, with a pointer for each contender: its
// letter is at the line at which it is, and, dotted, at the calls that lead
// there; a holder's, hollow, at those that it has left. Which lines these are is in the film: the engine has looked at the
// stacks of the contenders' goroutines.
import { say } from "./strings.js";
import { whereAt } from "./film.js";
import { SOURCES, NOTES } from "./texts.js";
import { $, el } from "./app.js";
import { app, tell } from "./store.js";

// A reader's choice counts. Otherwise the source is shown if it has room.
function codeShown() { return app.projector ? app.panels.length === 1 && !app.slide : app.code ?? (app.panels.length === 1 && innerWidth >= 1100); }

export function showCode() {
  document.body.dataset.code = codeShown() ? "on" : "off";
  $("code").setAttribute("aria-pressed", String(codeShown()));
}

export function toggleCode() {
  app.code = !codeShown();
  showCode();
  tell("at");
}

// A comment marks the line of a bug so: [A1, A5].
const mark = lock => new RegExp("\\[(\\w+, )*" + lock.split("-")[0].replace(/\W/g, "") + "[,\\]]");

// marked are the lines of the listings that are marked with a bug.
export function marked(lock) {
  return Object.entries(SOURCES).filter(([file]) => file.includes("/listings/")).flatMap(([file, source]) => source.split("\n").map((text, i) => ({ file, number: i + 1, text: text.trim() })).filter(line => mark(lock).test(line.text)));
}

export class Code {
  constructor(lock) {
    this.bug = mark(lock);
    this.files = new Map();
    this.file = ""; // that a reader has chosen
    this.choice = el("select", { onchange: () => { this.file = this.choice.value; this.shown = null; this.draw(this.F, this.t); } });
    this.list = el("ol", { class: "source", tabindex: 0 });
    this.el = el("div", { class: "view code empty" }, el("label", { class: "where" }, el("span", {}), this.choice), this.list);
    this.shown = null;
  }

  words() {
    this.el.querySelector("span").textContent = say("file");
    this.list.setAttribute("aria-label", say("sourceOf", this.shown || ""));
  }

  // The lines of a file, made once. The Chinese of a comment is below it.
  lines(file) {
    if (!this.files.has(file)) {
      this.files.set(file, SOURCES[file].replace(/\n$/, "").split("\n").map((text, i) => {
        const who = el("span", { class: "at-line" });
        const li = el("li", { class: "", "data-line": i + 1 }, who, el("span", { class: "number" }, String(i + 1)), el("code", {}, ...(/^(.*?)(\/\/.*\[[A-E]\d.*)$/.exec(text)?.slice(1) || [text]).map((part, i) => i ? el("span", { class: "remark" }, part) : part)));
        const note = NOTES[file]?.[i];
        if (note) li.lastChild.append(el("span", { class: "zh", lang: "zh-CN" }, "\n" + /^\s*/.exec(text), el("i", {}, note)));
        li.bug = this.bug.test(text) ? " bug" : "";
        return { li, who };
      }));
    }
    return this.files.get(file);
  }

  setFilm(F) {
    this.F = F;
    const files = [...new Set(F.places.map(p => p.file))].filter(f => SOURCES[f] !== undefined);
    this.choice.replaceChildren(...files.map(f => el("option", { value: f }, f)));
    this.el.classList.toggle("empty", files.length === 0);
    this.first = files[0];
    // A helper has one line at which a contender waits, or is called from several.
    const waits = new Map(), calls = new Map(), add = (map, name, line) => map.set(name, (map.get(name) || new Set()).add(line));
    for (const [i, j] of F.where.flatMap(w => w.list)) if (j !== undefined) { add(waits, F.places[i].func, F.places[i].line); add(calls, F.places[i].func, F.places[j].line); }
    this.helper = p => waits.has(p.func) && (waits.get(p.func).size === 1 || calls.get(p.func).size > 1);
    this.shown = null;
    this.list.style.setProperty("--pointers", Math.min(6, Math.max(2, F.units.length))); // more than six go on below
  }

  draw(F, t, s) {
    if (this.F !== F) this.setFilm(F);
    this.t = t;
    if (this.el.classList.contains("empty") || document.body.dataset.code !== "on") return;
    const where = whereAt(F, t);
    const holds = w => Number(!!s && s.units[F.unitIndex.get(w.unit)].state === "holds");
    // The one that has moved last, if only to leave the lock, says what is in view.
    const latest = where.filter(w => w.since >= 0).sort((a, b) => b.since - a.since || holds(b) - holds(a))[0];
    const stack = latest ? latest.at.length ? latest.at : latest.left : [];
    const file = this.file || F.places[stack.find(i => SOURCES[F.places[i].file] !== undefined)]?.file || this.first;
    const lines = this.lines(file);
    const pointers = new Map(), left = new Set();
    for (const w of where) {
      // A holder is outside of the code: it is shown at the lines that it has left.
      const gone = !w.at.length && holds(w);
      (gone ? w.left : w.at).forEach((i, depth) => {
        const p = F.places[i];
        if (p.file === file) pointers.set(p.line, (pointers.get(p.line) || []).concat({ unit: w.unit, kind: gone ? "was" : depth > 0 ? "caller" : "at" }));
      });
      const was = F.places[w.left[0]];
      if (was && was.file === file && t - w.since <= F.latency * 1.5 && w.left[0] !== w.at[0]) left.add(was.line);
    }
    const key = file + JSON.stringify([[...pointers], [...left]]);
    if (key === this.shown) return;
    if (!this.shown || !this.shown.startsWith(file + "[")) {
      this.list.replaceChildren(...lines.map(l => l.li));
      this.choice.value = file;
      this.list.setAttribute("aria-label", say("sourceOf", file));
    }
    this.shown = key;
    lines.forEach(({ li, who }, i) => {
      const at = pointers.get(i + 1) || [];
      const cls = (at.some(p => p.kind === "at") ? "here" : left.has(i + 1) ? "left" : "") + li.bug;
      if (li.className !== cls) li.className = cls;
      const text = at.map(p => p.unit + p.kind).join();
      if (who.said !== text) {
        who.said = text;
        who.replaceChildren(...at.map(p => el("b", { class: p.kind, "data-unit": p.unit }, p.unit)));
      }
    });
    this.reveal(stack.map(i => F.places[i]).filter(p => p.file === file), lines);
  }

  // The line that a contender is at is brought into view, with its caller. If both have no
  // room, and it is a helper's line, the caller is shown. Only the list scrolls.
  reveal([p, caller = p], lines) {
    if (!p) return;
    const of = p => lines[p.line - 1].li.offsetTop, h = this.list.clientHeight, far = Math.abs(of(p) - of(caller)) > h - 60;
    const shown = far ? [of(this.helper(p) ? caller : p)] : [of(p), of(caller)], top = Math.min(...shown), bottom = Math.max(...shown);
    if (top < this.list.scrollTop + 20 || bottom > this.list.scrollTop + h - 40) this.list.scrollTop = Math.max(0, (top + bottom - h) / 2);
  }
}
