// The search looks through the texts of all sections at each key: they are 0.5 MB in a
// language, which takes some milliseconds, and needs no index. The glossary is its
// thesaurus: an article's word, or the word of the other language, stands for ours.
"use strict";

// The parts of a glossary's cell: "加锁；拿到锁" are two, and so are "占据 (E), 持有 (A, B)".
const parts = cell => cell.replace(/（.*?）|\(.*?\)/g, "").split(/[；;,，、]/).map(x => x.trim().replace(/^to /, "").toLowerCase()).filter(x => x.length > 1);
const wordsOf = g => [...parts(g[0]), ...parts(g[1]), ...parts(g[4])];

// termOf is the row of the glossary for a word, or for one that it is the plural of.
function termOf(text) {
  const w = text.toLowerCase().trim();
  return GLOSSARY.find(g => wordsOf(g).includes(w)) || GLOSSARY.find(g => wordsOf(g).includes(w.replace(/s$/, "")));
}

// searched lists the sections that have a text, the best first: each has its address, its
// page, its heading, and the words around the first hit.
globalThis.searched = function (text, book) {
  const whole = text.toLowerCase().replaceAll('"', "").trim();
  const words = whole.match(/[\p{Script=Han}]+|[^\s\p{Script=Han}]+/gu) || [];
  const term = termOf(whole), others = term ? wordsOf(term).filter(w => w !== whole) : [];
  const list = [];
  for (const [address, page, title, body, links] of book) {
    const t = title.toLowerCase(), x = body.toLowerCase();
    let at = -1, hit = 0;
    const weigh = w => {
      let n = 0;
      for (let i = x.indexOf(w); i >= 0 && n < 20; i = x.indexOf(w, i + w.length)) {
        if (at < 0) { at = i; hit = w.length; }
        n++;
      }
      return (t.includes(w) ? 12 : 0) + (page.toLowerCase().includes(w) ? 6 : 0) + (n ? 1 + Math.log(n) : 0) / (1 + x.length / 3000);
    };
    let score = 3 * weigh(whole);
    for (const w of others) score += weigh(w);
    if (words.length > 1) {
      const each = words.map(weigh);
      if (each.every(s => s > 0)) score += each.reduce((a, b) => a + b) / 2;
    }
    // A section to which many links lead comes first.
    if (score > 0) list.push({ score: score * (1 + links / 5), address, page, title, before: body.slice(Math.max(0, at - 50), Math.max(0, at)), hit: body.slice(Math.max(0, at), at + hit), after: body.slice(at + hit, at + 120) });
  }
  return list.sort((a, b) => b.score - a.score);
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
