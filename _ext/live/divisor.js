/* Two answers of one training step: the weight of each token, credit over divisor. */
"use strict";
{
const {make, set, fixed} = live;
const MOST = 8; // tokens that an answer may have
const DIVISORS = ["own tokens", "all tokens", "constant"];
const LEVELS = [0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5]; // where an axis may end

live.figure("divisor", {
  start: {first: 2, second: 8, credit1: -0.5, credit2: -0.5, by: 0},
  limits: {first: [1, MOST, 1], second: [1, MOST, 1], credit1: [-1, 1], credit2: [-1, 1], by: [0, 2, 1]},

  compute({first, second, credit1, credit2, by}) {
    const lengths = [first, second];
    const divided = (by) => lengths.map((n) => [2 * n, first + second, 2 * MOST][by]);
    const tokens = (all) => [credit1, credit2].flatMap((credit, k) => {
      return Array.from({length: MOST}, (_, i) => (i < lengths[k] ? credit / all[k] : 0));
    });
    return {weights: tokens(divided(by)), divisors: divided(by), needed: [-1, 1].map((sign) => Math.max(...[0, 1, 2].flatMap((by) => tokens(divided(by)).map((w) => sign * w))))};
  },

  describe({first, second}, {weights, divisors: [a, b]}) {
    const each = [weights[0], weights[MOST]].map((w) => (w < 0 ? `charged ${fixed(-w, 3)}` : `paid ${fixed(w, 3)}`));
    const times = fixed(Math.max(a, b) / Math.min(a, b), 2).replace(/\.?0+$/, "");
    const compared = a === b
      ? `With equal credits, all tokens weigh the same${first === second ? "" : ", at any length"}.`
      : `With equal credits, a token of the shorter answer weighs ${times} times as much.`;
    return `A token of answer 1 is ${each[0]}, one of answer 2 ${each[1]}. ${compared}`;
  },

  found: ({by, first, second, credit1, credit2}) => (by && first !== second && credit1 < 0 && credit1 === credit2 ? "only if own tokens divide" : ""),

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const [left, top, floor] = [wide ? 110 : 44, 48, 218];
    const gap = (width - left - 8) / (2 * MOST + 1);
    let [low, high, held] = [0, 0, ""]; // where the axis ends below and above zero, and the credits that it was fitted to
    const start = (k) => left + 4 + k * gap * (MOST + 1);
    const up = (v) => top + (floor - top) * (high - Math.min(high, Math.max(-low, v))) / (low + high);
    const svg = make("svg:svg", {width, height: floor + 26, role: "group", "aria-label": "The weight of each token of two answers, and how many there are; the weights are said below."});
    const word = (x, y, text, attributes = {}) => {
      const made = make("svg:text", {x, y, ...attributes}, text);
      svg.append(made);
      return made;
    };
    const ticks = Array.from({length: 7}, () => {
      const line = make("svg:line", {x1: left, x2: width});
      svg.append(line);
      return {line, text: word(left - 6, 0, "", {"text-anchor": "end", class: "live-small"})};
    });
    word(0, 14, wide ? "weight of a token" : "weight", {class: "live-small"});
    const sides = ["paid", "charged"].map((text) => word(0, 0, wide ? text : "", {class: "live-small"}));
    const bars = Array.from({length: 2 * MOST}, () => make("svg:rect", {width: gap - 2, rx: 2}));
    svg.append(...bars);
    const answers = ["first", "second"].map((key, k) => {
      const end = live.handle(svg, key, `tokens of answer ${k + 1}`, {
        moved: (x) => figure.set({[key]: (x - start(k)) / gap}),
        nudged: (right, up) => figure.set({[key]: figure.state[key] + right + up}),
      });
      end.lastChild.replaceWith(make("svg:rect", {x: -4, y: -9, width: 8, height: 18, rx: 4, class: "live-dot"}));
      set(end, {"aria-valuemin": 1, "aria-valuemax": MOST});
      word(start(k), 14, `answer ${k + 1}`, {class: "live-name"});
      const [weight, long] = ["live-name", "live-small"].map((kind) => word(0, 0, "", {"text-anchor": "middle", class: kind}));
      return {end, weight, long};
    });
    const sliders = [
      live.slider(figure, "credit1", "credit of answer 1", [-1, 1, 0.1], 1),
      live.slider(figure, "credit2", "credit of answer 2", [-1, 1, 0.1], 1),
    ];
    const choice = live.choice(figure, "by", "divide by", DIVISORS);
    picture.append(svg);
    controls.append(choice.row, live.sliders(...sliders), live.reset(figure));

    /* While the end of an answer is dragged the axis stands still, and cuts longer bars; for a credit it grows at once. */
    function fit(needed, credits) {
      const ends = needed.map((v) => LEVELS.find((level) => level >= v - 1e-9));
      if (ends[0] + ends[1] === 0) ends.fill(LEVELS[1]);
      if (!figure.dragged) [low, high] = ends;
      else if (credits !== held) [low, high] = [Math.max(low, ends[0]), Math.max(high, ends[1])];
      held = credits;
      const step = [0.01, 0.02, 0.05, 0.1, 0.2].find((one) => (low + high) / one < 5.5);
      const first = Math.ceil(-low / step - 1e-9);
      ticks.forEach(({line, text}, i) => {
        const v = (first + i) * step;
        const [y, shown] = [up(v), v < high + 1e-9];
        set(line, {y1: y, y2: y, visibility: shown ? "visible" : "hidden", class: first + i ? "live-grid" : "live-zero"});
        set(text, {y: y + 4});
        text.textContent = shown ? fixed(v, 2).replace(/0$/, "").replace(/\.0$/, "") : "";
      });
      sides.forEach((side, k) => set(side, {y: up(k ? -low / 2 : high / 2) + 4, visibility: (k ? low : high) ? "visible" : "hidden"}));
    }

    return (state, {weights, needed}) => {
      sliders.forEach((slider) => slider.update(state));
      choice.update(state);
      fit(needed, `${state.credit1} ${state.credit2}`);
      const zero = up(0);
      bars.forEach((bar, i) => {
        const [y, w] = [up(weights[i]), weights[i]];
        set(bar, {x: start(Math.floor(i / MOST)) + gap * (i % MOST) + 1, y: Math.min(zero, y), height: Math.abs(y - zero), class: `live-moves ${w < 0 ? "live-minus" : "live-plus"}`});
      });
      answers.forEach(({end, weight, long}, k) => {
        const [n, w] = [[state.first, state.second][k], weights[k * MOST]];
        const x = Math.max(start(k) + 24, start(k) + n * gap / 2);
        set(end, {transform: `translate(${start(k) + n * gap} ${zero})`, "aria-valuenow": n});
        set(weight, {x, y: up(w) + (w < 0 ? 16 : -6)});
        set(long, {x, y: zero + (w < 0 ? -14 : 22)}); // on the other side
        weight.textContent = fixed(w, 3);
        long.textContent = n > 1 ? `${n} tokens` : "1 token";
      });
    };
  },
});
}
