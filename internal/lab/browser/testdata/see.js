// The words in which the rows of the tests look at the page. The page runs this file before
// its own scripts; the expressions of the rows see what is in window.see.
(() => {
const one = selector => document.querySelector(selector);
const all = (selector, what = e => e.textContent) => [...document.querySelectorAll(selector)].map(what);
addEventListener("focusin", e => see.passed.add(e.target));
window.see = {
  kept: {}, // values that a row keeps for later ones
  one, all,
  text: selector => one(selector).textContent,
  count: selector => document.querySelectorAll(selector).length,
  shown: selector => one(selector)?.checkVisibility() ?? false,
  dom: () => one("#panels").innerHTML, // what follows from the film and the instant
  said: () => one("#notice").hidden ? "" : one("#notice").textContent,
  kind: violation => violation?.kind ?? (violation || ""),
  get app() { return lab.app; },
  get s() { return lab.state(); },
  get p() { return lab.state().panels[0]; },
  get F() { return lab.app.panels[0].F; },
  // difference shows where two texts begin to differ; "" if they do not.
  difference(a, b) {
    let i = 0;
    while (i < a.length && a[i] === b[i]) i++;
    return a === b ? "" : [a, b].map(x => "…" + x.slice(Math.max(0, i - 150), i + 100)).join("\n");
  },

  // What Inspect says of a thing, by its names: kind is "node", "watch" or "client".
  inspected(kind, key) {
    [...document.querySelectorAll("#inspector button")].find(b => b.dataset.kind === kind && b.dataset.key === key)?.click();
    return { kind: one("#inspector .thing").dataset.kind, key: one("#inspector .thing").dataset.key, ...Object.fromEntries(all("#inspector dl div", d => [d.firstChild.textContent, d.lastChild.textContent])) };
  },
  // inspections goes through twelve instants of the film, on and back. wrong is what Inspect says of A's first node and of B that the
  // film says otherwise; seen are the names by which it has said something.
  inspections() {
    const { marks, clients, end_ns } = see.F.film, wrong = [], seen = [], at = [1, 3, 5, 7, 9, 11], node = marks.find(m => m.kind === "node" && m.owner === "A").path;
    for (const t of [...at, ...at.toReversed()].map(i => end_ns * i / 12)) {
      lab.goto(t);
      const last = (kind, is) => marks.findLast(m => m.kind === kind && m.at_ns <= t && is(m)) ?? {}, ofB = m => m.who === "B";
      const check = (kind, key, want) => {
        const is = see.inspected(kind, key);
        for (const [name, value] of Object.entries({ kind, key, ...want })) if (seen.push(name) && is[name] !== value) wrong.push([t, key, name, is[name], value].join(" "));
      };
      const m = last("node", m => m.path === node), s = last("state", ofB), token = s.state === "holds" && s.token ? { "fencing token": String(s.token) } : {};
      if (m.made) check("node", node, { data: m.data || "empty", czxid: String(m.czxid), "ephemeral owner": m.owner + ", session " + m.session });
      check("client", "B", { state: s.state, session: clients[1].session, ...token, ...Object.fromEntries((last("variables", ofB).variables ?? []).map(v => [v.name, v.value])) });
    }
    return { wrong, seen };
  },
  // The pointers in the code that are not where the film says, at five instants, on and back. A holder's are at the lines that it has left.
  mispointed() {
    const { where, places, marks } = see.F.film, wrong = [];
    let seen = 0;
    for (const i of [0, 1, 2, 3, 4, 3, 2, 1, 0]) {
      const t = where[Math.floor((2 * i + 1) * where.length / 10)].at_ns;
      lab.goto(t);
      const want = see.F.units.flatMap(unit => {
        const [left = [], at = []] = [[], [], ...where.filter(w => w.who === unit && w.at_ns <= t).map(w => w.at)].slice(-2);
        const gone = !at.length && marks.findLast(m => m.kind === "state" && m.who === unit && m.at_ns <= t)?.state === "holds";
        return (gone ? left : at).map((n, depth) => [places[n], gone ? "was" : depth ? "caller" : "at"]).filter(([p]) => p.file === one(".code select").value).map(([p, kind]) => [unit, p.line, kind].join(" "));
      });
      const is = all(".source b", b => [b.dataset.unit, b.closest("li").dataset.line, b.className].join(" "));
      seen += is.length;
      if (is.sort().join() !== want.sort().join()) wrong.push(t + ": " + is + " and not " + want);
    }
    return seen > 5 ? wrong : ["few pointers: " + seen];
  },
  fill(form, values) { for (const [name, value] of Object.entries(values)) one(form).elements[name].value = value; },

  // wrongSlides goes through all slides of a deck with the keys: nothing is cut off, a scene is open on its own slide only,
  // and an answer is hidden until a key shows it.
  wrongSlides() {
    const wrong = [], key = name => dispatchEvent(new KeyboardEvent("keydown", { key: name }));
    fit(); // the window may have told nobody yet
    key("Home");
    for (const s of slides) {
      const say = what => wrong.push(s.querySelector("h1").textContent + ": " + what), frames = [...document.querySelectorAll("iframe")];
      if (document.querySelector("section.shown") !== s) say("is not shown in its turn");
      for (const e of [s, ...s.querySelectorAll(".body, pre, table")])
        if (e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1) say("cut off: " + e.tagName + " " + e.className);
      if (frames.length !== s.querySelectorAll("figure.scene").length || frames.some(f => !s.contains(f) || !/lab.html#lock=.*&slide=1&t=0ns&/.test(f.src))) say("frames: " + frames.map(f => f.src));
      const answer = s.querySelector(".answer");
      if (answer) {
        if (getComputedStyle(answer).visibility !== "hidden") say("its answer is shown before the key");
        key("ArrowRight");
        if (getComputedStyle(answer).visibility !== "visible") say("its answer is not shown");
      }
      key("ArrowRight");
    }
    document.querySelectorAll(".answered").forEach(s => s.classList.remove("answered"));
    key("Home");
    return wrong;
  },
  // left is where a word in the first picture made of characters begins.
  left(word) {
    const all = document.createTreeWalker(one("pre"), NodeFilter.SHOW_TEXT), range = document.createRange();
    for (let n; n = all.nextNode();) {
      const at = n.data.indexOf(word);
      if (at < 0) continue;
      range.setStart(n, at);
      range.setEnd(n, at + 1);
      return range.getBoundingClientRect().left;
    }
  },
  // timesToPlay touches the first scenes of a page of the book, each in a new frame: the times to their films, in ms.
  async timesToPlay(scenes) {
    const times = [];
    for (const f of [...document.querySelectorAll("figure[data-scene]")].slice(0, scenes)) {
      const from = performance.now();
      f.querySelector("button.play").click();
      await new Promise(done => addEventListener("message", function told({ source, data }) {
        if (source === one("#lab iframe").contentWindow && data.at !== undefined) { removeEventListener("message", told); done(); }
      }));
      times.push(performance.now() - from);
      one("#lab button").click();
    }
    return times;
  },

  // The texts of the page in which two English words follow each other. An error of a lock, of a library or of the
  // server stays what it is, and so does the name of the other language.
  english() {
    const wrong = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const e = walk.currentNode.parentElement, text = walk.currentNode.textContent.trim();
      if (/^(SCRIPT|STYLE)$/i.test(e.tagName) || e.closest("#notice[hidden], #menu[hidden], #tip[hidden], .source, .fault-line, #caption q")) continue; // Go and the articles' words are the same in both languages
      if (/[A-Za-z]{2,},? [a-z]{2,}/.test(text.replace(/(?:失败了?|错误|返回|panic)：[^]*$/, "").replace(/fencing token|no node|node exists|no auth|bad version|no children allowed|not empty|session expired/g, ""))) wrong.add(text);
    }
    return [...wrong];
  },

  // Rules for every reader to see and use the page. The rules are our own; each returns what breaks it.
  names() {
    const shown = e => e.getClientRects().length > 0 && getComputedStyle(e).visibility !== "hidden";
    const name = e => {
      const by = (e.getAttribute("aria-labelledby") || "").split(" ").map(id => document.getElementById(id)).filter(Boolean);
      return (by.map(x => x.textContent).join(" ") || e.getAttribute("aria-label") || [...(e.labels || [])].map(l => l.textContent).join(" ") ||
        (/^(SELECT|INPUT)$/.test(e.tagName) ? "" : e.textContent) || e.title || "").trim();
    };
    const wrong = [];
    for (const e of document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], [role=menuitem], [tabindex='0']"))
      if (shown(e) && !name(e)) wrong.push("no name: " + e.outerHTML.slice(0, 120));
    for (const e of document.querySelectorAll("svg"))
      if (shown(e) && e.getAttribute("aria-hidden") !== "true" && !e.closest("[aria-hidden=true]") && !name(e)) wrong.push("a picture without a name: " + e.outerHTML.slice(0, 120));
    for (const e of document.querySelectorAll("canvas"))
      if (shown(e) && e.getAttribute("aria-hidden") !== "true" && !name(e)) wrong.push("a canvas without a name: " + e.outerHTML.slice(0, 120));
    const ids = new Set();
    for (const e of document.querySelectorAll("[id]")) {
      if (ids.has(e.id)) wrong.push("twice: id " + e.id);
      ids.add(e.id);
    }
    if (!document.documentElement.lang) wrong.push("the page has no language");
    if (!document.title) wrong.push("the page has no title");
    if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
    if (!document.querySelector("[aria-live]")) wrong.push("nothing says changes");
    return wrong;
  },

  // The contrast of text with what is behind it: 4.5, and 3 for large text, as WCAG 2 has it. Behind a dialog nothing is read.
  contrast() {
    const parse = c => { const m = (c.match(/[\d.]+/g) || []).map(Number); return c.startsWith("color(srgb") ? [m[0]*255, m[1]*255, m[2]*255, m[3] ?? 1] : [m[0], m[1], m[2], m[3] ?? 1]; };
    const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
    const lum = c => { const f = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]); };
    const behind = e => {
      const layers = [];
      for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > 0) layers.push(c); if (c[3] === 1) break; }
      return layers.reduceRight((under, c) => over(c, under), [255, 255, 255, 1]);
    };
    const wrong = new Set();
    const walk = document.createTreeWalker(one("dialog[open]") || document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const e = walk.currentNode.parentElement, text = walk.currentNode.textContent.trim();
      if (!text || !e.getClientRects().length || /^(SCRIPT|STYLE|OPTION|OPTGROUP|TITLE|DESC)$/i.test(e.tagName)) continue;
      const style = getComputedStyle(e);
      if (style.visibility === "hidden" || e.closest(":disabled, [data-there=gone], [data-lost=yes]")) continue; // what cannot be used, or has gone, is faint
      let opacity = 1;
      for (let x = e; x; x = x.parentElement) opacity *= Number(getComputedStyle(x).opacity);
      if (opacity === 0) continue;
      const svg = e.ownerSVGElement;
      // A letter in a drawing is on a shape, whose colour is looked for.
      let bg = behind(svg || e);
      if (svg) {
        const r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;
        const fill = s => { const c = getComputedStyle(s), all = c.fill.startsWith("rgb") ? parse(c.fill) : [0, 0, 0, 0]; return [...all.slice(0, 3), all[3] * c.fillOpacity]; };
        const there = document.elementsFromPoint(x, y), shape = there.find(s => s !== e && s.ownerSVGElement === svg && /^(circle|rect|path|polygon|ellipse)$/.test(s.tagName) && fill(s)[3] > 0.1);
        if (!there.includes(svg)) continue; // outside of the window
        if (shape) bg = over(fill(shape), bg);
      }
      let fg = parse(svg ? style.fill : style.color);
      fg = over([fg[0], fg[1], fg[2], fg[3] * opacity], bg);
      const a = lum(fg), b = lum(bg), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700;
      if (ratio < (large ? 3 : 4.5)) wrong.add(ratio.toFixed(2) + " " + e.tagName + "." + (e.getAttribute("class") || e.id) + " " + fg.slice(0, 3).map(Math.round) + " on " + bg.slice(0, 3).map(Math.round) + ": " + text.slice(0, 40));
    }
    return [...wrong];
  },

  // The parts that do not fit on a narrow screen. A part that scrolls by itself may be wider than the screen.
  narrow() {
    const wrong = [], width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > width) wrong.push("the page scrolls sideways: " + document.documentElement.scrollWidth + " of " + width);
    const scrolls = e => { for (e = e.parentElement; e && e !== document.body; e = e.parentElement) if (/auto|scroll/.test(getComputedStyle(e).overflowX)) return true; return false; };
    for (const e of document.querySelectorAll("body *")) {
      const r = e.getBoundingClientRect(), style = getComputedStyle(e);
      if (!r.width || !r.height || style.visibility === "hidden" || scrolls(e) || e.closest(".hidden, .visually-hidden, .sr, #live")) continue;
      if (e.ownerSVGElement && !/^text$/.test(e.tagName)) continue;
      if (e.ownerSVGElement && e.textContent && parseFloat(style.fontSize) * e.getScreenCTM().a < 8) wrong.push("small letters: " + e.textContent);
      if (r.right > width + 1 || r.left < -1) wrong.push(e.tagName + "#" + e.id + "." + (e.getAttribute("class") || "") + " from " + Math.round(r.left) + " to " + Math.round(r.right) + " of " + width + ": " + (e.textContent || "").trim().slice(0, 30));
      if (/^(BUTTON|SELECT|SUMMARY|LABEL)$/.test(e.tagName) && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0) wrong.push("cut off: " + e.tagName + "#" + e.id + " " + e.textContent.trim().slice(0, 30));
    }
    return wrong;
  },

  // The texts and controls of a layer that lie over each other, and texts that are cut off. The lines of a list that scrolls
  // are cut at its edge, and packets pass one another: these do not count.
  overlaps() {
    const wrong = new Set(), boxes = [], root = one("dialog[open]") || document.body;
    const layer = e => e.closest("dialog, #transport, #menu, #tip, svg") || document.body;
    const seen = e => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !e.closest(".unseen, .source, script, style, option, [data-there=gone], .packet");
    const says = e => (e.textContent.trim() || e.id || e.tagName).slice(0, 30);
    const add = (e, r) => { if (r.width > 1 && r.height > 1) boxes.push({ e, r, in: layer(e) }); };
    const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), range = document.createRange();
    while (walk.nextNode()) {
      const node = walk.currentNode, e = node.parentElement;
      if (!node.textContent.trim() || !seen(e)) continue;
      range.selectNodeContents(node);
      for (const r of range.getClientRects()) add(e, r);
      const style = getComputedStyle(e), frame = e.ownerSVGElement?.getBoundingClientRect(), r = range.getBoundingClientRect();
      if (frame && r.width && (r.left < frame.left - 2 || r.right > frame.right + 2 || r.top < frame.top - 2 || r.bottom > frame.bottom + 2)) wrong.add("outside its picture: " + says(e));
      if (!frame && /hidden|clip/.test(style.overflowX) && style.display !== "inline" && e.scrollWidth > e.clientWidth + 1) wrong.add("cut off: " + says(e));
    }
    for (const e of root.querySelectorAll("button, input, select")) if (seen(e)) add(e, e.getBoundingClientRect());
    boxes.sort((a, b) => a.r.top - b.r.top);
    boxes.forEach((a, i) => {
      for (const b of boxes.slice(i + 1)) {
        if (b.r.top > a.r.bottom) break;
        if (a.in !== b.in || a.e.contains(b.e) || b.e.contains(a.e)) continue;
        const w = Math.min(a.r.right, b.r.right) - Math.max(a.r.left, b.r.left), h = Math.min(a.r.bottom, b.r.bottom) - b.r.top;
        if (w > 2 && h > 3) wrong.add(says(a.e) + " lies over " + says(b.e));
      }
    });
    return [...wrong];
  },

  // The controls that Tab has not come to, of those in sight. It has passed by what is in see.passed.
  unreached() { return [...document.querySelectorAll("a[href], button, input, select, summary")].filter(e => e.checkVisibility() && !e.disabled && !see.passed.has(e)).map(e => e.outerHTML.slice(0, 90)); },
  passed: new Set(),

  // stageClick clicks on an element of the stage, or on a point of it.
  stageClick(e, at) {
    const b = e.getBoundingClientRect(), x = at ? at.x : b.left + b.width / 2, y = at ? at.y : b.top + b.height / 2;
    document.elementFromPoint(x, y).dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: x, clientY: y }));
  },

  // The parts that are not in the window, on a projector and in an opening.
  outside() {
    const wrong = [], bar = document.getElementById("transport").getBoundingClientRect();
    if (!lab.app.projector && !document.body.matches(".opening")) return wrong;
    if (document.documentElement.scrollHeight > innerHeight) wrong.push("the page scrolls: " + document.documentElement.scrollHeight);
    if (bar.bottom > innerHeight + 1 || lab.app.projector && bar.height > 80) wrong.push("the bar: " + JSON.stringify(bar));
    for (const e of document.querySelectorAll(".panel .stage, .panel .diagram, .panel .now, body[data-code=on] .panel .code:not(.empty) .source, #caption")) {
      const r = e.getBoundingClientRect();
      if (!e.getClientRects().length && document.getElementById("caption") && (e.className === "now" || document.body.matches(".opening"))) continue; // the caption says more
      if (r.top < 0 || r.bottom > bar.top + 1 || r.left < 0 || r.right > innerWidth + 1 || r.width < 200 || r.height < 20) wrong.push(e.className.baseVal ?? e.className + ": " + JSON.stringify(r));
    }
    return wrong;
  },
};
})();
