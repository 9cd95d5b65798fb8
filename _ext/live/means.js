/* A mean of means: the weight of each sample, for two parts of any size. */
"use strict";
{
const {make, set, fixed} = live;
const MOST = 12;
const COLOURS = ["var(--l-orange)", "var(--l-blue)"];
const DIVISORS = ["each part", "all samples"];

live.figure("means", {
  start: {first: 1, second: 12, by: 0},
  limits: {first: [1, MOST, 1], second: [1, MOST, 1], by: [0, 1, 1]},

  compute({first, second}) {
    const samples = (of) => [first, second].flatMap((n) => Array.from({length: MOST}, (_, i) => (i < n ? of(n) : 0)));
    return {weights: samples((n) => 1 / n / 2), right: samples(() => 1 / (first + second))};
  },

  describe({first, second, by}, {weights, right}) {
    const each = `1/${first + second} = ${fixed(right[0], 3)}`;
    if (by) return `Each sample has the weight ${each}.`;
    const [a, b] = [weights[0], weights[MOST]];
    const times = fixed(Math.max(a, b) / Math.min(a, b), 2).replace(/\.?0+$/, "");
    const compared = a === b
      ? `All samples have the same weight, ${each}.`
      : `A sample of part ${a > b ? 1 : 2} has ${times} times the weight of one of part ${a > b ? 2 : 1}: ${fixed(Math.max(a, b), 3)} against ${fixed(Math.min(a, b), 3)}.`;
    return a === b ? compared : `${compared} Each should have ${each}.`;
  },

  found: ({first, second, by}) => (by || first === second ? "all bars are equal" : ""),

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const [left, top, floor] = [36, 40, wide ? 200 : 190];
    const gap = (width - left - 8) / (2 * MOST + 2);
    const up = (v) => floor - (floor - top) * v / 0.5; // no weight is larger
    const svg = make("svg:svg", {width, height: floor + 40, role: "img", "aria-label": "The weights of the samples; they are said below."});
    const word = (x, y, text, attributes = {}) => {
      const made = make("svg:text", {x, y, ...attributes}, text);
      svg.append(made);
      return made;
    };
    for (const k of [0, 1, 2, 3, 4, 5]) {
      const y = up(k / 10);
      svg.append(make("svg:line", {x1: left, x2: width, y1: y, y2: y, class: k ? "live-grid" : "live-zero"}));
      word(left - 6, y + 4, `${k / 10}`, {"text-anchor": "end", class: "live-small"});
    }
    word(0, 14, "weight of a sample", {class: "live-small"});
    const bars = Array.from({length: 2 * MOST}, () => make("svg:rect", {width: Math.max(2, gap - 2), rx: 2, class: "live-moves"}));
    const line = make("svg:path", {d: `M${left} 0H${width}`, stroke: "var(--l-ink)", "stroke-width": 2, "stroke-dasharray": "6 4", class: "live-moves"});
    svg.append(...bars, line);
    const each = word(width - 2, 0, "", {"text-anchor": "end", class: "live-name"});
    const weighs = COLOURS.map((fill) => word(0, 0, "", {fill, "text-anchor": "middle", class: "live-name"}));
    const names = COLOURS.map((fill) => word(0, floor + 34, "", {fill, class: "live-name"}));
    const ends = ["first", "second"].map((key, k) => {
      const start = () => left + 6 + k * gap * (figure.state.first + 1.5);
      const end = make("svg:g", {class: "live-handle", ...live.drag((x) => figure.set({[key]: (x - start()) / gap}))},
        make("svg:rect", {x: -22, y: top - floor, width: 44, height: floor - top + 24, fill: "transparent"}),
        make("svg:rect", {x: -4, y: 3, width: 8, height: 16, rx: 4, class: "live-dot"}));
      svg.append(end);
      return {end, start};
    });
    const sliders = [
      live.slider(figure, "first", "samples in part 1", [1, MOST, 1], 0),
      live.slider(figure, "second", "samples in part 2", [1, MOST, 1], 0),
    ];
    const choice = live.choice(figure, "by", "divide by", DIVISORS);
    picture.append(svg);
    controls.append(live.sliders(...sliders), choice.row, live.reset(figure));

    return (state, {weights, right}) => {
      sliders.forEach((slider) => slider.update(state));
      choice.update(state);
      const drawn = state.by ? right : weights;
      const level = up(right[0]);
      let above = 7;
      bars.forEach((bar, i) => {
        const [k, sample] = [Math.floor(i / MOST), i % MOST];
        const y = up(drawn[i]);
        set(bar, {x: ends[k].start() + gap * sample + 1, y, height: floor - y, fill: COLOURS[k]});
      });
      ends.forEach(({end, start}, k) => {
        const [n, weight] = [[state.first, state.second][k], drawn[k * MOST]];
        set(end, {transform: `translate(${start() + n * gap} ${floor})`});
        const x = Math.max(left + 22, start() + n * gap / 2);
        const near = Math.abs(up(weight) - 10 - level) < 14; // the line is in the way
        set(weighs[k], {x, y: near ? level - 7 : up(weight) - 6});
        weighs[k].textContent = state.by || weight === right[0] ? "" : fixed(weight, 3);
        if (near && weighs[k].textContent && x > width - 130) above = 24;
        const low = k && start() < left + 110; // the other name is in the way
        set(names[k], {x: low ? left + 110 : start(), y: floor + 35});
        names[k].textContent = `part ${k + 1}`;
      });
      set(line, {transform: `translate(0 ${level})`});
      set(each, {y: level - above});
      each.textContent = `correct: 1/${state.first + state.second}`;
    };
  },
});
}
