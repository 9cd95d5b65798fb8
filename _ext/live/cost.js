/* The norms of one layer's rows: what three ways to them take, at each number of positions. */
"use strict";
{
const {make, set, fixed} = live;
const [MOST, NARROW, BATCH, DECADES] = [1024, 8, 256, 10];
const WAYS = [["all rows", "var(--l-orange)", "none"], ["row by row", "var(--l-blue)", "7 6"], ["no rows", "var(--l-green)", "none"]];

/* Multiplications for one sample, and the numbers that the products write for a batch. */
const products = (T, m, d) => [T * m * d, T * m * d, T * T * (m + d)];
const numbers = (T, m, d, B) => [B * m * d, m * d, 2 * B * T * T];

function short(n) {
  const [unit, word] = n < 1e6 ? [1, ""] : n < 1e9 ? [1e6, " million"] : [1e9, " billion"];
  return `${(n / unit).toLocaleString("en", {maximumSignificantDigits: unit > 1 ? 3 : 6})}${word}`;
}

/* The ways that take least, in words. */
function least(taken) {
  const best = WAYS.map(([name]) => name).filter((_, i) => taken[i] === Math.min(...taken));
  return best.join(" or ");
}

live.figure("cost", {
  start: {positions: 64, inputs: 784, outputs: 256, batch: 256},
  limits: {positions: [1, MOST, 1], inputs: [NARROW, MOST, 1], outputs: [NARROW, MOST, 1], batch: [1, BATCH, 1]},

  compute({positions: T, inputs: d, outputs: m, batch: B}) {
    return {products: products(T, m, d), numbers: numbers(T, m, d, B)};
  },

  describe({positions}, {products: [row, , without], numbers}) {
    return `At ${positions} position${positions > 1 ? "s" : ""}, a norm takes ${short(row)} multiplications with its row, ${short(without)} without. `
      + `Fewest: ${least([row, row, without])}. Least memory: ${least(numbers)}, ${short(Math.min(...numbers))} numbers.`;
  },

  found: (_, {products: [row, , without]}) => (row < without ? "from the crossing on" : ""),

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const [high, left, top] = [wide ? 190 : 98, 34, wide ? 50 : 44];
    const across = wide ? (width - 2 * left - 30) / 2 : width - left - 12;
    const panels = ["multiplications, one sample", "numbers in memory, whole batch"].map((title, k) => {
      return {title, x0: left + (wide ? k * (across + left + 18) : 0), y0: top + (wide ? 0 : k * (high + 28))};
    });
    const floor = panels[1].y0 + high;
    const svg = make("svg:svg", {width, height: floor + 36, role: "img", "aria-label": "Two diagrams over the number of positions: multiplications, and numbers in memory, of three ways to the norms of a layer's rows; what they take is said below."});
    const word = (x, y, text, attributes = {}) => svg.append(make("svg:text", {x, y, class: "live-small", ...attributes}, text));
    WAYS.forEach(([name, stroke, dashes], i) => {
      const [x, y] = wide ? [left + [0, 120, 260][i], 12] : [[0, 91, 200][i], 10];
      svg.append(make("svg:path", {d: `M${x} ${y}h20`, stroke, "stroke-width": 3, "stroke-dasharray": dashes}));
      word(x + 25, y + 5, name, {class: "live-name", fill: stroke});
    });

    const right = (T) => across * Math.log2(T) / Math.log2(MOST);
    const drawn = panels.map(({title, x0, y0}, k) => {
      const at = (T, n) => `${x0 + right(T)} ${y0 + high - high * Math.log10(n) / DECADES}`;
      for (const n of [0, 3, 6, 9]) {
        const y = y0 + high - high * n / DECADES;
        svg.append(make("svg:line", {x1: x0, x2: x0 + across, y1: y, y2: y, class: n ? "live-grid" : "live-zero"}));
        word(x0 - 6, y + 4, ["1", "10\u00b3", "10\u2076", "10\u2079"][n / 3], {"text-anchor": "end"});
      }
      word(x0 - (wide ? 0 : left - 2), y0 - 6, title);
      if (wide || k) {
        for (const T of [1, 8, 64, MOST]) word(x0 + right(T), floor + 17, `${T}`, {"text-anchor": T === MOST ? "end" : "middle"});
        word(x0 + across / 2, floor + 33, "positions T", {"text-anchor": "middle"});
      }
      const lines = WAYS.map(([, stroke, dashes]) => make("svg:path", {stroke, fill: "none", "stroke-width": 2.5, "stroke-dasharray": dashes, class: "live-moves"}));
      const grip = make("svg:g", {class: "live-handle", style: "touch-action: pan-y", ...live.drag((x) => figure.set({positions: MOST ** ((x - x0) / across)}))},
        make("svg:rect", {x: -18, y: y0, width: 36, height: high, fill: "transparent"}),
        make("svg:line", {y1: y0, y2: y0 + high, stroke: "var(--l-ink)", "stroke-width": 1.5}),
        make("svg:rect", {x: -4, y: y0 + high - 20, width: 8, height: 18, rx: 4, class: "live-dot"}));
      const dots = WAYS.map(([, stroke]) => make("svg:circle", {stroke, "stroke-width": 2.5, class: "live-moves", "pointer-events": "none"}));
      svg.append(...lines, grip, ...dots);
      return {at, lines, grip, dots, x0, taken: k ? numbers : products};
    });

    /* Sliders that multiply, as the axes do: by two, or for wide layers by its root. */
    const doublings = (key, label, [low, most]) => {
      const slider = live.slider({id: figure.id, set: (to) => figure.set({[key]: 2 ** to[key]})}, key, label, [Math.log2(low), Math.log2(most), low > 1 ? 0.5 : 1], 0);
      const [, input, output] = slider.row.children;
      return {row: slider.row, update(state) {
        slider.update({[key]: Math.log2(state[key])});
        input.ariaValueText = output.textContent = state[key];
      }};
    };
    const sliders = [["positions", "positions T"], ["inputs", "inputs d"], ["outputs", "outputs m"], ["batch", "batch B"]].map(([key, label]) => doublings(key, label, figure.limits[key]));
    picture.append(svg);
    controls.append(live.sliders(...sliders), live.reset(figure));

    return (state, values) => {
      sliders.forEach((slider) => slider.update(state));
      const {positions: T, inputs: d, outputs: m, batch: B} = state;
      drawn.forEach(({at, lines, grip, dots, x0, taken}, k) => {
        const [from, to] = [taken(1, m, d, B), taken(MOST, m, d, B)];
        lines.forEach((line, i) => set(line, {d: `M${at(1, from[i])}L${at(MOST, to[i])}`}));
        set(grip, {transform: `translate(${x0 + right(T)} 0)`});
        const now = k ? values.numbers : values.products;
        dots.forEach((dot, i) => {
          const [cx, cy] = at(T, now[i]).split(" ");
          const first = now[i] === Math.min(...now);
          set(dot, {cx, cy, r: first ? 6 : 4, fill: first ? WAYS[i][1] : "var(--l-paper)"});
        });
      });
    };
  },
});
}
