// TestTheSearchFinds asks what the search of a page finds for a query: asked is the query and the page's language.
import "./glossary.js";
import "./names.js";
import "./search.js";
const [query, lang] = asked;
await import(lang === "en" ? "./texts.zh-CN.js" : "./texts.en.js");
globalThis.OTHER = BOOK;
await import("./texts." + lang + ".js");

const found = findAll(query);
const endsSentence = /[.!?。！？:：]["”’」）)]*$/;
const endsSentenceBefore = /(^|[.!?。！？]["”’」）)]*\s*)$/;
const inWord = new RegExp("(?<!\\w)" + query, "i");

// A hit is cut if its excerpt lacks the query, shows a hint of an exercise, or is not a whole line, cell or sentence.
function isCut(hit) {
	const excerpt = hit.before + hit.hit + hit.after;
	const lines = hit.body.split("\n");
	const isCode = line => line[0] === "\t";
	if (/hints\./.test(hit.address)) {
		if (hit.before + hit.hit) return true;
	} else if (/\w$/.test(hit.before) && /^\w/.test(hit.hit)) {
		return true;
	} else if (!hit.hit && lines.slice(1).some(line => !isCode(line) && inWord.test(line))) {
		return true;
	}
	const isSentenceOf = line => !isCode(line) && endsSentenceBefore.test(line.split(excerpt)[0]) && line.includes(excerpt);
	const isWhole = lines.includes(excerpt) || endsSentence.test(excerpt) && lines.some(isSentenceOf);
	return excerpt !== "" && !isWhole;
}

const answer = {
	Term: found.term ? found.term[0] : "",
	Hits: found.list.length,
	Names: found.names.length,
	Other: found.other,
	First: found.list.slice(0, 3).map(hit => hit.title),
	Cut: found.list.slice(0, 25).filter(isCut).map(hit => hit.before + hit.hit + hit.after),
};
