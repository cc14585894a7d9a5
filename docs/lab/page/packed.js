// The first step of the page of one file: it unpacks its modules. A classic
// script does it, because no module may be loaded before the import map.
"use strict";

// unpack reads what pack in inline.go has written: the number of bytes, a
// space, and 13 bits in each two characters. engine.js unpacks the engine
// with it.
function unpack(text) {
  const value = new Uint8Array(128);
  let n = 0;
  for (let c = 33; c < 127; c++) if (c !== 60 && c !== 38 && c !== 92) value[c] = n++;
  const start = text.indexOf(" ");
  const bytes = new Uint8Array(Number(text.slice(0, start)));
  let bits = 0, have = 0, at = 0;
  for (let i = start + 1; i < text.length; i += 2) {
    bits |= (value[text.charCodeAt(i)] * 91 + value[text.charCodeAt(i + 1)]) << have;
    for (have += 13; have >= 8 && at < bytes.length; have -= 8, bits >>>= 8) bytes[at++] = bits & 255;
  }
  return bytes;
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
