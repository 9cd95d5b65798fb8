/* Two answers of one training step: the weight of each token, credit over divisor. */
"use strict";
{
const {make, set, fixed} = live;
const MOST = 8; // tokens that an answer may have
const DIVISORS = ["own tokens", "all tokens", "constant"];

live.figure("divisor", {
  start: {first: 2, second: 8, credit1: -0.5, credit2: -0.5, by: 0},
  limits: {first: [1, MOST, 1], second: [1, MOST, 1], credit1: [-1, 1], credit2: [-1, 1], by: [0, 2, 1]},

  compute({first, second, credit1, credit2, by}) {
    const lengths = [first, second];
    const divided = (by) => lengths.map((n) => [2 * n, first + second, 2 * MOST][by]);
    const tokens = (all) => [credit1, credit2].flatMap((credit, k) => {
      return Array.from({length: MOST}, (_, i) => (i < lengths[k] ? credit / all[k] : 0));
    });
    return {weights: tokens(divided(by)), divisors: divided(by), most: Math.max(...[0, 1, 2].flatMap((by) => tokens(divided(by)).map(Math.abs)))};
  },

  describe({first, second}, {weights, divisors: [a, b]}) {
    const each = [weights[0], weights[MOST]].map((w) => (w < 0 ? `charged ${fixed(-w, 3)}` : `paid ${fixed(w, 3)}`));
    const times = fixed(Math.max(a, b) / Math.min(a, b), 2).replace(/\.?0+$/, "");
    const compared = a === b
      ? `With equal credits, all tokens weigh the same${first === second ? "" : ", at any length"}.`
      : `With equal credits, a token of the shorter answer weighs ${times} times as much.`;
    return `A token of answer 1 is ${each[0]}, one of answer 2 ${each[1]}. ${compared}`;
  },

  found: ({by, first, second, credit1, credit2}) => (by && first !== second && credit1 < 0 && credit1 === credit2 ? "not with this divisor" : ""),

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const [left, top, high] = [wide ? 110 : 44, 42, wide ? 78 : 70];
    const [zero, gap] = [top + high, (width - left - 8) / (2 * MOST + 1)];
    let most = 0.2; // where the axis ends; while something is dragged, at a bar's end, too
    const axis = live.axis(figure, (needed) => [0.05, 0.1, 0.2].find((v) => v >= needed) ?? 0.5);
    const start = (k) => left + 4 + k * gap * (MOST + 1);
    const up = (v) => zero - high * Math.min(1, Math.max(-1, v / most));
    const svg = make("svg:svg", {width, height: zero + high + 22, role: "img", "aria-label": "The weight of each token of two answers; the weights are said below."});
    const word = (x, y, text, attributes = {}) => {
      const made = make("svg:text", {x, y, ...attributes}, text);
      svg.append(made);
      return made;
    };
    const ticks = [1, 0.5, 0, -0.5, -1].map((part) => {
      const y = zero - high * part;
      svg.append(make("svg:line", {x1: left, x2: width, y1: y, y2: y, class: part ? "live-grid" : "live-zero"}));
      return [part, word(left - 6, y + 4, "", {"text-anchor": "end", class: "live-small"})];
    });
    word(0, 14, wide ? "weight of a token" : "weight", {class: "live-small"});
    if (wide) [["paid", zero - high / 2], ["charged", zero + high / 2]].forEach(([text, y]) => word(0, y + 4, text, {class: "live-small"}));
    const bars = Array.from({length: 2 * MOST}, () => make("svg:rect", {width: gap - 2, rx: 2}));
    svg.append(...bars);
    const answers = ["first", "second"].map((key, k) => {
      const end = make("svg:g", {class: "live-handle", ...live.drag((x) => figure.set({[key]: (x - start(k)) / gap}))},
        make("svg:rect", {x: -18, y: -high, width: 36, height: 2 * high, fill: "transparent"}),
        make("svg:rect", {x: -4, y: -9, width: 8, height: 18, rx: 4, class: "live-dot"}));
      svg.append(end);
      word(start(k), 14, `answer ${k + 1}`, {class: "live-name"});
      return {end, weight: word(0, 0, "", {"text-anchor": "middle", class: "live-name"})};
    });
    const sliders = [
      live.slider(figure, "first", "tokens of answer 1", [1, MOST, 1], 0),
      live.slider(figure, "second", "tokens of answer 2", [1, MOST, 1], 0),
      live.slider(figure, "credit1", "credit of answer 1", [-1, 1, 0.1], 1),
      live.slider(figure, "credit2", "credit of answer 2", [-1, 1, 0.1], 1),
    ];
    const choice = live.choice(figure, "by", "divide by", DIVISORS);
    picture.append(svg);
    controls.append(choice.row, live.sliders(...sliders), live.reset(figure));

    return (state, {weights, most: needed}) => {
      sliders.forEach((slider) => slider.update(state));
      choice.update(state);
      most = axis(needed);
      ticks.forEach(([part, tick]) => (tick.textContent = fixed(most * part, 3).replace(/0+$/, "").replace(/\.$/, "")));
      bars.forEach((bar, i) => {
        const [y, w] = [up(weights[i]), weights[i]];
        set(bar, {x: start(Math.floor(i / MOST)) + gap * (i % MOST) + 1, y: Math.min(zero, y), height: Math.abs(y - zero), class: `live-moves ${w < 0 ? "live-minus" : "live-plus"}`});
      });
      answers.forEach(({end, weight}, k) => {
        const [n, w] = [[state.first, state.second][k], weights[k * MOST]];
        set(end, {transform: `translate(${start(k) + n * gap} ${zero})`});
        set(weight, {x: Math.max(start(k) + 20, start(k) + n * gap / 2), y: up(w) + (w < 0 ? 16 : -6)});
        weight.textContent = fixed(w, 3);
      });
    };
  },
});
}
