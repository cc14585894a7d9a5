import {
  a,
} from "./a.js";
export { b } from "./b.js";
say(a, "./not-a-module.js");
