// The code that the modules of the page share: its state, and how an element is made.
import { DEFAULT } from "./link.js";
import { Engine } from "./engine.js";

export const $ = id => document.getElementById(id);
export const SPEEDS = [0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 64];
export const LATENCIES = [5, 10, 20, 50, 100, 200, 500];
export const FAULTS = ["lose request", "lose reply", "cut", "expire", "stop", "end ctx"];
// The faults where a person, or the explorer, chooses the schedule. The unusual ones
// are not searched for unless their box is ticked.
export const KINDS = ["lose request", "lose reply", "cut", "expire", "stop", "end ctx", "stall", "time passes", "a day passes", "refuse", "parent goes", "node goes", "ctx ends after its next look", "ctx ends after its next look but one"];
export const UNUSUAL = KINDS.slice(6);
export const possible = l => KINDS.filter(k => k === "end ctx" ? l.contexts : k === "parent goes" ? l.parent : KINDS.indexOf(k) < 11);

export const app = {
  engine: new Engine(), filming: new Set(), finder: null, locks: [], byName: new Map(),
  scene: { ...DEFAULT }, branches: [], branch: 0, panels: [], clock: null,
  t: 0, until: 0, hurry: 0, playing: false, speed: 1, selected: null, focus: 0, turn: 0, films: new Map(),
  file: null, play: null, search: null, growing: false, code: null, projector: false, calm: matchMedia("(prefers-reduced-motion: reduce)").matches, drawn: -1,
};

// el makes an element: el("p", {class: "note"}, "text", child …).
export function el(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const k in attributes || {}) {
    const v = attributes[k];
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v !== undefined && v !== null && v !== false) e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...children.filter(c => c !== null && c !== undefined));
  return e;
}

// whole is the number in a field, as a whole one within bounds, which the field
// then shows.
export function whole(field, least, most, otherwise) {
  const n = Math.max(least, Math.min(most, Math.round(Number(field.value)) || otherwise));
  field.value = n;
  return n;
}
