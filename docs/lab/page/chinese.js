// What the engine and the page's own errors say, in Chinese. The engine speaks
// English: its texts are in traces, which are the same for every reader. So
// they are translated where they are shown. The sentences are formats of Go, with
// their Chinese: internal/locktest/chinese/engine.go.
import { SENTENCES } from "./sentences.js";

const VERB = /%(?:\[(\d+)\])?([a-z])/g, QUOTED = '"(?:[^"\\\\]|\\\\.)*"'; // as Go quotes it
const TAKES = { d: "-?\\d+", q: QUOTED };

// The sentences with most words of their own are first: what another one takes for
// its value may be part of a longer sentence.
function compile() {
  const own = ([en]) => en.replace(VERB, "").length;
  return Object.entries(SENTENCES).sort((a, b) => own(b) - own(a)).map(([en, zh]) => {
    const pattern = en.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(VERB, (_, at, kind) => "(" + (TAKES[kind] || "[^]*?") + ")");
    return { pattern: new RegExp("^" + pattern + "$"), zh };
  });
}
let compiled = null;

// inChinese returns a text of the engine in Chinese, undefined if it has no
// line. Words are the page's own, in Chinese: the engine's texts name kinds of
// change, which have words already.
export function inChinese(text, words) {
  for (const { pattern, zh } of compiled ??= compile()) {
    const m = pattern.exec(text);
    let n = 0;
    if (m) return zh.replace(VERB, (_, at) => valueInChinese(m[n = at ? Number(at) : n + 1], words));
  }
  return undefined;
}

// valueInChinese is what a sentence has in it: a sentence, a kind of change,
// contenders or choices. All else stays as it is, such as an error of a lock.
function valueInChinese(value, words) {
  const text = inChinese(value, words) ?? words["do." + value];
  if (text) return text;
  if (/^([A-Z]\d*|client)( and ([A-Z]\d*|client))+$/.test(value)) return value.replace(/ and (?=\w+$)/, " 和 ").replaceAll(" and ", "、");
  if (!value.startsWith('["')) return value;
  return value.match(new RegExp(QUOTED, "g")).map(name => {
    const choice = choiceInChinese(name.slice(1, -1), words);
    return choice ? name + "（" + choice + "）" : name;
  }).join("、");
}

// whoInChinese names what acts in a choice: a contender, a client, the server, all,
// or a gap, which is a place in a listing where the scheduler may let others
// run.
export function whoInChinese(who, words) { return words["who." + who] || who.replace(/^gap /, "代码间隙 "); }

// choiceInChinese returns a choice of a trace in Chinese, undefined if it is
// none.
export function choiceInChinese(choice, words) {
  const m = /^([^:]+): (.+)$/.exec(choice), what = m && words["do." + m[2]];
  return what && whoInChinese(m[1], words) + "：" + what;
}
