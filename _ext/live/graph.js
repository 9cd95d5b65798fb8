/* Forward and backward through a graph, box by box: in each box its value, its derivative and its .grad. */
"use strict";
{
const {make, set} = live;
const [BLUE, ORANGE, GREY] = ["var(--l-blue)", "var(--l-orange)", "var(--l-grey)"];

/* Apply a function to numbers, or to each element of lists of two. */
const each = (f, ...args) => (args.some(Array.isArray) ? [0, 1].map((i) => f(...args.map((v) => (Array.isArray(v) ? v[i] : v)))) : f(...args));

/* Where the boxes lie, line by line, on a desk and on a phone. First the leaves, each with a value and a mark. A result has
   its formula, as text and as a function, and so its derivative for each box that it reads. Each box is read once. */
const GRAPHS = [{
  title: "sum", limits: [-99, 99], width: 130,
  desk: ["v1 v_sum product v_res", ". v2"], phone: ["v1", "v_sum v2", "product", "v_res"],
  boxes: {
    v1: {value: [1, 1], mark: 1}, v2: {value: [2, 2], mark: 0},
    v_sum: {formula: "v1 + v2", f: ({v1, v2}) => each((a, b) => a + b, v1, v2), slopes: {v1: ["1", () => 1], v2: ["1", () => 1]}},
    product: {formula: "v_sum * 2", f: ({v_sum}) => each((a) => a * 2, v_sum), slopes: {v_sum: ["2", () => 2]}},
    v_res: {formula: "product.sum()", f: ({product: [a, b]}) => a + b, slopes: {product: ["1", () => 1]}},
  },
}, {
  title: "small network", limits: [-9, 9], width: 98,
  desk: [". x . . y", "w1 z h p loss", ". b1 . w2"], phone: [". w1", "x z b1", ". h y", "w2 p loss"],
  boxes: {
    x: {value: 2, mark: 0}, w1: {value: 1, mark: 1}, b1: {value: -1, mark: 1}, w2: {value: 2, mark: 1}, y: {value: 1, mark: 0},
    z: {formula: "w1 * x + b1", f: ({w1, x, b1}) => w1 * x + b1, slopes: {w1: ["x", ({x}) => x], x: ["w1", ({w1}) => w1], b1: ["1", () => 1]}},
    h: {formula: "tanh(z)", f: ({z}) => Math.tanh(z), slopes: {z: ["(1 - h\u00b2)", ({h}) => 1 - h * h]}},
    p: {formula: "w2 * h", f: ({w2, h}) => w2 * h, slopes: {w2: ["h", ({h}) => h], h: ["w2", ({w2}) => w2]}},
    loss: {formula: "(p - y)\u00b2 / 2", f: ({p, y}) => (p - y) ** 2 / 2,
      slopes: {p: ["(p - y)", ({p, y}) => p - y], y: ["(y - p)", ({p, y}) => y - p]}},
  },
}];

const start = {graph: 0, step: 0};
const limits = {graph: [0, GRAPHS.length - 1, 1], step: [0, 9, 1]};
for (const graph of GRAPHS) {
  graph.names = Object.keys(graph.boxes);
  graph.leaves = graph.names.filter((name) => !graph.boxes[name].formula);
  graph.turn = graph.names.length - graph.leaves.length + 1; // the step between forward and backward
  for (const name of graph.leaves) {
    [start[name], start[`mark_${name}`]] = [graph.boxes[name].value, graph.boxes[name].mark];
    [limits[name], limits[`mark_${name}`]] = [graph.limits, [0, 1, 1]];
  }
}
const short = (v) => `${Number(v.toFixed(2))}`.replace("-", "\u2212");
const shown = (v) => (typeof v === "number" ? short(v) : `[${v.map(short).join(", ")}]`);

live.figure("graph", {
  start, limits,

  compute(state) {
    const {boxes, names, leaves, turn} = GRAPHS[state.graph];
    const end = names.at(-1);
    const [values, needs, cotangents, reached] = [{}, {}, {[end]: 1}, {}];
    for (const [name, {f, slopes}] of Object.entries(boxes)) {
      values[name] = f ? f(values) : state[name];
      needs[name] = f ? Object.keys(slopes).some((input) => needs[input]) : state[`mark_${name}`] > 0;
    }
    const step = Math.min(state.step, 2 * turn - 1);
    const here = step && names[step < turn ? leaves.length + step - 1 : names.length - Math.max(1, step - turn)];
    const refused = step >= turn && !needs[end];
    reached[end] = needs[end] && step >= turn;
    names.toReversed().forEach((name, k) => Object.entries(boxes[name].slopes ?? {}).forEach(([input, [, slope]]) => {
      cotangents[input] = each((ct, slope) => ct * slope, cotangents[name], slope(values), values[input]); // the value gives the shape
      reached[input] = needs[input] && step - turn > k;
    }));
    return {step, last: refused ? step : 2 * turn - 1, here, values, needs, cotangents, reached, refused, boxes};
  },

  describe(state, {step, here, values, needs, cotangents, refused, boxes}) {
    if (refused) return "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn. No leaf is marked, so nothing was recorded.";
    const {leaves, turn} = GRAPHS[state.graph];
    const marked = (yes) => leaves.filter((name) => needs[name] === yes).join(", ") || "none";
    if (!step) return `Parameters: ${marked(true)}. Data: ${marked(false)}.`;
    const {formula, slopes} = boxes[here];
    const recorded = needs[here] ? "Recorded, for an input requires grad." : "Not recorded: no input requires grad.";
    const next = step === turn - 1 ? " A call of backward() comes next." : "";
    if (step < turn) return `Forward: ${here} = ${formula} is ${shown(values[here])}. ${recorded}${next}`;
    if (step === turn) return `Backward: the derivative of ${here} with respect to itself is 1.`;
    if (!needs[here]) return `Backward: ${here} requires no grad, and its derivative is not computed.`;
    const sent = Object.entries(slopes).map(([input, [slope]]) => {
      const [data, kept] = input in start ? ["it is data", "kept as its .grad"] : ["it requires no grad", "passed on, not kept"];
      return `${input} gets ${needs[input] ? `${shown(cotangents[here])} \u00d7 ${slope} = ${shown(cotangents[input])}, ${kept}` : `nothing: ${data}`}`;
    });
    return `Backward through ${here} = ${formula}: ${sent.join("; ")}.`;
  },

  found: (_, {step, last, refused}) => (step === last && !refused ? "marked leaves alone" : ""),

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const choice = live.choice(figure, "graph", "graph", GRAPHS.map(({title}) => title), {step: 0});
    const steps = live.stepper(figure, "step", () => figure.values.last, {class: "live-play"});
    const marks = GRAPHS.map(({leaves}) => leaves.map((name) => live.toggle(figure, `mark_${name}`, name, `${name} requires grad`)));
    const rows = marks.map((all) => live.row("requires grad:", ...all.map(({row}) => row)));
    const svg = make("svg:svg", {width, role: "img", "aria-label": "The graph; its state is said below."});
    picture.append(svg, live.row(...steps.buttons, ...(wide ? [choice.row] : []), live.reset(figure, () => figure.set({...start, graph: figure.state.graph}))));
    controls.append(...(wide ? rows : [choice.row, ...rows]));
    let drawn = {};

    return (state, values) => {
      if (drawn === values) return; // or a box would be gone between press and click
      drawn = values;
      [choice, steps, ...marks.flat()].forEach(({update}) => update(state));
      rows.forEach((row, i) => (row.style.display = i === state.graph ? "" : "none"));

      const {step, here, needs, cotangents, reached, boxes} = values;
      const {names, leaves, turn, desk, phone, width: most} = GRAPHS[state.graph];
      const lines = (wide ? desk : phone).map((line) => line.split(" "));
      const columns = Math.max(...lines.map((line) => line.length));
      const [w, h, down] = [wide ? most : Math.min(most, width / columns - 20), 64, wide ? 102 : 84];
      const across = Math.min(wide ? width : w + 40, (width - w - 4) / (columns - 1));
      const middle = (name) => {
        const line = lines.findIndex((one) => one.includes(name));
        return [width / 2 + (lines[line].indexOf(name) - (columns - 1) / 2) * across, h / 2 + 2 + line * down];
      };
      set(svg, {height: h + 4 + (lines.length - 1) * down}).replaceChildren();
      names.forEach((name, i) => {
        const {formula, slopes = {}} = boxes[name];
        const [x, y] = middle(name);
        const [known, recorded, sent, kept] = [i < leaves.length + step, needs[name], reached[name], !formula && reached[name]];
        for (const input of Object.keys(slopes)) { // two arrows side by side, there and back
          const [fx, fy] = middle(input);
          const [dx, dy] = [Math.sign(x - fx), Math.sign(y - fy)];
          const ends = (off) => [[fx + dx * w / 2 - dy * off, fy + dy * h / 2 + dx * off], [x - dx * w / 2 - dy * off, y - dy * h / 2 + dx * off]];
          live.arrow(svg, {stroke: known ? BLUE : GREY, "stroke-width": 1.75})(...ends(reached[input] ? -6 : 0).flat());
          if (reached[input]) live.arrow(svg, {stroke: ORANGE, "stroke-width": 1.75, "stroke-dasharray": "5 3"})(...ends(6).reverse().flat());
        }
        const word = (text, dx, dy, attributes) => (
          make("svg:text", {x: x + dx, y: y + dy, "text-anchor": "middle", style: "font-size: 13px", ...attributes}, text));
        const number = (v, dx, anchor, colour) => (
          word(shown(v), dx, 11, {"text-anchor": anchor, "font-weight": 600, fill: `color-mix(in srgb, ${colour} 75%, var(--l-ink))`}));
        const frame = make("svg:rect", {
          x: x - w / 2, y: y - h / 2, width: w, height: h, rx: formula ? 12 : 2,
          fill: kept ? "var(--l-warm)" : known && recorded ? "var(--l-tint)" : "var(--l-paper)",
          stroke: name === here ? (step < turn ? BLUE : ORANGE) : recorded ? "var(--l-ink)" : GREY,
          "stroke-width": name === here || (!formula && recorded) ? 3 : 1.3,
          "stroke-dasharray": recorded ? "none" : "5 3",
        });
        const click = () => figure.set(formula ? {step: i + 1 - leaves.length} : {[`mark_${name}`]: Number(!recorded)});
        svg.append(make("svg:g", {class: "live-press", click}, frame, word(name, 0, -18, {"font-weight": 600}),
          word(formula ?? (recorded ? "parameter" : "data"), 0, -4, {class: "live-small"}),
          known ? number(values.values[name], sent ? 7 - w / 2 : 0, sent ? "start" : "middle", BLUE) : "",
          sent ? number(cotangents[name], w / 2 - 7, "end", ORANGE) : "",
          word(`.grad ${kept ? shown(cotangents[name]) : "None"}`, 0, 26, {class: "live-small"})));
      });
    };
  },
});
}
