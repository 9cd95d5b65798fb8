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
  start: {use: 0, alpha: 0.1, gamma: 0.99, steps: 100},
  limits: {use: [0, PROBLEMS.length - 1, 1], alpha: [0.01, 1.5], gamma: [0, 0.99], steps: [50, 5000, 10]},

  compute({use, alpha, gamma, steps}) {
    const A = PROBLEMS[use].A(gamma);
    const sizes = [alpha, alpha / 10];
    return {
      curves: sizes.map((size) => run(PROBLEMS[use], A, size, steps)),
      radii: sizes.map((size) => radius(A, size)),
      bound: 1 / (1 - gamma),
    };
  },

  describe(state, {curves, radii, bound}) {
    const [curve, small] = curves.map((c) => (c.at(-1) > HIGH ? "above a million" : written(c.at(-1))));
    const [rate, smaller] = radii.map((r) => fixed(r, 4));
    return `Largest value after ${curves[0].length - 1} steps: ${curve}; with a tenth of the step size, after ${curves[1].length - 1}: ${small}. `
      + `Bound of the true values: ${written(bound)}. Spectral radius: ${rate}; with a tenth of the step size ${smaller}.`;
  },

  build(figure, place, width) {
    const [left, top, floor] = [46, 44, 234];
    const right = width - 8;
    const up = (v) => floor - (floor - top) * Math.log(Math.max(v, LOW) / LOW) / Math.log(HIGH / LOW);
    const svg = make("svg:svg", {width, height: floor + 30, role: "img", "aria-label": "The largest value over the steps, on a logarithmic axis, for two step sizes, and the bound; the numbers are said below."});
    const word = (x, y, text, attributes = {}) => {
      const made = make("svg:text", {x, y, class: "live-small", ...attributes}, text);
      svg.append(made);
      return made;
    };
    for (const [v, text] of [[0.1, "0.1"], [1, "1"], [10, "10"], [100, "100"], [1e3, "10\u00b3"], [1e4, "10\u2074"], [1e5, "10\u2075"], [1e6, "10\u2076"]]) {
      svg.append(make("svg:line", {x1: left, x2: right, y1: up(v), y2: up(v), class: v === LOW ? "live-zero" : "live-grid"}));
      word(left - 6, up(v) + 4, text, {"text-anchor": "end"});
    }
    word(0, 14, "largest value");
    word(left, floor + 20, "0");
    const end = word(right, floor + 20, "", {"text-anchor": "end"});
    const line = make("svg:line", {x1: left, x2: right, stroke: "#22262b", "stroke-width": 2, "stroke-dasharray": "6 4"});
    const colours = ["#0072B2", "#B34700"];
    const paths = colours.map((stroke, i) => make("svg:path", {fill: "none", stroke, "stroke-width": 3 - i}));
    svg.append(line, ...paths);
    const names = colours.map((fill, i) => word(right - 130 * (1 - i), 34, "", {class: "live-name", fill, "text-anchor": "end"}));
    const bound = word(right - 4, 0, "", {class: "live-name", "text-anchor": "end"});

    const choice = live.choice(figure, "use", "transitions", PROBLEMS.map(({name}) => name));
    const sliders = [
      live.slider(figure, "alpha", "step size \u03b1", [0.01, 1.5, 0.01], 2),
      live.slider(figure, "gamma", "discount \u03b3", [0, 0.99, 0.01], 2),
      live.slider(figure, "steps", "steps", [50, 5000, 50], 0),
    ];
    const row = (...children) => make("div", {class: "live-controls"}, ...children);
    place.append(row(choice.row), svg, row(...sliders.map((s) => s.row), live.button("Reset", figure.reset)));

    return (state, values) => {
      choice.update(state);
      sliders.forEach((slider) => slider.update(state));
      paths.forEach((path, i) => {
        const curve = values.curves[i];
        const each = Math.ceil(curve.length / 600); // as many points as can be seen
        const points = curve.map((v, n) => [n, v]).filter(([n]) => n % each === 0 || n === curve.length - 1);
        const [[before, v], [n, beyond]] = points.slice(-2);
        if (beyond > HIGH) points[points.length - 1] = [before + (n - before) * Math.log(HIGH / v) / Math.log(beyond / v), HIGH];
        set(path, {d: `M${points.map(([n, v]) => `${left + (right - left) * n / state.steps} ${up(v)}`).join("L")}`});
      });
      names.forEach((name, i) => (name.textContent = `step ${fixed(state.alpha / 10 ** i, 2 + i)}`));
      set(line, {y1: up(values.bound), y2: up(values.bound)});
      set(bound, {y: up(values.bound) - 6});
      bound.textContent = `bound ${written(values.bound)}`;
      end.textContent = `${state.steps} steps`;
    };
  },
});
}
