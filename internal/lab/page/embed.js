// The lab in a page of the book: a scene with its story and one row of buttons, in the theme of
// the page around it. That page says in messages what to show, and is told the instant
// and the height.
import { formatTime, parseTime } from "./link.js";
import { app, on } from "./store.js";
import { goto, setPlaying } from "./time.js";
import { readColors } from "./panels.js";

const around = parent !== window && /[#&]embed=1(&|$)/.test(location.hash) ? parent : null;

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  if (app.panels.length) readColors();
}

// embed prepares the page for its frame. Show opens an address.
export function embed(show) {
  if (!around) return;
  document.body.dataset.embed = "on";
  const theme = /[#&]theme=(light|dark)/.exec(location.hash);
  if (theme) setTheme(theme[1]);
  addEventListener("message", async ({ source, data }) => {
    if (source !== around) return;
    if (data.theme) setTheme(data.theme);
    if (data.address) await show(data.address);
    if (data.at !== undefined) { setPlaying(false); goto(parseTime(data.at)); }
  });
  const say = what => around.postMessage(what, "*"); // a page from the disk has no origin to name
  on("at", () => say({ at: app.t, time: formatTime(app.t) }));
  new ResizeObserver(() => say({ height: document.body.offsetHeight })).observe(document.body);
}
