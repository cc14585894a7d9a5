// This makes page/places.js: asked is the folder with the articles' texts. The text of an article is the one that
// has all phrases of its rows.
import "./rows.js";
import { readdirSync, readFileSync } from "fs";
globalThis.PLACES = globalThis.ALSO = {};
await import("./phrases.js");
const texts = readdirSync(asked).map(file => readFileSync(asked + "/" + file, "utf8"));
const letters = text => text.toLowerCase().match(/[\p{L}\p{N}]/gu).join("");
const all = {};
for (const article of new Set(GUIDE.map(row => row.name[0]))) {
	const phrases = GUIDE.filter(row => row.name[0] === article && !row.heading).map(row => letters(row.phrase));
	all[article] = marksOf(texts.find(text => phrases.every(phrase => letters(text).includes(phrase))));
}
const answer = [JSON.stringify(all, null, 2)];
