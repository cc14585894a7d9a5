// The code that the modules of the page share: its constants, and how an element is made.
export const $ = id => document.getElementById(id);
export const SPEEDS = [0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 64];
export const LATENCIES = [5, 10, 20, 50, 100, 200, 500];
export const FAULTS = ["lose request", "lose reply", "cut", "expire", "stop", "end ctx"];
// The faults where a person, or the explorer, chooses the schedule. The unusual ones
// are not searched for unless their box is ticked.
export const KINDS = ["lose request", "lose reply", "cut", "expire", "stop", "end ctx", "stall", "time passes", "a day passes", "refuse", "parent goes", "node goes", "node is set", "ctx ends after its next look", "ctx ends after its next look but one"];
export const UNUSUAL = KINDS.slice(6);
export const possible = l => KINDS.filter(k => k === "end ctx" ? l.contexts : k === "parent goes" ? l.parent : KINDS.indexOf(k) < 11);

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

// refill fills a box again. The element that had the focus has it again.
export function refill(box, parts) {
  const had = box.contains(document.activeElement) ? document.activeElement : null, name = e => [e.id, e.dataset.kind, e.dataset.key].join(" ");
  box.replaceChildren(...parts.filter(Boolean));
  if (!had) return;
  const find = (q, is = () => true) => [...box.querySelectorAll(q)].find(e => !e.disabled && is(e));
  (name(had).trim() && find("button, input", e => name(e) === name(had)) || find("[data-choice]") || find("button") || document.body).focus();
}

// whole is the number in a field, as a whole one within bounds, which the field
// then shows.
export function whole(field, least, most, otherwise) {
  const n = Math.max(least, Math.min(most, Math.round(Number(field.value)) || otherwise));
  field.value = n;
  return n;
}
