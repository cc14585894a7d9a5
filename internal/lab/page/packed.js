// The first step of the page of one file: it unpacks its modules. A classic
// script does it, because no module may be loaded before the import map.
"use strict";

// unpack reads what pack in inline.go has written: seven bits a character. One above 127 has
// two groups of seven, of which the first is one of six characters; above 895 it has only that.
// engine.js unpacks the engine with it.
function unpack(text) {
  const apart = [0, 10, 13, 34, 60, 92], bytes = new Uint8Array(Math.ceil(text.length * 14 / 8));
  let length = 0, bits = 0, have = 0;
  const add = seven => {
    bits = bits << 7 | seven;
    have += 7;
    if (have >= 8) bytes[length++] = bits >> (have -= 8);
  };
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i), first = apart[(c >> 7) - 1];
    if (first !== undefined) add(first);
    add(c & 127);
  }
  return bytes.slice(0, length);
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
