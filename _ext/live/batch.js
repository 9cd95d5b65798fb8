/* The means of batches: how far they scatter around the mean of all rows. */
"use strict";
{
const {make, set, fixed} = live;
const [ROWS, MEANS, REACH] = [64, 200, 2.75];

/* Numbers that look random, from whole numbers only, so that each machine draws alike: 0 to n - 1. */
function drawer(seed) {
  let x = seed;
  const draw = (n) => {
    x = (16807 * x) % 2147483647;
    return Math.floor(x * n / 2147483647);
  };
  for (let i = 0; i < 10; i++) draw(1);
  return draw;
}

const sum = (points) => points.reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
const mean = (points) => sum(points).map((v) => v / points.length);
const off = (points, [x, y]) => Math.sqrt(points.reduce((total, [a, b]) => total + (a - x) ** 2 + (b - y) ** 2, 0) / points.length);

/* The rows, always the same. */
const draw = drawer(1);
const part = (centre) => centre + (draw(1000) + draw(1000) + draw(1000) - 1498.5) / 500;
const all = Array.from({length: ROWS}, () => [part(0.8), part(-0.3)]);
const exact = mean(all);

function batch(draw, size, again) {
  const rows = [...all];
  return Array.from({length: size}, (_, i) => {
    const j = again ? draw(ROWS) : i + draw(ROWS - i);
    [rows[i], rows[j]] = again ? [rows[i], rows[j]] : [rows[j], rows[i]];
    return again ? all[j] : rows[i];
  });
}

function draws(size, again, seed) {
  const draw = drawer(seed);
  return Array.from({length: MEANS}, () => mean(batch(draw, size, again)));
}

/* The distances at the sizes that are marked on a curve, for the draws seen last. */
const SIZES = [1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64];
let [drawn, curve] = ["", []];
function distances(again, seed) {
  if (drawn !== `${again} ${seed}`) [drawn, curve] = [`${again} ${seed}`, SIZES.map((size) => [size, off(draws(size, again, seed), exact)])];
  return curve;
}

live.figure("batch", {
  start: {size: 4, again: 1, seed: 1},
  limits: {size: [1, ROWS, 1], again: [0, 1, 1], seed: [1, 999, 1]},

  compute({size, again, seed}) {
    const means = draws(size, again, seed);
    return {means, exact, distance: off(means, exact), spread: off(all, exact), curve: distances(again, seed)};
  },

  describe({size}, {distance, spread}) {
    return `${MEANS} batches of ${size}: their means lie ${fixed(distance)} from the cross, a single row ${fixed(spread)} (root mean square).`;
  },

  found: ({size, again}) => (size === ROWS && again ? "half, each time" : ""),

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const [high, across, top0] = wide ? [300, Math.min(330, width / 2), 0] : [232, width, 18];
    const scale = high / 2 / REACH;
    const at = ([x, y]) => ({cx: across / 2 + scale * (x - exact[0]), cy: top0 + high / 2 - scale * (y - exact[1])});
    const {cx, cy} = at(exact);
    const [left, right, top, floor] = wide ? [across + 52, width - 14, 34, high - 40] : [40, width - 14, high + 40, high + 119];
    const svg = make("svg:svg", {width, height: floor + 38, role: "img", "aria-label": `${ROWS} rows, and the means of ${MEANS} batches of them; the distance of these from the mean of all, which is said below, for each size.`});
    const word = (x, y, text, attributes = {}) => {
      const made = make("svg:text", {x, y, class: "live-name", ...attributes}, text);
      svg.append(made);
      return made;
    };
    const rows = all.map((row) => make("svg:circle", {...at(row), r: 4, fill: "none", stroke: "var(--l-grey)", "stroke-width": 1.5}));
    const dots = Array.from({length: MEANS}, () => make("svg:circle", {r: 3, fill: "var(--l-blue)", "fill-opacity": 0.4, class: "live-moves"}));
    const ring = make("svg:circle", {cx, cy, fill: "none", stroke: "var(--l-orange)", "stroke-width": 3.5, class: "live-moves"});
    const behind = make("svg:circle", {cx, cy, fill: "none", stroke: "var(--l-paper)", "stroke-width": 7, class: "live-moves"});
    svg.append(...dots, ...rows, make("svg:path", {d: `M${cx - 8} ${cy}h16M${cx} ${cy - 8}v16`, stroke: "var(--l-ink)", "stroke-width": 2.5}), behind, ring);
    const long = word(cx, 0, "", {"text-anchor": "middle", fill: "var(--l-orange)", style: "stroke-width: 8px"});
    const names = [["var(--l-muted)", wide ? "a row" : "row", "none", "var(--l-grey)"], ["var(--l-blue)", "mean of a batch", "var(--l-blue)", "none"], ["var(--l-orange)", wide ? "their distance" : "distance", "none", "var(--l-orange)"]];
    names.forEach(([ink, text, fill, stroke], i) => {
      const [x, y] = wide ? [7, 12 + 20 * i] : [[7, 58, 186][i], 9];
      svg.append(make("svg:circle", {cx: x, cy: y, r: i === 1 ? 4 : 5, fill, stroke, "stroke-width": 2, "stroke-dasharray": i === 2 ? "3 2" : "none"}));
      word(x + 12, y + 5, text, {fill: ink});
    });

    /* The distance at each size: drag along the curve. */
    const px = (size) => left + (right - left) * Math.log2(size) / 6;
    const py = (v) => floor - (floor - top) * v / 1.5;
    const show = live.curve(svg, "var(--l-orange)", {
      left, right, floor, across: [1, 4, 16, 64], up: [0, 0.5, 1, 1.5], px, py,
      moved: (x) => figure.set({size: 2 ** (6 * (x - left) / (right - left))}),
    });
    word((left + right) / 2, floor + 35, "rows in a batch", {class: "live-small", "text-anchor": "middle"});
    word(left - 32, top - 14, "their distance", {fill: "var(--l-orange)"});
    const value = word(0, 0, "", {"text-anchor": "middle"});

    const size = live.slider({id: figure.id, set: ({size}) => figure.set({size: 2 ** size})}, "size", "rows in a batch", [0, 6, 0.5], 0); // as the curve, in doublings
    const [, slid, read] = size.row.children;
    const again = live.toggle(figure, "again", "a row can come twice");
    const more = live.button("Draw again", () => figure.set({seed: (figure.state.seed % 999) + 1}));
    picture.append(svg);
    controls.append(live.sliders(size), live.row(again.row, more), live.reset(figure));

    return (state, {means, distance, curve}) => {
      const stands = slid.valueAsNumber;
      size.update({size: Math.round(2 ** stands) === state.size ? stands : Math.log2(state.size)});
      slid.ariaValueText = read.textContent = state.size;
      again.update(state);
      dots.forEach((dot, i) => set(dot, at(means[i])));
      const r = Math.max(2, scale * distance); // a ring that closes is a dot
      set(ring, {r, "stroke-dasharray": r > 30 ? "6 4" : "none"});
      set(behind, {r});
      set(long, {y: cy - r - 8});
      long.textContent = fixed(distance);
      const points = curve.map(([n, v]) => [n, n === state.size ? distance : v]);
      if (points.every(([n]) => n !== state.size)) points.push([state.size, distance]);
      show(points.sort(([a], [b]) => a - b), [state.size, distance]);
      const high = py(distance) < top + 20; // the name of the axis is above
      const x = Math.max(left + 16, Math.min(right - 12, px(state.size) + 8));
      const k = Math.max(1, points.findIndex(([n]) => px(n) > x - 18)); // the curve falls, so it is highest where the number begins
      const [[m, v], [n, w]] = [points[k - 1], points[k]];
      const over = py(v + (w - v) * (x - 18 - px(m)) / (px(n) - px(m)));
      set(value, high ? {x: px(state.size) + 28, y: py(distance)} : {x, y: Math.min(py(distance) - 14, over - 7)});
      value.textContent = fixed(distance);
    };
  },
});
}
