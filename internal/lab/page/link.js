// The address holds a scene: everything that is needed to see the same again.
import { clockText, failure, has, say } from "./strings.js";

export const DEFAULT = { locks: ["herd", "predecessor"], n: 6, shared: false, latency: 20, seed: 1, changes: [], mode: "watch", choices: [], kinds: [], faults: 1, packets: false, sequence: 0, oneOwner: false, stranger: false, behind: false, ensemble: false, missing: false, scripts: [], want: "", vs: false, measured: false };

// 1500ms, 2.3s, 40s, 250us or 17ns, whichever is exact and short.
export function formatTime(ns) {
  ns = Math.round(ns);
  if (ns % 1e6 === 0) return ns % 1e9 === 0 ? ns / 1e9 + "s" : ns / 1e6 + "ms";
  if (ns % 1e3 === 0) return ns / 1e3 + "us";
  return ns + "ns";
}

export function parseTime(text) {
  const m = /^(\d+(?:\.\d+)?)(ns|us|ms|s|m)?$/.exec(text || "");
  if (!m) throw failure("not a time: " + text, "不是时间：" + text);
  const ns = Math.round(Number(m[1]) * { ns: 1, us: 1e3, ms: 1e6, s: 1e9, m: 60e9 }[m[2] || "ms"]);
  if (!Number.isSafeInteger(ns)) throw failure("too long a time: " + text, "时间太长：" + text);
  return ns;
}

export function formatChange(c) {
  return formatTime(c.at_ns) + "." + c.who + "." + c.do.replaceAll(" ", "-");
}

// branchName is what a reader has called a run, or its last change.
export function branchName(b) {
  if (b.name) return b.name;
  const c = b.changes[b.changes.length - 1];
  return c ? (has("name." + c.do) ? say("name." + c.do, c.who) : c.who + " " + c.do) + " · " + clockText(c.at_ns) : say("asItComes");
}

function parseChange(text) {
  const m = /^([0-9.]+[a-z]+)\.([^.]+)\.([a-z-]+)$/.exec(text);
  if (!m) throw failure("not a change: " + text, "不是一种干预：" + text);
  return { at_ns: parseTime(m[1]), who: m[2], do: m[3].replaceAll("-", " ") };
}

// The flags of an address, by their keys. The first two are not of a schedule alone.
const FLAGS = { shared: "shared", measured: "measured", packets: "packets", oneowner: "oneOwner", stranger: "stranger", behind: "behind", ensemble: "ensemble", missing: "missing" };

export function formatLink(s, extra) {
  const list = [["lock", s.locks.join(",")], ["n", s.n]];
  if (s.shared) list.push(["shared", 1]);
  list.push(s.measured ? ["measured", 1] : ["latency", s.latency], ["seed", s.seed]);
  if (s.changes.length) list.push(["do", s.changes.map(formatChange).join(",")]);
  if (s.vs) list.push(["vs", "parent"]);
  if (s.mode !== "watch") {
    list.push(["mode", s.mode], ["kinds", s.kinds.map(k => k.replaceAll(" ", "-")).join(",")], ["faults", s.faults]);
    if (s.sequence) list.push(["sequence", s.sequence]);
    for (const [key, field] of Object.entries(FLAGS).slice(2)) if (s[field]) list.push([key, 1]);
  }
  if (s.scripts.length) list.push(["scripts", s.scripts.map(calls => calls.join(".")).join(",")]);
  if (s.mode !== "watch") {
    if (s.want) list.push(["want", s.want]);
    if (s.choices.length) list.push(["choices", s.choices.map(c => encodeURIComponent(c).replaceAll("%20", "+").replaceAll("%3A", ":")).join(",")]);
  }
  for (const [k, v] of Object.entries(extra || {})) if (v !== undefined && v !== "") list.push([k, v]);
  return "#" + list.map(([k, v]) => k + "=" + v).join("&");
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { throw failure("not an address: " + text, "不是地址：" + text); }
}

// parseLink reads an address. A missing value has its default, so a short
// link written by hand works.
export function parseLink(hash) {
  const s = { ...DEFAULT, changes: [], choices: [], kinds: [], scripts: [] }, extra = {};
  const text = hash.replace(/^#/, "");
  for (const pair of text ? text.split("&") : []) {
    const i = pair.indexOf("=");
    const key = i < 0 ? pair : pair.slice(0, i);
    const raw = i < 0 ? "" : pair.slice(i + 1), value = decoded(raw);
    const number = (lo, hi) => {
      const x = Number(value);
      if (!Number.isFinite(x) || x < lo || x > hi) throw new Error(key + ": " + value);
      return x;
    };
    switch (key) {
      case "lock": s.locks = value.split(",").filter(Boolean).slice(0, 2); break;
      case "n": s.n = Math.round(number(1, 100)); break;
      case "latency": s.latency = number(0, 10000); break;
      case "seed": s.seed = Math.round(number(0, Number.MAX_SAFE_INTEGER)); break;
      case "do": s.changes = value.split(",").filter(Boolean).map(parseChange); break;
      case "vs": s.vs = value === "parent"; break;
      case "mode": s.mode = ["watch", "schedule", "find"].includes(value) ? value : "watch"; break;
      case "kinds": s.kinds = value.split(",").filter(Boolean).map(k => k.replaceAll("-", " ")); break;
      case "faults": s.faults = Math.round(number(0, 9)); break;
      case "sequence": s.sequence = Math.round(number(0, 2 ** 31 - 1)); break;
      case "shared": case "measured": case "packets": case "oneowner": case "stranger": case "behind": case "ensemble": case "missing": s[FLAGS[key]] = value === "1" || value === "true"; break;
      case "scripts": s.scripts = value.split(",").filter(Boolean).map(calls => calls.split(".")); break;
      case "want": s.want = value; break;
      case "choices": s.choices = raw.split(",").filter(Boolean).map(c => decoded(c.replaceAll("+", " "))); break;
      case "t": extra.t = parseTime(value); break;
      case "lang": extra.lang = value.split("-")[0]; break; // zh-CN is zh
      case "speed": extra.speed = number(0.01, 1000); break;
      case "play": extra.play = value; break;
      case "projector": extra.projector = value !== "0"; break;
    }
  }
  if (s.locks.length === 0) s.locks = DEFAULT.locks;
  return { scene: s, extra };
}
