// The slides of a lecture, one at a time.
"use strict";
const root = document.documentElement.dataset.root, slides = [...document.querySelectorAll("section")];
let at = 0;
function show(n) {
  at = Math.max(0, Math.min(n, slides.length - 1));
  slides.forEach((s, i) => {
    s.classList.toggle("shown", i === at);
    // A scene plays only while its slide is shown.
    for (const f of s.querySelectorAll("figure[data-scene]")) {
      const frame = f.querySelector(".frame");
      if (i !== at) frame?.remove();
      else if (!frame) {
        const box = document.createElement("div"), lab = document.createElement("iframe");
        box.className = "frame";
        lab.title = f.textContent;
        lab.src = root + "lab.html" + f.dataset.scene + "&projector=1&slide=1&t=0ns&lang=" + document.documentElement.lang.slice(0, 2);
        box.append(lab);
        f.prepend(box);
      }
    }
  });
  document.querySelector("footer").textContent = `${at + 1} / ${slides.length}`;
  history.replaceState(null, "", "#" + (at + 1));
}
function next() {
  const s = slides[at];
  const hidden = s.querySelector(".answer") && !s.classList.contains("answered") && !document.body.classList.contains("all");
  if (hidden) s.classList.add("answered");
  else show(at + 1);
}
addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  const keys = { ArrowRight: next, " ": next, PageDown: next, Enter: next, ArrowLeft: () => show(at - 1), PageUp: () => show(at - 1), Backspace: () => show(at - 1),
    Home: () => show(0), End: () => show(slides.length - 1), n: () => document.body.classList.toggle("all"), p: () => print() };
  if (keys[e.key]) { keys[e.key](); e.preventDefault(); }
});
addEventListener("hashchange", () => show(Number(location.hash.slice(1)) - 1 || 0));
// Code and tables are as large as its slide has room for.
function fit() {
  for (const s of slides) {
    const body = s.querySelector(".body"), list = s.querySelectorAll("pre, table");
    s.classList.add("shown");
    let size = 1.02;
    do for (const e of list) e.style.fontSize = size + "rem";
    while (list.length && (body.scrollHeight > body.clientHeight || [...list].some(e => e.scrollWidth > e.clientWidth)) && (size -= .02) > .34);
    s.classList.toggle("shown", s === slides[at]);
  }
}
for (const s of slides) for (const pre of s.querySelectorAll("pre")) s.classList.toggle("tall", pre.textContent.split("\n").length > 17);
fit();
addEventListener("resize", fit);
show(Number(location.hash.slice(1)) - 1 || 0);
