// The worker in which the Go engine runs. It is a classic script, for a
// worker made of a Blob cannot import modules.
"use strict";

const early = [];
let ready = false;

const failure = (en, zh) => Object.assign(new Error(en), { zh });

self.onmessage = e => {
  const m = e.data;
  if ("wasm" in m) {
    loadEngine(m).catch(err => self.postMessage({ broken: String(err && err.message || err), zh: err && err.zh }));
    return;
  }
  if (ready) serve(m); else early.push(m);
};

// loadEngine starts Go. Its code is a module that another worker has compiled,
// or gzipped, or the server's. A random choice of Go, such as the order in
// which it goes through a map, repeats if dice is true.
async function loadEngine({ wasm, module, dice }) {
  if (typeof Go === "undefined") importScripts("wasm_exec.js");
  if (!module) {
    let response;
    if (wasm) {
      response = new Response(new Blob([wasm]).stream().pipeThrough(new DecompressionStream("gzip")), { headers: { "Content-Type": "application/wasm" } });
    } else {
      response = await fetch("engine.wasm");
      if (!response.ok) throw failure("engine.wasm: " + response.status + " " + response.statusText, "取不到 engine.wasm：" + response.status + " " + response.statusText);
    }
    if ((response.headers.get("Content-Type") || "").startsWith("application/wasm")) module = await WebAssembly.compileStreaming(response);
    else module = await WebAssembly.compile(await response.arrayBuffer());
    self.postMessage({ module });
  }
  const go = new Go();
  if (dice) {
    let n = 1;
    Object.defineProperty(self, "crypto", { value: { getRandomValues: list => {
      const bytes = new Uint8Array(list.buffer, list.byteOffset, list.byteLength);
      for (let i = 0; i < bytes.length; i++) { n = (Math.imul(n, 1103515245) + 12345) & 0x7fffffff; bytes[i] = n >> 8; }
      return list;
    } } });
    go.env = { ZKLOCK_LAB_ONCE: "1" };
  }
  const instance = await WebAssembly.instantiate(module, go.importObject);
  self.zklabReady = () => {
    ready = true;
    self.postMessage({ ready: true });
    for (const m of early.splice(0)) serve(m);
  };
  // A lock that panics in a goroutine of its own ends Go, which prints why:
  // first what it was, then where.
  const why = [], log = console.log;
  console.log = (...words) => {
    for (const line of words.join(" ").split("\n")) {
      if (why.length > 0 ? why.length < 12 && line.trim() : /^(panic|fatal error): /.test(line)) why.push(line);
    }
    log.apply(console, words);
  };
  await go.run(instance);
  const last = ["", ...why].join("\n");
  throw failure("the engine has ended" + last, "引擎已退出" + last);
}

async function serve(m) {
  const { id, ...request } = m;
  try {
    const text = await self.zklab(JSON.stringify(request), progress => self.postMessage({ id, progress: JSON.parse(progress) }));
    self.postMessage({ id, ok: true, result: JSON.parse(text) });
  } catch (err) {
    self.postMessage({ id, ok: false, error: String(err && err.message || err), zh: err && err.zh });
  }
}
