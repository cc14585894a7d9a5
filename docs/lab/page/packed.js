// The first step of the page of one file: it unpacks its modules. A classic
// script does it, because no module may be loaded before the import map.
"use strict";

// unpack reads what pack in inline.go has written: Ascii85 with a ~ for each <.
// engine.js unpacks the engine with it.
function unpack(text) {
  const digits = text.replaceAll("~", "<").replaceAll("z", "!!!!!"), groups = Math.ceil(digits.length / 5);
  const bytes = new DataView(new ArrayBuffer(groups * 4));
  for (let group = 0; group < groups; group++) {
    let value = 0;
    for (let i = 5 * group; i < 5 * group + 5; i++) value = value * 85 + (i < digits.length ? digits.charCodeAt(i) - 33 : 84);
    bytes.setUint32(group * 4, value);
  }
  return new Uint8Array(bytes.buffer).slice(0, Math.floor(digits.length * 4 / 5));
}

// startModules gives the modules to the browser, by their names, and loads the first.
async function startModules(packed) {
  const parsed = new Promise(done => document.addEventListener("DOMContentLoaded", done));
  const text = new Blob([unpack(packed.textContent)]).stream().pipeThrough(new DecompressionStream("gzip"));
  const imports = await new Response(text).json();
  for (const name in imports) imports[name] = "data:text/javascript;charset=utf-8," + encodeURIComponent(imports[name]);
  const map = document.createElement("script");
  map.type = "importmap";
  map.textContent = JSON.stringify({ imports });
  document.head.append(map);
  await parsed;
  await import(packed.dataset.first);
}
