// The theme that the reader has chosen, before anything is drawn.
"use strict";
try { document.documentElement.dataset.theme = localStorage.getItem("zklock-theme") || ""; } catch { /* file:// may have no storage */ }
