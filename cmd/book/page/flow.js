// A flowchart is in the page as a list: a line for each group of boxes, and one for each arrow.
// It is drawn from these lines, with the widths that the letters have here. The list is left for
// those who have it read to them.
"use strict";
{
  const LINE = 17, PAD = 11, GAP = 26; // from a line of text to the next, around it, and between two boxes

  // chartOf reads the lines. A box has a rank, which is one more than that of each box with an
  // arrow to it; an arrow over more than one rank goes through points in those between.
  function chartOf(list, widthOf) {
    const boxes = new Map(), groups = new Map(), arrows = [], down = list.dataset.down === "true";
    const box = (span, group) => {
      const id = span.dataset.node;
      if (groups.has(id)) return groups.get(id);
      if (!boxes.has(id)) {
        const lines = [...span.childNodes].filter(n => n.nodeName !== "BR").map(n => n.textContent);
        boxes.set(id, { lines, group, rank: 0, w: Math.max(...lines.map(widthOf)) + 2 * PAD, h: lines.length * LINE + PAD, in: [], out: [] });
      }
      return boxes.get(id);
    };
    for (const li of list.children) {
      const [first, second] = li.querySelectorAll("span"), title = li.querySelector("b");
      if (title) {
        const g = { title: title.textContent, boxes: [] };
        groups.set(title.dataset.node, g);
        for (const s of li.querySelectorAll("span")) g.boxes.push(box(s, g));
      } else arrows.push({ from: box(first), to: box(second), text: li.querySelector("i").textContent.replace("→", "").trim(), dotted: li.dataset.dotted === "true" });
    }
    const all = [...boxes.values()], ends = a => a.to.boxes || [a.to];
    for (let n = all.length; n > 0; n--) {
      for (const a of arrows) for (const to of ends(a)) to.rank = Math.max(to.rank, a.from.rank + 1);
      for (const g of groups.values()) for (const b of g.boxes) b.rank = Math.max(...g.boxes.map(b => b.rank));
    }
    if (down) for (const b of all) if (arrows.every(a => a.to !== b)) b.rank = Math.min(...arrows.filter(a => a.from === b).map(a => a.to.rank)) - 1;
    const ranks = [];
    for (const b of all) (ranks[b.rank] ||= []).push(b);
    for (const a of arrows) {
      a.via = [];
      const last = ends(a)[0].rank;
      for (let r = a.from.rank + 1; r < last; r++) {
        const point = { point: true, rank: r, w: 8, h: 8, in: [], out: [] };
        ranks[r].push(point);
        a.via.push(point);
      }
      const way = [a.from, ...a.via, ...a.to.boxes ? [] : [a.to]];
      for (let i = 1; i < way.length; i++) { way[i - 1].out.push(way[i]); way[i].in.push(way[i - 1]); }
    }
    return { all, groups, arrows, ranks, down };
  }

  // ordered puts the boxes of each rank in an order in which few arrows cross: each as near as can be to the
  // middle of those that it is joined with.
  function ordered(ranks) {
    const number = () => ranks.forEach(r => r.forEach((b, i) => { b.at = i - (r.length - 1) / 2; }));
    const crossings = () => {
      let n = 0;
      for (const r of ranks) for (const [i, b] of r.entries()) for (const c of r.slice(i + 1)) for (const x of b.out) for (const y of c.out) if (x.at > y.at) n++;
      return n;
    };
    const middle = (b, side) => b[side].length ? b[side].reduce((s, x) => s + x.at, 0) / b[side].length : b.at;
    number();
    let best = ranks.map(r => r.slice()), least = crossings();
    for (let n = 0; n < 24; n++) {
      const side = n % 2 ? "out" : "in";
      for (const r of n % 2 ? ranks.slice().reverse() : ranks) {
        const want = new Map(r.map(b => [b, middle(b, side)]));
        r.sort((b, c) => want.get(b) - want.get(c));
        number();
      }
      if (crossings() < least) { least = crossings(); best = ranks.map(r => r.slice()); }
    }
    return best;
  }

  const SVG = "http://www.w3.org/2000/svg";
  function shape(name, attributes, parent, text) {
    const e = document.createElementNS(SVG, name);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    if (text) e.textContent = text;
    parent.append(e);
    return e;
  }

  function drawn(list) {
    const measure = document.createElement("canvas").getContext("2d");
    measure.font = "13px " + getComputedStyle(list).fontFamily;
    const widthOf = text => measure.measureText(text).width;
    const chart = chartOf(list, widthOf), { down, groups, arrows } = chart, ranks = ordered(chart.ranks);
    // Along the arrows, and across them: to the right and down, or the other way round.
    const [along, across, long, broad] = down ? ["y", "x", "h", "w"] : ["x", "y", "w", "h"];
    const extent = r => r.reduce((s, b) => s + b[broad], 0) + r.slice(1).reduce((s, b, i) => s + (b.point || r[i].point ? GAP / 2 : GAP), 0);
    const widest = Math.max(...ranks.map(extent)), framed = groups.size > 0;
    let at = framed ? 18 : 6;
    ranks.forEach((r, i) => {
      const thick = Math.max(...r.map(b => b[long]));
      let x = (widest - extent(r)) / 2 + (framed && !down ? 34 : 6);
      r.forEach((b, j) => {
        if (j) x += b.point || r[j - 1].point ? GAP / 2 : GAP;
        b[across] = x + b[broad] / 2;
        b[along] = at + (b.point ? thick : b[long]) / 2;
        x += b[broad];
      });
      const texts = arrows.filter(a => a.from.rank === i && a.text).map(a => widthOf(a.text));
      at += thick + (down ? 38 : Math.max(44, Math.max(0, ...texts) + 44));
    });
    for (const g of groups.values()) {
      const edge = side => Math.max(...g.boxes.map(b => b[along] * side + b[long] / 2)) * side;
      Object.assign(g, { left: edge(-1) - 12, right: edge(1) + 12, top: Math.min(...g.boxes.map(b => b.y - b.h / 2)) - 26, bottom: Math.max(...g.boxes.map(b => b.y + b.h / 2)) + 10 });
      g.right = Math.max(g.right, g.left + widthOf(g.title) + 28);
    }
    const W = Math.max(...chart.all.map(b => b.x + b.w / 2), ...[...groups.values()].map(g => g.right)) + 6;
    const H = Math.max(...chart.all.map(b => b.y + b.h / 2), ...[...groups.values()].map(g => g.bottom)) + 6;
    const figure = el("figure", { className: "diagram drawn" });
    const svg = shape("svg", { viewBox: `0 0 ${W} ${H}`, width: W, height: H, role: "img", "aria-label": [...list.children].map(li => li.textContent.replace(/\s+/g, " ").trim()).join("; ") }, figure);
    for (const g of groups.values()) {
      shape("rect", { class: "g", x: g.left, y: g.top, width: g.right - g.left, height: g.bottom - g.top, rx: 6 }, svg);
      shape("text", { class: "b", x: g.left + 12, y: g.top + 17 }, svg, g.title);
    }
    // Arrows that end at one box do not end at one point of it.
    const port = (a, b, side, other) => {
      const list = arrows.filter(x => x[side] === b).sort((x, y) => (x.via.at(other) || x[side === "to" ? "from" : "to"])[across] - (y.via.at(other) || y[side === "to" ? "from" : "to"])[across]);
      return b[across] + (list.indexOf(a) - (list.length - 1) / 2) * Math.min(12, b[broad] / (list.length + 1));
    };
    for (const g of groups.values()) g[across] = Infinity; // below the arrows to its boxes
    const labels = [];
    for (const a of arrows) {
      const start = { [along]: a.from[along] + a.from[long] / 2, [across]: port(a, a.from, "from", 0) };
      const end = a.to.boxes ? { x: a.to.left, y: start.y + 22 } : { [along]: a.to[along] - a.to[long] / 2, [across]: port(a, a.to, "to", -1) };
      const way = [start, ...a.via, end], tip = { ...end, [along]: end[along] - 7 };
      let d = `M${start.x} ${start.y}`;
      for (let i = 1; i < way.length; i++) {
        const p = way[i - 1], q = i === way.length - 1 ? tip : way[i], half = (p[along] + q[along]) / 2;
        d += down ? `C${p.x} ${half} ${q.x} ${half} ${q.x} ${q.y}` : `C${half} ${p.y} ${half} ${q.y} ${q.x} ${q.y}`;
      }
      shape("path", { class: "l" + (a.dotted ? " reply" : ""), d }, svg);
      shape("path", { class: "a", d: down ? `M${end.x} ${end.y}l-4 -8h8z` : `M${end.x} ${end.y}l-8 -4v8z` }, svg);
      if (a.text) labels.push([(start.x + way[1].x) / 2, (start.y + way[1].y) / 2, a.text]);
    }
    for (const b of chart.all) {
      shape("rect", { class: "h", "data-node": b.lines.join(" "), x: b.x - b.w / 2, y: b.y - b.h / 2, width: b.w, height: b.h, rx: b.group ? 4 : 9 }, svg);
      b.lines.forEach((text, i) => shape("text", { class: "m", x: b.x, y: b.y + 4.5 + (i - (b.lines.length - 1) / 2) * LINE }, svg, text));
    }
    for (const [x, y, text] of labels) shape("text", { class: "m label", x, y: y + 4.5 }, svg, text);
    return figure;
  }

  for (const list of document.querySelectorAll("ul.flow")) {
    list.before(drawn(list));
    list.hidden = true;
  }
}
