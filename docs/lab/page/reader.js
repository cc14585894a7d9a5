// The reader: the phrases of an article with what they mean, the code that a row
// names, and the lab in that row's scene. The address names the row.
import { firstLanguage } from "./language.js";
import { ROWS } from "./rows.js";

const WORDS = {
  en: { title: "Read an article beside the locks", language: "中文", other: "zh", web: "Search the web for article {0}", nocode: "This row names no code.", listing: "The article's listing, in Go", cure: "The lock that cures it", code: "In this project", lab: "The lab: the lock of this row, running", rows: "The phrases of the articles", hint: "↑ and ↓ go from row to row." },
  zh: { title: "对照代码读文章", language: "English", other: "en", web: "在网上搜索文章 {0}", nocode: "这一行没有对应的代码。", listing: "文章中的代码（Go 版）", cure: "修复了这个 bug 的锁", code: "本项目中的代码", lab: "实验室：这一行所讲的锁正在运行", rows: "文章原文", hint: "按 ↑ 和 ↓ 逐行切换。" },
};
const $ = id => document.getElementById(id);
const FIRST = "#lock=naive&n=6&latency=20&seed=1";
let lang = firstLanguage(), at = null, scene = FIRST;
const say = (key, x) => WORDS[lang][key].replace("{0}", x ?? "");

function el(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const k in attributes) if (attributes[k] !== null) e.setAttribute(k, attributes[k]);
  e.append(...children);
  return e;
}

// The guide's texts from the build: code, bold and plain text.
function html(name, attributes, text) {
  const e = el(name, attributes);
  e.innerHTML = text;
  return e;
}

const rows = ROWS.filter(r => !r.heading);

function showRows() {
  $("rows").replaceChildren(el("p", { class: "hint" }, say("hint")), ...ROWS.map(r => r.heading
    ? html(r.heading === 1 ? "h2" : "h3", { id: r.heading === 1 ? "article-" + r.name[0] : null }, r[lang])
    : Object.assign(el("div", { class: "row", "data-row": r.name, role: "button", tabindex: -1, "data-scene": r.scene ? "yes" : "", "data-code": r.code || r.listing ? "yes" : "" }, el("q", { lang: "zh-CN" }, r.phrase), html("p", {}, r[lang])), { onclick: () => pick(r.name) })));
}

function excerpt(e, kind) {
  const marked = new Set(e.marked || []);
  return el("figure", {}, el("figcaption", {}, e.file + ":" + e.line), el("pre", { class: kind, tabindex: 0 }, ...e.text.split("\n").map((line, i) => el("span", { class: marked.has(i) ? "marked" : "" }, line + "\n"))));
}

function showCode() {
  const r = at, parts = [];
  if (r.listing) parts.push(el("div", { class: "beside" }, el("div", {}, el("h2", {}, say("listing")), ...r.listing.map(e => excerpt(e, "bug"))), el("div", {}, el("h2", {}, say("cure")), ...(r.cure || []).map(e => excerpt(e, "cure")))));
  if (r.code) parts.push(el("h2", {}, say("code")), ...r.code.map(e => excerpt(e, "ours")));
  $("code").replaceChildren(...(parts.length ? parts : [el("p", { class: "hint" }, say("nocode"))]));
  $("code").scrollTop = 0;
}

// The lab in the frame goes on in the same page when only its address changes.
function showLab() {
  const src = "lab.html" + scene + "&lang=" + lang;
  if ($("lab").getAttribute("src") !== src) $("lab").setAttribute("src", src);
}

function showWeb() {
  $("web").href = "https://www.bing.com/search?q=" + encodeURIComponent(at.title);
  $("web").textContent = say("web", at.name[0]);
  $("web").title = at.title;
}

function pick(name) {
  at = rows.find(r => r.name === name) || rows[0];
  for (const e of document.querySelectorAll(".row")) {
    const on = e.dataset.row === at.name;
    if (on) e.setAttribute("aria-current", "true"); else e.removeAttribute("aria-current");
    e.tabIndex = on ? 0 : -1;
  }
  const e = document.querySelector('.row[aria-current]'), box = $("rows");
  const top = e.offsetTop - box.offsetTop;
  if (top < box.scrollTop || top + e.offsetHeight > box.scrollTop + box.clientHeight) box.scrollTop = Math.max(0, top - box.clientHeight / 3);
  if (at.scene) scene = at.scene;
  const link = "#" + at.name + "&lang=" + lang;
  if (location.hash !== link) { try { history.replaceState(null, "", link); } catch { location.hash = link; } }
  showCode();
  showWeb();
  showLab();
}

function words() {
  document.documentElement.lang = lang === "zh" ? "zh-CN" : "en";
  document.title = "zklock: " + say("title");
  document.querySelector("h1").textContent = say("title");
  $("language").textContent = say("language");
  $("lab").title = say("lab");
  $("rows").setAttribute("aria-label", say("rows"));
  $("articles").replaceChildren(...[...new Set(rows.map(r => r.name[0]))].map(a => Object.assign(el("button", {}, a), { onclick: () => { pick(a + "1"); document.querySelector(".row[aria-current]").focus(); } })));
  showRows();
}

function open() {
  const [, name, l] = /^#([A-E]\d+)?(?:&?lang=(en|zh))?/.exec(location.hash) || [];
  if (l && l !== lang || !document.querySelector(".row")) { lang = l || lang; words(); }
  pick(name);
}

$("language").onclick = () => { lang = say("other"); words(); pick(at.name); };
addEventListener("hashchange", open);
addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.("pre, #language, #articles, #web")) return;
  const i = rows.indexOf(at) + (e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0);
  if (!/^Arrow(Up|Down)$/.test(e.key)) return;
  e.preventDefault();
  if (rows[i]) { pick(rows[i].name); document.querySelector(".row[aria-current]").focus({ preventScroll: true }); }
});
open();
