// The search looks through the texts of all sections at each key: they are 0.5 MB in a
// language, which takes some milliseconds, and needs no index. The glossary is its
// thesaurus: an article's word, or the word of the other language, stands for ours.
"use strict";

// The parts of a glossary's cell: "加锁；拿到锁" are two, and so are "占据 (E), 持有 (A, B)".
const parts = cell => cell.replace(/（.*?）|\(.*?\)/g, "").split(/[；;,，、]/).map(x => x.trim().replace(/^to /, "").toLowerCase()).filter(x => x.length > 1);
const wordsOf = g => [...parts(g[0]), ...parts(g[1]), ...parts(g[4])];

// termOf is the row of the glossary for a word, for one that it is the plural of, or for the beginning of a term.
function termOf(text) {
  const w = text.toLowerCase().trim(), begins = w.length > 2 || /^\p{Script=Han}{2}/u.test(w) ? w : "\n";
  return GLOSSARY.find(g => wordsOf(g).includes(w)) || GLOSSARY.find(g => wordsOf(g).includes(w.replace(/s$/, ""))) ||
    GLOSSARY.find(g => wordsOf(g).some(x => x.startsWith(begins) && (/\P{ASCII}/u.test(w) || x[w.length] === " ")));
}

// places are where a text has a word, from the first on. A word in Latin letters begins where no letter is before it:
// in "release" there is no "lease".
function places(text, w) {
  const all = [], latin = /^\w/.test(w);
  for (let i = text.indexOf(w); i >= 0; i = text.indexOf(w, i + w.length)) if (!latin || !i || !/\w/.test(text[i - 1])) all.push(i);
  return all;
}

// The sentences of a section, and the cells of its tables that have none. A line of a heading or of code is neither.
const lines = body => body.split("\n").filter(line => line[0] !== "\t");
const cells = body => lines(body).filter(line => !sentences(line).length);
const sentences = body => lines(body).flatMap(line => line.match(/.+?(?:[.!?](?=["”’)]*\s[^a-z]|["”’)]*$)|[。！？]|[:：]$)["”’」）)]*/gu) || []);

// excerpt is the first sentence, or else the first cell, that has one of the words, in parts: before it, the word, and
// after it. If there is none, it is the section's first sentence.
function excerpt(body, words) {
  const all = sentences(body);
  for (const w of words) for (const s of [...all, ...cells(body)]) {
    const [at] = places(s.toLowerCase(), w);
    if (at >= 0) return { before: s.slice(0, at).trimStart(), hit: s.slice(at, at + w.length), after: s.slice(at + w.length) };
  }
  return { before: all.find(s => s.length > 25) || all[0] || "", hit: "", after: "" };
}

// searched lists the sections that have a text, the best first: each has its address, its
// page, its heading, and the first of them a sentence with the text. A hint is not shown before its reader opens it.
// The first line of a text is its heading, which is left out.
globalThis.searched = function (text, book) {
  const whole = text.toLowerCase().replaceAll('"', "").trim();
  const words = whole.match(/[\p{Script=Han}]+|[^\s\p{Script=Han}]+/gu) || [];
  const term = termOf(whole), others = term ? wordsOf(term).filter(w => w !== whole) : [];
  const list = [];
  let before = ""; // the page of the section before
  for (const [address, page, title, body, links] of book) {
    const t = title.toLowerCase(), x = body.toLowerCase(), file = address.replace(/#.*/, ""), begins = file !== before;
    before = file;
    const weigh = w => {
      const n = Math.min(20, places(x, w).length), has = title => places(title, w).length > 0;
      return (has(t) ? 12 : 0) + (has(page.toLowerCase()) ? 6 : 0) + (begins && file.split(/[-/.]/).includes(w) ? 18 : 0) + (n ? 1 + Math.log(n) : 0) / (1 + Math.max(x.length, 1000) / 3000);
    };
    let score = 3 * weigh(whole);
    for (const w of others) score += weigh(w);
    if (words.length > 1) {
      const each = words.map(weigh);
      if (each.every(s => s > 0)) score += each.reduce((a, b) => a + b) / 2;
    }
    // A section to which many links lead comes first.
    if (score > 0) list.push({ score: score * (1 + links / 5), address, page, title, body });
  }
  list.sort((a, b) => b.score - a.score);
  for (const s of list.slice(0, 25)) Object.assign(s, excerpt(/\/hints\./.test(s.address) ? "" : s.body.replace(/.*\n?/, ""), [whole, ...others, ...words]));
  return list;
};

// found is all that the search shows: a term, names of the code, sections, and those of the
// other language if there is none.
globalThis.findAll = function (text) {
  const w = text.toLowerCase().trim();
  const names = NAMES.filter(n => n[0].toLowerCase() === w);
  let list = searched(text, BOOK);
  const other = !list.length && !names.length;
  if (other && globalThis.OTHER) list = searched(text, OTHER);
  return { term: termOf(text), names, list, other };
};
