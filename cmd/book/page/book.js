// What a page of the book does besides being read.
"use strict";
const root = document.documentElement.dataset.root, zh = document.documentElement.lang === "zh-CN";
const $ = s => document.querySelector(s), main = $("main"), q = $("#q"), found = $("#found");

function el(name, attributes, ...children) {
  const e = Object.assign(document.createElement(name), attributes);
  e.append(...children);
  return e;
}

// A script beside the pages comes when it is needed: a page from the disk may fetch nothing.
const loaded = {};
const load = name => loaded[name] ??= new Promise((done, wrong) => document.head.append(el("script", { src: root + name, onload: done, onerror: wrong })));

$("#theme").onclick = () => {
  const d = document.documentElement, dark = d.dataset.theme ? d.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  d.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("zklock-theme", d.dataset.theme); } catch { /* as in theme.js */ }
  dispatchEvent(new Event("zklock-theme"));
};
if ($("#burger")) $("#burger").onclick = () => $("#burger").setAttribute("aria-expanded", String(document.body.classList.toggle("open")));
$("#side")?.addEventListener("click", e => { if (e.target.closest("a")) document.body.classList.remove("open"); });

// The section that is read is marked at the side, and the switch of the language stays on it.
const heads = [...document.querySelectorAll("article [id]")].filter(e => /^(H\d|DETAILS)$/.test(e.tagName));
const here = () => heads.findLast(e => e.getBoundingClientRect().top < 120);
let marked = null;
addEventListener("scroll", () => {
  const h = here(), a = h && $(`.toc a[href="#${CSS.escape(h.id)}"]`);
  if (a === marked) return;
  marked?.classList.remove("on");
  a?.classList.add("on");
  marked = a;
}, { passive: true });
if ($("#both")) { // a listing is in both languages
  if (zh) q.placeholder = "搜索  /";
  $("#both").textContent = zh ? "English" : "中文";
  $("#both").onclick = () => { localStorage.setItem("zklock-lang", zh ? "en" : "zh-CN"); location.reload(); };
}
$("#lang")?.addEventListener("click", e => {
  const h = here();
  if (h?.dataset.twin && h.tagName !== "H1") e.currentTarget.hash = h.dataset.twin;
});
const side = $("#side"), current = side?.querySelector("[aria-current]");
if (current) side.scrollTop = current.offsetTop - side.clientHeight / 3;

// A section of a page of hints opens when a link leads to it.
const openTarget = () => { const d = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1))); if (d?.tagName === "DETAILS") d.open = true; };
addEventListener("hashchange", openTarget);
openTarget();
addEventListener("beforeprint", () => document.querySelectorAll("article details").forEach(d => d.open = true));

const meaning = g => zh && g[3] || g[2];
const card = g => el("div", { className: "card" }, el("b", {}, g[0] + " · " + g[1]), el("div", {}, meaning(g)));

async function search() {
  const text = q.value.trim();
  if (!text) { found.hidden = true; return; }
  const mine = zh ? "texts.zh-CN.js" : "texts.en.js", other = zh ? "texts.en.js" : "texts.zh-CN.js";
  await Promise.all([load("glossary.js"), load("names.js")]);
  if (!globalThis.MINE) { await load(mine); globalThis.MINE = BOOK; }
  globalThis.BOOK = MINE;
  let all = findAll(text);
  if (all.other && !globalThis.OTHER) {
    await load(other);
    globalThis.OTHER = BOOK;
    globalThis.BOOK = MINE;
    all = findAll(text);
  }
  // Words that the pages do not have may be an article's: the reader has the phrase nearest to them.
  if (all.list.length < 3) for (const name of ["rows.js", "places.js", "also.js", "phrases.js"]) await load(name);
  const near = all.list.length < 3 ? nearest(text, "").slice(0, 3) : [];
  if (text !== q.value.trim()) return;
  const items = near.map(r => {
    const told = el("p", { innerHTML: zh ? r.zh : r.en });
    return el("a", { href: root + (zh ? "reader.zh-CN.html#" : "reader.html#") + r.name }, el("b", {}, r.phrase), " ", el("small", {}, r.name), el("p", {}, told.textContent));
  });
  if (all.term) items.push(card(all.term));
  for (const [name, file, address] of all.names.slice(0, 6)) items.push(el("a", { href: root + address }, el("code", {}, name), " ", el("small", {}, file)));
  if (all.other && all.list.length) items.push(el("p", {}, zh ? "中文页面里没有，英文页面里有：" : "The English pages have nothing; the Chinese ones have:"));
  for (const s of all.list.slice(0, 25)) items.push(el("a", { href: root + s.address }, el("b", {}, s.title || s.page), " ", el("small", {}, s.title === s.page ? "" : s.page), el("p", {}, s.before, el("mark", {}, s.hit), s.after)));
  if (!items.length) items.push(el("p", {}, zh ? "没有找到" : "Nothing found"));
  found.replaceChildren(...items);
  found.hidden = false;
}
q.addEventListener("input", search);
found.addEventListener("click", e => { if (e.target.closest("a")) found.hidden = true; });
addEventListener("keydown", e => {
  if (e.key === "/" && !e.target.closest("input, textarea, select")) { e.preventDefault(); q.focus(); }
  if (e.key === "Escape") { found.hidden = true; q.blur(); }
  if (e.key === "Enter" && document.activeElement === q) found.querySelector("a")?.click();
});

// A term of the glossary shows its meaning when it is touched: the first of each in a page.
async function terms() {
  await load("glossary.js");
  const rows = new Map();
  for (const g of GLOSSARY) for (const t of parts(zh ? g[1] : g[0])) if (!rows.has(t)) rows.set(t, g);
  const words = [...rows.keys()].sort((a, b) => b.length - a.length).map(t => t.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  const find = new RegExp(zh ? words : "\\b(?:" + words + ")s?\\b", "gi"), seen = new Set(), nodes = [];
  const outside = "a, code, pre, h1, h2, h3, svg, button, summary, footer, .flow";
  const all = document.createTreeWalker($("article"), NodeFilter.SHOW_TEXT, n => n.parentElement.closest(outside) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
  while (all.nextNode()) nodes.push(all.currentNode);
  for (const n of nodes) {
    find.lastIndex = 0;
    for (let m; (m = find.exec(n.data));) {
      const key = m[0].toLowerCase(), g = rows.get(key) || rows.get(key.replace(/s$/, ""));
      if (!g || seen.has(g)) continue;
      seen.add(g);
      const word = n.splitText(m.index);
      word.splitText(m[0].length);
      const span = el("span", { className: "term", tabIndex: 0 }, m[0]);
      span.onmouseenter = span.onfocus = span.onclick = () => showTerm(span, g);
      span.onmouseleave = span.onblur = () => $("#term")?.remove();
      word.replaceWith(span);
      break;
    }
  }
}
function showTerm(span, g) {
  $("#term")?.remove();
  const box = Object.assign(card(g), { id: "term" }), at = span.getBoundingClientRect(), page = main.getBoundingClientRect();
  main.append(box);
  box.style.left = Math.max(0, Math.min(at.left - page.left, main.clientWidth - box.offsetWidth - 8)) + "px";
  box.style.top = at.bottom - page.top + 4 + "px";
}
if ($("article") && !/glossary/.test(location.pathname)) (globalThis.requestIdleCallback || setTimeout)(terms);
