/* A loss with an `if`, for one sample: what a run in PyTorch records, and what JAX traced before. */
"use strict";
{
const {make, set, fixed, pair} = live;
const [W, Y] = [[[0.5, -1], [1, 0.5]], [1, 1]];
const WAYS = ["where", "cond"];
const product = (v) => W.map((row) => row[0] * v[0] + row[1] * v[1]);
const tanh = (v) => v.map(Math.tanh);

/* The operations: as the program has them, in PyTorch, in JAX, and on which road (1: yes, 0: no). */
const ROWS = [
  {text: "x[0] > 0", jax: "gt"},
  {text: "yes: W @ x", torch: "Mv", jax: "dot_general", road: 1},
  {text: "tanh", torch: "Tanh", jax: "tanh", road: 1},
  {text: "W @ h", torch: "Mv", jax: "dot_general", road: 1},
  {text: "tanh", torch: "Tanh", jax: "tanh", road: 1},
  {text: "no: W @ x", torch: "Mv", jax: "dot_general", road: 0},
  {text: "choose", jax: ["select_n", "cond"]},
  {text: "h \u2212 y", torch: "Sub", jax: "sub"},
  {text: "** 2", torch: "Pow", jax: "integer_pow"},
  {text: ".sum()", torch: "Sum", jax: "reduce_sum"},
  {text: "0.5 *", torch: "Mul", jax: "mul"},
];
const written = (v) => (typeof v === "boolean" ? `${v}` : Array.isArray(v) ? pair(v) : fixed(v, 3));

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

  describe({first}, {yes, values, wanted, recorded, computed}) {
    const count = (list) => list.filter(Boolean).length;
    const nothing = count(computed) - count(wanted);
    return `x[0] is ${fixed(first)}: ${yes ? "yes, the network twice" : "no, the other model"}. PyTorch recorded ${count(recorded)} operations. `
      + `JAX has ${ROWS.length} for every x, and computed ${count(computed)}, ${nothing || "none"} of them for nothing. Loss ${fixed(values.at(-1), 3)}.`;
  },

  build(figure, place, width) {
    const wide = width >= 560;
    const [left, step, high] = wide ? [110, 34, 26] : [78, 48, 42];
    const top = 30;
    const gap = wide ? 24 : 6;
    const column = (width - left - gap - 1) / 2; // a line has a width
    const svg = make("svg:svg", {width, height: top + step * ROWS.length, role: "img", "aria-label": "The operations of the program, those that PyTorch recorded, and those in the graph of JAX; their numbers are said below."});
    const word = (x, y, text, attributes = {}) => {
      const made = make("svg:text", {x, y, ...attributes}, text);
      svg.append(made);
      return made;
    };
    const [one, other] = wide ? ["recorded in this run (PyTorch)", "traced before any run (JAX)"] : ["PyTorch", "JAX"];
    const columns = [[left, one], [left + column + gap, other]].map(([x, title]) => {
      word(x + column / 2, 16, title, {"text-anchor": "middle", class: "live-title"});
      const middle = x + column / 2;
      svg.append(make("svg:line", {x1: middle, x2: middle, y1: top + (title === one ? step : 0), y2: top + step * ROWS.length - 12, class: "live-zero"}));
      return ROWS.map((_, i) => {
        const y = top + step * i;
        const box = make("svg:rect", {x, y, width: column, height: high, rx: 8});
        svg.append(box);
        const name = wide ? word(x + 12, y + 18, "") : word(middle, y + 17, "", {"text-anchor": "middle"});
        const value = word(wide ? x + column - 12 : middle, y + (wide ? 18 : 34), "", {"text-anchor": wide ? "end" : "middle", class: "live-small"});
        return {box, name, value};
      });
    });
    ROWS.forEach(({text, road}, i) => {
      const indent = road === undefined || text.includes(":") ? 0 : wide ? 30 : 26;
      word(indent, top + step * i + (wide ? 18 : 25), text, {class: "live-small"});
    });
    const choice = live.choice(figure, "way", "choose in JAX with", WAYS);
    const sliders = [["first", "x[0]"], ["second", "x[1]"]].map(([key, label]) => live.slider(figure, key, label, [-2, 2, 0.1], 1));
    const row = (...children) => make("div", {class: "live-controls"}, ...children);
    place.append(row(...sliders.map((s) => s.row)), svg, row(choice.row, live.button("Reset", figure.reset)));

    return (state, {values, wanted, recorded, computed}) => {
      sliders.forEach((slider) => slider.update(state));
      choice.update(state);
      columns.forEach((boxes, k) => boxes.forEach(({box, name, value}, i) => {
        const {torch, jax} = ROWS[i];
        const there = k === 1 || recorded[i];
        set(box, {
          visibility: there ? "visible" : "hidden", fill: wanted[i] ? "#cfe3f2" : "#f7f8f9",
          stroke: "#22262b", "stroke-dasharray": wanted[i] ? "none" : "5 3",
        });
        name.textContent = !there ? "" : k === 0 ? torch : [jax].flat()[Array.isArray(jax) ? state.way : 0];
        value.textContent = !there ? "" : k === 1 && !computed[i] ? "not run" : written(values[i]);
      }));
    };
  },
});
}
