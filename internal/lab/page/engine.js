// The engine is Go in a worker: the real locks, the real client library and
// the server. A worker can be ended at any time, also when a lock never ends.
import { failure } from "./strings.js";

let compiled = null; // the engine's code, once a worker has compiled it

// A page of the book has the answers that its scenes need, by their requests: they play without
// the engine. That lies in a script beside the page, which comes with the first request
// that has no answer here.
const known = message => globalThis.FILMS?.[JSON.stringify(message, (_, v) => v && typeof v === "object" && !Array.isArray(v) ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => a < b ? -1 : 1)) : v)];
let beside = null;
function engineBeside() {
  if (!document.getElementById("lab-worker") || document.getElementById("lab-wasm")) return null;
  return beside ??= new Promise((resolve, reject) => document.head.append(Object.assign(document.createElement("script"), { src: "wasm.js", onload: resolve, onerror: () => reject(failure("wasm.js is missing", "缺少 wasm.js")) })));
}

export class Engine {
  // With dice, what Go draws at random is the same each time that an engine is
  // started and asked.
  constructor(dice) {
    this.dice = !!dice;
    this.worker = null;
    this.waiting = new Map();
    this.next = 1;
    this.started = null;
  }

  start() {
    if (this.started) return this.started;
    const wait = {};
    this.started = new Promise((resolve, reject) => { wait.resolve = resolve; wait.reject = reject; });
    this.started.catch(() => {});
    this.failStart = wait.reject;
    let worker;
    try {
      const source = document.getElementById("lab-worker");
      // One file: the worker and the engine are inside the page, and packed.js unpacks.
      worker = new Worker(source ? URL.createObjectURL(new Blob([source.textContent], { type: "text/javascript" })) : "worker.js");
      const bytes = source && !compiled ? unpack(document.getElementById("lab-wasm").textContent).buffer : null;
      worker.postMessage({ wasm: bytes, module: compiled, dice: this.dice }, bytes ? [bytes] : []);
    } catch (e) {
      wait.reject(e);
      return this.started;
    }
    this.worker = worker;
    worker.onmessage = e => {
      const m = e.data;
      if (m.module) { compiled = m.module; return; }
      if (m.ready) { wait.resolve(); return; }
      if (m.broken) { this.fail(failure(m.broken, m.zh)); return; }
      const w = this.waiting.get(m.id);
      if (!w) return;
      if (m.progress !== undefined) { if (w.progress) w.progress(m.progress); return; }
      this.waiting.delete(m.id);
      if (m.ok) w.resolve(m.result); else w.reject(failure(m.error, m.zh));
    };
    worker.onerror = e => { e.preventDefault(); this.fail(e.message ? new Error(e.message) : failure("the worker does not start", "worker 无法启动")); };
    return this.started;
  }

  // ask sends one request. An engine that has stopped starts again.
  async ask(message, progress) {
    const answer = known(message);
    if (answer) return structuredClone(answer);
    await engineBeside();
    await this.start();
    return new Promise((resolve, reject) => {
      const id = this.next++;
      this.waiting.set(id, { resolve, reject, progress });
      this.worker.postMessage({ id, ...message });
    });
  }

  fail(error) {
    if (this.failStart) this.failStart(error);
    for (const w of this.waiting.values()) w.reject(error);
    this.waiting.clear();
    if (this.worker) this.worker.terminate();
    this.worker = null;
    this.started = null;
  }

  // stop ends whatever the engine does.
  stop() {
    const e = new Error("stopped");
    e.name = "Stopped";
    this.fail(e);
  }
}
