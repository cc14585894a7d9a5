// The reader: the phrases of an article with what they mean, the lines that a phrase is
// about, and the lab at its instant. The address names the phrase, and what a link in its
// text has opened.
import { firstLanguage } from "./language.js";
import { GUIDE } from "./rows.js";

const WORDS = {
  en: { title: "Read an article beside the locks", language: "中文", other: "zh", web: "Search the web for article {0}", listing: "The article's listing, in Go", cure: "The lock that cures it", code: "In this project", lab: "The lab: the lock of this phrase, running", rows: "The phrases of the articles", hint: "↑ and ↓ go from phrase to phrase.", phrase: "article {0}, phrase {1}", back: "Back to phrase {0}", noscene: "No scene belongs to this phrase; the code and the figures are all there is." },
  zh: { title: "对照代码读文章", language: "English", other: "en", web: "在网上搜索文章 {0}", listing: "文章中的代码（Go 版）", cure: "修复了这个 bug 的锁", code: "本项目中的代码", lab: "实验室：这一句所讲的锁正在运行", rows: "文章原文", hint: "按 ↑ 和 ↓ 逐句切换。", phrase: "文章 {0} 第 {1} 句", back: "回到第 {0} 句", noscene: "这一句没有场景，可看的只有代码和图表。" },
};
const $ = id => document.getElementById(id);
let lang = firstLanguage(), at = null, see = "";
const say = (key, ...x) => WORDS[lang][key].replace(/\{(\d)\}/g, (_, i) => x[i]);

function el(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const k in attributes) if (attributes[k] !== null) e.setAttribute(k, attributes[k]);
  e.append(...children);
  return e;
}

// The guide's texts from the build. A link leads to what the page has.
function html(name, attributes, text, row = at) {
  const e = el(name, attributes);
  e.innerHTML = text;
  for (const a of e.querySelectorAll("a[data-see]")) a.href = address(row, a.dataset.see);
  return e;
}

const { rows: ROWS, looks: LOOKS, files: FILES } = GUIDE;
const rows = ROWS.filter(r => !r.heading), article = r => r.name[0], number = r => r.name.slice(2);
const address = (row, look) => "#" + (row || rows[0]).name + (look ? "&see=" + encodeURIComponent(look) : "") + "&lang=" + lang;

function showRows() {
  $("rows").replaceChildren(el("p", { class: "hint" }, say("hint")), ...ROWS.map(r => r.heading
    ? html(r.heading === 1 ? "h2" : "h3", { id: r.heading === 1 ? "article-" + r.name : null }, r[lang])
    : Object.assign(el("div", { class: "row", "data-row": r.name, tabindex: -1, "data-scene": r.scene ? "yes" : "", "data-code": r.code || r.listing ? "yes" : "" },
      el("span", { class: "number", title: say("phrase", article(r), number(r)) }, number(r)), el("q", { lang: "zh-CN" }, r.phrase), html("p", {}, r[lang], r)), { onclick: e => { if (!e.target.closest("a")) pick(r.name); } })));
}

const lines = (text, marked) => text.split("\n").map((line, i) => el("span", { class: marked.has(i) ? "marked" : "" }, line + "\n"));

function excerpt(e, kind) {
  return el("figure", {}, el("figcaption", {}, e.file + ":" + (e.line + ((e.marked || [])[0] || 0))), el("pre", { class: kind + (e.text.split("\n").length > 60 ? " long" : ""), tabindex: 0 }, ...lines(e.text, new Set(e.marked || []))));
}

// What a phrase or a link shows: the article's listing beside the lock that cures it, our
// code, figures.
function parts(r) {
  const code = r.code || [], list = [];
  if (r.listing) list.push(el("div", { class: "beside" }, el("div", {}, el("h2", {}, say("listing")), ...r.listing.map(e => excerpt(e, "bug"))), el("div", {}, el("h2", {}, say("cure")), ...code.map(e => excerpt(e, "cure")))));
  else if (code.length) list.push(el("h2", {}, say("code")), ...code.map(e => excerpt(e, "ours")));
  for (const key of r.figures || []) list.push(html("h2", {}, LOOKS[key].title[lang]), html("div", { class: "page" }, LOOKS[key].html[lang]));
  return list;
}

// What a link leads to. Of a file the function that the link is about is marked.
function looked(key) {
  const name = LOOKS[key] ? "" : key.slice(key.lastIndexOf(":") + 1), look = LOOKS[name ? key.slice(0, -name.length - 1) : key], list = [];
  list.push(el("p", {}, el("a", { href: address(at), id: "back" }, "← " + say("back", number(at)))), el("h2", {}, look.title[lang]));
  if (look.html && look.html[lang]) list.push(html("div", { class: "page" }, look.html[lang]));
  list.push(...parts(look));
  if (look.file) {
    const f = FILES[look.file], [from, to] = f.functions[name] || [0, -1], marked = new Set();
    for (let i = from; i <= to; i++) marked.add(i);
    list.push(el("figure", {}, el("figcaption", {}, look.file + (name ? ":" + (from + 1) : "")), el("pre", { class: "ours whole", tabindex: 0 }, ...lines(f.text, marked))));
  }
  return list;
}

const valid = key => !!(LOOKS[key] || LOOKS[key.slice(0, Math.max(0, key.lastIndexOf(":")))]);

function showCode() {
  const box = $("code");
  box.replaceChildren(...(see ? looked(see) : parts(at)));
  box.scrollTop = 0;
  const all = [...box.querySelectorAll("pre")];
  for (const pre of all) { // a long one scrolls for itself
    const mark = pre.querySelector(".marked");
    if (mark && pre.classList.contains("long")) pre.scrollTop = Math.max(0, mark.offsetTop - pre.offsetTop - pre.clientHeight / 3);
  }
  const mark = box.querySelector(see ? ".whole .marked" : ".marked");
  if (mark) {
    const top = mark.getBoundingClientRect().top - box.getBoundingClientRect().top;
    if (top > box.clientHeight * 0.8 && box.clientHeight) box.scrollTop = top - box.clientHeight / 3;
  }
}

// The lab in the frame goes on in the same page when only its address changes. A phrase
// without a scene has an empty stage.
function showLab() {
  const scene = see ? (LOOKS[see] || {}).scene || at.scene : at.scene;
  $("lab").hidden = !scene;
  $("empty").hidden = !!scene;
  if (!scene) {
    $("empty").textContent = at.nothing ? at.nothing[lang] : say("noscene");
    $("lab").removeAttribute("src");
    return;
  }
  const src = "lab.html" + scene + "&lang=" + lang;
  if ($("lab").getAttribute("src") !== src) $("lab").setAttribute("src", src);
}

function showWeb() {
  $("web").href = "https://www.bing.com/search?q=" + encodeURIComponent(at.title);
  $("web").textContent = say("web", article(at));
  $("web").title = at.title;
}

function pick(name, look = "") {
  at = rows.find(r => r.name === name) || rows[0];
  see = valid(look) ? look : "";
  for (const e of document.querySelectorAll(".row")) {
    const on = e.dataset.row === at.name;
    if (on) e.setAttribute("aria-current", "true"); else e.removeAttribute("aria-current");
    e.tabIndex = on ? 0 : -1;
  }
  const e = document.querySelector('.row[aria-current]'), box = $("rows");
  const top = e.offsetTop - box.offsetTop;
  if (top < box.scrollTop || top + e.offsetHeight > box.scrollTop + box.clientHeight) box.scrollTop = Math.max(0, top - box.clientHeight / 3);
  const link = address(at, see);
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
  $("articles").replaceChildren(...[...new Set(rows.map(article))].map(a => Object.assign(el("button", {}, a), { onclick: () => { pick(a + "/1"); document.querySelector(".row[aria-current]").focus(); } })));
  showRows();
}

function open() {
  const [, name, look, l] = /^#([A-E]\/\d+)?(?:&?see=([^&]*))?(?:&?lang=(en|zh))?/.exec(location.hash) || [];
  if (l && l !== lang || !document.querySelector(".row")) { lang = l || lang; words(); }
  pick(name, look && decodeURIComponent(look));
}

$("language").onclick = () => { lang = say("other"); words(); pick(at.name, see); };
addEventListener("hashchange", open);
addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.("pre, #language, #articles, #web")) return;
  const i = rows.indexOf(at) + (e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0);
  if (!/^Arrow(Up|Down)$/.test(e.key)) return;
  e.preventDefault();
  if (rows[i]) { pick(rows[i].name); document.querySelector(".row[aria-current]").focus({ preventScroll: true }); }
});
open();
