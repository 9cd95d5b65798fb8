/* Rows, mean, clip: four points and a line; the row of each point, and three means of them, larger. */
"use strict";
{
const {make, set, fixed, pair} = live;
const LINE = [0, 0.5];
const MEANS = [
  [say`mean`, "var(--l-blue)", 2],
  [say`clipped last`, "var(--l-red)", 6],
  [say`clipped first`, "var(--l-green)", 2.5],
];
const OTHERS = [
  [say`row`, "var(--l-grey)", 1],
  [say`clipped row`, "var(--l-ink)", 2],
  [say`bound`, "var(--l-muted)", 1.5, "2 3"],
];
const SCALES = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.2, 1.5]; // what a line of the grid may be from the next
const longest = (arrows) => Math.max(...arrows.flat().map(Math.abs)) / 2.6; // from the middle to an edge it is 2.8 lines
const shorten = (row, bound) => row.map((v) => v * Math.min(1, bound / Math.hypot(...row)));
const average = (rows) => [0, 1].map((k) => rows.reduce((sum, row) => sum + row[k], 0) / rows.length);
const at = (list, i, value) => list.map((old, j) => (j === i ? value : old));

/* A grid, `low` if title and label share a line. Returns where a number lies in pixels; `back`: what lies there; `number(k)` numbers it by k. */
function axes(parent, {left, top, right, bottom, x, y, title, xlabel, ylabel, low}) {
  const px = (v) => left + ((v - x[0]) / (x[1] - x[0])) * (right - left);
  const py = (v) => bottom - ((v - y[0]) / (y[1] - y[0])) * (bottom - top);
  const line = (x1, y1, x2, y2, v) => make("svg:line", {x1, y1, x2, y2, class: v ? "live-grid" : "live-zero"});
  const word = (x, y, text, anchor = "middle") => make("svg:text", {x, y, "text-anchor": anchor, class: "live-small"}, text);
  const words = [];
  const every = px(1) - px(0) < 32 ? 2 : 1; // numbers need room
  const put = (v, drawn, name) => words.push([v, name]) && parent.append(drawn, name);
  for (let v = Math.ceil(x[0]); v <= x[1]; v++) put(v, line(px(v), top, px(v), bottom, v), word(px(v), bottom + 15, ""));
  for (let v = Math.ceil(y[0]); v <= y[1]; v++) put(v, line(left, py(v), right, py(v), v), word(left - 5, py(v) + 4, "", "end"));
  const number = (k) => words.forEach(([v, name]) => (name.textContent = v % every ? "" : `${Number((k * v).toFixed(2))}`.replace("-", "\u2212")));
  number(1);
  parent.append(
    make("svg:text", {x: left - (low ? 4 : 20), y: top - (low ? 9 : 32), class: "live-title"}, title),
    word(low ? right - 4 : (left + right) / 2, bottom + (low ? 15 : 31), xlabel),
    word(left - 20, top - 9, ylabel, "start"),
  );
  const back = (u, v) => [x[0] + ((u - left) / (right - left)) * (x[1] - x[0]), y[0] + ((bottom - v) / (bottom - top)) * (y[1] - y[0])];
  return {px, py, back, number};
}

/* A name beside a sample of its line: [name, colour, width, dashes]. */
function key([name, stroke, thick, dashes = "none"]) {
  const word = make("span", {}, name);
  const sample = make("svg:svg", {width: 20, height: 10, "aria-hidden": "true"},
    make("svg:path", {d: "M0 5H20", stroke, "stroke-width": thick, "stroke-dasharray": dashes}));
  return {word, element: make("span", {style: `color: ${stroke}`}, sample, word)};
}

live.figure("clip", {
  start: {chosen: 3, bound: 0.7, t: [-1.1, 0, 0.8, 1], y: [0.6, 1.8, 1.3, -0.8]},
  limits: {chosen: [0, 3, 1], bound: [0.1, 4], t: [-1.2, 1.2], y: [-2, 2]},

  compute({bound, t, y}) {
    const errors = t.map((v, i) => LINE[0] + LINE[1] * v - y[i]);
    const rows = t.map((v, i) => [errors[i], errors[i] * v]);
    const clipped = rows.map((row) => shorten(row, bound));
    const mean = average(rows);
    return {rows, clipped, means: [mean, shorten(mean, bound), average(clipped)]};
  },

  describe({chosen, bound}, {rows, clipped, means: [mean, , first]}) {
    const cosine = (mean[0] * first[0] + mean[1] * first[1]) / Math.hypot(...mean) / Math.hypot(...first);
    const angle = Math.acos(Math.min(1, Math.max(-1, cosine))) * (180 / Math.PI);
    const turned = Number.isNaN(angle) ? "" : say`Clipping each row first turns the mean by ${fixed(angle, 0)}°.`;
    const share = (list) => fixed(Math.hypot(...list[chosen]) / 4);
    const put = say`Point ${chosen + 1} then adds an arrow of length ${share(clipped)} to it, instead of ${share(rows)}; none adds more than bound/4 = ${fixed(bound / 4, 3)}.`;
    return turned ? say`${turned} ${put}` : put;
  },

  found(_, {means: [mean, , first]}, {means: [was, , wasFirst]}) {
    const moved = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);
    return moved(mean, was) > 0.25 && moved(first, wasFirst) < 0.02 ? say`“clipped first” stays` : "";
  },

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const side = wide ? 0.285 * width : 0.5 * width - 32; // of the square with the rows, and of that with the means
    const top = wide ? 50 : 207;
    const bottom = top + side;
    const svg = make("svg:svg", {width, height: bottom + 38, role: "group", "aria-label": say`Points to move, and their rows`});
    const drawn = make("svg:g", {"aria-hidden": "true"});
    svg.append(drawn);
    const data = axes(drawn, {
      left: 34, top: wide ? top : 24, right: wide ? width - 2 * side - 96 : width - 12, bottom: wide ? bottom : 140,
      x: [-1.4, 1.4], y: [-2.3, 2.3],
      title: say`Points to drag`, xlabel: "t", ylabel: "y", low: !wide,
    });
    const plane = (left, title) => {
      const frame = make("svg:clipPath", {id: `${figure.id}-${left}`}, make("svg:rect", {x: left, y: top, width: side, height: side}));
      const inside = make("svg:g", {"clip-path": `url(#${figure.id}-${left})`});
      const made = axes(drawn, {
        left, top, right: left + side, bottom, x: [-2.8, 2.8], y: [-2.8, 2.8],
        title, xlabel: say`with respect to ${"\u03b8\u2081"}`, ylabel: say`with respect to ${"\u03b8\u2082"}`,
      });
      const circle = make("svg:circle", {cx: made.px(0), cy: made.py(0), fill: "none", stroke: "var(--l-muted)", "stroke-width": 1.5, "stroke-dasharray": "2 3", class: "live-moves"});
      inside.append(circle);
      drawn.append(frame, inside);
      return {...made, inside, circle, left};
    };
    const many = plane(wide ? width - 2 * side - 48 : 26, say`Their rows`);
    const three = plane(width - side, say`Three means`);
    const unit = side / 5.6;
    const {left, inside} = many;
    const ends = [-1.4, 1.4].map((v) => [data.px(v), data.py(LINE[0] + LINE[1] * v)]);
    drawn.append(make("svg:path", {d: `M${ends[0]}L${ends[1]}`, stroke: "var(--l-ink)", "stroke-width": 2}));
    const grip = make("svg:g", {class: "live-handle", ...live.drag((u, v) => figure.set({bound: each * Math.hypot(u - ox, v - oy) / unit}))},
      make("svg:circle", {r: 18, class: "live-ring"}), make("svg:circle", {r: 6, class: "live-dot"}));
    const called = make("svg:text", {y: 5, class: "live-small live-name"}, say`bound`);
    grip.append(called);

    const points = figure.state.t.map((_, i) => {
      const error = make("svg:path", {stroke: "var(--l-grey)", "stroke-dasharray": "4 3", class: "live-moves"});
      drawn.append(error);
      const row = live.arrow(inside, {stroke: "var(--l-grey)", "stroke-width": 1});
      const clipped = live.arrow(inside, {stroke: "var(--l-ink)", "stroke-width": 2});
      const name = make("svg:text", {"text-anchor": "middle"}, `${i + 1}`);
      inside.append(name);
      const put = (t, y) => figure.set({chosen: i, t: at(figure.state.t, i, t), y: at(figure.state.y, i, y)});
      const dot = live.handle(svg, `point ${i + 1}`, say`Point ${i + 1}`, {
        moved: (u, v) => put(...data.back(u, v)),
        nudged: (right, up) => put(figure.state.t[i] + 0.1 * right, figure.state.y[i] + 0.1 * up),
      });
      set(dot, {"aria-valuemin": -2, "aria-valuemax": 2});
      dot.append(make("svg:text", {"text-anchor": "middle", y: 5, class: "live-number"}, `${i + 1}`));
      return {error, row, clipped, name, dot};
    });
    const means = [];
    for (const k of [1, 0, 2]) means[k] = live.arrow(three.inside, {stroke: MEANS[k][1], "stroke-width": MEANS[k][2]}); // the thick one below
    drawn.append(grip);
    const [keys, others] = [MEANS, OTHERS].map((all) => all.map(key));
    const bound = live.slider(figure, "bound", say`bound`, [0.1, 4, 0.1], 1);
    picture.append(svg, make("div", {class: "live-keys", "aria-hidden": "true"}, ...keys.flatMap((one, i) => [one.element, others[i].element])));
    controls.append(live.row(live.sliders(bound), live.reset(figure)));

    const [ox, oy] = [many.px(0), many.py(0)];
    let each = 1;
    /* A scale leaves room to move, and grows at once, in a drag too, if an arrow would leave the square. */
    const scale = (lines, room) => {
      let end = 0;
      return (needed) => {
        const kept = end && !figure.anew;
        return (end = kept && needed <= end ? end : lines.find((k) => needed * (kept ? 1 : room) <= k) ?? 2);
      };
    };
    const [scaleRows, scaleMeans] = [scale([1, 1.2, 1.5], 1), scale(SCALES, 1.8)];
    const place = ([a, b]) => [many.px(a / each), many.py(b / each)];
    return (state, values) => {
      bound.update(state);
      each = scaleRows(longest(values.rows));
      const fine = scaleMeans(longest(values.means));
      many.number(each);
      three.number(fine);
      set(many.circle, {r: unit * state.bound / each});
      set(three.circle, {r: unit * state.bound / fine});
      const [aside, most] = [unit * state.bound * Math.SQRT1_2 / each, side / 2 - 10]; // within the square, and its name too
      set(grip, {transform: `translate(${ox + Math.min(aside, most)} ${oy + Math.min(aside, most)})`});
      set(called, aside + 48 < most ? {x: 11, y: 5, "text-anchor": "start"} : {x: aside < most - 10 ? 8 : -11, y: aside < most - 10 ? 21 : 5, "text-anchor": "end"});
      keys.forEach(({word}, k) => (word.textContent = `${MEANS[k][0]} ${pair(values.means[k])}`));
      points.forEach(({error, row, clipped, name, dot}, i) => {
        const [t, y] = [state.t[i], state.y[i]];
        const [u, v] = [data.px(t), data.py(y)];
        set(dot, {
          transform: `translate(${u} ${v})`, "aria-valuenow": y,
          "aria-valuetext": say`t ${fixed(t)}, y ${fixed(y)}, row ${pair(values.rows[i])}`,
        });
        set(error, {d: `M${u} ${v}V${data.py(LINE[0] + LINE[1] * t)}`});
        const [whole, short] = [values.rows[i], values.clipped[i]].map(place);
        row(ox, oy, ...whole);
        clipped(ox, oy, ...short);
        const length = Math.hypot(whole[0] - ox, whole[1] - oy) || 1;
        const beside = (tip, from, low, high) => Math.min(high, Math.max(low, tip + (11 * (tip - from)) / length));
        set(name, {x: beside(whole[0], ox, left + 8, left + side - 8), y: beside(whole[1], oy, top + 10, bottom - 10) + 5});
      });
      means.forEach((move, k) => move(three.px(0), three.py(0), three.px(values.means[k][0] / fine), three.py(values.means[k][1] / fine)));
    };
  },
});
}
