/* The tape of grad(td_loss), chapter 6: it is written node by node, and read from its end. */
"use strict";
{
const {make, set, fixed} = live;
const [THETA, S, S_NEXT] = [0.5, 2, 1];
const short = (v) => fixed(v, 3).replace(/\.?0+$/, "");
const sum = (parts) => parts.reduce((a, b) => a + b);

/* A primitive, as the chapter has it: what it computes, and what its rule hands to each input. */
const COMPUTE = {multiply: (x, y) => x * y, add: (x, y) => x + y, stop_gradient: (x) => x};
const RULES = {multiply: (ct, x, y) => [ct * y, ct * x], add: (ct) => [ct, ct], stop_gradient: () => []};

/* The operations of the loss, in the order in which Python runs them. */
function program(stops) {
  const after = (k) => `_${k + 2 + stops}`; // the target is after(0)
  return [
    ["multiply", "theta", "s_next"], ["add", "_1", "r"], ...(stops ? [["stop_gradient", "_2"]] : []),
    ["multiply", "theta", "s"], ["multiply", "-1.0", after(1)], ["add", after(0), after(2)],
    ["multiply", after(3), "0.5"], ["multiply", after(4), after(3)],
  ];
}
const place_of = (word) => (word === "theta" ? 0 : /^_\d+$/.test(word) ? Number(word.slice(1)) : -1); // 0 is the leaf

live.figure("tape", {
  start: {step: 1, stops: 1, reward: 2},
  limits: {step: [0, 16, 1], stops: [0, 1, 1], reward: [-3, 3]},

  compute({step, stops, reward}) {
    const known = {theta: THETA, s: S, s_next: S_NEXT, r: reward, "-1.0": -1, "0.5": 0.5};
    const nodes = program(stops).map(([name, ...words], k) => {
      const value = COMPUTE[name](...words.map((word) => known[word]));
      known[`_${k + 1}`] = value;
      return {name, words, value};
    });
    const [written, reads] = [Math.min(step, nodes.length), Math.min(step - nodes.length, nodes.length)];
    const parts = [[], ...nodes.map(() => [])]; // what each place has received; 0 is the leaf
    let handed = [];
    for (let i = 0; i < reads; i++) {
      const at = nodes.length - i;
      const {name, words} = nodes[at - 1];
      if (i === 0) parts[at].push(1);
      const found = parts[at].length ? RULES[name](sum(parts[at]), ...words.map((word) => known[word])) : [];
      handed = found.map((ct, k) => [place_of(words[k]), ct]).filter(([to]) => to >= 0);
      for (const [to, ct] of handed) parts[to].push(ct);
    }
    return {nodes, written, at: reads > 0 ? nodes.length + 1 - reads : written, reads: Math.max(0, reads), parts, handed};
  },

  describe(_, {nodes, written, at, reads, parts, handed}) {
    if (!written) return "Nothing is on the tape. theta is the leaf: no operation has made it.";
    const {name, words, value} = nodes[at - 1];
    if (!reads) {
      const last = written === nodes.length ? " It is the loss, the last node." : "";
      return `Forwards: ${name}(${words.join(", ")}) is done, and node _${at} keeps its inputs and its value, ${short(value)}.${last} No cotangent is known.`;
    }
    const called = (place) => (place ? `_${place}` : "theta");
    const gets = handed.map(([to, ct]) => `${called(to)} gets ${short(ct)}`
      + (parts[to].length > 1 ? `, and now has ${parts[to].map(short).join(" + ")} = ${short(sum(parts[to]))}` : ""));
    const end = reads === nodes.length ? ` The gradient is what theta has, ${short(sum(parts[0]))}.` : "";
    if (!parts[at].length) return `Backwards: node _${at} has no cotangent, and is passed over.${end}`;
    return `Backwards: node _${at} has the cotangent ${short(sum(parts[at]))}. ${gets.join("; ") || "Its rule hands nothing on"}.${end}`;
  },

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const [left, high, apart, top, bow] = wide ? [88, 30, 35, 26, 12] : [52, 36, 40, 2, 8];
    const [middle, right] = wide ? [left + 0.5 * (width - left), width - 12] : [left + 96, width - 8];
    const y = (k) => top + apart * k;
    const svg = make("svg:svg", {width, height: y(9), role: "img", "aria-label": "The leaf theta and the nodes of the tape, with values and cotangents; the last step is said below."});
    if (wide) [["node", left + 10, "start"], ["value", middle, "end"], ["cotangent", right, "end"]].forEach(([text, x, anchor]) => (
      svg.append(make("svg:text", {x, y: 16, "text-anchor": anchor, class: "live-small"}, text))));
    const lines = make("svg:g", {fill: "none", "stroke-linecap": "round"});
    svg.append(lines);
    const steps = () => 2 * figure.values.nodes.length;
    const rows = Array.from({length: 9}, (_, k) => {
      const word = (x, low, attributes = {}) => make("svg:text", {x, y: y(k) + low, ...attributes});
      const low = wide ? 20 : 30;
      const box = make("svg:rect", {x: left, y: y(k), width: width - left - 1, height: high, rx: 8, class: "live-moves"});
      const name = word(left + 10, wide ? 20 : 15);
      const value = word(wide ? middle : left + 10, low, wide ? {"text-anchor": "end"} : {class: "live-small"});
      const ct = word(right, low, {"text-anchor": "end", ...(wide ? {"font-weight": 600} : {class: "live-small"})});
      // a node that is pressed is written, or, if it is there, read
      const press = () => figure.set({step: k && figure.state.step !== k ? k : steps() + 1 - Math.max(1, k)});
      const group = make("svg:g", {class: "live-moves live-press", click: press}, box, name, value, ct);
      svg.append(group);
      return {group, box, name, value, ct};
    });
    const [play, walk] = [live.play(figure, "step", (step) => step + 1, steps, 1200), live.stepper(figure, "step", steps)];
    const step = live.slider(figure, "step", "step", [0, 16, 1], 0);
    const stops = live.toggle(figure, "stops", "the target is held fixed (stop_gradient)");
    const reward = live.slider(figure, "reward", "reward r", [-3, 3, 0.5], 1);
    picture.append(svg);
    controls.append(live.row(play, ...walk.buttons, live.sliders(step)), live.row(stops.row, live.sliders(reward)), live.reset(figure));

    return (state, {nodes, written, at, reads, parts, handed}) => {
      set(step.row.querySelector("input"), {max: steps()});
      step.update({step: Math.min(state.step, steps())});
      [walk, stops, reward].forEach((control) => control.update(state));
      rows.forEach(({group, box, name, value, ct}, k) => {
        const [node, mine] = [nodes[k - 1], parts[k] ?? []];
        const here = k > 0 && k === at;
        const passed = node && reads > nodes.length - k && !mine.length;
        set(group, {visibility: k <= nodes.length ? "visible" : "hidden"});
        set(name, {fill: k > written ? "var(--l-muted)" : "var(--l-ink)", "font-style": k > written ? "italic" : "normal"}); // not yet there
        set(box, {
          stroke: here ? (reads ? "var(--l-red)" : "var(--l-blue)") : "#88888899", "stroke-width": here ? 3 : 1,
          "stroke-dasharray": passed || k > written ? "5 3" : "none", fill: mine.length ? "var(--l-warm)" : k && k <= written ? "var(--l-tint)" : "#ffffff00",
        });
        name.textContent = k > nodes.length ? "" : node ? `_${k} = ${node.name}(${node.words.join(", ")})` : "theta, the leaf";
        value.textContent = k > written ? "" : short(node ? node.value : THETA);
        const added = mine.length > 1 ? `${mine.map(short).join(" + ")} = ` : "";
        ct.textContent = mine.length ? `${wide ? "" : "ct "}${added}${short(sum(mine))}` : passed ? "passed over" : "";
      });
      /* From each input to its node an arrow; the other way once a cotangent has come along it. */
      lines.replaceChildren(...nodes.slice(0, written).flatMap(({words, name}, i) => words.map(place_of).filter((to) => to >= 0).map((to) => {
        const [from, end, out] = [y(i + 1) + high / 2 - 5, y(to) + high / 2 + 5, left - 8 - bow * Math.min(5, i + 1 - to)];
        const used = reads > nodes.length - i - 1 && parts[i + 1].length && name !== "stop_gradient";
        const fresh = i + 1 === at && (used || !reads);
        const tip = used ? end : from;
        return make("svg:path", {
          d: `M${left - 2} ${from}C${out - 6} ${from} ${out - 6} ${end} ${left - 2} ${end}M${left - 8} ${tip - 4}L${left - 2} ${tip}L${left - 8} ${tip + 4}`,
          stroke: used ? "var(--l-red)" : "var(--l-blue)", "stroke-width": fresh ? 3.5 : 1.75,
        });
      })));
    };
  },
});
}
