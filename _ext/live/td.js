/* TD(0), move by move: one walker, its values, and the row of each move. */
"use strict";
{
const {make, set, fixed} = live;
const {STATES, MOST, transitions, after, learn, off} = live.walk;
const [EARLY, LATE] = [106, 2656]; // the moves of 10 and of 310 episodes of walk 1
const [FALLS, RISES] = ["var(--l-falls)", "var(--l-rises)"]; // the value of a state, by minus the row
const SIZES = Array.from({length: 21}, (_, k) => k / 20); // the slider's step sizes

const named = ({from, to, ends}) => (ends ? say`${STATES[from]}, out` : say`${STATES[from]} to ${STATES[to]}`);

live.figure("td", {
  start: {alpha: 0.1, moves: EARLY, walk: 1},
  limits: {alpha: [0, 1], moves: [0, MOST, 1], walk: [1, 999, 1]},

  compute({alpha, moves, walk}) {
    const all = transitions(walk).slice(0, moves);
    const [theta, ...before] = [0, 1, 2, 3].map((back) => learn(all.slice(0, Math.max(0, moves - back)), alpha));
    const rows = all.slice(-3).reverse().map((move, k) => {
      const error = move.reward + (move.ends ? 0 : before[k][move.to]) - before[k][move.from];
      return {...move, row: STATES.map((_, i) => (i === move.from ? -error : 0))};
    });
    const errors = SIZES.map((size) => [size, off(learn(all, size))]);
    return {theta, old: before[0], rows, ended: all.filter(({ends}) => ends).length, error: off(theta), errors};
  },

  describe({moves}, {rows, old, ended, error}) {
    const wrong = say`Root mean square error ${fixed(error, 3)}.`;
    if (!moves) return say`No move yet: all values are 0.5. ${wrong}`;
    const {from, to, row, ends, reward} = rows[0];
    const has = row[from]
      ? say`: the row has ${fixed(row[from])} at ${STATES[from]}`
      : say`, no surprise: ${reward} + ${fixed(ends ? 0 : old[to])} − ${fixed(old[from])}`;
    const change = say`Move ${moves}, ${named(rows[0])}${has}.`;
    const now = ends ? say`Episode ${ended} ends.` : say`Episode ${ended + 1}.`;
    return say`${change} ${now} ${wrong}`;
  },

  found({alpha, moves, walk}, {ended, errors}) {
    const [best] = errors.reduce((a, b) => (b[1] < a[1] ? b : a));
    const shown = moves === LATE || (moves === EARLY && alpha === best);
    return walk === 1 && shown ? say`${best} after ${ended} episodes` : "";
  },

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const [label, top, floor, low] = wide ? [96, 34, 174, 76] : [58, 28, 118, 52];
    const gap = (width - label - 6) / 7;
    const column = (i) => label + gap * (i + 1.5);
    const [chain, header, table0] = [floor + 28, floor + 61, floor + 84];
    const plot = table0 + 62;
    const up = (v) => floor - (floor - top) * v;
    const svg = make("svg:svg", {width, height: plot + low + 24, role: "img", "aria-label": say`The states, their learned and true values, the latest rows, and the error at each step size; the last move is said below.`});
    const put = (kind, attributes, ...children) => {
      const made = make(`svg:${kind}`, attributes, ...children);
      svg.append(made);
      return made;
    };
    const word = (x, y, text, attributes) => put("text", {x, y, "text-anchor": "middle", ...attributes}, text);
    const aside = (y, text, small = "live-small") => word(label - 8, y, text, {"text-anchor": "end", class: small});
    for (const v of [0, 0.5, 1]) {
      put("path", {d: `M${label} ${up(v)}H${width}`, class: "live-grid"});
      aside(up(v) + 5, `${v}`);
    }
    word(0, 13, say`value`, {"text-anchor": "start"});
    const dots = STATES.map((_, i) => {
      put("path", {d: `M${column(i) - 17} ${up((i + 1) / 6)}h34`, stroke: "var(--l-ink)", "stroke-width": 2.5});
      const trail = put("rect", {x: column(i) - 1, width: 2, fill: "var(--l-blue)", class: "live-moves"});
      return {trail, dot: put("circle", {cx: column(i), r: 7, fill: "var(--l-blue)", class: "live-moves"})};
    });
    put("path", {d: `M${width - 152} 8h20`, stroke: "var(--l-ink)", "stroke-width": 2.5});
    put("circle", {cx: width - 70, cy: 8, r: 7, fill: "var(--l-blue)"});
    [[say`true`, "ink", 126], [say`learned`, "blue", 56]].forEach(([text, fill, x]) => (
      word(width - x, 13, text, {"text-anchor": "start", class: "live-name", fill: `var(--l-${fill})`})));

    put("path", {d: [-1, 0, 1, 2, 3, 4].map((i) => `M${column(i) + 15} ${chain}H${column(i + 1) - 15}`).join(""), stroke: "var(--l-grey)"});
    const places = ["0", ...STATES, "1"].map((name, k) => {
      const [x, inside] = [column(k - 1), STATES.includes(name)];
      const high = inside ? 15 : 13;
      const shape = make("svg:rect", {x: x - 15, y: chain - high, width: 30, height: 2 * high, rx: inside ? 15 : 0, class: "live-place"});
      const leave = () => figure.set({moves: after(figure.state, ({from}) => from === k - 1)});
      put("g", inside ? {class: "live-press", click: leave} : {}, shape, make("svg:text", {x, y: chain + 5, "text-anchor": "middle"}, name));
      return shape;
    });
    const walker = put("circle", {cy: chain, r: 20, fill: "none", stroke: "var(--l-blue)", "stroke-width": 3, class: "live-moves"});
    aside(chain + 5, say`walker`, "");

    word(0, header + 5, say`rows`, {"text-anchor": "start"});
    [[FALLS, say`+: value falls`], [RISES, say`−: value rises`]].forEach(([fill, text], k) => {
      const x = wide ? column(1 + 2 * k) - gap / 2 + 1 : 44 + k * (width - 44) / 2;
      put("rect", {x, y: header - 7, width: 14, height: 14, rx: 2, fill, "fill-opacity": 0.75});
      word(x + 20, header + 5, text, {"text-anchor": "start", class: "live-small"});
    });
    const table = Array.from({length: 2}, (_, k) => {
      const y = table0 + 23 * k;
      const cells = STATES.map((_, i) => {
        const cell = put("rect", {x: column(i) - gap / 2 + 1, y: y - 11, width: gap - 2, height: 21, rx: 3, stroke: "#88888855"});
        return {cell, text: word(column(i), y + 5, "")};
      });
      return {name: aside(y + 5, "", ""), cells};
    });
    word(0, plot - 12, say`root mean square error, for each step size α`, {"text-anchor": "start", class: "live-small"});
    const along = width - 14 - label;
    const curve = live.curve(svg, "var(--l-blue)", {
      left: label, right: width - 14, floor: plot + low, across: [0, 0.25, 0.5, 0.75, 1], up: [0, 0.2, 0.4],
      px: (v) => label + along * v, py: (v) => plot + low * (1 - v / 0.4),
      moved: (x) => figure.set({alpha: Math.round(20 * (x - label) / along) / 20}),
    });
    const alpha = live.slider(figure, "alpha", say`step size α`, [0, 1, 0.05], 2);
    const ends = [[1, say`1 episode`], [10, say`10 episodes`], [100, say`100 episodes`]].map(([n, name]) => (
      live.button(`+${n}`, () => figure.set({moves: after(figure.state, (move) => move.ends, n)}), {"aria-label": `+${n}: ${name}`})));
    const [play, steps] = [live.play(figure, "moves", (moves) => moves + 1, () => MOST, 350), live.stepper(figure, "moves", () => MOST)];
    const another = live.button(say`Another walk`, () => figure.set({walk: (figure.state.walk % 999) + 1}));
    const [moves, more] = [[play, ...steps.buttons], [make("span", {class: "live-many"}, say`episodes`, ...ends), another]];
    picture.append(svg);
    controls.append(live.sliders(alpha), ...(wide ? [live.row(...moves, ...more)] : [live.row(...moves), live.row(...more)]), live.reset(figure));

    return (state, {theta, old, rows, error, errors}) => {
      curve(errors, [state.alpha, error]);
      [alpha, steps].forEach((control) => control.update(state));
      dots.forEach(({trail, dot}, i) => {
        set(dot, {cy: up(theta[i])});
        set(trail, {y: up(Math.max(theta[i], old[i])), height: Math.abs(up(theta[i]) - up(old[i]))});
      });
      const last = rows[0]?.to ?? 2;
      set(walker, {cx: column(last)});
      places.forEach((shape, k) => shape.classList.toggle("live-here", k - 1 === last));
      table.forEach(({name, cells}, k) => {
        name.textContent = rows[k] ? named(rows[k]) : "";
        cells.forEach(({cell, text}, i) => {
          const v = rows[k]?.row[i] ?? 0;
          text.textContent = !rows[k] ? "" : v ? fixed(v) : "0";
          set(text, {fill: `var(--l-${v ? "ink" : "muted"})`});
          set(cell, {fill: v < 0 ? RISES : FALLS, "fill-opacity": Math.min(0.75, 1.5 * Math.abs(v)), visibility: rows[k] ? "visible" : "hidden"});
        });
      });
    };
  },
});
}
