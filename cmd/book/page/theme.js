// The theme that the reader has chosen, and for a listing the language of the page before it, before
// anything is drawn.
"use strict";
if (self !== top) document.documentElement.className = "framed"; // in the reader
try { // file:// may have no storage
  const html = document.documentElement;
  html.dataset.theme = localStorage.getItem("zklock-theme") || "";
  if (html.dataset.both) html.lang = localStorage.getItem("zklock-lang") || "en";
  else localStorage.setItem("zklock-lang", html.lang);
} catch { /* as it is */ }
