/* Rows, mean, clip: four points and a line; the row of each point, and three means of them, larger. */
"use strict";
{
const {make, set, fixed, pair} = live;
const model = (t) => 0.5 * t; // the line
const KEYS = [ // name, colour, width and dashes of the three means, and below each of something else
  [say`mean`, "var(--l-blue)", 1.75], [say`row`, "var(--l-grey)", 1],
  [say`clipped last`, "var(--l-red)", 7], [say`clipped row`, "var(--l-ink)", 2],
  [say`clipped first`, "var(--l-green)", 4], [say`bound`, "var(--l-muted)", 1.5, "2 3"],
];
const shorten = (row, bound) => row.map((v) => v * Math.min(1, bound / Math.hypot(...row)));
const average = (rows) => [0, 1].map((k) => rows.reduce((sum, row) => sum + row[k], 0) / rows.length);

/* A grid from -x to x and from -y to y, `low` if title and label share a line, `beside` if the other label and its numbers do; `number(k)` lets 1 stand for k. */
function axes(parent, {left, top, right, bottom, x, y, title, xlabel, ylabel, low, beside}) {
  const [cx, cy, ux, uy] = [(left + right) / 2, (top + bottom) / 2, (right - left) / 2 / x, (bottom - top) / 2 / y];
  const [px, py] = [(v) => cx + v * ux, (v) => cy - v * uy]; // where a number lies
  const word = (x, y, text, anchor, kind = "live-small") => make("svg:text", {x, y, "text-anchor": anchor, class: kind}, text);
  const grid = parent.appendChild(make("svg:g"));
  const number = (k) => {
    const step = [0.05, 0.1, 0.2, 0.5, 1, 2, 5].find((one) => y * k <= 3.6 * one);
    grid.replaceChildren(...[-3, -2, -1, 0, 1, 2, 3].flatMap((i) => {
      const [v, text] = [i * step / k, i % (ux * step < 32 * k ? 2 : 1) ? "" : fixed(i * step).replace(/\.?0+$/, "")];
      const line = (most, d, ...at) => (Math.abs(v) > most ? [] : [make("svg:path", {d, class: i ? "live-grid" : "live-zero"}), word(...at)]);
      return [...line(y, `M${left} ${py(v)}H${right}`, left - 5, py(v) + 4, text, "end"), ...line(x, `M${px(v)} ${top}V${bottom}`, px(v), bottom + 15, text, "middle")];
    }));
  };
  number(1);
  parent.append(word(left - (low ? 4 : 20), top - (low ? 9 : 32), title, "start", "live-title"),
    word(beside ? right - 4 : cx, bottom + (beside ? 15 : 31), xlabel, "middle"), word(left - 20, top - 9, ylabel, "start"));
  return {cx, cy, number, place: (v, w) => [px(v), py(w)], back: (u, v) => [(u - cx) / ux, (cy - v) / uy]};
}

/* A name beside a sample of its line. */
function key([name, stroke, thick, dashes = "none"]) {
  const line = make("svg:path", {d: "M0 5H20", stroke, "stroke-width": thick, "stroke-dasharray": dashes});
  return make("span", {style: `color: ${stroke}`}, make("svg:svg", {width: 20, height: 10}, line), make("span", {}, name));
}

live.figure("clip", {
  start: {chosen: 3, bound: 0.7, t: [-1.1, 0, 0.8, 1], y: [0.6, 1.8, 1.3, -0.8]},
  limits: {chosen: [0, 3, 1], bound: [0.1, 4], t: [-1.2, 1.2], y: [-2, 2]},

  compute({bound, t, y}) {
    const errors = t.map((v, i) => model(v) - y[i]);
    const rows = t.map((v, i) => [errors[i], errors[i] * v]);
    const clipped = rows.map((row) => shorten(row, bound));
    return {rows, clipped, means: [average(rows), shorten(average(rows), bound), average(clipped)]};
  },

  describe({chosen, bound}, {rows, clipped, means: [[a, b], , [c, d]]}) {
    const angle = Math.abs(Math.atan2(a * d - b * c, a * c + b * d)) * (180 / Math.PI);
    const turned = say`Clipping each row first turns the mean by ${fixed(angle, 0)}°.`;
    const [was, now, most] = [rows[chosen], clipped[chosen], [bound]].map((v) => fixed(Math.hypot(...v) / 4, 3));
    const put = was === now ? say`Point ${chosen + 1} adds its whole arrow, of length ${now}; none adds more than bound/4 = ${most}.`
      : say`Point ${chosen + 1} then adds an arrow of length ${now}, not ${was}; none adds more than bound/4 = ${most}.`;
    return say`${turned} ${put}`;
  },

  found(_, {means: [mean, , first]}, {means: [was, , wasFirst]}) {
    const moved = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);
    return moved(mean, was) > 0.25 && moved(first, wasFirst) < 0.02 ? say`“clipped first” stays` : "";
  },

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const sides = wide ? [0.285 * width, 0.285 * width] : [0.56 * width - 30, 0.44 * width - 31]; // of the squares with the rows and with the means
    const [top, side] = [wide ? 50 : 176, sides[0]];
    const bottom = top + side;
    const svg = make("svg:svg", {width, height: bottom + 38, role: "group", "aria-label": say`Points to move, and their rows`});
    const drawn = svg.appendChild(make("svg:g", {"aria-hidden": "true"}));
    const data = axes(drawn, {
      left: 34, top: wide ? top : 24, right: wide ? width - 2 * side - 96 : width - 12, bottom: wide ? bottom : 129,
      x: 1.4, y: 2.3, title: say`Points to drag`, xlabel: "t", ylabel: "y", low: !wide, beside: !wide,
    });
    /* A square with arrows. Its scale leaves room to move, and grows at once, in a drag too, if an arrow would leave. */
    const plane = (left, side, title, least, room) => {
      const [xlabel, ylabel] = ["\u03b8\u2081", "\u03b8\u2082"];
      const {cx, cy, number} = axes(drawn, {left, top, right: left + side, bottom: top + side, x: 2.8, y: 2.8, title, xlabel, ylabel, low: !wide});
      const circle = make("svg:circle", {cx, cy, fill: "none", stroke: "var(--l-muted)", "stroke-width": 1.5, "stroke-dasharray": "2 3", class: "live-moves"});
      const inside = make("svg:g", {"clip-path": `url(#${figure.id}-${left})`}, circle);
      drawn.append(make("svg:clipPath", {id: `${figure.id}-${left}`}, make("svg:rect", {x: left, y: top, width: side, height: side})), inside);
      let scale, unit;
      const fit = (arrows, bound) => {
        const [needed, kept] = [Math.max(...arrows.flat().map(Math.abs)) / 2.6, scale && !figure.anew]; // from the middle to an edge it is 2.8
        if (!kept || needed > scale) scale = least * 1.2 ** Math.max(0, Math.ceil(Math.log(needed * (kept ? 1 : room) / least) / Math.log(1.2)));
        unit = side / 5.6 / scale;
        number(scale);
        set(circle, {r: unit * bound});
      };
      return {left, cx, cy, inside, fit, unit: () => unit, place: ([a, b]) => [cx + a * unit, cy - b * unit]};
    };
    const many = plane(wide ? width - 2 * side - 48 : 24, side, say`Their rows`, 1, 1);
    const three = plane(width - sides[1] - (wide ? 0 : 5), sides[1], say`Three means`, 0.05, wide ? 1.8 : 1.25);
    const {left, cx, cy} = many;
    const within = (from, to, v) => Math.min(to, Math.max(from, v));
    drawn.append(make("svg:path", {d: `M${[-1.4, 1.4].map((t) => data.place(t, model(t))).join("L")}`, stroke: "var(--l-ink)", "stroke-width": 2}));
    const arrow = ({inside}, [, stroke, thick]) => live.arrow(inside, {stroke, "stroke-width": thick});

    const points = figure.state.t.map((_, i) => {
      const error = drawn.appendChild(make("svg:path", {stroke: "var(--l-grey)", "stroke-dasharray": "4 3", class: "live-moves"}));
      const [row, clipped] = [1, 3].map((k) => arrow(many, KEYS[k]));
      const name = many.inside.appendChild(make("svg:text", {"text-anchor": "middle", class: "live-name", style: "font-weight: inherit"}, `${i + 1}`));
      const put = (t, y) => figure.set({chosen: i, t: figure.state.t.with(i, t), y: figure.state.y.with(i, y)});
      const dot = live.handle(svg, `point ${i + 1}`, say`Point ${i + 1}`, {
        moved: (u, v) => put(...data.back(u, v)),
        nudged: (right, up) => put(figure.state.t[i] + 0.1 * right, figure.state.y[i] + 0.1 * up),
      });
      dot.append(make("svg:text", {"text-anchor": "middle", y: 5, class: "live-number"}, `${i + 1}`));
      return {error, row, clipped, name, dot};
    });
    const [last, first, mean] = [2, 4, 0].map((k) => arrow(three, KEYS[k])); // one on a thicker one: where they meet, all are seen
    const called = make("svg:text", {y: 5, class: "live-small live-name"}, say`bound`);
    const grip = drawn.appendChild(make("svg:g", {class: "live-handle", ...live.drag((u, v) => figure.set({bound: Math.hypot(u - cx, v - cy) / many.unit()}))},
      make("svg:circle", {r: 18, class: "live-ring"}), make("svg:circle", {r: 6, class: "live-dot"}), called));
    const bound = live.slider(figure, "bound", say`bound`, [0.1, 4, 0.1], 1), keys = make("div", {class: "live-keys", "aria-hidden": "true"}, ...KEYS.map(key));
    picture.append(svg, keys);
    controls.append(live.sliders(bound), live.reset(figure));

    return (state, values) => {
      bound.update(state);
      [[many, values.rows], [three, values.means]].forEach(([plane, arrows]) => plane.fit(arrows, state.bound));
      const [aside, most] = [many.unit() * state.bound * Math.SQRT1_2, side / 2 - 10]; // within the square, and its name too
      const [u, v, on] = [cx + Math.min(aside, most), cy + Math.min(aside, most), aside + 48 < most ? 1 : -1];
      set(grip, {transform: `translate(${u} ${v})`});
      set(called, {x: 11 * on, "text-anchor": on > 0 ? "start" : "end"});
      const taken = [...[...values.rows, ...values.clipped].map(many.place), ...[0, 15, 30, 45].map((away) => [u + on * away, v])];
      values.means.forEach((mean, k) => (keys.children[2 * k].lastChild.textContent = `${KEYS[2 * k][0]} ${pair(mean)}`));
      points.forEach(({error, row, clipped, name, dot}, i) => {
        const [t, y] = [state.t[i], state.y[i]], [u, v] = data.place(t, y);
        const said = say`t ${fixed(t)}, y ${fixed(y)}, row ${pair(values.rows[i])}`;
        set(dot, {transform: `translate(${u} ${v})`, "aria-valuemin": -2, "aria-valuemax": 2, "aria-valuenow": y, "aria-valuetext": said});
        set(error, {d: `M${u} ${v}L${data.place(t, model(t))}`});
        const [[x1, y1], short] = [values.rows[i], values.clipped[i]].map(many.place);
        [[row, [x1, y1]], [clipped, short]].forEach(([move, end]) => move(cx, cy, ...end));
        const angles = [0, 0.8, -0.8, 1.6, -1.6].map((turn) => Math.atan2(y1 - cy, x1 - cx) + turn);
        const spots = [11, 20, 29].flatMap((away) => angles.map((angle) =>
          [within(left + 8, left + side - 8, x1 + away * Math.cos(angle)), within(top + 10, bottom - 10, y1 + away * Math.sin(angle))]));
        const spot = spots.find(([a, b]) => taken.every(([c, d]) => Math.hypot(a - c, b - d) > 10.9)) ?? spots[0]; // on no head and no name
        taken.push(spot);
        set(name, {x: spot[0], y: spot[1] + 5});
      });
      [mean, last, first].forEach((move, k) => move(three.cx, three.cy, ...three.place(values.means[k])));
    };
  },
});
}
