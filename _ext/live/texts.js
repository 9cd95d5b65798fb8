/* Eight texts of a batch: their rows, clipped at a bound, and what a step on the mean does to each loss. */
"use strict";
{
const {make, set, fixed} = live;
const LINES = [
  "she opened the window and looked out", "the train to the coast leaves at ten", "the rain had stopped before the noon",
  "most of the words in a text are rare", "=".repeat(36), "he bought bread, milk and two apples",
  "we keep what is small and count rows", "read this line once and then forget"];
const RULER = 4;
/* Of chapter 12's model: losses.detach(), and below the diagonal (rows @ rows.T), to four digits. */
const LOSSES = [3.279, 3.24, 3.255, 3.256, 2.949, 3.252, 3.204, 3.227];
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
  start: {bound: 11},
  limits: {bound: [1, 11, 0.1]},

  compute({bound}) {
    const weights = norms.map((norm) => Math.min(1, bound / norm) / norms.length);
    const part = (i, j) => weights[j] * PRODUCTS[Math.max(i, j)][Math.min(i, j)];
    const own = norms.map((_, i) => part(i, i));
    const gains = norms.map((_, i) => norms.reduce((sum, _, j) => sum + part(i, j), 0));
    return {norms, clipped: norms.map((norm) => Math.min(norm, bound)), own, gains};
  },

  describe(_, {own, gains}) {
    const others = fixed(gains[RULER] - own[RULER], 1);
    return `Per unit of the step size, the ruler gains ${fixed(gains[RULER], 1)}: ${fixed(own[RULER], 1)} by its own row, ${others} by the others. `
      + `A line of English gains ${fixed(english(gains), 1)} on average.`;
  },

  found: ({bound}) => (bound === 3 ? "no, a seventeenth" : ""),

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const [top, apart, high] = [50, 27, 15];
    const letters = wide ? 21 : width >= 330 ? 9 : 6;
    const size = wide ? 12.5 : 12;
    const loss = letters * size * 0.602 + (wide ? 48 : 44); // the right end of the losses
    const left = loss + (wide ? 16 : 12);
    const space = width - left - 42; // for both kinds of bars
    const unit = 0.47 * space / 11;
    const zero = left + 0.53 * space + 0.47 * space * 3.5 / 18;
    const scale = 0.47 * space / 18;
    const floor = top + LINES.length * apart;
    const svg = make("svg:svg", {width, height: floor + 26, role: "group", "aria-label": "Eight texts with their losses, the norms of their rows and a bound, and what a step brings to each, which is said below."});
    const word = (x, y, text, attributes = {}) => {
      const made = make("svg:text", {x, y, ...attributes}, text);
      svg.append(made);
      return made;
    };
    const small = {class: "live-small", style: wide ? "" : "font-size: 12px"};
    word(loss, 34, "loss", {...small, "text-anchor": "end"});
    word(left, 34, wide ? "norm of the row" : "norm", small);
    word(width, 15, wide ? "gain by a step on the mean of the rows" : "gain by a step on the mean", {"text-anchor": "end", style: small.style});
    word(zero - 2, 34, wide ? "own row" : "own", {"font-weight": 600, style: small.style});
    word(zero + (wide ? 58 : 28), 34, "+ others", small);
    word(width, 34, "sum", {"text-anchor": "end", "font-weight": 600, style: small.style});
    svg.append(make("svg:line", {x1: zero, x2: zero, y1: top - 6, y2: floor, class: "live-zero"}));
    const rows = LINES.map((line, i) => {
      const y = top + apart * i;
      const [ruler, fill] = [i === RULER, i === RULER ? "var(--l-orange)" : "var(--l-blue)"];
      const made = (attributes) => svg.appendChild(make("svg:rect", {y, height: high, rx: 2, ...attributes}));
      word(0, y + 12, line.length > letters ? `${line.slice(0, letters)}\u2026` : line, {class: "live-code", style: `font-size: ${size}px`, fill: ruler ? fill : "var(--l-ink)"});
      word(loss, y + 12, fixed(LOSSES[i], 2), {"text-anchor": "end", fill: ruler ? fill : "var(--l-ink)", "font-weight": ruler ? 600 : 400, style: small.style});
      made({x: left, width: unit * norms[i], fill, "fill-opacity": 0.25});
      const clipped = made({x: left, fill, class: "live-moves"});
      const own = made({x: zero, fill, class: "live-moves"});
      const others = made({fill: "var(--l-muted)", "fill-opacity": 0.6, class: "live-moves"});
      return {clipped, own, others, gain: word(width, y + 12, "", {"text-anchor": "end", "font-weight": 600, fill: ruler ? fill : "var(--l-ink)"})};
    });
    const near = (v) => (Math.abs(v - 3) < 0.2 ? 3 : v); // easy to keep
    const grip = make("svg:g", {class: "live-handle", style: "touch-action: pan-y", ...live.drag((x) => figure.set({bound: near((x - left) / unit)}))},
      make("svg:rect", {x: -18, y: top - 8, width: 36, height: floor - top + 34, fill: "transparent"}),
      make("svg:line", {y1: top - 6, y2: floor, stroke: "var(--l-ink)", "stroke-width": 2, "stroke-dasharray": "6 4"}),
      make("svg:circle", {cy: floor + 9, r: 10, class: "live-dot"}));
    svg.append(grip);
    const name = word(0, floor + 14, "", {class: "live-name", "pointer-events": "none"});

    const slider = live.slider(figure, "bound", "bound C", [1, 11, 0.1], 1);
    picture.append(svg);
    controls.append(live.row(live.sliders(slider), live.reset(figure)));

    return (state, {clipped, own, gains}) => {
      slider.update(state);
      rows.forEach((row, i) => {
        const others = gains[i] - own[i];
        set(row.clipped, {width: unit * clipped[i]});
        set(row.own, {width: scale * own[i]});
        set(row.others, {x: zero + scale * (others < 0 ? others : own[i]), width: scale * Math.abs(others)});
        row.gain.textContent = fixed(gains[i], 1);
      });
      set(grip, {transform: `translate(${left + unit * state.bound} 0)`});
      const aside = left + unit * state.bound - 16 > 76; // there is room before the line
      set(name, {x: left + unit * state.bound + (aside ? -16 : 16), "text-anchor": aside ? "end" : "start"});
      name.textContent = `C = ${fixed(state.bound, 1)}`;
    };
  },
});
}
