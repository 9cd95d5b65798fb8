/* Eight texts of a batch: their rows, clipped at a bound, and what a step on the mean does to each loss. */
"use strict";
{
const {make, set, fixed} = live;
const LINES = [
  "she opened the window and looked out", "the train to the coast leaves at ten", "the rain had stopped before the noon",
  "most of the words in a text are rare", "=".repeat(36), "he bought bread, milk and two apples",
  "we keep what is small and count rows", "read this line once and then forget"];
const RULER = 4;
/* Of chapter 12's model: below the diagonal (rows @ rows.T), to four digits. */
const PRODUCTS = [
  [8.005],
  [4.635, 9.481],
  [5.355, 5.264, 7.119],
  [4.531, 6.649, 5.117, 8.841],
  [-4.798, -3.856, -4.097, -2.656, 114.9],
  [3.56, 3.67, 3.158, 3.607, -3.479, 4.624],
  [3.944, 4.495, 3.385, 4.481, -4.288, 3.178, 5.745],
  [5.265, 6.029, 5.256, 5.501, -3.885, 3.159, 4.009, 7.604],
];
const norms = PRODUCTS.map((line) => Math.sqrt(line.at(-1)));
const english = (values) => values.filter((_, i) => i !== RULER).reduce((sum, v) => sum + v, 0) / (values.length - 1);

live.figure("texts", {
  start: {bound: 11, split: 0},
  limits: {bound: [1, 11, 0.1], split: [0, 1]},

  compute({bound}) {
    const part = (i, j, most) => Math.min(1, most / norms[j]) / norms.length * PRODUCTS[Math.max(i, j)][Math.min(i, j)];
    const gain = (i, most) => norms.reduce((sum, _, j) => sum + part(i, j, most), 0);
    const all = (one) => norms.map((_, i) => one(i));
    return {norms, clipped: norms.map((norm) => Math.min(norm, bound)), own: all((i) => part(i, i, bound)), gains: all((i) => gain(i, bound)), whole: all((i) => gain(i, Infinity))};
  },

  describe(_, {own, gains}) {
    const others = fixed(gains[RULER] - own[RULER], 1);
    return `Per unit of the step size, the ruler gains ${fixed(gains[RULER], 1)}: ${fixed(own[RULER], 1)} by its own row, ${others} by the others. `
      + `A line of English gains ${fixed(english(gains), 1)} on average.`;
  },

  found: ({bound}) => (bound === 3 ? "no, a seventeenth" : ""),

  build(figure, picture, width, controls) {
    const [top, apart, high] = [30, 44, 20]; // of a text: its bar, below its words
    const unit = 0.46 * width / 11;
    const scale = (0.54 * width - 56) / 18;
    const zero = 0.46 * width + 14 + 3.5 * scale; // of the gains
    const floor = top + LINES.length * apart;
    const svg = make("svg:svg", {width, height: floor + 18, role: "group", "aria-label": "Eight texts, the norms of their rows as bars with a bound, and what a step brings to each, which is said below."});
    const word = (x, y, text, attributes = {}) => svg.appendChild(make("svg:text", {x, y, ...attributes}, text));
    word(0, 14, width < 560 ? "norm" : "norm of the row", {"font-weight": 600});
    word(width < 560 ? width : zero, 14, "gain by a step on the mean", {"font-weight": 600, "text-anchor": width < 560 ? "end" : "start"});
    const rows = LINES.map((line, i) => {
      const [y, ruler] = [top + apart * i + 18, i === RULER];
      const [fill, ink] = ruler ? ["var(--l-orange)", "var(--l-orange)"] : ["var(--l-blue)", "var(--l-ink)"];
      const bar = (x, attributes) => svg.appendChild(make("svg:rect", {x, y, height: high, rx: 2, class: "live-moves", ...attributes}));
      const ghost = {fill, "fill-opacity": 0.08, stroke: fill, "stroke-opacity": 0.6}; // what it is without the bound
      word(0, y - 6, line, {class: "live-code", style: "font-size: 12px", fill: ink});
      bar(0, {...ghost, width: unit * norms[i]});
      const clipped = bar(0, {fill});
      const whole = bar(zero, ghost);
      const [others, own] = [bar(zero, {fill: "var(--l-grey)"}), bar(zero, {fill})];
      return {clipped, whole, own, others, gain: word(0, y + 15, "", {class: "live-name", fill: ink})};
    });
    svg.append(make("svg:path", {d: rows.map((_, i) => `M${zero} ${top + apart * i + 14}v${high + 8}`).join(""), class: "live-zero", fill: "none"}));
    const near = (v) => (Math.abs(v - 3) < 0.2 ? 3 : v); // easy to keep
    const grip = make("svg:g", {class: "live-handle", style: "touch-action: pan-y", ...live.drag((x) => figure.set({bound: near(x / unit)}))},
      make("svg:rect", {x: -18, y: top, width: 36, height: floor - top + 22, fill: "transparent"}),
      make("svg:path", {d: rows.map((_, i) => `M0 ${top + apart * i + 14}v${high + 8}`).join(""), stroke: "var(--l-ink)", "stroke-width": 2.5, fill: "none"}),
      make("svg:circle", {cy: floor + 5, r: 10, class: "live-dot"}));
    svg.append(grip);
    const name = word(0, floor + 10, "", {class: "live-name", "pointer-events": "none"});

    const slider = live.slider(figure, "bound", "bound C", [1, 11, 0.1], 1);
    const split = live.toggle(figure, "split", "own row and others apart");
    picture.append(svg);
    controls.append(live.row(live.sliders(slider), split.row, live.reset(figure)));

    return (state, {clipped, own, gains, whole}) => {
      slider.update(state);
      split.update(state);
      rows.forEach((row, i) => {
        const others = state.split ? gains[i] - own[i] : 0;
        const mine = state.split ? own[i] : gains[i];
        set(row.clipped, {width: unit * clipped[i]});
        set(row.whole, {width: scale * whole[i], opacity: 1 - state.split});
        set(row.own, {width: scale * mine});
        set(row.others, {x: zero + scale * (others < 0 ? others : mine), width: scale * Math.abs(others)});
        set(row.gain, {x: zero + scale * Math.max(mine, gains[i]) + 7});
        row.gain.textContent = fixed(gains[i], 1);
      });
      set(grip, {transform: `translate(${unit * state.bound} 0)`});
      const aside = unit * state.bound - 16 > 76; // there is room before the line
      set(name, {x: unit * state.bound + (aside ? -16 : 16), "text-anchor": aside ? "end" : "start"});
      name.textContent = `C = ${fixed(state.bound, 1)}`;
    };
  },
});
}
