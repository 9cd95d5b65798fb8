/* The means of batches: how far they scatter around the mean of all rows. */
"use strict";
{
const {make, set, fixed} = live;
const [ROWS, MEANS, REACH] = [64, 200, 2.7];

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

live.figure("batch", {
  start: {size: 4, again: 1, seed: 1},
  limits: {size: [1, ROWS, 1], again: [0, 1, 1], seed: [1, 999, 1]},

  compute({size, again, seed}) {
    const draw = drawer(seed);
    const means = Array.from({length: MEANS}, () => mean(batch(draw, size, again)));
    return {means, exact, distance: off(means, exact), spread: off(all, exact)};
  },

  describe({size, again}, {distance, spread}) {
    const drawn = again ? "" : ", no row twice in a batch";
    return `${MEANS} batches of ${size}${drawn}: their means lie ${fixed(distance)} from the mean of all rows (root mean square). A single row lies ${fixed(spread)} from it.`;
  },

  build(figure, place, width) {
    const wide = width >= 560;
    const height = wide ? 330 : Math.min(width, 330);
    const scale = height / 2 / REACH;
    const at = ([x, y]) => ({cx: width / 2 + scale * (x - exact[0]), cy: height / 2 - scale * (y - exact[1])});
    const svg = make("svg:svg", {width, height: height + 24, role: "img", "aria-label": `${ROWS} rows, and the means of ${MEANS} batches of them; how far these lie from the mean of all is said below.`});
    svg.append(...all.map((row) => make("svg:circle", {...at(row), r: 4, fill: "none", stroke: "#777", "stroke-width": 1.5})));
    const dots = Array.from({length: MEANS}, () => make("svg:circle", {r: 3, fill: "#0072B2", "fill-opacity": 0.6}));
    const ring = make("svg:circle", {...at(exact), fill: "none", stroke: "#B34700", "stroke-width": 2, "stroke-dasharray": "6 4"});
    const {cx, cy} = at(exact);
    svg.append(...dots, ring, make("svg:path", {d: `M${cx - 8} ${cy}h16M${cx} ${cy - 8}v16`, stroke: "#22262b", "stroke-width": 2.5}));
    const names = [["#4a535d", "rows"], ["#0072B2", "means of batches"], ["#B34700", "their distance"]];
    const starts = wide ? [0, 60, 210] : [0, 46, 170];
    names.forEach(([fill, text], i) => svg.append(make("svg:text", {x: starts[i], y: height + 18, fill, class: "live-name"}, text)));

    const size = live.slider(figure, "size", "rows in a batch", [1, ROWS, 1], 0);
    const again = live.toggle(figure, "again", "a row can come twice");
    const more = live.button("Draw again", () => figure.set({seed: (figure.state.seed % 999) + 1}));
    place.append(svg, make("div", {class: "live-controls"}, size.row, again.row, more, live.button("Reset", figure.reset)));

    return (state, {means, distance}) => {
      size.update(state);
      again.update(state);
      dots.forEach((dot, i) => set(dot, at(means[i])));
      set(ring, {r: scale * distance});
    };
  },
});
}
