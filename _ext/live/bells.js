/* What is published without you and with you: how often is the best guess right, and what is epsilon? */
"use strict";
{
const {make, set, fixed} = live;
const [DELTA, REACH, TOP] = [1e-5, [-3, 5], 0.42]; // of the axes, in units of the noise
const bell = (t) => Math.exp(-t * t / 2) / Math.sqrt(2 * Math.PI);

/* The area of a standard bell left of z: a series, and far out a continued fraction. */
function area(z) {
  const x = Math.abs(z);
  let right = x;
  if (x < 3) {
    let [sum, term] = [x, x];
    for (let k = 3; term > 1e-18 * sum; k += 2) sum += term *= x * x / k;
    right = 0.5 - bell(x) * sum;
  } else {
    for (let k = 200; k > 0; k--) right = x + k / right;
    right = bell(x) / right;
  }
  return z > 0 ? 1 - right : right;
}

const deltaOf = (mu, e) => area(mu / 2 - e / mu) - Math.exp(e) * area(-mu / 2 - e / mu);

/* The first of 0, 0.001, 0.002 ... that DELTA allows; delta falls with epsilon. */
function epsilonOf(mu) {
  let [low, high] = [-1, 60_000];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    [low, high] = deltaOf(mu, middle / 1000) <= DELTA ? [low, middle] : [middle, high];
  }
  return high / 1000;
}

live.figure("bells", {
  start: {sigma: 10, steps: 100, line: 2.5},
  limits: {sigma: [5, 40], steps: [1, 100, 1], line: REACH},

  compute({sigma, steps, line}) {
    const mu = Math.sqrt(steps) / sigma;
    const [absent, present] = [area(line), area(mu - line)]; // guessed right: left of the line, right of it
    return {mu, epsilon: epsilonOf(mu), right: (absent + present) / 2, best: area(mu / 2), times: Math.exp(mu * line - mu * mu / 2)};
  },

  describe(_, {epsilon, right, best, times}) {
    const percent = (v) => `${fixed(100 * v, 1)}\u00a0%`;
    return `Guessing by this line is right in ${percent(right)} of cases, by the best line in ${percent(best)}. At the line, a number is `
      + `${fixed(times)} times as likely with you as without. With δ\u00a0=\u00a010\u207b\u2075, ε is ${fixed(epsilon)}.`;
  },

  found: ({sigma, steps}, {mu}, first) => (steps === 25 && mu === first.mu ? `noise ${fixed(sigma, 0)}` : ""),

  build(figure, picture, width, controls) {
    const [high, top, left] = [width >= 560 ? 170 : 150, 38, 12];
    const floor = top + high;
    const scale = (width - 2 * left) / (REACH[1] - REACH[0]);
    const px = (t) => left + (t - REACH[0]) * scale;
    const py = (v) => floor - high * v / TOP;
    const svg = make("svg:svg", {width, height: floor + 62, role: "img", "aria-label": "Two bells: how likely each published number is without you and with you. A line divides the guesses, whose rate of success is said below."});
    const word = (x, y, text, attributes = {}) => {
      const made = make("svg:text", {x, y, class: "live-name", "pointer-events": "none", ...attributes}, text);
      svg.append(made);
      return made;
    };
    const curve = (middle, from, to) => {
      const count = Math.max(1, Math.round((to - from) / 0.05));
      const at = Array.from({length: count + 1}, (_, k) => from + (to - from) * k / count);
      return at.map((t) => `${px(t)} ${py(bell(t - middle))}`).join("L");
    };
    const inks = ["var(--l-blue)", "var(--l-orange)"];
    const areas = inks.map((fill) => make("svg:path", {fill, "fill-opacity": 0.3}));
    const lines = inks.map((stroke) => make("svg:path", {stroke, fill: "none", "stroke-width": 2.5}));
    svg.append(...areas, ...lines, make("svg:line", {x1: left, x2: width - left, y1: floor, y2: floor, class: "live-zero"}));
    for (let t = REACH[0]; t <= REACH[1]; t++) word(px(t), floor + 17, fixed(t, 0), {class: "live-small", "text-anchor": "middle"});
    word(width / 2, floor + 35, "published number, in units of the noise", {class: "live-small", "text-anchor": "middle"});
    const grip = make("svg:g", {class: "live-handle", style: "touch-action: pan-y", ...live.drag((x) => figure.set({line: (x - left) / scale + REACH[0]}))},
      make("svg:rect", {x: -18, y: top - 6, width: 36, height: high + 6, fill: "transparent"}),
      make("svg:line", {y1: top - 6, y2: floor, stroke: "var(--l-ink)", "stroke-width": 2}),
      make("svg:rect", {x: -6, y: floor - 42, width: 12, height: 30, rx: 6, class: "live-dot"}));
    svg.append(grip);
    word(px(-0.75), top - 12, "without you", {fill: inks[0], "text-anchor": "end"}); // above the line and the bells
    const named = word(0, top - 12, "with you", {fill: inks[1]});
    word(left, floor + 57, `left${width < 330 ? "" : " of the line"}: guess \u201cwithout\u201d`, {fill: inks[0]});
    word(width - left, floor + 57, "right: guess \u201cwith\u201d", {"text-anchor": "end", fill: inks[1]});
    const gap = make("svg:path", {stroke: "var(--l-ink)", fill: "none", "stroke-width": 1.5});
    svg.append(gap);
    const shift = word(0, 14, "", {"text-anchor": "middle"});

    const sliders = [
      live.slider(figure, "line", "the line", [...REACH, 0.05], 2),
      live.slider(figure, "sigma", "noise σ", [5, 40, 1], 0),
      live.slider(figure, "steps", "steps T", [1, 100, 1], 0),
    ];
    picture.append(svg);
    controls.append(live.sliders(...sliders), live.reset(figure));

    return (state, {mu}) => {
      sliders.forEach((slider) => slider.update(state));
      const {line} = state;
      const close = (from, to, middle) => `M${px(from)} ${floor}L${curve(middle, from, to)}L${px(to)} ${floor}Z`;
      set(areas[0], {d: close(REACH[0], line, 0)});
      set(areas[1], {d: close(line, REACH[1], mu)});
      [0, mu].forEach((middle, k) => set(lines[k], {d: `M${curve(middle, ...REACH)}`}));
      set(named, {x: px(mu + 0.75)});
      set(grip, {transform: `translate(${px(line)} 0)`});
      set(gap, {d: `M${px(0)} 20v8M${px(mu)} 20v8M${px(0)} 24H${px(mu)}`});
      set(shift, {x: px(mu / 2)});
      shift.textContent = `μ = ${fixed(mu)}`;
    };
  },
});
}
