import "./a.js";
export const b = 1;
