/* Three training steps, line by line: what is in .grad, and which line fails. Each choice is a line. */
"use strict";
{
const {make, set} = live;
const [START, RATE, ROUNDS] = [[1, 2], 0.1, 3];
const LOSSES = ["w * w", "w * w.detach()", "w.detach() * w.detach()"];
const CUTS = ["no", "one", "both"];
const UPDATES = ["no_grad()", "w -= \u2026", "w = w - \u2026"];
const ERRORS = {
  cut: "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
  leaf: "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.",
  none: "TypeError: unsupported operand type(s) for *: 'float' and 'NoneType'",
};
const short = (v) => `${Number(v.toFixed(2))}`.replace("-", "\u2212");
const shown = (v) => (v ? `[${v.map(short).join(", ")}]` : "None");

/* The lines as they are, with the choices made. */
const program = ({clear, loss, update}) => [
  "w = tensor([1., 2.]).requires_grad_()",
  "for step in range(3):",
  clear ? "    w.grad = None" : "    # w.grad = None",
  `    loss = (${LOSSES[loss]}).sum()`,
  "    loss.backward()",
  ["    with no_grad(): w -= 0.1 * w.grad", "    w -= 0.1 * w.grad", "    w = w - 0.1 * w.grad"][update],
];

/* Where the program stands after each line: from the first to the last, or to the error. */
function run({clear, loss, update}) {
  let [w, grad, leaf] = [START, null, true];
  const frames = [{line: 0, round: 0, w, grad, leaf}];
  const note = (line, round, more = {}) => frames.push({line, round, w, grad, leaf, ...more});
  for (let round = 1; round <= ROUNDS; round++) {
    if (clear) note(2, round, {grad: (grad = null)});
    note(3, round, {value: w[0] ** 2 + w[1] ** 2});
    if (loss === 2) return note(4, round, {error: "cut"}) && frames;
    const added = w.map((v) => (loss ? 1 : 2) * v);
    if (leaf) grad = grad ? grad.map((v, i) => v + added[i]) : added;
    note(4, round, {added});
    if (!leaf) return note(5, round, {error: "none"}) && frames;
    if (update === 1) return note(5, round, {error: "leaf"}) && frames;
    w = w.map((v, i) => v - RATE * grad[i]);
    if (update === 2) [leaf, grad] = [false, null];
    note(5, round);
  }
  return frames;
}

live.figure("loop", {
  start: {at: 3, clear: 1, loss: 0, update: 0},
  limits: {at: [0, 12, 1], clear: [0, 1, 1], loss: [0, 2, 1], update: [0, 2, 1]},

  compute(state) {
    const frames = run(state);
    return {frames, at: Math.min(state.at, frames.length - 1)};
  },

  describe(state, {frames, at}) {
    const {line, round, w, grad, leaf, value, added, error} = frames[at];
    if (error) return `${ERRORS[error]}${error === "leaf" ? "" : "."} This is the line of step ${round}.`;
    if (line === 0) return "w is a marked leaf. Nothing has been computed, and .grad is None.";
    if (line === 2) return `Step ${round}: what was in .grad is gone.`;
    if (line === 3) return `Step ${round}: the loss is ${short(value)}. ${["Both factors lead back to w.", "Only one factor leads back to w.", "Nothing leads back to w."][state.loss]}`;
    if (line === 5) return `Step ${round}: w is ${shown(w)}${leaf ? "." : ", and a result: no leaf, and its .grad is None."}`;
    if (!leaf) return `Step ${round}: the gradient went to the first w. This w is a result, and its .grad is None.`;
    const old = frames.slice(0, at).reverse().find((frame) => frame.line !== 3).grad;
    return `Step ${round}: backward() adds ${shown(added)} to ${old ? `the old .grad, ${shown(old)}` : "nothing"}: ${shown(grad)}. The gradient is 2w, ${shown(w.map((v) => 2 * v))}.`;
  },
  found: (_, {frames, at}) => ({cut: "no factor leads back, at once", leaf: "w -= \u2026, at once", none: "w = w - \u2026, in the second step"})[frames[at].error] ?? "",

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const [high, left, top] = [25, wide ? 318 : 0, wide ? 0 : 172];
    const [unit, rim] = wide ? [11, 108] : [9.5, 92]; // pixels: of 1 in .grad's second number, and of a bucket
    const floor = top + rim + 30;
    const svg = make("svg:svg", {width, height: floor + 48, role: "img", "aria-label": "A program of three training steps, and for each step a bucket: how far .grad fills it, and a line at the right gradient; the last line is said below."});
    const word = (parent, x, y, attributes = {}, text = "") => {
      const made = make("svg:text", {x, y, ...attributes}, text);
      parent.append(made);
      return made;
    };
    const mark = make("svg:rect", {x: 0, y: 1, width: wide ? 316 : width, height: high - 1, rx: 5, class: "live-moves"});
    svg.append(mark);
    const cycle = (key, most) => ({class: "live-press", click: () => figure.set({[key]: (figure.state[key] + 1) % most})});
    const lines = [{}, {}, cycle("clear", 2), cycle("loss", 3), {}, cycle("update", 3)].map((press, i) => {
      const group = make("svg:g", press);
      svg.append(group);
      return word(group, 6, high * i + 17, {class: "live-code", ...(wide ? {style: "font-size: 12px"} : {})});
    });
    const apart = (width - left) / ROUNDS;
    const wall = (level) => 25 + 0.11 * level; // half as wide as the bucket is at a level, in pixels above its floor
    const filled = (low, high) => `M${-wall(low)} ${-low}L${-wall(high)} ${-high}H${wall(high)}L${wall(low)} ${-low}Z`;
    const buckets = Array.from({length: ROUNDS}, (_, k) => {
      const x = left + apart * (k + 0.5);
      const at = make("svg:g", {transform: `translate(${x} ${floor})`});
      const [old, added] = ["orange", "blue"].map((ink) => make("svg:path", {fill: `var(--l-${ink})`, "fill-opacity": 0.55}));
      const frame = make("svg:path", {d: `M${-wall(rim)} ${-rim}L${-wall(0)} 0H${wall(0)}L${wall(rim)} ${-rim}`, fill: "none", stroke: "var(--l-ink)", "stroke-width": 2, "stroke-linejoin": "round"});
      const line = make("svg:path", {stroke: "var(--l-ink)", "stroke-width": 1.5, "stroke-dasharray": "4 3"});
      svg.append(at);
      at.append(old, added, frame, line);
      const middle = {"text-anchor": "middle"};
      const parts = ["old", "new"].map((text) => word(at, 0, 0, middle, text));
      const name = word(svg, x, top + 14, {...middle, class: "live-title"}, `step ${k + 1}`);
      return {
        at, old, added, line, name, parts,
        right: word(at, wall(rim) + 3, 0, {class: "live-small"}, "2w"),
        grad: word(svg, x, floor + 21, {...middle, "font-weight": 600}),
        wanted: word(svg, x, floor + 41, {...middle, class: "live-small"}),
      };
    });
    const last = () => figure.values.frames.length - 1;
    const [play, steps] = [live.play(figure, "at", (at) => at + 1, last, 1200), live.stepper(figure, "at", last)];
    const clear = live.toggle(figure, "clear", "clear .grad");
    const loss = live.choice(figure, "loss", "detach()", CUTS);
    const update = live.choice(figure, "update", "update", UPDATES);
    picture.append(svg);
    controls.append(live.row(play, ...steps.buttons, clear.row), live.row(loss.row, update.row), live.reset(figure));

    return (state, {frames, at}) => {
      [steps, clear, loss, update].forEach((control) => control.update(state));
      const {line, error} = frames[at];
      set(mark, {transform: `translate(0 ${high * line})`, fill: error ? "var(--l-warm)" : "var(--l-tint)"});
      program(state).forEach((text, i) => {
        lines[i].textContent = text.replace(/^ +/, (spaces) => "\u00a0".repeat(spaces.length));
        set(lines[i], {fill: `var(--l-${i === 2 && !state.clear ? "muted" : "ink"})`});
      });
      buckets.forEach((one, k) => {
        const passed = frames.slice(0, at + 1).filter(({round}) => round === k + 1);
        const after = passed.find((frame) => frame.line === 4); // backward() has run, or failed
        const now = after ?? passed.at(-1);
        const [full, fresh] = [now?.grad?.[1] ?? 0, (after?.grad && after.added?.[1]) || 0].map((v) => v * unit);
        const right = now?.w.map((v) => 2 * v);
        const fits = after && `${after.grad?.map((v) => v.toFixed(9))}` === `${right.map((v) => v.toFixed(9))}`;
        set(one.at, {opacity: now ? 1 : 0.35});
        set(one.name, {fill: `var(--l-${now ? "ink" : "muted"})`});
        set(one.old, {d: filled(0, full - fresh)});
        set(one.added, {d: filled(full - fresh, full)});
        one.parts.forEach((text, i) => {
          const [low, high] = [i * (full - fresh), i ? full : full - fresh];
          set(text, {y: 5 - (low + high) / 2, opacity: Number(high - low > 15)});
        });
        set(one.line, {d: now ? `M${-wall(right[1] * unit) - 5} ${-right[1] * unit}h${2 * wall(right[1] * unit) + 10}` : ""});
        set(one.right, {y: now ? 4 - right[1] * unit : 0, opacity: Number(Boolean(now))});
        one.grad.textContent = !after ? "" : after.error ? "error" : `${shown(after.grad)} ${fits ? "\u2713" : "\u2717"}`;
        set(one.grad, {fill: fits ? "var(--l-green)" : "var(--l-orange)"});
        one.wanted.textContent = now ? `2w = ${shown(right)}` : "";
      });
    };
  },
});
}
