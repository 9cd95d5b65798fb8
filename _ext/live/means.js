/* A mean of means: the weight of each token, for two sequences of any length. */
"use strict";
{
const {make, set, fixed} = live;
const MOST = 12;
const COLOURS = ["#D55E00", "#0072B2"];
const DIVISORS = ["each sequence", "all tokens"];

live.figure("means", {
  start: {first: 1, second: 12, by: 0},
  limits: {first: [1, MOST, 1], second: [1, MOST, 1], by: [0, 1, 1]},

  compute({first, second}) {
    const tokens = (of) => [first, second].flatMap((n) => Array.from({length: MOST}, (_, i) => (i < n ? of(n) : 0)));
    return {weights: tokens((n) => 1 / n / 2), right: tokens(() => 1 / (first + second))};
  },

  describe({first, second, by}, {weights, right}) {
    const each = `1/${first + second} = ${fixed(right[0], 3)}`;
    if (by) return `Divided by all tokens: each token has the weight ${each}, on the dashed line.`;
    const [a, b] = [weights[0], weights[MOST]];
    const times = fixed(Math.max(a, b) / Math.min(a, b), 2).replace(/\.?0+$/, "");
    const compared = a === b
      ? "All tokens have the same weight."
      : `A token of sequence ${a > b ? 1 : 2} has ${times} times the weight of one of the other.`;
    return `Weights ${fixed(a, 3)} and ${fixed(b, 3)}; each token should have ${each}. ${compared}`;
  },

  build(figure, place, width) {
    const wide = width >= 560;
    const [left, top, floor] = [40, 26, 146];
    const least = wide ? 150 : 84; // the room that a name needs
    const gap = (width - left - 4) / (2 * MOST + 1);
    const up = (v) => floor - 2 * (floor - top) * v;
    const svg = make("svg:svg", {width, height: floor + 30, role: "img", "aria-label": "The weights of the tokens; they are said below."});
    for (const v of [0, 0.1, 0.2, 0.3, 0.4, 0.5]) {
      svg.append(
        make("svg:line", {x1: left, x2: width, y1: up(v), y2: up(v), class: v ? "live-grid" : "live-zero"}),
        make("svg:text", {x: left - 6, y: up(v) + 4, "text-anchor": "end", class: "live-small"}, `${v}`),
      );
    }
    svg.append(make("svg:text", {x: 0, y: 14, class: "live-small"}, "weight of a token"));
    const bars = Array.from({length: 2 * MOST}, () => make("svg:rect", {width: Math.max(2, gap - 3)}));
    const names = [1, 2].map((n) => make("svg:text", {y: floor + 20, "text-anchor": "middle"}, `${wide ? "tokens in " : ""}sequence ${n}`));
    const line = make("svg:line", {x1: left, x2: width, stroke: "#22262b", "stroke-width": 2, "stroke-dasharray": "6 4"});
    const word = make("svg:text", {x: width - 2, "text-anchor": "end", class: "live-name", fill: "#22262b"});
    svg.append(...bars, ...names, line, word);
    const sliders = [
      live.slider(figure, "first", "tokens in sequence 1", [1, MOST, 1], 0),
      live.slider(figure, "second", "tokens in sequence 2", [1, MOST, 1], 0),
    ];
    const choice = live.choice(figure, "by", "divide by", DIVISORS);
    place.append(svg, make("div", {class: "live-controls"}, ...sliders.map((s) => s.row), choice.row, live.button("Reset", figure.reset)));

    return (state, {weights, right}) => {
      sliders.forEach((slider) => slider.update(state));
      choice.update(state);
      const lengths = [state.first, state.second];
      const rooms = lengths.map((n) => Math.max(n * gap, least));
      const middles = [left + rooms[0] / 2, left + rooms[0] + gap + rooms[1] / 2];
      const starts = middles.map((middle, k) => middle - (lengths[k] * gap) / 2);
      const drawn = state.by ? right : weights;
      bars.forEach((bar, i) => {
        const [sequence, token] = [Math.floor(i / MOST), i % MOST];
        const top = up(drawn[i]);
        set(bar, {
          x: starts[sequence] + gap * token + 1.5, y: top, height: floor - top,
          fill: COLOURS[sequence],
        });
      });
      names.forEach((name, k) => set(name, {x: middles[k]}));
      const level = up(right[0]);
      set(line, {y1: level, y2: level});
      set(word, {y: level - 7});
      word.textContent = `correct: 1/${state.first + state.second}`;
    };
  },
});
}
