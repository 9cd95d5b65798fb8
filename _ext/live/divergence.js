/* TD(0) on a few states, step by step: does the largest value settle, or grow? */
"use strict";
{
const {make, set, fixed} = live;
const [LOW, HIGH] = [0.1, 1e6]; // where the axis begins and ends

/* Two values that change together: a step turns v into v - alpha (A v - b). Each reward is 1.
   Of Baird's seven states six have the same value. */
const PROBLEMS = [
  {name: "1\u21921", start: [1, 0], A: (g) => [[1 - g, 0], [0, 1 - g]], b: [1, 0]},
  {name: "1\u21922", start: [1, 0], A: (g) => [[1 - 2 * g, 0], [0, 1 - 2 * g]], b: [1, 0]},
  {name: "1\u21922\u2192end", start: [1, 2], A: (g) => [[2.5 - g, 0], [0, 2.5 - g]], b: [1.5, 3]},
  {name: "Baird\u2019s", start: [3, 12], A: (g) => [[10 / 7, (2 - 12 * g) / 7], [12 / 7, (5 - 17 * g) / 7]], b: [12 / 7, 17 / 7]},
];

/* The largest value before each step and after the last; it ends where it leaves the axis. */
function run({start, b}, A, alpha, steps) {
  let v = start;
  const curve = [Math.max(...v)];
  while (curve.length <= steps && curve.at(-1) <= HIGH) {
    v = v.map((old, i) => old - alpha * (A[i][0] * v[0] + A[i][1] * v[1] - b[i]));
    curve.push(Math.max(...v.map(Math.abs)));
  }
  return curve;
}

/* The spectral radius of I - alpha A, from its trace and determinant. */
function radius(A, alpha) {
  const [[p, q], [r, s]] = A.map((row, i) => row.map((a, j) => (i === j ? 1 : 0) - alpha * a));
  const [half, determinant] = [(p + s) / 2, p * s - q * r];
  const under = ((p - s) / 2) ** 2 + q * r;
  return under < 0 ? Math.sqrt(determinant) : Math.abs(half) + Math.sqrt(under);
}

const written = (v) => (v < 1000 ? fixed(v, 1) : Math.round(v).toLocaleString("en"));

live.figure("divergence", {
  start: {use: 1, alpha: 0.1, gamma: 0.99, steps: 50},
  limits: {use: [0, PROBLEMS.length - 1, 1], alpha: [0.01, 1.5], gamma: [0, 0.99], steps: [10, 5000, 10]},

  compute({use, alpha, gamma, steps}) {
    const A = PROBLEMS[use].A(gamma);
    const sizes = [alpha, alpha / 10];
    return {
      curves: sizes.map((size) => run(PROBLEMS[use], A, size, steps)),
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

  found: (_, {curves}) => (curves.every((curve) => curve.at(-1) > HIGH) ? "neither of these two" : ""),

  build(figure, picture, width, controls) {
    const [left, top, floor, height] = [40, 28, ...(width < 560 ? [234, 256] : [248, 270])];
    const right = width - 88; // the names stand at the ends of their lines
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
    const none = word(left + 8, top + 16, "no true value here");
    word(left, floor + 18, "0");
    const end = word(right, floor + 18, "", {"text-anchor": "end"});
    const lifted = (y) => low * (high / low) ** ((floor - y) / (floor - top));
    const bound = make("svg:g", {class: "live-handle", ...live.drag((_, y) => figure.set({gamma: 1 - 1 / Math.max(1, lifted(y))}))},
      make("svg:rect", {x: left, y: -12, width: width - left, height: 24, fill: "transparent"}),
      make("svg:line", {x1: left, x2: right, stroke: "var(--l-ink)", "stroke-width": 2, "stroke-dasharray": "6 4"}),
      make("svg:circle", {cx: right, r: 6, class: "live-dot"}));
    const colours = ["var(--l-blue)", "var(--l-orange)"];
    const paths = colours.map((stroke, i) => make("svg:path", {fill: "none", stroke, "stroke-width": 3 - i, "stroke-linejoin": "round"}));
    svg.append(bound, ...paths);
    const names = ["var(--l-ink)", ...colours].map((fill) => word(0, 0, "", {class: "live-name", fill, "pointer-events": "none"}));

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
      const last = Math.min(state.steps, Math.ceil(1.15 * longest));
      const ends = [[right, up(values.bound), `bound ${written(values.bound).replace(/\.0$/, "")}`]];
      paths.forEach((path, i) => {
        const curve = values.curves[i];
        const each = Math.ceil(curve.length / 600); // as many points as can be seen
        const points = curve.map((v, n) => [n, v]).filter(([n]) => n % each === 0 || n === curve.length - 1);
        const [[before, v], [n, beyond]] = points.slice(-2);
        if (beyond > HIGH) points[points.length - 1] = [before + (n - before) * Math.log(HIGH / v) / Math.log(beyond / v), HIGH];
        const drawn = points.map(([n, v]) => [left + (right - left) * n / last, up(v)]);
        set(path, {d: `M${drawn.map((point) => point.join(" ")).join("L")}`});
        ends.push([...drawn.at(-1), `\u03b1 = ${fixed(state.alpha / 10 ** i, 2 + i)}`]);
      });
      const placed = [];
      const order = [0, 1, 2].sort((a, b) => ends[a][1] - ends[b][1]);
      for (const k of order) { // each below what is there
        const x = ends[k][0] + (ends[k][0] < right - 12 ? 6 : 11); // clear of the handle
        let y = Math.max(top + 4, ends[k][1] + 4);
        for (const [u, v] of placed) if (Math.abs(x - u) < 90 && y < v + 19) y = v + 19;
        placed.push([x, y]);
        names[k].textContent = ends[k][2];
        set(names[k], {x});
      }
      const over = Math.max(0, ...placed.map(([, y]) => y - floor - 4)); // what would leave the drawing is lifted, with its neighbours
      order.forEach((k, i) => set(names[k], {y: placed[i][1] - (placed[i][1] > floor - 40 ? over : 0)}));
      set(bound, {transform: `translate(0 ${up(values.bound)})`});
      set(beyond, {height: up(values.bound) - top});
      set(none, {visibility: up(values.bound) > top + 22 ? "visible" : "hidden"});
      end.textContent = `${last} steps`;
    };
  },
});
}
