// For a projector: one bar, large letters, and stage, diagram and code in the window
// without scrolling.
import { $, app } from "./app.js";
import { showCode } from "./code.js";
import { showLink } from "./scene.js";
import { alignHeights, drawOverviewBase } from "./panels.js";
import { draw } from "./time.js";

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
  draw();
}

export function toggleProjector() {
  setProjector(!app.projector);
  showLink(true);
}

// If the part above the panels takes more room or less, the panels adapt.
new ResizeObserver(() => {
  if (!app.projector) return;
  for (const p of app.panels) p.size();
  draw();
}).observe($("bar"));

// enlarge is how much larger than usual a panel's pictures are, so that both fit above
// the bar.
export function enlarge(panel) {
  return Math.max(0.6, Math.min(2, room(panel) / (panel.stage.natural + panel.diagram.natural())));
}

// fit is how much larger than usual a panel's diagram may be below a stage of a scale.
export function fit(panel, scale) {
  return panel.diagram.F ? Math.max(0.4, (room(panel) - panel.stage.natural * scale) / panel.diagram.natural()) : scale;
}

function room(panel) {
  const head = panel.el.querySelector("header").getBoundingClientRect(), rest = panel.now.offsetHeight + panel.verdict.offsetHeight + 34;
  return innerHeight - $("transport").offsetHeight - head.bottom - scrollY - rest;
}
