// For a projector: one bar, large letters, and stage, diagram and code in the window
// without scrolling.
import { $ } from "./app.js";
import { app, tell } from "./store.js";
import { showCode } from "./code.js";
import { showLink } from "./scene.js";
import { alignHeights, drawOverviewBase } from "./panels.js";

const SIZE = 20; // pixels of a letter in the bar

export function setProjector(on) {
  if (app.projector === on) return;
  app.projector = on;
  document.body.dataset.projector = on ? "on" : "off";
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
