/* Two rows on each of two devices: three programs that clip and add, and the clipped sum of the whole batch. */
"use strict";
{
const {make, set, fixed} = live;
const [C, MOST] = [5, 10]; // the bound; how far a tip goes
const PROGRAMS = ["clip first", "add first", "shard_map"];
const [CLIP_FIRST, ADD_FIRST, SHARD_MAP] = PROGRAMS.keys();
const add = (rows) => rows.reduce(([a, b], [x, y]) => [a + x, b + y], [0, 0]);
const clip = (row) => row.map((v) => v * C / Math.max(C, Math.hypot(...row)));
const short = (v) => `(${v.map((one) => fixed(one).replace(/\.?0+$/, "")).join(", ")})`;

live.figure("devices", {
  start: {x: [6, 1, -3, 8], y: [8, 2, 1, -6], by: SHARD_MAP},
  limits: {x: [-MOST, MOST], y: [-MOST, MOST], by: [0, 2, 1]},

  compute({x, y, by}) {
    const rows = x.map((v, k) => [v, y[k]]);
    const parts = [rows.slice(0, 2), rows.slice(2)];
    const places = [0, 1].map((k) => add([rows[k], rows[k + 2]])); // what shard_map gives to both devices
    const used = by === SHARD_MAP ? parts.map(() => places.map(clip)) : by === ADD_FIRST ? parts : parts.map((part) => part.map(clip));
    const total = add(used.flat());
    const result = by === ADD_FIRST ? clip(total) : total;
    const right = add(rows.map(clip));
    return {rows, used, sent: by === SHARD_MAP ? places : used.map(add), result, right, same: Math.hypot(result[0] - right[0], result[1] - right[1]) < 0.005};
  },

  describe({by}, {sent, result, right, same}) {
    const all = sent.map(short).join(" and ");
    const first = [`Each device sends one sum of clipped rows, ${all}.`, `Each device sends one sum of rows, ${all}; their sum is clipped.`,
      `What is sent are sums over the devices, one for each place: ${all}. Both devices clip them.`][by];
    return `${first} The result is ${short(result)}${by === CLIP_FIRST ? ", the clipped sum of the batch." : same ? ", which is right, but by chance." : ` instead of ${short(right)}.`}`;
  },

  found: ({by}) => (by === CLIP_FIRST ? "clip first" : ""),

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const [top, side] = [24, wide ? (width - 24) / 3 : (width - 12) / 2];
    const corners = [[0, top], [side + 12, top], wide ? [2 * side + 24, top] : [0, 2 * top + side + 6]];
    const lowest = corners[2][1];
    const svg = make("svg:svg", {width, height: lowest + side + (wide ? 34 : 4), role: "group", "aria-label": "The rows of two devices as arrows, and what a program makes of them; it is said below."});
    const word = (x, y, text, attributes = {}) => svg.appendChild(make("svg:text", {x, y, ...attributes}, text));
    const unit = side / 2 / (MOST + 1.2);
    const panels = corners.map(([x, y], k) => {
      const [cx, cy] = [x + side / 2, y + side / 2];
      word(cx, y - 8, ["device 0", "device 1", "result"][k], {"text-anchor": "middle", class: "live-title"});
      svg.append(make("svg:rect", {x, y, width: side, height: side, rx: 6, class: "live-frame"}),
        make("svg:path", {d: `M${x} ${cy}h${side}M${cx} ${y}v${side}`, class: "live-grid", fill: "none"}));
      const circle = svg.appendChild(make("svg:circle", {cx, cy, r: C * unit, fill: "none", stroke: "var(--l-muted)", "stroke-dasharray": "2 3", class: "live-moves"}));
      return {cx, cy, circle};
    });
    const dashes = (k) => ({"stroke-dasharray": k % 2 ? "6 4" : "none"});
    const arrows = [0, 1, 2, 3].map((k) => {
      const {cx, cy} = panels[k < 2 ? 0 : 1];
      const put = (axis, value) => figure.state[axis].map((old, j) => (j === k ? value : old));
      const tip = live.handle(svg, `row ${k}`, `tip of row ${k}`, {
        moved: (x, y) => figure.set({x: put("x", Math.round(2 * (x - cx) / unit) / 2), y: put("y", Math.round(2 * (cy - y) / unit) / 2)}),
        nudged: (right, up) => figure.set({x: put("x", figure.state.x[k] + right / 2), y: put("y", figure.state.y[k] + up / 2)}),
      });
      set(tip, {"aria-valuemin": -MOST, "aria-valuemax": MOST});
      return {cx, cy, tip};
    });
    const front = svg.appendChild(make("svg:g", {"pointer-events": "none"}));
    arrows.forEach((one, k) => {
      one.row = live.arrow(front, {stroke: "var(--l-ink)", "stroke-width": 2, ...dashes(k)});
      one.group = front.appendChild(make("svg:g"));
      one.used = live.arrow(one.group, {stroke: "currentColor", "stroke-width": 4.5, ...dashes(k)});
    });
    const goal = live.arrow(front.appendChild(make("svg:g", {opacity: 0.5})), {stroke: "var(--l-grey)", "stroke-width": 11});
    const last = front.appendChild(make("svg:g"));
    const result = live.arrow(last, {stroke: "currentColor", "stroke-width": 4.5});

    const keys = [["row", "var(--l-ink)", 2], ["what is added", "currentColor", 4.5], [wide ? "clipped sum of the batch" : "right result", "var(--l-grey)", 10], ["length 5", "var(--l-muted)", 1.5]].map(([text, stroke, thick], k) => {
      const [x, y] = wide ? [[0, 74, 220, 432][k], lowest + side + 24] : [side + 20, lowest + 30 + 28 * k];
      const line = svg.appendChild(make("svg:path", {d: `M${x} ${y - 5}h24`, stroke, "stroke-width": thick, ...[{}, {}, {opacity: 0.5}, {"stroke-dasharray": "2 3"}][k]}));
      word(x + 32, y, text, {class: "live-small"});
      return line;
    });
    const by = live.choice(figure, "by", "program", PROGRAMS);
    set(by.row, {style: "flex: 1 1 0; min-width: 0"});
    let end = 0; // where the axes of the result end; while a row is dragged, they only grow
    picture.append(svg);
    controls.append(live.row(by.row, live.reset(figure)));

    return (state, {rows, used, result: made, right, same}) => {
      by.update(state);
      const color = same ? "var(--l-blue)" : "var(--l-orange)";
      [...arrows.map(({group}) => group), last, keys[1]].forEach((part) => set(part, {color}));
      arrows.forEach(({cx, cy, tip, row, used: thick}, k) => {
        const tipOf = ([x, y]) => [cx + unit * x, cy - unit * y];
        row(cx, cy, ...tipOf(rows[k]));
        thick(cx, cy, ...tipOf(used.flat()[k]));
        const [x, y] = tipOf(rows[k]);
        set(tip, {transform: `translate(${x} ${y})`, "aria-valuenow": rows[k][0], "aria-valuetext": short(rows[k])});
      });
      const {cx, cy, circle} = panels[2];
      const needed = [8, 14, 21].find((most) => most >= 1.05 * Math.max(...[made, right].flat().map(Math.abs))) ?? 21;
      end = figure.dragged ? Math.max(end, needed) : needed;
      const scale = side / 2 / end;
      set(circle, {r: C * scale});
      goal(cx, cy, cx + scale * right[0], cy - scale * right[1]);
      result(cx, cy, cx + scale * made[0], cy - scale * made[1]);
    };
  },
});
}
