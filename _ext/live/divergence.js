/* TD(0) on a few states, step by step: does the largest value settle, or grow? */
"use strict";
{
const {make, set, fixed} = live;
const {PROBLEMS, LOW, HIGH, run, radius, settled} = live.states;
const written = (v) => (v < 1000 ? fixed(v, 1) : Math.round(v).toLocaleString("en"));
/* Whether a line, drawn from left to right, passes through a box. */
const crosses = (line, left, top, right, bottom) => line.slice(1).some(([x1, y1], i) => {
  const [x0, y0] = line[i];
  if (x1 < left || x0 > right) return false;
  const ends = [Math.max(x0, left), Math.min(x1, right)].map((x) => (x1 > x0 ? y0 + (y1 - y0) * (x - x0) / (x1 - x0) : y1));
  return Math.min(...ends) < bottom && Math.max(...ends) > top;
});

const short = (v) => written(v).replace(/\.0$/, "");

live.figure("divergence", {
  start: {use: 1, alpha: 0.1, gamma: 0.99, steps: 50},
  limits: {use: [0, PROBLEMS.length - 1, 1], alpha: [0.01, 1.5], gamma: [0, 0.99], steps: [10, 5000, 10]},

  compute({use, alpha, gamma, steps}) {
    const A = PROBLEMS[use].A(gamma);
    const sizes = [alpha, alpha / 10];
    const curves = sizes.map((size) => run(PROBLEMS[use], A, size, steps));
    return {
      curves,
      rest: sizes.map((size, i) => settled(PROBLEMS[use], A, size, curves[i])),
      radii: sizes.map((size) => radius(A, size)),
      bound: 1 / (1 - gamma),
    };
  },

  describe(state, {curves, radii}) {
    const [large, small] = curves.map((c, i) => {
      const size = `\u03b1\u00a0=\u00a0${fixed(state.alpha / 10 ** i, 2 + i)}`;
      const value = c.at(-1) > HIGH ? `passes a million after ${c.length - 1} steps` : `is ${written(c.at(-1))} after ${state.steps} steps`;
      return `${size} the largest value ${value} (spectral radius ${fixed(radii[i], 4)})`;
    });
    return `With ${large}. With ${small}.`;
  },

  found: (_, {curves, rest}) => (curves.every((curve, i) => rest[i] !== null || curve.at(-1) > HIGH)
    ? ["neither of these two", "one of these two", "both of these"][rest.filter((v) => v !== null).length] : ""),

  build(figure, picture, width, controls) {
    const [left, top, floor, height] = [40, 28, ...(width < 560 ? [234, 256] : [248, 270])];
    const right = width - 104; // the names stand at the ends of their lines
    let [low, high] = [LOW, HIGH]; // powers of ten between which what is drawn lies
    const up = (v) => floor - (floor - top) * Math.log(Math.min(high, Math.max(v, low)) / low) / Math.log(high / low);
    const power = (round, v) => 10 ** round(Math.log10(v));
    const axes = [
      live.axis(figure, (least) => Math.min(1, Math.max(LOW, power(Math.floor, least)))),
      live.axis(figure, (most) => Math.min(HIGH, Math.max(100, power(Math.ceil, most)))),
    ];
    const svg = make("svg:svg", {width, height, role: "img", "aria-label": "The largest value over the steps, on a logarithmic axis, for two step sizes, and the bound; the numbers are said below."});
    const word = (x, y, text, attributes = {}) => {
      const made = make("svg:text", {x, y, class: "live-small", ...attributes}, text);
      svg.append(made);
      return made;
    };
    const ticks = ["0.1", "1", "10", "10\u00b2", "10\u00b3", "10\u2074", "10\u2075", "10\u2076"].map((text, k) => {
      const tick = svg.appendChild(make("svg:g", {}, make("svg:line", {x1: left, x2: right, class: "live-grid"})));
      const name = tick.appendChild(word(left - 6, 4, "", {"text-anchor": "end"}));
      return [LOW * 10 ** k, tick, (yes) => (name.textContent = yes ? text : "")];
    });
    word(0, 12, "largest value");
    const beyond = svg.appendChild(make("svg:rect", {x: left, y: top, width: right - left, class: "live-minus", "fill-opacity": 0.1}));
    const none = word(0, 0, "no true value here", {"pointer-events": "none"});
    word(left, floor + 18, "0");
    const end = word(right, floor + 18, "", {"text-anchor": "end"});
    const lifted = (y) => low * (high / low) ** ((floor - y) / (floor - top));
    const bound = make("svg:g", {class: "live-handle", ...live.drag((_, y) => figure.set({gamma: 1 - 1 / Math.max(1, lifted(y))}))},
      make("svg:rect", {x: left, y: -12, width: width - left, height: 24, fill: "transparent"}),
      make("svg:line", {x1: left, x2: right, stroke: "var(--l-ink)", "stroke-width": 2, "stroke-dasharray": "6 4"}),
      make("svg:circle", {cx: right, r: 6, class: "live-dot"}));
    const colours = ["var(--l-blue)", "var(--l-orange)"];
    const paths = colours.map((stroke, i) => make("svg:path", {fill: "none", stroke, "stroke-width": 3 - i, "stroke-linejoin": "round"}));
    const tips = colours.map((fill) => make("svg:path", {d: "M0 -6L11 0L0 6Z", fill}));
    svg.append(bound, ...paths, ...tips);
    const [names, notes] = ["live-name", "live-small live-name"].map((kind) => (
      ["var(--l-ink)", ...colours].map((fill) => word(0, 0, "", {class: kind, style: `fill: ${fill}`, "pointer-events": "none"}))));

    const choice = live.choice(figure, "use", "states", PROBLEMS.map(({name}) => name));
    const sliders = [
      live.slider(figure, "steps", "steps", [10, 5000, 10], 0),
      live.slider(figure, "alpha", "step size \u03b1", [0.01, 1.5, 0.01], 2),
      live.slider(figure, "gamma", "discount \u03b3", [0, 0.99, 0.01], 3),
    ];
    picture.append(svg);
    const ended = () => figure.values.curves.every((curve) => curve.at(-1) > HIGH);
    const play = live.play(figure, "steps", (steps) => steps + Math.max(10, 0.1 * steps), () => (ended() ? figure.state.steps : 5000), 120);
    controls.append(live.row(play, live.sliders(sliders[0])), choice.row, live.sliders(...sliders.slice(1)), live.reset(figure));

    return (state, values) => {
      choice.update(state);
      sliders.forEach((slider) => slider.update(state));
      [low, high] = [Math.min, Math.max].map((end, k) => axes[k](values.curves.flat().reduce((a, b) => end(a, b))));
      ticks.forEach(([v, tick, show]) => {
        const yes = v > low * 0.9 && v < high * 1.1;
        set(tick, {transform: `translate(0 ${yes ? up(v) : floor})`});
        show(yes);
      });
      const longest = Math.max(...values.curves.map((curve) => curve.length)); // a curve ends where it leaves the drawing
      const last = Math.min(state.steps, longest - 1);
      const ends = [[right, up(values.bound), `bound ${short(values.bound)}`, ""]];
      const lines = paths.map((path, i) => {
        const curve = values.curves[i];
        const each = Math.ceil(curve.length / 600); // as many points as can be seen
        const points = curve.map((v, n) => [n, v]).filter(([n]) => n % each === 0 || n === curve.length - 1);
        const [[before, v], [n, beyond]] = points.slice(-2);
        if (beyond > HIGH) points[points.length - 1] = [before + (n - before) * Math.log(HIGH / v) / Math.log(beyond / v), HIGH];
        const drawn = points.map(([n, v]) => [left + (right - left) * n / last, up(v)]);
        set(path, {d: `M${drawn.map((point) => point.join(" ")).join("L")}`});
        const [[x0, y0], [x1, y1]] = drawn.slice(-2);
        set(tips[i], {visibility: beyond > HIGH ? "visible" : "hidden", transform: `translate(${x1} ${y1}) rotate(${Math.atan2(y1 - y0, x1 - x0) * 180 / Math.PI})`});
        const verdict = beyond > HIGH ? "grows" : values.rest[i] === null ? "" : `settles at ${fixed(values.rest[i], values.rest[i] < 10 ? 2 : 0)}`;
        ends.push([x1, y1, `\u03b1 = ${fixed(state.alpha / 10 ** i, 2 + i)}`, verdict]);
        return drawn;
      });
      const order = [0, 1, 2].sort((a, b) => ends[a][1] - ends[b][1]);
      const placed = [];
      for (const k of order) { // each below what is there, and on no edge
        const [end, y, , note] = ends[k];
        const inside = end < right - 76;
        placed.push({k, x: inside ? end + 8 : right + 11, y: Math.max(top + (inside ? 18 : 4), y + 4), high: note ? 35 : 19});
      }
      const near = (a, b) => a !== b && Math.abs(a.x - b.x) < 96;
      placed.forEach((one, i) => placed.slice(0, i).filter((other) => near(one, other)).forEach(({y, high}) => (one.y = Math.max(one.y, y + high))));
      placed.reverse().forEach((one, i) => { // and what would leave the drawing is lifted, with its neighbours
        one.y = Math.min(floor + 23 - one.high, one.y, ...placed.slice(0, i).filter((other) => near(one, other)).map(({y}) => y - one.high));
      });
      for (const {k, x, y} of placed) {
        [names, notes].forEach((all, i) => (set(all[k], {x, y: y + 16 * i}).textContent = ends[k][2 + i]));
      }
      const wide = none.getComputedTextLength();
      const free = (x, y) => lines.every((line) => !crosses(line, x - 6, y - 16, x + wide + 6, y + 8))
        && placed.every((one) => x > one.x + 76 || x + wide < one.x - 4 || y < one.y - 16 || y > one.y + one.high);
      const [from, lowest] = [left + 8, up(values.bound) - 9]; // the first place that is free
      const spots = [];
      for (let y = top + 18; y <= lowest; y += 12) for (let x = from; x + wide < right - 4; x += 12) spots.push([x, y]);
      const spot = spots.find(([x, y]) => free(x, y));
      set(none, spot ? {x: spot[0], y: spot[1], visibility: "visible"} : {visibility: "hidden"});
      set(bound, {transform: `translate(0 ${up(values.bound)})`});
      set(beyond, {height: up(values.bound) - top});
      end.textContent = `${last} steps`;
    };
  },
});
}
