/* TD(0), move by move: one walker, its values, and the row of each move. */
"use strict";
{
const {make, set, fixed} = live;
const STATES = ["A", "B", "C", "D", "E"];
const MOST = 3000;
const SHOWN = 3;
const [FALLS, RISES] = ["#8073AC", "#E08214"]; // the value of a state, by minus the row

/* The moves of a walk: +1 or -1, from whole numbers only, so that each machine walks alike. */
function* steps(walk) {
  let x = walk;
  for (let n = -10; ; n++) {
    x = (16807 * x) % 2147483647;
    if (n >= 0) yield x > 1073741823 ? 1 : -1;
  }
}

function* transitions(walk) {
  let from = 2;
  for (const step of steps(walk)) {
    const to = from + step;
    const ends = to < 0 || to > 4;
    yield {from, to, ends, reward: to > 4 ? 1 : 0};
    from = ends ? 2 : to;
  }
}

/* How many moves until some more episodes have ended. */
function after({walk, moves}, episodes) {
  let n = 0;
  for (const {ends} of transitions(walk)) {
    n += 1;
    if (n > moves && ends) episodes -= 1;
    if (!episodes || n === MOST) return n;
  }
}

live.figure("td", {
  start: {alpha: 0.1, moves: 0, walk: 1},
  limits: {alpha: [0, 1], moves: [0, MOST, 1], walk: [1, 999, 1]},

  compute({alpha, moves, walk}) {
    let theta = STATES.map(() => 0.5);
    let [old, at, episode] = [theta, 2, 1];
    const rows = [];
    let n = 0;
    for (const move of transitions(walk)) {
      if (n++ >= moves) break;
      old = theta;
      const error = move.reward + (move.ends ? 0 : theta[move.to]) - theta[move.from];
      const row = theta.map((_, i) => (i === move.from ? -error : 0));
      theta = theta.map((v, i) => v - alpha * row[i]);
      rows.unshift({...move, row});
      rows.length = Math.min(rows.length, SHOWN);
      at = move.ends ? 2 : move.to;
      episode += move.ends;
    }
    const errors = theta.map((v, i) => (v - (i + 1) / 6) ** 2);
    const error = Math.sqrt(errors.reduce((sum, e) => sum + e, 0) / 5);
    return {theta, old, rows, at, episode, error};
  },

  describe({moves}, {rows, old, episode, error}) {
    const off = say`Error of the values (rms): ${fixed(error, 3)}.`;
    if (!moves) return say`The walker stands at C, and all values are 0.5. ${off}`;
    const {from, to, row, ends, reward} = rows[0];
    const has = row[from]
      ? say`: the row has ${fixed(row[from])} at ${STATES[from]}`
      : say`, no surprise: ${reward} + ${fixed(ends ? 0 : old[to])} − ${fixed(old[from])}`;
    const change = say`Move ${moves}, ${named(rows[0])}${has}.`;
    const now = ends ? say`Episode ${episode - 1} has ended.` : say`Episode ${episode}.`;
    return say`${change} ${now} ${off}`;
  },

  build(figure, place, width) {
    const label = width >= 560 ? 110 : 62;
    const gap = (width - label - 8) / 7;
    const column = (i) => label + gap * (i + 1.5);
    const wide = width >= 560;
    const floor = 108;
    const header = floor + 58;
    const table0 = header + (wide ? 20 : 40);
    const height = table0 - 8 + 23 * SHOWN;
    const up = (v) => floor - 96 * v;
    const svg = make("svg:svg", {width, height, role: "img", "aria-label": say`The states, their learned and true values, and the latest rows; the last move is said below.`});
    const word = (x, y, text, attributes = {}) => {
      const made = make("svg:text", {x, y, "text-anchor": "middle", ...attributes}, text);
      svg.append(made);
      return made;
    };
    for (const v of [0, 0.5, 1]) {
      svg.append(make("svg:line", {x1: label, y1: up(v), x2: width, y2: up(v), class: "live-grid"}));
      word(label - 8, up(v) + 5, `${v}`, {"text-anchor": "end", class: "live-small"});
    }
    word(label - 8, up(0.75) + 5, say`value`, {"text-anchor": "end"});
    const dots = STATES.map((state, i) => {
      const truth = up((i + 1) / 6);
      svg.append(make("svg:line", {x1: column(i) - 17, y1: truth, x2: column(i) + 17, y2: truth, stroke: "#22262b", "stroke-width": 2}));
      const trail = make("svg:line", {x1: column(i), x2: column(i), stroke: "#0072B2", "stroke-width": 2});
      const dot = make("svg:circle", {cx: column(i), r: 7, fill: "#0072B2", class: "live-moves"});
      svg.append(trail, dot);
      return {trail, dot};
    });
    svg.append(make("svg:circle", {cx: label + 14, cy: up(0.9), r: 7, fill: "#0072B2"}));
    word(label + 26, up(0.9) + 4, say`learned`, {"text-anchor": "start", class: "live-small"});
    word(column(4) + 22, up(5 / 6) + 4, say`true`, {"text-anchor": "start", class: "live-small"});

    const chain = floor + 28;
    const places = [-1, 0, 1, 2, 3, 4, 5].map((i) => {
      const ends = {x1: column(i) + 15, x2: column(i + 1) - 15, y1: chain, y2: chain};
      if (i < 5) svg.append(make("svg:line", {...ends, stroke: "#777"}));
      const inside = i >= 0 && i < 5;
      const shape = inside
        ? make("svg:circle", {cx: column(i), cy: chain, r: 15})
        : make("svg:rect", {x: column(i) - 15, y: chain - 13, width: 30, height: 26});
      set(shape, {class: "live-place"});
      svg.append(shape);
      word(column(i), chain + 5, inside ? STATES[i] : i < 0 ? "0" : "1");
      return shape;
    });
    word(label - 8, chain + 5, say`walker`, {"text-anchor": "end"});

    word(0, header + 5, say`rows, newest first:`, {"text-anchor": "start", class: "live-small"});
    [[FALLS, say`value falls`], [RISES, say`value rises`]].forEach(([fill, text], k) => {
      const [x, y] = [(wide ? 140 : 0) + 110 * k, header + (wide ? 0 : 20)];
      svg.append(make("svg:rect", {x, y: y - 8, width: 16, height: 16, fill, "fill-opacity": 0.75}));
      word(x + 22, y + 5, text, {"text-anchor": "start", class: "live-small"});
    });

    const table = Array.from({length: SHOWN}, (_, k) => {
      const top = table0 + 4 + 23 * k;
      const name = word(label - 8, top + 5, "", {"text-anchor": "end"});
      const cells = STATES.map((_, i) => {
        const cell = make("svg:rect", {x: column(i) - gap / 2 + 1, y: top - 11, width: gap - 2, height: 21});
        svg.append(cell);
        return {cell, text: word(column(i), top + 5, "")};
      });
      return {name, cells};
    });
    const alpha = live.slider(figure, "alpha", say`step size α`, [0, 1, 0.05], 2);
    const go = (moves) => figure.set({moves});
    const back = live.button(say`Back`, () => go(figure.state.moves - 1));
    const next = live.button(say`Step`, () => go(figure.state.moves + 1));
    const buttons = [
      back,
      next,
      live.button(say`Episode`, () => go(after(figure.state, 1))),
      live.button(say`10 episodes`, () => go(after(figure.state, 10))),
      live.button(say`100 episodes`, () => go(after(figure.state, 100))),
      live.button(say`Another walk`, () => figure.set({walk: (figure.state.walk % 999) + 1})),
      live.button(say`Reset`, figure.reset),
    ];
    place.append(svg, make("div", {class: "live-controls"}, ...buttons, alpha.row));

    return (state, values) => {
      alpha.update(state);
      live.allow(back, state.moves > 0);
      live.allow(next, state.moves < MOST);
      dots.forEach(({trail, dot}, i) => {
        const y = up(values.theta[i]);
        set(dot, {cy: y});
        set(trail, {y1: up(values.old[i]), y2: y});
      });
      const last = values.rows[0]?.ends ? values.rows[0].to : values.at;
      places.forEach((shape, i) => shape.classList.toggle("live-here", i - 1 === last));
      table.forEach(({name, cells}, k) => {
        const shown = values.rows[k];
        name.textContent = shown ? named(shown) : "";
        cells.forEach(({cell, text}, i) => {
          const v = shown ? shown.row[i] : 0;
          text.textContent = !shown ? "" : v ? fixed(v) : "0";
          set(text, {class: v ? "" : "live-small"});
          set(cell, {
            fill: v < 0 ? RISES : FALLS,
            "fill-opacity": Math.min(0.75, 1.5 * Math.abs(v)),
            stroke: "#88888866",
          });
        });
      });
    };
  },
});

function named({from, to, ends}) {
  return ends ? say`${STATES[from]}, out` : say`${STATES[from]} to ${STATES[to]}`;
}
}
