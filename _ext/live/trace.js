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
  start: {lambda: 0.8, steps: 11, walk: 108},
  limits: {lambda: [0, 1], steps: [1, MOST, 1], walk: [1, 999, 1]},

  compute({lambda, steps, walk}) {
    const places = left(walk).slice(0, steps);
    let trace = Array(PLACES).fill(0);
    for (const place of places) trace = trace.map((z, i) => lambda * z + (i === place ? 1 : 0));
    const weights = places.map((_, k) => lambda ** (places.length - 1 - k));
    const visits = trace.map((_, i) => places.filter((place) => place === i).length); // the trace if λ is 1
    return {places, trace, weights, length: left(walk).length, most: Math.max(2, ...visits)};
  },

  found: (_, {places, trace}) => {
    const most = trace.indexOf(Math.max(...trace));
    return trace[most] - trace[places.at(-1)] >= 0.005 ? `yes, place ${most}, which was left more often` : "";
  },

  describe({steps}, {places, trace, length}) {
    const at = places.at(-1);
    const others = trace.map((z, i) => [z, i]).filter(([z, i]) => i !== at && z >= 0.005);
    const most = others.sort(([a], [b]) => b - a)[0];
    const end = steps >= length ? " The walk is over." : "";
    const further = most ? `Of the others, place ${most[1]} gets most: ${fixed(most[0])}.` : "No other place gets any.";
    return `Step ${places.length} left place ${at}, which gets ${fixed(trace[at])} times its TD error. ${further}${end}`;
  },

  build(figure, picture, width, controls) {
    const [edge, top, floor] = [width >= 560 ? 84 : 62, 22, 138];
    const gap = (width - edge - 2) / PLACES;
    const middle = (i) => edge + gap * (i + 0.5);
    const chain = floor + 26;
    const deep = 142;
    const oldest = () => Math.max(10, figure.values.places.length - 1); // the steps that fill the picture
    const ago = (k) => chain + 32 + deep * k / oldest(); // where the dot of a step stands that is k steps old
    const svg = make("svg:svg", {width, height: chain + 40 + deep, role: "img", "aria-label": "The trace at each place, and below it the steps of the walk, the newest first; the last step is said below."});
    const word = (x, y, text, attributes = {}) => {
      const made = make("svg:text", {x, y, "text-anchor": "middle", ...attributes}, text);
      svg.append(made);
      return made;
    };
    const aside = (y, text, small = "live-small") => word(edge - 10, y, text, {"text-anchor": "end", class: small});
    aside(floor - 50, "trace", "");
    aside(chain + 5, "place", "");
    const ticks = [0, 5, 10, 15, 20, 25].map((k) => {
      const line = make("svg:line", {x1: edge, x2: width, class: "live-grid"});
      svg.append(line);
      return {k, line, text: aside(0, k ? `${k} ago` : "last step")};
    });
    svg.append(make("svg:line", {x1: edge, x2: width, y1: floor, y2: floor, class: "live-zero"}));
    const walked = make("svg:path", {fill: "none", stroke: "var(--l-grey)", "stroke-opacity": 0.5});
    svg.append(walked);
    const parts = Array.from({length: MOST}, () => make("svg:rect", {width: gap / 2, fill: "var(--l-blue)", stroke: "var(--l-paper)", class: "live-moves"}));
    const marks = parts.map((_, k) => make("svg:circle", {r: 4, fill: "var(--l-blue)", class: "live-moves live-press", click: () => figure.set({steps: k + 1})}));
    svg.append(...parts, ...marks);
    const then = (walk, i) => 1 + (walk.indexOf(i, figure.state.steps) < 0 ? walk.indexOf(i) : walk.indexOf(i, figure.state.steps));
    const places = Array.from({length: PLACES}, (_, i) => {
      const ring = make("svg:circle", {cx: middle(i), cy: chain, r: 15, class: "live-place"});
      svg.append(make("svg:g", {class: "live-press", click: () => figure.set({steps: then(left(figure.state.walk), i) || figure.state.steps})},
        ring, make("svg:text", {x: middle(i), y: chain + 5, "text-anchor": "middle"}, `${i}`)));
      return {ring, name: word(middle(i), floor, "", {class: "live-name"})};
    });
    const lambda = live.slider(figure, "lambda", "λ", [0, 1, 0.05], 2);
    const last = () => figure.values.length;
    const [play, steps] = [live.play(figure, "steps", (steps) => steps + 1, last), live.stepper(figure, "steps", last)];
    picture.append(svg);
    const end = live.button("End", () => figure.set({steps: last()}));
    const another = live.button("New walk", () => figure.set({walk: (figure.state.walk % 999) + 1, steps: 1}));
    controls.append(live.row(play, ...steps.buttons, end, another), live.sliders(lambda), live.reset(figure));

    return (state, {places: walk, trace, weights, length, most}) => {
      lambda.update(state);
      steps.update();
      for (const {k, line, text} of ticks) {
        const [y, visibility] = [ago(Math.min(k, length - 1)), k < length && k <= oldest() && (oldest() < 16 || k % 10 === 0) ? "visible" : "hidden"];
        set(line, {y1: y, y2: y, visibility});
        set(text, {y: y + 4, visibility});
      }
      const scale = (floor - top) / most;
      places.forEach(({ring, name}, i) => {
        set(name, {y: floor - scale * trace[i] - 6});
        name.textContent = trace[i] >= 0.005 ? fixed(trace[i]) : "0";
        ring.classList.toggle("live-here", i === walk.at(-1));
      });
      /* A bar has a part for each time that its place was left. */
      const heights = Array(PLACES).fill(0);
      parts.forEach((part, k) => {
        const there = k < walk.length;
        const at = there ? walk[k] : walk.at(-1);
        const weight = there ? weights[k] : 0;
        heights[at] += weight;
        set(part, {x: middle(at) - gap / 4, y: floor - scale * heights[at], height: scale * weight, "stroke-width": scale * weight > 3 ? 1 : 0});
        set(marks[k], {cx: middle(at), cy: ago(there ? walk.length - 1 - k : 0), "fill-opacity": 0.15 + 0.85 * weight, visibility: there ? "visible" : "hidden"});
      });
      set(walked, {d: `M${walk.map((at, k) => `${middle(at)} ${ago(walk.length - 1 - k)}`).join("L")}`});
    };
  },
});
}
