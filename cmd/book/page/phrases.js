// The row of the guide that is nearest to what a reader types, or pastes from an article.
"use strict";
{
const STEP = 3, LONG = 4, SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const letters = text => text.toLowerCase().match(/[\p{L}\p{N}]/gu) || [];

// A mark is two characters for the four letters from one on.
function mark(l, from) {
  let h = 0;
  for (const c of l.slice(from, from + LONG)) h = (h * 31 + c.codePointAt(0)) % 4093;
  return SIGNS[h >> 6] + SIGNS[h & 63];
}

// marksOf are the marks of each third letter of an article: enough to find where a sentence is,
// and too few to read it.
globalThis.marksOf = function (text) {
  const l = letters(text);
  let marks = "";
  for (let i = 0; i + LONG <= l.length; i += STEP) marks += mark(l, i);
  return marks;
};

const index = {}; // of each article, by a mark, the letters where it is
for (const [article, marks] of Object.entries(PLACES)) {
  index[article] = new Map();
  for (let i = 0; i < marks.length; i += 2) {
    const m = marks.slice(i, i + 2);
    index[article].set(m, (index[article].get(m) || []).concat(i / 2 * STEP));
  }
}

// places are where letters may be in an article: each begins at a letter, and has a part of their
// marks, and how many.
function places(article, l) {
  const hits = new Map();
  for (let i = 0; i + LONG <= l.length; i++) for (const p of index[article]?.get(mark(l, i)) || []) hits.set(p - i, (hits.get(p - i) || 0) + 1);
  return [...hits].map(([from, n]) => ({ from, n, part: n / (Math.floor((from + l.length - LONG) / STEP) - Math.ceil(from / STEP) + 1) }));
}

// The text without its blanks: two lines may differ only in a sign, as == and != do.
const signs = text => text.replace(/\s/g, "");
// The words of a text: of Chinese each two characters.
const words = text => new Set((text.toLowerCase().match(/\p{Script=Han}+|(?:(?!\p{Script=Han})[\p{L}\p{N}])+/gu) || []).flatMap(w =>
  /\p{Script=Han}./u.test(w) ? [...w].slice(1).map((c, i) => w[i] + c) : w));
// What a row says, with the names of what its links lead to.
const told = html => html.replace(/<[^>]*>/g, tag => " " + decodeURIComponent(/#([^"]*)/.exec(tag)?.[1] || ""));

// saysNothing is true of a line that has only brackets, or only words that are in every listing. With its number a
// return or a break is at one place of its article.
globalThis.saysNothing = text => /^(\s*\d+\.\s+)?[^\p{L}\p{N}]*((try|else|(?<=@)\w+)[^\p{L}\p{N}]*)*$|^[^\p{L}\p{N}]*(break|return (true|false)|import\s.*)[^\p{L}\p{N}]*$/iu.test(text);

const count = new Map(), before = {}; // of the rows that have a word; where the last phrase of an article ends
const known = GUIDE.filter(r => !r.heading).map(r => {
  const l = letters(r.phrase), article = r.name[0];
  const from = Math.min(...places(article, l).filter(p => p.part === 1 && p.from >= (before[article] || 0)).map(p => p.from));
  before[article] = from + l.length;
  const k = { r, article, spans: [[from, from + l.length]], letters: [l.join("")], signs: [r.phrase, ...ALSO[r.phrase] || []].map(signs), phrase: words(r.phrase), text: words(told(r.en + " " + r.zh)) };
  for (const text of ALSO[r.phrase] || []) {
    const l = letters(text);
    k.letters.push(l.join(""));
    // The marks of fewer letters are also those of other texts, and so are those beside a line's number.
    if (l.length >= 9 && !/^\d+\. /.test(text)) for (const p of places(article, l)) if (p.part === 1) k.spans.push([p.from, p.from + l.length]);
  }
  for (const w of new Set([...k.phrase, ...k.text])) count.set(w, (count.get(w) || 0) + 1);
  return k;
});

// nearest are the rows for a text, the best first. What is an article's own words is at its place in
// the article, and the row is that of a phrase, or of ALSO, at this place or nearest to it; for all else
// the rare words count that a row and the text have in common. The article that is open comes before the others.
globalThis.nearest = function (text, open) {
  if (saysNothing(text)) return [];
  const line = text.replace(/^\s*\d+\.\s+/, ""), asWritten = [text, line]; // a line comes with its number
  if (/^(\/?\*|\/\/)/.test(line)) text = line; // where a comment is, its number does not say
  const l = letters(text), all = l.join(""), weight = w => Math.log((known.length + 1) / (count.get(w) || 1)), asked = [...words(text)];
  const sum = asked.reduce((s, w) => s + weight(w), 0), share = set => asked.reduce((s, w) => s + (set.has(w) ? weight(w) : 0), 0) / sum;
  const same = asWritten.map(t => [signs(t), letters(t).join("")]);
  const exact = k => Math.max(k.letters[0].includes(all) ? .5 : 0, ...same.map(([s, l], i) => {
    const as = k.signs.includes(s) ? 7 : k.letters.includes(l) ? 4 : 0;
    return (k.article === open || k.letters[0] === l ? as : Math.min(as, 1)) - 2.5 * i; // other lines of ALSO may be in several articles
  }));
  const found = {}, code = /[{}]/.test(text);
  for (const article in index) found[article] = places(article, l).filter(p => p.part >= .5);
  const scored = !sum ? [] : known.map(k => {
    let near = 0;
    for (const { from, n, part } of found[k.article] || []) {
      const away = k.spans.map(([a, z]) => Math.max(0, a - from - l.length + 1, from - z + 1)), far = Math.min(...away);
      const most = code ? 1 + .05 * Math.min(away.filter(d => !d).length - 1, 2) : 1; // the row whose texts are more of it
      near = Math.max(near, part * [0, .1, .8, 1][Math.min(n, 3)] * (far ? .8 / (1 + far / 120) : most));
    }
    return { r: k.r, score: 3 * near + share(k.phrase) + .6 * share(k.text) + exact(k), ours: k.article === open ? 1 : 0 };
  });
  // A heading leads to the first row below it that has something to show.
  const title = GUIDE.findIndex(r => r.heading && l.length > 3 && letters(told(r.zh)).join("").includes(all));
  const below = title < 0 ? null : GUIDE.slice(title + 1).find(r => r.scene || r.code || r.listing);
  for (const s of scored) if (s.r === below) s.score += 4;
  return scored.filter(s => s.score > .35).sort((a, b) => b.score + b.ours - a.score - a.ours).map(s => s.r);
};
}
