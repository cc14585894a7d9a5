// What the buttons do, and the keys that stand for them.
import { getLanguage, say, setLanguage } from "./strings.js";
import { nextOf } from "./film.js";
import { $ } from "./app.js";
import { app, open, tell } from "./store.js";
import { announce, calmNotice, notice } from "./notice.js";
import { jump, JUMPS, merged, setPlaying } from "./time.js";
import { showLink } from "./scene.js";
import { readColors } from "./panels.js";
import { toggleCode } from "./code.js";
import { showLevels } from "./levels.js";
import { toggleCost } from "./cost.js";
import { toggleProjector } from "./projector.js";
import { toggleInspect } from "./inspect.js";
import { togglePredict } from "./predict.js";

export const actions = {
  "to-start": () => jump(0),
  "to-end": () => app.clock && jump(app.clock.end),
  "step-back": () => app.clock && jump(Math.max(0, nextOf(app.clock.instants, app.t, false))),
  "step-on": () => app.clock && jump(nextOf(app.clock.instants, app.t, true)),
  "play": () => setPlaying(!app.playing),
  "share": shareLink, "open": () => $("file").click(), "help": () => $("help-box").showModal(),
  "levels": showLevels, "hint": () => $("hint")?.click(),
  "theme": () => {
    const dark = getTheme() === "dark";
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    readColors();
  },
  "language": () => switchLanguage(getLanguage() === "en" ? "zh" : "en"),
  "code": toggleCode,
  "predict": togglePredict, "inspect": toggleInspect, "cost": toggleCost, "projector": toggleProjector,
  "more": () => document.body.classList.contains("trying") ? document.body.classList.remove("trying") : $("more").setAttribute("aria-expanded", String($("choose").classList.toggle("open"))),
  "another": () => { open({ seed: app.scene.seed % 1000000 + 1 }); },
};
for (const kind of Object.keys(JUMPS)) {
  actions[kind + "-on"] = () => app.clock && jump(nextOf(merged(JUMPS[kind]), app.t, true));
  actions[kind + "-back"] = () => app.clock && jump(nextOf(merged(JUMPS[kind]), app.t, false));
}

function getTheme() {
  return document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function switchLanguage(l) {
  setLanguage(l);
  tell("words");
  tell("at");
  showLink();
}

async function shareLink() {
  showLink(true);
  try {
    await navigator.clipboard.writeText(location.href);
    calmNotice("shared_ok");
  } catch {
    notice(() => location.href);
  }
  announce(say("shared_ok"));
}
