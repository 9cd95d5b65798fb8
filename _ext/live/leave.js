/* Leave one out: six points and a line; the line without one of them, and its estimate. */
"use strict";
{
const {make, set, fixed} = live;
const [COUNT, MOST] = [6, 10];
const LINES = [
  ["all points", "#22262b", 2],
  ["without it", "#009E73", 2.5],
  ["estimate", "#D55E00", 2.5, "6 4"],
];
const at = (list, i, value) => list.map((old, j) => (j === i ? value : old));

/* The line [a, b] of least squares, and its matrix of second derivatives, inverted. */
function fitted(x, y, weights) {
  const sum = (of) => weights.reduce((all, weight, i) => all + weight * of(x[i], y[i]), 0);
  const [n, sx, sxx] = [sum(() => 1), sum((x) => x), sum((x) => x * x)];
  const solve = ([u, v]) => [sxx * u - sx * v, n * v - sx * u].map((w) => w / (n * sxx - sx * sx));
  return [solve([sum((x, y) => y), sum((x, y) => x * y)]), solve];
}

live.figure("leave", {
  start: {out: 6, x: [0.5, 1.5, 2.5, 3.5, 4.5, 9.5], y: [2, 3.2, 3, 4.6, 5.2, 4]},
  limits: {out: [1, COUNT, 1], x: [0, MOST], y: [0, MOST]},

  compute({out, x, y}) {
    const [all, solve] = fitted(x, y, x.map(() => 1));
    const [without] = fitted(x, y, x.map((_, i) => +(i !== out - 1)));
    const at = x[out - 1];
    const error = all[0] + all[1] * at - y[out - 1];
    const estimate = solve([error, error * at]).map((v, k) => all[k] + v);
    const leverage = x.map((v) => {
      const [a, b] = solve([1, v]);
      return a + b * v;
    });
    return {lines: [all, without, estimate], leverage};
  },

  describe({out, x}, {lines: [all, without, estimate], leverage}) {
    if (!without.every(Number.isFinite)) {
      return `Without point ${out} the others stand at one place: no line through them is best.`;
    }
    const height = (line) => line[0] + line[1] * x[out - 1];
    const [real, said] = [height(without) - height(all), height(estimate) - height(all)];
    const h = leverage[out - 1];
    const same = Math.abs(real) < 0.005 ? "The three lines are one: " : "";
    return `${same}Without point ${out} the line at its place moves by ${fixed(real)}; the estimate says ${fixed(said)}. `
      + `Its leverage is h = ${fixed(h)}, so the estimate finds 1 \u2212 h = ${fixed(1 - h)} of the move.`;
  },

  build(figure, place, width) {
    const wide = width >= 560;
    const frame = {left: 34, top: 50, right: wide ? width - 235 : width - 12, bottom: wide ? 330 : 270};
    const svg = make("svg:svg", {width, height: wide ? 370 : 500, role: "group", "aria-label": "Points to move, and lines fitted to them"});
    const drawn = make("svg:g", {"aria-hidden": "true"});
    svg.append(drawn);
    const plane = chart.axes(drawn, {
      ...frame, x: [0, MOST], y: [0, MOST], every: [2, 2],
      title: "Points: click or drag", xlabel: "x", ylabel: "y",
    });
    const {left: x, top: y} = frame;
    const inside = make("svg:g", {"clip-path": "url(#live-leave-frame)"});
    drawn.append(
      make("svg:clipPath", {id: "live-leave-frame"},
        make("svg:rect", {x, y, width: frame.right - x, height: frame.bottom - y})),
      inside,
    );
    const lines = LINES.map(([, stroke, thick, dashes = "none"]) => {
      const line = make("svg:path", {stroke, "stroke-width": thick, "stroke-dasharray": dashes});
      inside.append(line);
      return line;
    });
    const moves = [1, 2].map((k) => live.arrow(inside, {stroke: LINES[k][1], "stroke-width": 2.5}));
    chart.key(drawn, frame.left + 10, frame.top + 16, LINES);

    const [left, floor, tall] = wide ? [width - 182, 330, 280] : [34, 470, 116];
    const gap = (wide ? 182 : width - 46) / COUNT;
    const up = (v) => floor - tall * v;
    ["Share of the move that", "the estimate finds: 1 \u2212 h"].forEach((text, i) =>
      drawn.append(make("svg:text", {x: left - 20, y: floor - tall - 32 + 18 * i, class: "live-title"}, text)));
    for (const v of [0, 0.5, 1]) {
      drawn.append(
        make("svg:line", {x1: left, x2: left + gap * COUNT, y1: up(v), y2: up(v), class: v ? "live-grid" : "live-zero"}),
        make("svg:text", {x: left - 5, y: up(v) + 4, "text-anchor": "end", class: "live-small"}, `${v}`),
      );
    }
    const points = figure.state.x.map((_, i) => {
      const bar = make("svg:rect", {x: left + gap * i + 4, width: gap - 8});
      const name = make("svg:text", {x: left + gap * (i + 0.5), y: floor + 17, "text-anchor": "middle"}, `${i + 1}`);
      drawn.append(bar, name);
      const put = (x, y) => figure.set({out: i + 1, x: at(figure.state.x, i, x), y: at(figure.state.y, i, y)});
      const dot = chart.handle(svg, `point ${i + 1}`, `Point ${i + 1}`, {
        moved: (u, v) => put(...plane.back(u, v)),
        nudged: (right, up) => put(figure.state.x[i] + 0.2 * right, figure.state.y[i] + 0.2 * up),
        chosen: () => figure.set({out: i + 1}),
      });
      set(dot, {"aria-valuemin": 0, "aria-valuemax": MOST});
      dot.append(make("svg:text", {"text-anchor": "middle", y: 5, class: "live-number"}, `${i + 1}`));
      return {bar, dot};
    });
    place.append(svg, make("div", {class: "live-controls"}, live.button("Reset", figure.reset)));

    return (state, values) => {
      const there = state.x[state.out - 1];
      const [base, ...tips] = values.lines.map((line) => plane.py(line[0] + line[1] * there));
      tips.forEach((tip, k) => {
        const at = plane.px(there) + 10 * k - 5;
        moves[k](...([base, tip].every(Number.isFinite) ? [at, base, at, tip] : [0, 0, 0, 0]));
      });
      values.lines.forEach((line, k) => {
        const ends = [0, MOST].map((v) => [plane.px(v), plane.py(line[0] + line[1] * v)]);
        set(lines[k], {d: line.every(Number.isFinite) ? `M${ends[0]}L${ends[1]}` : ""});
      });
      points.forEach(({bar, dot}, i) => {
        const here = i === state.out - 1;
        const share = Math.max(0, 1 - values.leverage[i]) || 0;
        set(bar, {y: up(share), height: tall * share, fill: here ? "#D55E00" : "#9aa1a8"});
        set(dot, {
          transform: `translate(${plane.px(state.x[i])} ${plane.py(state.y[i])})`, "aria-valuenow": state.y[i],
          "aria-valuetext": `x ${fixed(state.x[i])}, y ${fixed(state.y[i])}, leverage ${fixed(values.leverage[i])}`,
        });
        dot.classList.toggle("live-out", here);
      });
    };
  },
});
}
