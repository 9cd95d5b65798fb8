/* Forward and backward through a graph, box by box: in each box its value, its derivative and its .grad. */
"use strict";
{
const {make, set} = live;
const COLOURS = ["var(--l-blue)", "var(--l-orange)"].map((colour) => [colour, `color-mix(in srgb, ${colour} 75%, var(--l-ink))`]); // of lines, of text

/* Apply a function to numbers, or to each element of lists of two. */
const each = (f, ...args) => (args.some(Array.isArray) ? [0, 1].map((i) => f(...args.map((v) => (Array.isArray(v) ? v[i] : v)))) : f(...args));

/* A leaf has a value and a mark; a result its formula, as text and as a function, and so its derivative for
   each box that it reads. Each box is read once. `at` is column and row, which change places on a phone, if it has no `phone` of its own. */
const GRAPHS = [
  {
    title: "sum",
    limits: [-99, 99, 1],
    width: 130,
    leaves: {v1: {start: [1, 1], mark: 1, at: [0, 0]}, v2: {start: [2, 2], mark: 0, at: [1, 1]}},
    results: {
      v_sum: {at: [1, 0], formula: "v1 + v2", f: ({v1, v2}) => each((a, b) => a + b, v1, v2), slopes: {v1: ["1", () => 1], v2: ["1", () => 1]}},
      product: {at: [2, 0], formula: "v_sum * 2", f: ({v_sum}) => each((a) => a * 2, v_sum), slopes: {v_sum: ["2", () => 2]}},
      v_res: {at: [3, 0], formula: "product.sum()", f: ({product}) => product[0] + product[1], slopes: {product: ["1", () => 1]}},
    },
  },
  {
    title: "small network",
    limits: [-9, 9, 0.1],
    width: 98,
    leaves: {
      x: {start: 2, mark: 0, at: [1, -1]}, w1: {start: 1, mark: 1, at: [0, 0]}, b1: {start: -1, mark: 1, at: [1, 1]},
      w2: {start: 2, mark: 1, at: [3, 1], phone: [3, -1]}, y: {start: 1, mark: 0, at: [4, -1], phone: [2, 1]},
    },
    results: {
      z: {at: [1, 0], formula: "w1 * x + b1", f: ({w1, x, b1}) => w1 * x + b1,
        slopes: {w1: ["x", ({x}) => x], x: ["w1", ({w1}) => w1], b1: ["1", () => 1]}},
      h: {at: [2, 0], formula: "tanh(z)", f: ({z}) => Math.tanh(z), slopes: {z: ["(1 - h\u00b2)", ({h}) => 1 - h * h]}},
      p: {at: [3, 0], formula: "w2 * h", f: ({w2, h}) => w2 * h, slopes: {w2: ["h", ({h}) => h], h: ["w2", ({w2}) => w2]}},
      loss: {at: [4, 0], phone: [3, 1], formula: "(p - y)\u00b2 / 2", f: ({p, y}) => (p - y) ** 2 / 2,
        slopes: {p: ["(p - y)", ({p, y}) => p - y], y: ["(y - p)", ({p, y}) => y - p]}},
    },
  },
];

const start = {graph: 0, step: 0};
const limits = {graph: [0, GRAPHS.length - 1, 1], step: [0, 9, 1]};
for (const graph of GRAPHS) {
  const leaves = Object.keys(graph.leaves).length;
  const all = Object.entries({...graph.leaves, ...graph.results});
  graph.turn = all.length - leaves + 1; // the step between forward and backward
  graph.last = 2 * graph.turn - 1;
  graph.boxes = all.map(([name, {slopes = {}, ...box}], i) => {
    const reader = all.findIndex(([, other]) => name in (other.slopes ?? {}));
    const reads = Object.keys(slopes).map((input) => all.findIndex(([other]) => other === input));
    return {name, ...box, leaf: i < leaves, reads, slopes: Object.entries(slopes),
      ready: Math.max(0, i + 1 - leaves), back: graph.turn + (reader < 0 ? 0 : all.length - reader)}; // the steps of its value and derivative
  });
  for (const [name, leaf] of Object.entries(graph.leaves)) {
    [start[name], start[`mark_${name}`]] = [leaf.start, leaf.mark];
    [limits[name], limits[`mark_${name}`]] = [graph.limits.slice(0, 2), [0, 1, 1]];
  }
}
const short = (v) => `${Number(v.toFixed(2))}`.replace("-", "\u2212");
const shown = (v) => (typeof v === "number" ? short(v) : `[${v.map(short).join(", ")}]`);

live.figure("graph", {
  start,
  limits,

  compute(state) {
    const {boxes, last, turn} = GRAPHS[state.graph];
    const [known, needs, cotangents] = [{}, [], boxes.map(() => 1)];
    for (const {leaf, name, reads, f} of boxes) {
      known[name] = leaf ? state[name] : f(known);
      needs.push(leaf ? state[`mark_${name}`] > 0 : reads.some((i) => needs[i]));
    }
    boxes.toReversed().forEach(({reads, slopes}, k) => reads.forEach((input, j) => { // the value gives the shape
      cotangents[input] = each((ct, slope) => ct * slope, cotangents[boxes.length - 1 - k], slopes[j][1][1](known), known[boxes[input].name]);
    }));
    const step = Math.min(state.step, last);
    const refused = step >= turn && !needs.at(-1);
    const here = boxes.findIndex(({ready}) => step > 0 && ready === (step < turn ? step : Math.min(last + 1 - step, turn - 1)));
    const reached = boxes.map(({back}, i) => !refused && needs[i] && step >= back);
    return {step, values: Object.values(known), cotangents, needs, refused, reached, boxes, here};
  },

  describe(state, {step, values, cotangents, needs, refused, boxes, here}) {
    const {turn} = GRAPHS[state.graph];
    if (refused) return "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn. No leaf is marked, so nothing was recorded.";
    const marked = (yes) => boxes.filter(({leaf}, i) => leaf && needs[i] === yes).map(({name}) => name).join(", ") || "none";
    if (!step) return `Parameters: ${marked(true)}. Data: ${marked(false)}.`;
    const {name, formula, reads, slopes} = boxes[here];
    if (step === turn) return `Backward: the derivative of ${name} with respect to itself is 1.`;
    if (step < turn) {
      const recorded = needs[here] ? "Recorded, for an input requires grad." : "Not recorded: no input requires grad.";
      return `Forward: ${name} = ${formula} is ${shown(values[here])}. ${recorded}${step === turn - 1 ? " A call of backward() comes next." : ""}`;
    }
    if (!needs[here]) return `Backward: ${name} requires no grad, and its derivative is not computed.`;
    const sent = reads.map((i, k) => {
      const {name, leaf} = boxes[i];
      if (!needs[i]) return `${name} gets nothing: ${leaf ? "it is data" : "it requires no grad"}`;
      return `${name} gets ${shown(cotangents[here])} \u00d7 ${slopes[k][1][0]} = ${shown(cotangents[i])}, ${leaf ? "kept as its .grad" : "passed on, not kept"}`;
    });
    return `Backward through ${name} = ${formula}: ${sent.join("; ")}.`;
  },

  found: ({graph}, {step, refused}) => (step === GRAPHS[graph].last && !refused ? "marked leaves alone" : ""),

  build(figure, picture, width, controls) {
    const choice = live.choice(figure, "graph", "graph", GRAPHS.map(({title}) => title), {step: 0});
    const go = (change) => figure.set({step: figure.values.step + change});
    const [back, next] = [live.button("Back", () => go(-1)), live.button("Step", () => go(+!figure.values.refused), {class: "live-play"})];
    const parts = GRAPHS.map((graph) => [draw(figure, graph, width), fields(figure, graph)]);
    picture.append(...parts.map(([drawing]) => drawing.element), live.row(back, next, choice.row, live.reset(figure, () => figure.set({...start, graph: figure.state.graph}))));
    controls.append(...parts.map(([, one]) => one.element));
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
  const updates = boxes.filter(({leaf}) => leaf).map(({name}) => {
    const one = typeof start[name] === "number";
    const list = () => [figure.state[name]].flat();
    const inputs = list().map((_, i) => make("input", {
      type: "number", step, "data-key": `${name} ${i}`, "aria-label": one ? name : `${name}[${i}]`,
      input: ({target: {valueAsNumber: value}}) => {
        const note = value < low || value > high ? `Out of range: ${name} takes ${low} to ${high}. `.replaceAll("-", "\u2212") : "";
        if (Number.isFinite(value)) figure.set({[name]: one ? value : list().map((old, j) => (j === i ? value : old))}, note);
      },
      change: ({target}) => Number.isFinite(target.valueAsNumber) || figure.set({}), // no field stays empty
    }));
    const toggle = live.toggle(figure, `mark_${name}`, one ? "grad" : "requires grad", `${name} requires grad`);
    const update = (state) => {
      toggle.update(state);
      inputs.forEach((input, i) => input.valueAsNumber === list()[i] || (input.value = list()[i]));
    };
    return {update, element: make("span", {class: "live-numbers"}, make("span", {class: "live-value"}, `${name} =`), ...inputs, toggle.row)};
  });
  return {element: live.row(...updates.map(({element}) => element)), update: (_, state) => updates.forEach(({update}) => update(state))};
}

/* A graph, from left to right; from top to bottom on a phone. */
function draw(figure, {boxes, results, turn, width: most}, width) {
  const wide = width >= 560;
  const places = boxes.map(({at, phone = at}) => (wide ? at : phone));
  const [rows, levels] = [places.map(([, row]) => row), Math.max(...places.map(([level]) => level))];
  const lanes = Math.max(...rows) - Math.min(...rows);
  const [w, h] = [Math.min(most, wide ? width : width / (lanes + 1) - 20), 64];
  const [along, across] = wide ? [(width - w - 4) / levels, h + 38] : [h + 20, Math.min(w + 40, (width - w - 4) / lanes)];
  const first = wide ? h / 2 + 2 : (width - lanes * across) / 2;
  const middles = places.map(([level], i) => {
    const [far, off] = [level * along + (wide ? w : h) / 2 + 2, first + (rows[i] - Math.min(...rows)) * across];
    return wide ? [far, off] : [off, far];
  });
  const program = Object.entries(results).map(([name, {formula}]) => `${name} = ${formula}`).join(", ");
  const height = Math.max(...middles.map(([, y]) => y)) + h / 2 + 2;
  const element = make("svg:svg", {width, height, role: "img", "aria-label": `The graph of ${program}; its state is said below.`});

  const edges = boxes.flatMap(({ready, reads}, to) => reads.map((from) => { // side by side, there and back
    const [[fx, fy], [tx, ty]] = [middles[from], middles[to]];
    const [dx, dy] = [Math.sign(tx - fx), Math.sign(ty - fy)];
    const parts = [-6, 6].map((off, way) => {
      const ends = [[fx + dx * w / 2 - dy * off, fy + dy * h / 2 + dx * off], [tx - dx * w / 2 - dy * off, ty - dy * h / 2 + dx * off]];
      const group = make("svg:g");
      live.arrow(group, {stroke: COLOURS[way][0], "stroke-width": 1.75, "stroke-dasharray": way ? "5 3" : "none"})(...(way ? ends.reverse() : ends).flat());
      element.append(group);
      return group;
    });
    return {from, ready, parts};
  }));

  const frames = boxes.map(({name, formula = "", leaf, ready}, i) => {
    const [x, y] = middles[i];
    const frame = make("svg:rect", {x: x - w / 2, y: y - h / 2, width: w, height: h, rx: leaf ? 2 : 12, class: "live-moves"});
    const word = (across, down, text, attributes = {}) => make("svg:text", {x: x + across, y: y + down, "text-anchor": "middle", style: "font-size: 13px", ...attributes}, text);
    const [kind, grad] = [-4, 26].map((down, k) => word(0, down, k ? "" : formula, {class: "live-small"}));
    const numbers = COLOURS.map(([, fill], k) => word(k * (w / 2 - 7), 11, "", {"text-anchor": k ? "end" : "middle", "font-weight": 600, fill}));
    const press = () => figure.set(leaf ? {[`mark_${name}`]: 1 - figure.state[`mark_${name}`]} : {step: ready});
    element.append(make("svg:g", {class: "live-press", click: press}, frame, word(0, -18, name, {"font-weight": 600}), kind, ...numbers, grad));
    const aside = (yes) => set(numbers[0], {x: yes ? x - w / 2 + 7 : x, "text-anchor": yes ? "start" : "middle"});
    return {frame, kind, numbers, grad, aside};
  });

  const update = ({step, values, cotangents, needs, reached, here}) => {
    frames.forEach(({frame, kind, numbers: [value, cotangent], grad, aside}, i) => {
      const {leaf, ready} = boxes[i];
      const kept = leaf && reached[i];
      if (leaf) kind.textContent = needs[i] ? "parameter" : "data";
      value.textContent = step >= ready ? shown(values[i]) : "";
      aside(reached[i]);
      cotangent.textContent = reached[i] ? shown(cotangents[i]) : "";
      grad.textContent = `.grad ${kept ? shown(cotangents[i]) : "None"}`;
      set(frame, {
        fill: kept ? "var(--l-warm)" : step >= ready && needs[i] ? "var(--l-tint)" : "var(--l-paper)",
        stroke: i === here ? COLOURS[Number(step >= turn)][0] : needs[i] ? "var(--l-ink)" : "var(--l-grey)",
        "stroke-width": i === here || (leaf && needs[i]) ? 3 : 1.3,
        "stroke-dasharray": needs[i] ? "none" : "5 3",
      });
    });
    for (const {from, ready, parts: [forward, backward]} of edges) {
      set(forward, {opacity: step >= ready ? 1 : 0.3});
      set(backward, {visibility: reached[from] ? "visible" : "hidden"});
    }
  };
  return {element, update};
}
}
