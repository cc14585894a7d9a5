// For a projector: one bar, large letters, and stage, diagram and code in the window
// without scrolling. On a slide there are stage and diagram alone, and what is still to come, which answers the
// slide's question, is not drawn; the button of the whole page brings the rest back.
import { $ } from "./app.js";
import { app, tell } from "./store.js";
import { showCode } from "./code.js";
import { showLink } from "./scene.js";
import { alignHeights, drawOverviewBase } from "./panels.js";

const SIZE = 20; // pixels of a letter in the bar

export function setProjector(on) {
  const slide = on && /[#&]slide=1(&|$)/.test(location.hash);
  if (app.projector === on && app.slide === slide) return;
  app.projector = on;
  app.slide = slide;
  document.body.dataset.projector = on ? "on" : "off";
  document.body.dataset.slide = app.slide ? "on" : "off";
  document.documentElement.style.fontSize = on ? SIZE + "px" : "";
  $("projector").setAttribute("aria-pressed", String(on));
  showCode();
  alignHeights();
  for (const p of app.panels) p.size();
  drawOverviewBase();
  tell("at");
}

export function toggleProjector() {
  setProjector(!app.projector);
  showLink(true);
}
