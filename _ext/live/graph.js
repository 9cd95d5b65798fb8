/* Forward and backward through a graph, box by box: values and derivatives on the edges. */
const {make, set} = live;
const graphs = programs.graphs.map((graph) => {
  const leaves = graph.start.length;
  const boxes = graph.boxes.map(([name, formula, place, ready, back, reads, slopes], i) => (
    {name, formula, place, ready, back, reads, slopes, leaf: i < leaves, mark: `mark_${name}`}));
  const root = boxes.at(-1);
  return {...graph, boxes, leaves, root, last: 2 * root.back - 1};
});
const start = {graph: 0, step: 0};
const limits = {graph: [0, graphs.length - 1, 1], step: [0, Math.max(...graphs.map(({last}) => last)), 1]};
for (const graph of graphs) {
  graph.start.forEach(([value, marked], i) => {
    const {name, mark} = graph.boxes[i];
    [start[name], start[mark]] = [value, marked];
    [limits[name], limits[mark]] = [graph.limits.slice(0, 2), [0, 1, 1]];
  });
}
const short = (v) => `${Number(v.toFixed(2))}`.replace("-", "\u2212");
const shown = (v) => (typeof v === "number" ? short(v) : `[${Array.from(v, short).join(", ")}]`);
const named = (boxes) => boxes.map(({name}) => name).join(", ") || "none";

live.figure("graph", {
  start,
  limits,

  compute(state) {
    const {name, boxes, leaves, root, last} = graphs[state.graph];
    const given = boxes.slice(0, leaves).map((box) => state[box.name]);
    const found = programs[name](...given);
    const cotangents = found.splice(boxes.length - leaves);
    const needs = [];
    for (const {leaf, mark, reads} of boxes) needs.push(leaf ? state[mark] > 0 : reads.some((i) => needs[i]));
    const step = Math.min(state.step, last);
    const refused = step >= root.back && !needs.at(-1);
    const reached = boxes.map(({back}, i) => !refused && needs[i] && step >= back);
    return {step, values: [...given, ...found], cotangents, needs, refused, reached};
  },

  describe(state, {step, values, cotangents, needs, refused}) {
    const {boxes, leaves, root, last, moral} = graphs[state.graph];
    const turn = root.back;
    if (refused) return "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn. No leaf is marked, so nothing was recorded.";
    const marked = (yes) => named(boxes.filter(({leaf}, i) => leaf && needs[i] === yes));
    if (!step) return `Parameters: ${marked(true)}. Data: ${marked(false)}.`;
    if (step === turn) return `Backward: the derivative of ${root.name} with respect to itself is 1.`;
    const here = leaves - 1 + (step < turn ? step : last + 1 - step);
    const {name, formula, reads, slopes} = boxes[here];
    if (step < turn) {
      const recorded = needs[here] ? "Recorded, for an input requires grad." : "Not recorded: no input requires grad.";
      return `Forward: ${name} = ${formula} is ${shown(values[here])}. ${recorded}${step === turn - 1 ? " A call of backward() comes next." : ""}`;
    }
    const sent = reads.map((i, k) => {
      const {name, leaf} = boxes[i];
      if (!needs[i]) return `${name} gets nothing: ${leaf ? "it is data" : "it requires no grad"}`;
      return `${name} gets ${shown(cotangents[here])} \u00d7 ${slopes[k]} = ${shown(cotangents[i])}, ${leaf ? "kept as its .grad" : "passed on, not kept"}`;
    });
    const said = needs[here] ? ` through ${name} = ${formula}: ${sent.join("; ")}` : `: ${name} requires no grad, and its derivative is not computed`;
    return `Backward${said}.${step === last ? ` ${moral}` : ""}`;
  },

  build(figure, place, width) {
    const choice = live.choice(figure, "graph", "graph", graphs.map(({title}) => title), {step: 0});
    const go = (change) => figure.set({step: figure.values.step + change});
    const back = live.button("Back", () => go(-1));
    const next = live.button("Step", () => go(+!figure.values.refused));
    const parts = graphs.map((graph) => [draw(graph, width), fields(figure, graph)]);
    const row = (...children) => make("div", {class: "live-controls"}, ...children);
    place.append(
      row(choice.row),
      ...parts.map(([drawing]) => drawing.element),
      row(back, next, live.button("Reset", () => figure.set({...start, graph: figure.state.graph}))),
      ...parts.map(([, fields]) => fields.element),
    );
    return (state, values) => {
      choice.update(state);
      live.allow(back, values.step > 0);
      live.allow(next, values.step < graphs[state.graph].last && !values.refused);
      parts.forEach((part, i) => part.forEach(({element, update}) => {
        element.style.display = i === state.graph ? "" : "none";
        if (i === state.graph) update(values, state);
      }));
    };
  },
});

/* For each leaf its numbers, and a box to tick. */
function fields(figure, {boxes, leaves, limits: [low, high, step]}) {
  const element = make("div", {class: "live-controls"});
  const updates = boxes.slice(0, leaves).map(({name, mark}) => {
    const one = typeof figure.state[name] === "number";
    const list = () => [figure.state[name]].flat();
    const inputs = list().map((_, i) => make("input", {
      type: "number", step, "data-key": `${name} ${i}`, "aria-label": one ? name : `${name}[${i}]`,
      input: (event) => {
        const value = event.target.valueAsNumber;
        const note = value < low || value > high ? `Out of range: ${name} takes ${low} to ${high}. `.replaceAll("-", "\u2212") : "";
        if (Number.isFinite(value)) figure.set({[name]: one ? value : list().map((old, j) => (j === i ? value : old))}, true, note);
      },
    }));
    const toggle = live.toggle(figure, mark, "requires grad", `${name} requires grad`);
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

/* A graph: from left to right, or from top to bottom where there is no room for that. */
function draw({boxes, leaves, root, last}, room) {
  const width = room - 4;
  const wide = width >= 560;
  const rows = boxes.map(({place: [level, row]}) => (wide || !level ? row : -Math.abs(row)));
  const low = Math.min(...rows);
  const [levels, lanes] = [root.place[0], Math.max(...rows) - low];
  const [w, h] = [Math.min(104, wide ? (0.64 * width) / (levels + 1) : width / (lanes + 1) - 8), 62];
  const pitch = wide ? (width - w) / levels : h + 56;
  const lane = wide ? 112 : Math.min(220, (width - w) / lanes);
  const places = boxes.map(({place: [level]}, i) => wide
    ? [level * pitch, (rows[i] - low) * lane]
    : [(width - w) / 2 + rows[i] * lane, 20 + level * pitch]);
  const program = boxes.slice(leaves).map(({name, formula}) => `${name} = ${formula}`).join(", ");
  const element = make("svg:svg", {
    width: room, height: (wide ? lanes * lane : levels * pitch) + 86,
    role: "img", "aria-label": `The graph of ${program}; its state is said below.`,
  });
  const drawn = make("svg:g", {transform: "translate(2 2)"});
  element.append(drawn);

  const edges = boxes.flatMap(({ready, reads}, to) => reads.map((from) => {
    const [[x0, y0], [x1, y1]] = [places[from], places[to]];
    const row = rows[from];
    const side = Math.sign(row);
    const inside = wide ? side : row > 0 ? -1 : 1; // where derivatives are written
    const [sx, sy, ex, ey] = wide
      ? [x0 + w, y0 + h / 2, x1, y1 + h / 2 + 24 * row]
      : [x0 + w / 2, y0 + h, x1 + w / 2 + 22 * side, y1];
    const part = (way, stroke, dashes) => {
      const [dx, dy] = wide ? [0, 5 * way] : [5 * way * inside, 0];
      const ends = [[sx + dx, sy + dy], [ex + dx, ey + dy]];
      const group = make("svg:g");
      live.arrow(group, {stroke, "stroke-width": 1.5, "stroke-dasharray": dashes})(...(way < 0 ? ends : ends.reverse()).flat());
      const right = way * inside;
      const t = !side || (wide && right > 0) ? 0.5 : wide ? 0.7 : 0.35;
      const beside = wide ? 5 + side * (right > 0 ? 17 : 14 * Math.abs(row) - 21) : way < 0 ? 14 : -3; // of a slope
      const straight = wide ? 6 + 17 * way : 5;
      const word = make("svg:text", {
        x: sx + t * (ex - sx) + (wide ? 5 : 12) * right,
        y: sy + t * (ey - sy) + (side ? beside : straight),
        "text-anchor": ["end", "middle", "start"][1 + right], fill: stroke, class: "live-name",
      });
      group.append(word);
      drawn.append(group);
      return [group, word];
    };
    return {from, ready, parts: [part(-1, "#0072B2", "none"), part(1, "#B34700", "5 3")]};
  }));

  const frames = boxes.map(({name, formula, leaf}, i) => {
    const [x, y] = places[i];
    const frame = make("svg:rect", {x, y, width: w, height: h, rx: leaf ? 0 : 10});
    const word = (dy, text, attributes) =>
      make("svg:text", {x: x + w / 2, y: y + dy, "text-anchor": "middle", ...attributes}, text);
    const small = {class: "live-small"};
    const kind = word(36, formula, small);
    const value = word(54, "");
    const grad = wide ? word(h + 15, "", small)
      : leaf ? word(-8, "", small) : word(36, "", {...small, x: x + w + 8, "text-anchor": "start"});
    drawn.append(frame, word(18, name, {"font-weight": 600}), kind, value, grad);
    return {frame, kind, value, grad};
  });

  const update = ({step, values, cotangents, needs, refused, reached}) => {
    frames.forEach(({frame, kind, value, grad}, i) => {
      const {leaf, ready} = boxes[i];
      const kept = leaf && reached[i];
      if (leaf) kind.textContent = needs[i] ? "parameter" : "data";
      value.textContent = step >= ready ? shown(values[i]) : "";
      grad.textContent = step === last && !refused ? `.grad ${kept ? shown(cotangents[i]) : "None"}` : "";
      set(frame, {
        fill: kept ? "#cfe3f2" : "#ffffff00",
        stroke: needs[i] ? "#22262b" : "#777",
        "stroke-width": leaf && needs[i] ? 3 : 1.3,
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
