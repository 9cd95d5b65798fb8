/* Forward and backward through a graph, box by box: values and derivatives on the edges. */
"use strict";
{
const {make, set} = live;

/* Apply a function to numbers, or to each element of lists of two. */
const each = (f, ...args) => (args.some(Array.isArray)
  ? [0, 1].map((i) => f(...args.map((v) => (Array.isArray(v) ? v[i] : v))))
  : f(...args));

/* A leaf has a value and a mark; a result its formula, as text and as a function, and so its
   derivative for each box that it reads. `at` is column and row, and the row if it is another on a desk. */
const GRAPHS = [
  {
    title: "the sum",
    limits: [-99, 99, 1],
    leaves: {v1: {start: [1, 1], mark: 1, at: [0, -0.5, -1]}, v2: {start: [2, 2], mark: 0, at: [0, 0.5, 1]}},
    results: {
      v_sum: {at: [1, 0], formula: "v1 + v2", f: ({v1, v2}) => each((a, b) => a + b, v1, v2),
        slopes: {v1: ["1", () => 1], v2: ["1", () => 1]}},
      product: {at: [2, 0], formula: "v_sum * 2", f: ({v_sum}) => each((a) => a * 2, v_sum),
        slopes: {v_sum: ["2", () => 2]}},
      v_res: {at: [3, 0], formula: "product.sum()", f: ({product}) => product[0] + product[1],
        slopes: {product: ["1", () => 1]}},
    },
  },
  {
    title: "a small network",
    limits: [-9, 9, 0.1],
    leaves: {
      x: {start: 2, mark: 0, at: [0, -1]}, w1: {start: 1, mark: 1, at: [0, 0]}, b1: {start: -1, mark: 1, at: [0, 1]},
      w2: {start: 2, mark: 1, at: [2, -1, 1]}, y: {start: 1, mark: 0, at: [3, -1]},
    },
    results: {
      z: {at: [1, 0], formula: "w1 * x + b1", f: ({w1, x, b1}) => w1 * x + b1,
        slopes: {w1: ["x", ({x}) => x], x: ["w1", ({w1}) => w1], b1: ["1", () => 1]}},
      h: {at: [2, 0], formula: "tanh(z)", f: ({z}) => Math.tanh(z), slopes: {z: ["(1 - h\u00b2)", ({h}) => 1 - h * h]}},
      p: {at: [3, 0], formula: "w2 * h", f: ({w2, h}) => w2 * h,
        slopes: {w2: ["h", ({h}) => h], h: ["w2", ({w2}) => w2]}},
      loss: {at: [4, 0], formula: "(p - y)\u00b2 / 2", f: ({p, y}) => (p - y) ** 2 / 2,
        slopes: {p: ["(p - y)", ({p, y}) => p - y], y: ["(y - p)", ({p, y}) => y - p]}},
    },
  },
];

const start = {graph: 0, step: 0};
const limits = {graph: [0, GRAPHS.length - 1, 1], step: [0, 0, 1]};
for (const graph of GRAPHS) {
  const names = Object.keys({...graph.leaves, ...graph.results});
  const leaves = Object.keys(graph.leaves).length;
  const count = names.length - leaves;
  graph.boxes = names.map((name, i) => {
    const slopes = Object.entries(graph.results[name]?.slopes ?? {});
    const reads = slopes.map(([input]) => names.indexOf(input));
    return {name, leaf: i < leaves, reads, ...graph.leaves[name], ...graph.results[name], slopes};
  });
  graph.boxes.forEach((box, i) => {
    const reader = graph.boxes.findIndex(({reads}) => reads.includes(i));
    box.ready = Math.max(0, i + 1 - leaves); // the step at which it has its value,
    box.back = count + 1 + (reader < 0 ? 0 : names.length - reader); // and its derivative
  });
  graph.last = 2 * count + 1;
  limits.step[1] = Math.max(limits.step[1], graph.last);
  for (const [name, leaf] of Object.entries(graph.leaves)) {
    [start[name], start[`mark_${name}`]] = [leaf.start, leaf.mark];
    [limits[name], limits[`mark_${name}`]] = [graph.limits.slice(0, 2), [0, 1, 1]];
  }
}
const short = (v) => `${Number(v.toFixed(2))}`.replace("-", "\u2212");
const shown = (v) => (typeof v === "number" ? short(v) : `[${v.map(short).join(", ")}]`);
const named = (boxes) => boxes.map(({name}) => name).join(", ") || "none";

live.figure("graph", {
  start,
  limits,

  compute(state) {
    const {boxes, last} = GRAPHS[state.graph];
    const known = {};
    for (const {name, leaf, f} of boxes) known[name] = leaf ? state[name] : f(known);
    const cotangents = boxes.map(() => 1);
    for (const [i, {reads, slopes}] of [...boxes.entries()].reverse()) {
      reads.forEach((input, k) => { // the value gives the shape
        cotangents[input] = each((ct, slope) => ct * slope, cotangents[i], slopes[k][1][1](known), known[boxes[input].name]);
      });
    }
    const needs = [];
    for (const {leaf, name, reads} of boxes) needs.push(leaf ? state[`mark_${name}`] > 0 : reads.some((i) => needs[i]));
    const step = Math.min(state.step, last);
    const refused = step >= boxes.at(-1).back && !needs.at(-1);
    const here = boxes.findIndex(({ready}) => step > 0 && ready === (step < boxes.at(-1).back ? step : Math.min(last + 1 - step, boxes.at(-1).ready)));
    const reached = boxes.map(({back}, i) => !refused && needs[i] && step >= back);
    return {step, values: Object.values(known), cotangents, needs, refused, reached, boxes, here};
  },

  describe(state, {step, values, cotangents, needs, refused, boxes, here}) {
    const root = boxes.at(-1);
    const turn = root.back;
    if (refused) return "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn. No leaf is marked, so nothing was recorded.";
    const marked = (yes) => named(boxes.filter(({leaf}, i) => leaf && needs[i] === yes));
    if (!step) return `Parameters: ${marked(true)}. Data: ${marked(false)}.`;
    if (step === turn) return `Backward: the derivative of ${root.name} with respect to itself is 1.`;
    const {name, formula, reads, slopes} = boxes[here];
    if (step < turn) {
      const recorded = needs[here] ? "Recorded, for an input requires grad." : "Not recorded: no input requires grad.";
      return `Forward: ${name} = ${formula} is ${shown(values[here])}. ${recorded}${step === turn - 1 ? " A call of backward() comes next." : ""}`;
    }
    const sent = reads.map((i, k) => {
      const {name, leaf} = boxes[i];
      if (!needs[i]) return `${name} gets nothing: ${leaf ? "it is data" : "it requires no grad"}`;
      return `${name} gets ${shown(cotangents[here])} \u00d7 ${slopes[k][1][0]} = ${shown(cotangents[i])}, ${leaf ? "kept as its .grad" : "passed on, not kept"}`;
    });
    const said = needs[here] ? ` through ${name} = ${formula}: ${sent.join("; ")}` : `: ${name} requires no grad, and its derivative is not computed`;
    return `Backward${said}.`;
  },

  build(figure, picture, width, controls) {
    const choice = live.choice(figure, "graph", "graph", GRAPHS.map(({title}) => title), {step: 0});
    const go = (change) => figure.set({step: figure.values.step + change});
    const back = live.button("Back", () => go(-1));
    const next = live.button("Step", () => go(+!figure.values.refused));
    const parts = GRAPHS.map((graph) => [draw(figure, graph, width), fields(figure, graph)]);
    picture.append(...parts.map(([drawing]) => drawing.element));
    controls.append(
      live.row(back, next, choice.row, live.reset(figure, () => figure.set({...start, graph: figure.state.graph}))),
      ...parts.map(([, fields]) => fields.element),
    );
    return (state, values) => {
      choice.update(state);
      live.allow(back, values.step > 0);
      live.allow(next, values.step < GRAPHS[state.graph].last && !values.refused);
      parts.forEach((part, i) => part.forEach(({element, update}) => {
        element.style.display = i === state.graph ? "" : "none";
        if (i === state.graph) update(values, state);
      }));
    };
  },
});

/* For each leaf its numbers, and a box to tick. */
function fields(figure, {boxes, limits: [low, high, step]}) {
  const element = live.row();
  const updates = boxes.filter(({leaf}) => leaf).map(({name}) => {
    const one = typeof start[name] === "number";
    const list = () => [figure.state[name]].flat();
    const inputs = list().map((_, i) => make("input", {
      type: "number", step, "data-key": `${name} ${i}`, "aria-label": one ? name : `${name}[${i}]`,
      input: (event) => {
        const value = event.target.valueAsNumber;
        const note = value < low || value > high ? `Out of range: ${name} takes ${low} to ${high}. `.replaceAll("-", "\u2212") : "";
        if (Number.isFinite(value)) figure.set({[name]: one ? value : list().map((old, j) => (j === i ? value : old))}, note);
      },
      change: ({target}) => Number.isFinite(target.valueAsNumber) || figure.set({}), // no field stays empty
    }));
    const toggle = live.toggle(figure, `mark_${name}`, one ? "grad" : "requires grad", `${name} requires grad`);
    const label = make("span", {class: "live-value"}, `${name} =`);
    element.append(make("span", {class: "live-numbers"}, label, ...inputs, toggle.row));
    return (state) => {
      toggle.update(state);
      inputs.forEach((input, i) => {
        if (input.valueAsNumber !== list()[i]) input.value = list()[i];
      });
    };
  });
  return {element, update: (_, state) => updates.forEach((update) => update(state))};
}

/* A graph, from left to right; from top to bottom on a phone. */
function draw(figure, {boxes, results, last}, width) {
  const wide = width >= 560;
  const rows = boxes.map(({at}) => at[wide && at.length > 2 ? 2 : 1]);
  const [levels, lanes] = [boxes.at(-1).at[0], Math.max(...rows) - Math.min(...rows)];
  const [w, h] = wide ? [levels > 3 ? 88 : 110, 60] : [Math.min(104, width / (lanes + 1) - 8), 52];
  const [lane, apart] = wide ? [104, (width - w - 2) / levels] : [Math.min(220, (width - w - 4) / lanes), h + 56];
  const places = boxes.map(({at: [level]}, i) => (
    wide ? [1 + level * apart, 22 + (rows[i] + 1) * lane] : [(width - w) / 2 + rows[i] * lane, 22 + level * apart]));
  const program = Object.entries(results).map(([name, {formula}]) => `${name} = ${formula}`).join(", ");
  const element = make("svg:svg", {width, height: Math.max(...places.map(([, y]) => y)) + h + (wide ? 20 : 2), role: "img", "aria-label": `The graph of ${program}; its state is said below.`});

  const edges = boxes.flatMap(({ready, reads}, to) => reads.map((from) => {
    const side = Math.sign(rows[from]);
    const inside = rows[from] > 0 ? -1 : 1; // where derivatives are written
    const [[fx, fy], [tx, ty]] = [places[from], places[to]];
    const [sx, sy, ex, ey] = wide ? [fx + w, fy + h / 2, tx, ty + h / 2] : [fx + w / 2, fy + h, tx + w / 2, ty];
    const part = (way, stroke, dashes) => { // forward (-1), backward (1)
      const right = way * inside;
      const off = way < 0 ? 0 : 10; // forward from middle to middle, backward beside it
      const [dx, dy] = wide ? (side ? [-0.7 * off, -0.5 * off * side] : [0, off]) : [off * inside, 0];
      const ends = [[sx + dx, sy + dy], [ex + dx, ey + dy]];
      const group = make("svg:g");
      live.arrow(group, {stroke, "stroke-width": 1.75, "stroke-dasharray": dashes})(...(way < 0 ? ends : ends.reverse()).flat());
      const t = wide ? (side ? (way < 0 ? 0.25 : 0.6) : 0.5) : side ? 0.35 : 0.5;
      const word = make("svg:text", {
        x: sx + t * (ex - sx) + (wide ? (side ? 13 : 0) : (way < 0 ? 8 : 17) * right),
        y: sy + t * (ey - sy) + (wide ? (side ? 4 + 6 * side : way < 0 ? -7 : 25) : !side ? 5 : way < 0 ? 14 : -3),
        "text-anchor": wide ? (side ? "start" : "middle") : right < 0 ? "end" : "start", fill: stroke, class: "live-name",
      });
      group.append(word);
      element.append(group);
      return [group, word];
    };
    return {from, ready, parts: [part(-1, "var(--l-blue)", "none"), part(1, "var(--l-orange)", "5 3")]};
  }));

  const frames = boxes.map(({name, formula, leaf}, i) => {
    const [x, y] = places[i];
    const frame = make("svg:rect", {x, y, width: w, height: h, rx: leaf ? 2 : 12, class: "live-moves"});
    const word = (dy, text, attributes) => make("svg:text", {x: x + w / 2, y: y + dy, "text-anchor": "middle", ...attributes}, text);
    const small = {class: "live-small"};
    const kind = word(h / 2 + 4, formula ?? "", small);
    const value = word(h - 8, "");
    const grad = leaf ? word(-8, "", small) : wide ? word(h + 15, "", small) : word(h / 2 + 4, "", {...small, x: x + w + 8, "text-anchor": "start"});
    const press = () => figure.set(leaf ? {[`mark_${name}`]: 1 - figure.state[`mark_${name}`]} : {step: boxes[i].ready});
    element.append(make("svg:g", {class: "live-press", click: press}, frame, word(17, name, {"font-weight": 600}), kind, value), grad);
    return {frame, kind, value, grad};
  });

  const update = ({step, values, cotangents, needs, refused, reached, here}) => {
    frames.forEach(({frame, kind, value, grad}, i) => {
      const {leaf, ready} = boxes[i];
      const kept = leaf && reached[i];
      if (leaf) kind.textContent = needs[i] ? "parameter" : "data";
      value.textContent = step >= ready ? shown(values[i]) : "";
      grad.textContent = step === last && !refused ? `.grad ${kept ? shown(cotangents[i]) : "None"}` : "";
      set(frame, {
        fill: kept ? "var(--l-warm)" : step >= ready && needs[i] ? "var(--l-tint)" : "var(--l-paper)",
        stroke: i === here ? (step > boxes.at(-1).ready ? "var(--l-orange)" : "var(--l-blue)") : needs[i] ? "var(--l-ink)" : "var(--l-grey)",
        "stroke-width": i === here || (leaf && needs[i]) ? 3 : 1.3,
        "stroke-dasharray": needs[i] ? "none" : "5 3",
      });
    });
    for (const {from, ready, parts: [[forward, value], [backward, cotangent]]} of edges) {
      set(forward, {opacity: step >= ready ? 1 : 0.3});
      value.textContent = step >= ready ? shown(values[from]) : "";
      set(backward, {visibility: reached[from] ? "visible" : "hidden"});
      cotangent.textContent = reached[from] ? shown(cotangents[from]) : "";
    }
  };
  return {element, update};
}
}
