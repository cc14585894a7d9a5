// Traces and recorded runs from files.
import { failure, reason, say } from "./strings.js";
import { indexFilm } from "./film.js";
import { $, el } from "./app.js";
import { app, open } from "./store.js";
import { lockTitle } from "./words.js";
import { notice } from "./notice.js";
import { setPanels } from "./panels.js";
import { goto, setPlaying } from "./time.js";

function readJSON(text) {
  try { return JSON.parse(text); } catch (e) { throw failure("not JSON: " + e.message, "不是 JSON：" + e.message); }
}

// A caption is a function: the reader may change the language while the file is shown.
const captionOf = (film, name) => lockTitle(film.lock || say("recorded")) + " " + say("fromFile", name);

export async function openFiles(files, start) {
  const list = [];
  for (const file of [...files].slice(0, 2)) {
    try {
      const data = readJSON(await file.text());
      if (!data || !data.packets && !data.world) throw failure("neither a film nor a trace", "既不是录像，也不是 trace");
      const F = indexFilm(data.packets ? data : await app.engine.ask({ do: "replay", trace: data }));
      list.push({ lock: F.film.lock || "", caption: () => captionOf(F.film, file.name), which: "", F });
    } catch (e) {
      notice(() => say("badFile", file.name, reason(e)));
    }
  }
  if (list.length) await open({}, { file: list, start });
}

// loadFile shows the films of the files that were opened.
export function loadFile({ start }) {
  setPlaying(false);
  $("workbench").hidden = false;
  sayFile();
  setPanels(app.file);
  goto(start || 0);
  if (start === undefined && !app.calm) setPlaying(true);
}

export function sayFile() {
  if (app.file) $("workbench").replaceChildren(el("div", { class: "row" }, el("strong", {}, app.file.map(x => x.caption()).join(say("comma"))), el("button", { id: "back-to-locks", onclick: () => open({}) }, say("backToLocks"))));
}
