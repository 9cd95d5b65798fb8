/* TD(0), move by move: one walker, its values, and the row of each move. */
"use strict";
{
const {make, set, fixed} = live;
const STATES = ["A", "B", "C", "D", "E"];
const [MOST, SHOWN] = [3000, 3];
const [FALLS, RISES] = ["var(--l-falls)", "var(--l-rises)"]; // the value of a state, by minus the row

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

/* How many moves until a state has been left once more. */
function until({walk, moves}, state) {
  let n = 0;
  for (const {from} of transitions(walk)) if ((n += 1) === MOST || (n > moves && from === state)) return n;
}

live.figure("td", {
  start: {alpha: 0.1, moves: 106, walk: 1},
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
    const off = say`Root mean square error ${fixed(error, 3)}.`;
    if (!moves) return say`No move yet: all values are 0.5. ${off}`;
    const {from, to, row, ends, reward} = rows[0];
    const has = row[from]
      ? say`: the row has ${fixed(row[from])} at ${STATES[from]}`
      : say`, no surprise: ${reward} + ${fixed(ends ? 0 : old[to])} − ${fixed(old[from])}`;
    const change = say`Move ${moves}, ${named(rows[0])}${has}.`;
    const now = ends ? say`Episode ${episode - 1} ends.` : say`Episode ${episode}.`;
    return say`${change} ${now} ${off}`;
  },

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const label = wide ? 96 : 58;
    const gap = (width - label - 6) / 7;
    const column = (i) => label + gap * (i + 1.5);
    const [top, floor] = wide ? [34, 174] : [34, 150];
    const chain = floor + 28;
    const table0 = chain + 52;
    const up = (v) => floor - (floor - top) * v;
    const svg = make("svg:svg", {width, height: table0 - 6 + 23 * SHOWN, role: "img", "aria-label": say`The states, their learned and true values, and the latest rows; the last move is said below.`});
    const word = (x, y, text, attributes = {}) => {
      const made = make("svg:text", {x, y, "text-anchor": "middle", ...attributes}, text);
      svg.append(made);
      return made;
    };
    const aside = (y, text, small = "live-small") => word(label - 8, y, text, {"text-anchor": "end", class: small});
    for (const v of [0, 0.5, 1]) {
      svg.append(make("svg:line", {x1: label, y1: up(v), x2: width, y2: up(v), class: "live-grid"}));
      aside(up(v) + 5, `${v}`);
    }
    word(0, 13, say`value`, {"text-anchor": "start"});
    const dots = STATES.map((state, i) => {
      const truth = up((i + 1) / 6);
      svg.append(make("svg:line", {x1: column(i) - 17, y1: truth, x2: column(i) + 17, y2: truth, stroke: "var(--l-ink)", "stroke-width": 2.5}));
      const trail = make("svg:rect", {x: column(i) - 1, width: 2, fill: "var(--l-blue)", class: "live-moves"});
      const dot = make("svg:circle", {cx: column(i), r: 7, fill: "var(--l-blue)", class: "live-moves"});
      svg.append(trail, dot);
      return {trail, dot};
    });
    const beside = {...(wide ? {x: column(4) + 22, "text-anchor": "start"} : {x: width, "text-anchor": "end"}), class: "live-name"};
    const names = [word(0, 0, say`true`, {...beside, fill: "var(--l-ink)"}), word(0, 0, say`learned`, {...beside, fill: "var(--l-blue)"})];

    svg.append(make("svg:path", {d: [-1, 0, 1, 2, 3, 4].map((i) => `M${column(i) + 15} ${chain}H${column(i + 1) - 15}`).join(""), stroke: "var(--l-grey)"}));
    const walker = make("svg:circle", {cy: chain, r: 20, fill: "none", stroke: "var(--l-blue)", "stroke-width": 3, class: "live-moves"});
    const places = [-1, 0, 1, 2, 3, 4, 5].map((i) => {
      const inside = i >= 0 && i < 5;
      const shape = make(inside ? "svg:circle" : "svg:rect", {cx: column(i), cy: chain, r: 15, x: column(i) - 15, y: chain - 13, width: 30, height: 26, class: "live-place"});
      svg.append(make("svg:g", inside ? {class: "live-press", click: () => go(until(figure.state, i))} : {}, shape,
        make("svg:text", {x: column(i), y: chain + 5, "text-anchor": "middle"}, inside ? STATES[i] : i < 0 ? "0" : "1")));
      return shape;
    });
    svg.append(walker);
    aside(chain + 5, say`walker`, "");

    const header = chain + 33;
    word(0, header + 5, say`rows`, {"text-anchor": "start"});
    [[FALLS, say`+: value falls`], [RISES, say`−: value rises`]].forEach(([fill, text], k) => {
      const x = wide ? column(1 + 2 * k) - gap / 2 + 1 : 44 + k * (width - 44) / 2;
      svg.append(make("svg:rect", {x, y: header - 7, width: 14, height: 14, rx: 2, fill, "fill-opacity": 0.75}));
      word(x + 20, header + 5, text, {"text-anchor": "start", class: "live-small"});
    });
    const table = Array.from({length: SHOWN}, (_, k) => {
      const y = table0 + 4 + 23 * k;
      const name = aside(y + 5, "", "");
      const cells = STATES.map((_, i) => {
        const cell = make("svg:rect", {x: column(i) - gap / 2 + 1, y: y - 11, width: gap - 2, height: 21, rx: 3, stroke: "#88888855"});
        svg.append(cell);
        return {cell, text: word(column(i), y + 5, "")};
      });
      return {name, cells};
    });
    const none = word(column(2), table0 + 9, say`no move yet`, {class: "live-small"});
    const alpha = live.slider(figure, "alpha", say`step size α`, [0, 1, 0.05], 2);
    const go = (moves) => figure.set({moves});
    const back = live.button(say`Back`, () => go(figure.state.moves - 1));
    const next = live.button(say`Step`, () => go(figure.state.moves + 1));
    const ends = [[1, say`1 episode`], [10, say`10 episodes`], [100, say`100 episodes`]].map(([n, name]) => (
      live.button(`+${n}`, () => go(after(figure.state, n)), {"aria-label": `+${n}: ${name}`})));
    const play = live.play(figure, "moves", (moves) => moves + 1, () => MOST, 350);
    picture.append(svg);
    const another = live.button(say`Another walk`, () => figure.set({walk: (figure.state.walk % 999) + 1}));
    const [moves, more] = [[play, back, next], [make("span", {class: "live-many"}, say`episodes`, ...ends), another]];
    const reset = live.reset(figure);
    controls.append(live.sliders(alpha), ...(wide ? [live.row(...moves, ...more, reset)] : [live.row(...moves, reset), live.row(...more)]));

    return (state, values) => {
      alpha.update(state);
      live.allow(back, state.moves > 0);
      live.allow(next, state.moves < MOST);
      dots.forEach(({trail, dot}, i) => {
        const [y, before] = [up(values.theta[i]), up(values.old[i])];
        set(dot, {cy: y});
        set(trail, {y: Math.min(y, before), height: Math.abs(y - before)});
      });
      const [truth, learned] = [up(5 / 6) + 5, up(values.theta[4]) + 5];
      set(names[0], {y: truth});
      set(names[1], {y: Math.abs(learned - truth) > 15 ? learned : truth + (learned < truth ? -15 : 15)});
      const last = values.rows[0]?.ends ? values.rows[0].to : values.at;
      set(walker, {cx: column(last)});
      set(none, {visibility: values.rows.length ? "hidden" : "visible"});
      places.forEach((shape, i) => shape.classList.toggle("live-here", i - 1 === last));
      table.forEach(({name, cells}, k) => {
        const shown = values.rows[k];
        name.textContent = shown ? named(shown) : "";
        cells.forEach(({cell, text}, i) => {
          const v = shown ? shown.row[i] : 0;
          text.textContent = !shown ? "" : v ? fixed(v) : "0";
          set(text, {fill: `var(--l-${v ? "ink" : "muted"})`});
          set(cell, {fill: v < 0 ? RISES : FALLS, "fill-opacity": Math.min(0.75, 1.5 * Math.abs(v)), visibility: shown ? "visible" : "hidden"});
        });
      });
    };
  },
});

function named({from, to, ends}) {
  return ends ? say`${STATES[from]}, out` : say`${STATES[from]} to ${STATES[to]}`;
}
}
