/* A loss with an `if`, for one sample: what a run in PyTorch records, and what JAX traced before. */
"use strict";
{
const {make, set, fixed} = live;
const [W, Y] = [[[0.5, -1], [1, 0.5]], [1, 1]];
const WAYS = ["where", "cond"];
const product = (v) => W.map((row) => row[0] * v[0] + row[1] * v[1]);
const tanh = (v) => v.map(Math.tanh);

/* The operations: in PyTorch, in JAX (whose names for the comparison and for `where` are gt and
   select_n), on which road (1: yes, 0: no), and in which row they stand. */
const ROWS = [
  {jax: "x[0] > 0", row: 1},
  {torch: "Mv", jax: "dot_general", road: 1, row: 2},
  {torch: "Tanh", jax: "tanh", road: 1, row: 3},
  {torch: "Mv", jax: "dot_general", road: 1, row: 4},
  {torch: "Tanh", jax: "tanh", road: 1, row: 5},
  {torch: "Mv", jax: "dot_general", road: 0, row: 2},
  {jax: ["where", "cond"], row: 6},
  {torch: "Sub", jax: "sub", row: 7},
  {torch: "Pow", jax: "integer_pow", row: 8},
  {torch: "Sum", jax: "reduce_sum", row: 9},
  {torch: "Mul", jax: "mul", row: 10},
];
const written = (v) => (typeof v === "boolean" ? `${v}` : Array.isArray(v) ? `(${v.map((one) => fixed(one, 1)).join(", ")})` : fixed(v, 3));

live.figure("branch", {
  start: {first: 1, second: 2, way: 0},
  limits: {first: [-2, 2], second: [-2, 2], way: [0, 1, 1]},

  compute({first, second, way}) {
    const yes = first > 0;
    const a = product([first, second]);
    const b = tanh(a);
    const c = product(b);
    const d = tanh(c);
    const h = yes ? d : a;
    const off = h.map((v, i) => v - Y[i]);
    const squares = off.map((v) => v * v);
    const sum = squares[0] + squares[1];
    const values = [yes, a, b, c, d, a, h, off, squares, sum, sum / 2];
    const wanted = ROWS.map(({road}) => road === undefined || road === Number(yes));
    return {
      yes, values, wanted,
      recorded: ROWS.map(({torch}, i) => Boolean(torch) && wanted[i]),
      computed: wanted.map((on) => on || way === 0), // in JAX, where each operation is in the graph
    };
  },

  describe(_, {values, wanted, recorded, computed}) {
    const count = (list) => list.filter(Boolean).length;
    const nothing = count(computed) - count(wanted);
    return `PyTorch recorded ${count(recorded)} operations for this x. JAX wrote ${ROWS.length} for every x and ran ${count(computed)}, `
      + `${nothing || "none"} of them for nothing. Loss ${fixed(values.at(-1), 3)}.`;
  },

  found: ({first}) => (first > 0 ? "" : "only the left one"),

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const [top, gap, pill, apart, two, one] = wide ? [90, 26, 24, 10, 25, 25] : [106, 10, 30, 4, 34, 24];
    const panels = (wide ? [0.4, 0.6] : [0.5, 0.5]).map((part) => part * (width - gap)); // one road needs less room than two
    const slim = (row) => !wide && row > 1 && row < 6; // two boxes side by side, of two lines each
    const box = (row) => (wide || slim(row) ? (panels[1] - 8) / 2 : row > 1 ? Math.min(panels[1], 150) : Math.min(100, panels[1] - 52));
    const high = (row) => (slim(row) ? 32 : 21);
    const y = (row) => top + (row > 1 ? one + apart : 0) + two * Math.max(0, Math.min(4, row - 2)) + (row > 5 ? apart : 0) + one * Math.max(0, row - 6);
    const svg = make("svg:svg", {width, height: y(10) + 22, role: "img", "aria-label": "The operations that PyTorch recorded, and those in the graph of JAX, where a road for yes and one for no meet again; their numbers are said below."});
    const word = (x, y, text, attributes = {}) => {
      const made = make("svg:text", {x, y, "text-anchor": "middle", ...attributes}, text);
      svg.append(made);
      return made;
    };
    const code = ["h = tanh(W @ tanh(W @ x)) if x[0] > 0", "\u00a0\u00a0\u00a0\u00a0else W @ x", "loss = 0.5 * ((h - y) ** 2).sum()"];
    (wide ? [code[0] + code[1].slice(3), code[2]] : code).forEach((text, i) => word(0, 12 + 17 * i, text, {class: "live-code", "text-anchor": "start"}));
    const titles = wide ? ["recorded in this run (PyTorch)", "traced before any run (JAX)"] : ["recorded (PyTorch)", "traced (JAX)"];
    const columns = titles.map((title, k) => {
      const middle = panels[k] / 2 + k * (panels[0] + gap);
      const across = (road) => middle + (road === undefined ? 0 : (road ? -1 : 1) * (panels[k] - box(2)) / 2);
      const at = (row) => y(k || row < 7 ? row : row - 1); // what was recorded has no place for a choice
      word(middle, top - (wide ? 36 : 38), title, {class: "live-title"});
      const path = (road) => make("svg:path", {
        d: `M${middle} ${y(1) - 8}V${y(1)}${k ? `v${high(1)}` : ""}C${middle} ${y(2) - 5} ${across(road)} ${y(1) + high(1)} ${across(road)} ${y(2)}`
          + `V${y(road ? 5 : 2) + high(2)}${road ? "" : `V${y(5) + high(5)}`}C${across(road)} ${y(6) + 3} ${middle} ${y(5) + high(5)} ${middle} ${at(k ? 6 : 7)}V${at(10)}`,
        fill: "none", stroke: "var(--l-blue)", "stroke-width": 2.5, class: "live-moves",
      });
      const lines = [path(0), path(1)];
      svg.append(...lines, make("svg:rect", {x: middle - 26, y: y(1) - pill - 1, width: 52, height: pill - 6, rx: pill / 2, fill: "var(--l-ink)"}));
      word(middle, y(1) - pill / 2, "x", {class: "live-small", style: "fill: var(--l-paper); font-weight: 600"});
      const asks = k ? null : word(middle, y(1) + high(1) / 2 + 2, "", {class: "live-name live-small"});
      const boxes = ROWS.map(({road, row}, i) => {
        const [x, above] = [across(road), at(row)];
        const press = k && i === 6 ? () => figure.set({way: 1 - figure.state.way})
          : k && road !== undefined ? () => figure.set({first: (Math.abs(figure.state.first) || 1) * (road ? 1 : -1)}) : null;
        const frame = make("svg:rect", {x: x - box(row) / 2, y: above, width: box(row), height: high(row), rx: 7, class: "live-moves"});
        const group = make("svg:g", {class: `live-moves${press ? " live-press" : ""}`, ...(press ? {click: press} : {})}, frame);
        const [name, value] = [-1, 1].map((side) => make("svg:text", { // they share a line where there is room
          x: slim(row) ? x : x + side * (box(row) / 2 - (wide ? 7 : 5)), y: above + (slim(row) ? 21 + 7 * side : 15), "text-anchor": slim(row) ? "middle" : side < 0 ? "start" : "end",
          style: `font-size: ${(wide ? 14 : 13) - (side > 0)}px`, class: side < 0 ? "" : "live-small",
        }));
        group.append(name, value);
        svg.append(group);
        return {frame, group, name, value};
      });
      return {middle, boxes, lines, asks};
    });
    for (const road of [1, 0]) word(width - panels[1] / 2 - (road ? 1 : -1) * (box(1) / 2 + (wide ? 18 : 14)), y(1) + high(1) - 6, road ? "yes" : "no", {class: "live-small live-name"});
    const choice = live.choice(figure, "way", "choose in JAX with", WAYS);
    const sliders = [["first", "x[0]"], ["second", "x[1]"]].map(([key, label]) => live.slider(figure, key, label, [-2, 2, 0.1], 1));
    picture.append(svg);
    controls.append(set(live.sliders(...sliders), {class: "live-sliders live-pair"}), choice.row, live.reset(figure));

    return (state, {yes, values, wanted, recorded, computed}) => {
      sliders.forEach((slider) => slider.update(state));
      choice.update(state);
      columns.forEach(({middle, boxes, lines, asks}, k) => {
        lines.forEach((line, road) => set(line, {opacity: Number(yes) === road ? 1 : k ? 0.35 : 0, "stroke-dasharray": Number(yes) === road ? "none" : "4 4"}));
        if (asks) set(asks, {x: middle + (yes ? 10 : -10), "text-anchor": yes ? "start" : "end"}).textContent = yes ? "if: yes" : "if: no"; // where no line is
        boxes.forEach(({frame, group, name, value}, i) => {
          const {torch, jax} = ROWS[i];
          const there = k === 1 || recorded[i];
          set(group, {opacity: Number(there)});
          set(frame, {fill: wanted[i] ? "var(--l-tint)" : "var(--l-paper)", stroke: "var(--l-ink)", "stroke-dasharray": wanted[i] ? "none" : "5 3"});
          name.textContent = !there ? "" : k === 0 ? torch : [jax].flat()[Array.isArray(jax) ? state.way : 0];
          value.textContent = !there ? "" : k === 1 && !computed[i] ? "not run" : written(values[i]);
        });
      });
    };
  },
});
}
