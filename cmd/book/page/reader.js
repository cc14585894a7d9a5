// The reader: the phrases of an article with what they mean, the lines that a phrase is
// about, and the lab at its instant. The address names the phrase, and the page of the book
// that a link in its text has opened.
"use strict";
{
const WORDS = {
  en: { web: "Search the web for article {0}", listing: "The article's listing, in Go", cure: "The lock that cures it", code: "In this project", lab: "The lab: the lock of this phrase, running", rows: "The phrases of the articles", hint: "↑ and ↓ go from phrase to phrase.", phrase: "article {0}, phrase {1}", theirs: "in the article: {0}", back: "Back to phrase {0}", noscene: "No scene belongs to this phrase.", other: "The lab plays only ZooKeeper's locks, and none of a database or of Redis. So no scene belongs to this phrase.", beside: " To see here: {0}.", source: "the code", table: "the table", picture: "the picture", section: "a section of a page", and: ", ", empty: "This line has only brackets or keywords, so there is nothing to look up in it. Try the line above it.", far: "No phrase is near to this text." },
  zh: { web: "在网上搜索文章 {0}", listing: "文章中的代码（Go 版）", cure: "修复了这个 bug 的锁", code: "本项目中的代码", lab: "实验室：这一句所讲的锁正在运行", rows: "文章原文", hint: "按 ↑ 和 ↓ 逐句切换。", phrase: "文章 {0} 第 {1} 句", theirs: "文章：{0}", back: "回到第 {0} 句", noscene: "这一句没有场景。", other: "实验室只演示 ZooKeeper 的锁，不演示数据库和 Redis 的锁，所以这一句没有场景。", beside: "这里可看的有：{0}。", source: "代码", table: "表格", picture: "图", section: "相关的一节", and: "、", empty: "这一行只有括号或关键字，没有可查的内容。请试试它上面的一行。", far: "没有找到相近的原文。" },
};
const $ = id => document.getElementById(id);
const lang = document.documentElement.lang === "zh-CN" ? "zh" : "en";
let at = null, see = "", played = ""; // the address of a scene that a link in a row names
const say = (key, ...x) => WORDS[lang][key].replace(/\{(\d)\}/g, (_, i) => x[i]);

function el(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const k in attributes) if (attributes[k] !== null) e.setAttribute(k, attributes[k]);
  e.append(...children);
  return e;
}

// The guide's texts. A link to a page of the book opens it here.
function html(name, attributes, text, row) {
  const e = el(name, attributes);
  e.innerHTML = text;
  for (const a of e.querySelectorAll("a")) {
    const to = a.getAttribute("href");
    if (valid(to)) Object.assign(a, { href: address(row, to) }).dataset.see = to;
  }
  return e;
}

const ROWS = GUIDE;
const rows = ROWS.filter(r => !r.heading), article = r => r.name[0], number = r => r.name.slice(2);
const address = (row, look) => "#" + (row || rows[0]).name + (look ? "&see=" + encodeURIComponent(look) : "");

function showRows() {
  $("rows").replaceChildren(el("p", { class: "hint" }, say("hint")), ...ROWS.map(r => r.heading
    ? html(r.heading === 1 ? "h2" : "h3", { id: r.heading === 1 ? "article-" + r.name : null }, r[lang])
    : Object.assign(el("div", { class: "row", "data-row": r.name, tabindex: -1, "data-scene": r.scene ? "yes" : "", "data-code": r.code || r.listing ? "yes" : "" },
      el("span", { class: "number", title: say("phrase", article(r), number(r)) }, number(r)), el("q", { lang: "zh-CN" }, r.phrase), html("p", {}, r[lang], r)), { onclick: e => {
        const scene = e.target.closest("a[data-scene], code[data-scene]");
        if (!e.target.closest("a") || scene) pick(r.name);
        if (!scene) return;
        e.preventDefault();
        played = scene.dataset.scene;
        showLab();
      } })));
}

// The Chinese of a comment is below it.
const note = (line, text) => lang === "zh" && text ? ["\n" + /^\s*/.exec(line), el("b", { class: "note" }, text)] : [];
const lines = (text, marked, notes) => text.split("\n").map((line, i) => el("span", { class: marked.has(i) ? "marked" : "" }, line, ...note(line, notes[i]), "\n"));

function excerpt(e, kind) {
  return el("figure", {}, el("figcaption", {}, e.file + ":" + (e.line + ((e.marked || [])[0] || 0)), ...(e.theirs && lang === "zh" ? [el("div", { class: "theirs" }, el("code", {}, e.name), " ↔ " + say("theirs", e.theirs.join("、")))] : [])), el("pre", { class: kind + (e.text.split("\n").length > 60 ? " long" : ""), tabindex: 0 }, ...lines(e.text, new Set(e.marked || []), e.zh || {})));
}

// The titles and addresses of a row's pictures and sections. A text that is the same in both languages is a string.
const figures = r => (r.figures || []).map(({ title, address }) => [title, address].map(text => text[lang] ?? text));

// What a phrase or a link shows: the article's listing beside the lock that cures it, our
// code, figures.
function parts(r) {
  const code = r.code || [], list = [];
  if (r.listing) list.push(el("div", { class: "beside" }, el("div", {}, el("h2", {}, say("listing")), ...r.listing.map(e => excerpt(e, "bug"))), el("div", {}, el("h2", {}, say("cure")), ...code.map(e => excerpt(e, "cure")))));
  else if (code.length) list.push(el("h2", {}, say("code")), ...code.map(e => excerpt(e, "ours")));
  for (const [title, src] of figures(r)) list.push(el("h2", {}, title), /svg$/.test(src) ? el("img", { src, alt: title }) : el("iframe", { src, title }));
  return list;
}

// What a link leads to.
const looked = page => [el("p", {}, el("a", { href: address(at), id: "back" }, "← " + say("back", number(at)))), el("iframe", { id: "page", src: page, title: page })];

const valid = page => /^[\w-]+([./][\w-]+)*\.html(#|$)/.test(page);

function showCode() {
  const box = $("code");
  box.replaceChildren(...(see ? looked(see) : parts(at)));
  box.scrollTop = 0;
  const all = [...box.querySelectorAll("pre")];
  for (const pre of all) { // a long one scrolls for itself
    const mark = pre.querySelector(".marked");
    if (mark && pre.classList.contains("long")) pre.scrollTop = Math.max(0, mark.offsetTop - pre.offsetTop - pre.clientHeight / 3);
  }
  const mark = box.querySelector(".marked");
  if (mark) {
    const top = mark.getBoundingClientRect().top - box.getBoundingClientRect().top;
    if (top > box.clientHeight * 0.8 && box.clientHeight) box.scrollTop = top - box.clientHeight / 3;
  }
  // A page in a frame goes to its heading when it is loaded, and takes the column along.
  const there = box.scrollTop;
  for (const frame of box.querySelectorAll("iframe")) frame.onload = () => requestAnimationFrame(() => requestAnimationFrame(() => { box.scrollTop = there; }));
}

// Why a phrase has no scene, and what it has.
function whyNoScene(r) {
  const files = [...r.code || [], ...r.listing || []].map(e => e.file), pages = figures(r).map(([, page]) => page);
  const has = { source: files.some(f => !/figures\.md$/.test(f)), table: files.some(f => /figures\.md$/.test(f)), picture: pages.some(p => /svg$/.test(p)), section: pages.some(p => !/svg$/.test(p)) };
  const why = say([...files, ...pages].some(f => f.includes("other-locks/")) ? "other" : "noscene");
  return why + say("beside", Object.keys(has).filter(k => has[k]).map(k => say(k)).join(say("and")));
}

// The lab in the frame goes on in the same page when only its address changes, and shows what it shows in a
// page of the book. A phrase without a scene has an empty stage, behind which the lab waits.
function showLab() {
  const scene = played || at.scene;
  $("lab").hidden = !scene;
  $("empty").hidden = !!scene;
  if (!scene) {
    $("empty").textContent = at.nothing ? at.nothing[lang] : whyNoScene(at);
    return;
  }
  const src = "lab.html" + scene + "&lang=" + lang + "&embed=1";
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
  played = "";
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
  $("language").hash = link;
  showCode();
  showWeb();
  showLab();
}

// The find box goes to the phrase that is nearest to its text, and Enter to the next nearest one.
// If none is near, the page is again where the reader began to type, and says so.
let home = null, hits = [];
function find(text) {
  home ??= at;
  hits = nearest(text, article(home));
  pick((hits[0] || home).name);
  const missed = !hits.length && text.trim();
  $("find").className = missed ? "nothing" : "";
  $("missed").textContent = missed ? say(saysNothing(text) ? "empty" : "far") : "";
}

function open() {
  const [, name, page] = /^#([A-E]\/\d+)?(?:&?see=([^&]*))?/.exec(location.hash) || [];
  pick(name, page && decodeURIComponent(page));
}

$("lab").title = say("lab");
$("rows").setAttribute("aria-label", say("rows"));
$("articles").replaceChildren(...[...new Set(rows.map(article))].map(a => Object.assign(el("button", {}, a), { onclick: () => { pick(a + "/1"); document.querySelector(".row[aria-current]").focus(); } })));
showRows();
$("find").onfocus = () => home = at;
$("find").oninput = () => find($("find").value);
$("find").onkeydown = e => { if (e.key === "Enter" && hits.length) pick(hits[(hits.indexOf(at) + 1) % hits.length].name); };
addEventListener("hashchange", open);
addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.("pre, #language, #articles, #web, #find")) return;
  const i = rows.indexOf(at) + (e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0);
  if (!/^Arrow(Up|Down)$/.test(e.key)) return;
  e.preventDefault();
  if (rows[i]) { pick(rows[i].name); document.querySelector(".row[aria-current]").focus({ preventScroll: true }); }
});
open();
}
