/* An eligibility trace: a walk along a corridor, and how much of the next TD error reaches each place. */
"use strict";
{
const {make, set, fixed} = live;
const PLACES = 6;
const MOST = 30;

/* Where a walk was left, step by step; from whole numbers only, so that each machine walks alike. */
function left(walk) {
  const places = [0];
  let x = walk;
  for (let n = -10; places.at(-1) < PLACES && places.length <= MOST; n++) {
    x = (16807 * x) % 2147483647;
    if (n >= 0) places.push(Math.max(0, places.at(-1) + (x > 715827882 ? 1 : -1)));
  }
  return places.filter((place) => place < PLACES).slice(0, MOST);
}

live.figure("trace", {
  start: {lambda: 0.8, steps: 1, walk: 1},
  limits: {lambda: [0, 1], steps: [1, MOST, 1], walk: [1, 999, 1]},

  compute({lambda, steps, walk}) {
    const places = left(walk).slice(0, steps);
    let trace = Array(PLACES).fill(0);
    for (const place of places) trace = trace.map((z, i) => lambda * z + (i === place ? 1 : 0));
    const weights = places.map((_, k) => lambda ** (places.length - 1 - k));
    return {places, trace, weights, length: left(walk).length};
  },

  describe({steps}, {places, trace, length}) {
    const at = places.at(-1);
    const others = trace.map((z, i) => [z, i]).filter(([z, i]) => i !== at && z >= 0.005);
    const most = others.sort(([a], [b]) => b - a)[0];
    const end = steps >= length ? " The walk is over, and the reward has come." : "";
    const further = most ? `Of the other places, ${most[1]} gets most: ${fixed(most[0])}.` : "No other place gets any.";
    return `Step ${places.length} left place ${at}. Its TD error, times ${fixed(trace[at])}, changes place ${at}. ${further}${end}`;
  },

  build(figure, place, width) {
    const [edge, floor, tall] = [width >= 560 ? 90 : 58, 150, 120];
    const gap = (width - edge - 6) / PLACES;
    const middle = (i) => edge + gap * (i + 0.5);
    const chain = floor + 30;
    const svg = make("svg:svg", {width, height: chain + 74, role: "img", "aria-label": "The trace at each place, and the steps of the walk; the last step is said below."});
    const word = (x, y, text, attributes = {}) => {
      const made = make("svg:text", {x, y, "text-anchor": "middle", ...attributes}, text);
      svg.append(made);
      return made;
    };
    svg.append(make("svg:line", {x1: edge, x2: width, y1: floor, y2: floor, class: "live-zero"}));
    word(edge - 8, floor - 50, "trace", {"text-anchor": "end"});
    word(edge - 8, chain + 5, "place", {"text-anchor": "end"});
    word(edge - 8, chain + 44, "steps", {"text-anchor": "end"});
    const bars = Array.from({length: PLACES}, (_, i) => {
      const bar = make("svg:rect", {x: middle(i) - gap / 4, width: gap / 2, fill: "#0072B2"});
      const ring = make("svg:circle", {cx: middle(i), cy: chain, r: 15, class: "live-place"});
      svg.append(bar, ring);
      word(middle(i), chain + 5, `${i}`);
      return {bar, ring, name: word(middle(i), floor, "", {class: "live-name"})};
    });
    const marks = Array.from({length: MOST}, () => {
      const mark = make("svg:circle", {r: 5, fill: "#0072B2"});
      svg.append(mark);
      return mark;
    });
    const lambda = live.slider(figure, "lambda", "λ", [0, 1, 0.05], 2);
    const back = live.button("Back", () => figure.set({steps: figure.state.steps - 1}));
    const next = live.button("Step", () => figure.set({steps: figure.state.steps + 1}));
    const buttons = [
      back, next,
      live.button("To the end", () => figure.set({steps: figure.values.length})),
      live.button("Another walk", () => figure.set({walk: (figure.state.walk % 999) + 1, steps: 1})),
      live.button("Reset", figure.reset),
    ];
    place.append(svg, make("div", {class: "live-controls"}, ...buttons, lambda.row));

    return (state, {places, trace, weights, length}) => {
      lambda.update(state);
      live.allow(back, state.steps > 1);
      live.allow(next, state.steps < length);
      const scale = tall / Math.max(2, ...trace);
      bars.forEach(({bar, ring, name}, i) => {
        set(bar, {y: floor - scale * trace[i], height: scale * trace[i]});
        set(name, {y: floor - scale * trace[i] - 6});
        name.textContent = trace[i] >= 0.005 ? fixed(trace[i]) : "0";
        ring.classList.toggle("live-here", i === places.at(-1));
      });
      const beside = (width - edge - 12) / Math.max(12, places.length);
      marks.forEach((mark, k) => set(mark, {
        cx: edge + beside * (k + 0.5), cy: chain + 62 - 5 * (places[k] ?? 0),
        "fill-opacity": k < places.length ? 0.12 + 0.88 * weights[k] : 0,
      }));
    };
  },
});
}
