// TestASavedLockRunsInThePage asks what the worker says when a lock of the engine panics in a goroutine of its own.
import { readFileSync } from "fs";
import { setFlagsFromString } from "v8";
import { runInThisContext } from "vm";
setFlagsFromString("--liftoff-only");
globalThis.self = globalThis;
console.log = () => {};
self.importScripts = name => runInThisContext(readFileSync(name, "utf8"));
self.fetch = async name => new Response(readFileSync(name), { headers: { "Content-Type": "application/wasm" } });
const answer = await new Promise(told => {
	self.postMessage = m => { if (m.broken || m.ok !== undefined) told(m.broken || ""); };
	importScripts("worker.js");
	self.onmessage({ data: { wasm: null } });
	self.onmessage({ data: { id: 0, do: "run", scene: { lock: "exercise-01-naive", contenders: 2, seed: 1 } } });
});
