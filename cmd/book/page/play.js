// The lab in a page: one frame, laid over the place where a scene is asked for, since a frame
// that is moved in the document would load again.
"use strict";
{
  const labels = zh ? { play: "▶ 播放", close: "关闭", whole: "在实验室里打开" } : { play: "▶ Play", close: "close", whole: "open in the lab" };
  const opened = () => el("iframe", { title: zh ? "实验室" : "the lab" });
  let frame = opened();
  const whole = el("a", { textContent: "⤢", title: labels.whole, target: "_blank" });
  const box = el("div", { id: "lab", hidden: true }, el("div", { className: "bar" }, whole, el("button", { textContent: "✕", title: labels.close, onclick: () => close() })), frame);
  const place = el("div", { className: "stage" });
  let figure = null, address = "", ready = false;

  function lay() {
    if (box.hidden) return;
    Object.assign(box.style, { left: place.offsetLeft + "px", top: place.offsetTop + "px", width: place.offsetWidth + "px", height: place.offsetHeight + "px" });
  }
  function close() {
    box.hidden = true;
    place.remove();
    frame.replaceWith(frame = opened()); // of the old one, no message comes any more, and no load is under way
    ready = false;
    address = "";
  }
  const theme = () => document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const tell = what => frame.contentWindow.postMessage(what, "*"); // a page from the disk has no origin to name

  // play shows a scene below an element, from its start or at an instant.
  globalThis.play = (scene, after, at) => {
    if (!box.isConnected) {
      main.append(box);
      new ResizeObserver(lay).observe(main);
    }
    figure = after.closest("figure[data-scene]") || (after.matches("figure[data-scene]") ? after : null);
    if (place.previousElementSibling !== after) after.after(place);
    box.hidden = false;
    const link = scene + "&lang=" + (zh ? "zh" : "en") + (at ? "&t=" + at : "");
    whole.href = root + "lab.html" + link;
    if (ready && address === scene && at) tell({ at });
    else if (ready) tell({ address: link });
    else frame.src = root + "lab.html" + link + "&embed=1&theme=" + theme();
    address = scene;
    lay();
    place.scrollIntoView({ block: "nearest" });
  };

  // The diagram is the clock of its film: the arrow of the instant is marked.
  addEventListener("message", ({ source, data }) => {
    if (source !== frame.contentWindow) return;
    if (data.height) {
      place.style.height = data.height + 36 + "px";
      lay();
    }
    if (data.at === undefined) return;
    ready = true;
    const last = list => [...list].findLast(e => parseFloat(e.dataset.t || e.dataset.at) <= data.at + 1);
    for (const e of document.querySelectorAll(".now")) e.classList.remove("now");
    if (!figure) return;
    last(figure.querySelectorAll("[data-t]"))?.classList.add("now");
    const stops = stopsOf(figure);
    if (stops) last(stops.children)?.classList.add("now");
  });
  addEventListener("zklock-theme", () => { if (ready) tell({ theme: theme() }); });

  const stopsOf = f => f.parentElement.querySelectorAll("ol.stops").length ? [...f.parentElement.querySelectorAll("ol.stops")].find(o => o === f.nextElementSibling || o === place.nextElementSibling && place.previousElementSibling === f) : null;
  const block = e => e.closest("figure, table, ul, ol, p, pre, details") || e;
  document.addEventListener("click", e => {
    if (e.ctrlKey || e.metaKey || e.shiftKey) return;
    const arrow = e.target.closest("[data-t]"), stop = e.target.closest(".stops [data-at]");
    const f = arrow ? arrow.closest("figure") : stop ? [...document.querySelectorAll("figure[data-scene]")].find(f => stopsOf(f) === stop.parentElement) : null;
    const s = e.target.closest("a[data-scene], code[data-scene], button[data-scene]");
    if (f?.dataset.scene) play(f.dataset.scene, f, arrow ? arrow.dataset.t + "ns" : stop.dataset.at);
    else if (s) {
      e.preventDefault();
      play(s.dataset.scene, s.closest("figure") || block(s));
    }
  });
  for (const f of document.querySelectorAll("figure[data-scene]")) f.append(el("button", { className: "play", textContent: labels.play, onclick: () => play(f.dataset.scene, f) }));
}
