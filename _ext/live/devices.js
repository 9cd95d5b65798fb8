/* Two rows on each of two devices: three programs that clip and add, and the clipped sum of the whole batch. */
"use strict";
{
const {make, set, fixed} = live;
const [C, MOST] = [5, 10]; // the bound; how far a tip goes
const PROGRAMS = ["clip first", "add first", "shard_map"];
const [CLIP_FIRST, ADD_FIRST, SHARD_MAP] = PROGRAMS.keys();
const COLOURS = ["var(--l-blue)", "var(--l-orange)"]; // of the devices
const add = (rows) => rows.reduce(([a, b], [x, y]) => [a + x, b + y], [0, 0]);
const clip = (row) => row.map((v) => v * C / Math.max(C, Math.hypot(...row)));
const within = (row) => Math.hypot(...row) <= C;
const short = (v) => `(${v.map((one) => fixed(one).replace(/\.?0+$/, "")).join(", ")})`;

/* What each device adds up, its sums or those over the devices, and what comes out. */
function run(by, rows) {
  const parts = [rows.slice(0, 2), rows.slice(2)];
  const places = [0, 1].map((k) => add([rows[k], rows[k + 2]])); // what shard_map gives to both devices
  const used = by === SHARD_MAP ? parts.map(() => places.map(clip)) : by === ADD_FIRST ? parts : parts.map((part) => part.map(clip));
  const total = add(used.flat());
  return {used, sent: by === SHARD_MAP ? places : used.map(add), total, result: by === ADD_FIRST ? clip(total) : total};
}
const chain = (used) => used.flat().map((_, k, all) => add(all.slice(0, k + 1))); // head to tail: where each arrow ends

live.figure("devices", {
  start: {x: [6, 1, -3, 8], y: [8, 2, 1, -6], by: CLIP_FIRST},
  limits: {x: [-MOST, MOST], y: [-MOST, MOST], by: [0, 2, 1]},

  compute({x, y, by}) {
    const rows = x.map((v, k) => [v, y[k]]);
    const {used, sent, total, result} = run(by, rows);
    const right = add(rows.map(clip));
    const gap = Math.hypot(result[0] - right[0], result[1] - right[1]);
    return {rows, used, sent, result, right, gap, same: gap < 0.005, whole: [...rows, ...[[], [total], sent][by]].every(within)};
  },

  describe({by}, {sent, result, right, same, whole}) {
    const all = sent.map(short).join(" and ");
    const first = [`Each device sends one sum of clipped rows, ${all}.`, `Each device sends one sum of rows, ${all}; their sum is clipped.`,
      `What is sent are sums over the devices, one for each place: ${all}. Both devices clip them.`][by];
    const hit = by === CLIP_FIRST ? ", the clipped sum of the batch." : whole ? ", which is right: nothing is clipped." : ", which is right, but by chance.";
    return `${first} The result is ${short(result)}${same ? hit : whole && by === SHARD_MAP ? `, twice ${short(right)}.` : ` instead of ${short(right)}.`}`;
  },

  found: ({by}, {same, whole}) => (by === SHARD_MAP && whole && !same ? "shard_map, twice the sum" : ""),

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const side = wide ? 184 : (width - 12) / 2; // of a device
    const frame = wide ? {x: side + 16, y: 0, w: width - side - 16, h: 2 * side + 12} : {x: 0, y: side + 12, w: width, h: 240}; // of the result
    const svg = make("svg:svg", {width, height: frame.y + frame.h, role: "group", "aria-label": "The rows of two devices as arrows, and what a program makes of them, head to tail; it is said below."});
    const word = (x, y, text, attributes = {}) => svg.appendChild(make("svg:text", {x, y, ...attributes}, text));
    const unit = side / 2 / (MOST + 1.2);
    const devices = COLOURS.map((fill, k) => {
      const [x, y] = wide ? [0, k * (side + 12)] : [k * (side + 12), 0];
      const [cx, cy] = [x + side / 2, y + side / 2];
      svg.append(make("svg:rect", {x, y, width: side, height: side, rx: 6, class: "live-frame"}),
        make("svg:circle", {cx, cy, r: C * unit, fill: "none", stroke: "var(--l-muted)"}));
      word(x + 8, y + 19, `device ${k}`, {class: "live-title", fill});
      return {cx, cy, sum: word(x + side - 8, y + side - 9, "", {"text-anchor": "end", fill, "font-weight": 600, class: "live-name", "pointer-events": "none"})};
    });
    svg.append(make("svg:rect", {x: frame.x, y: frame.y, width: frame.w, height: frame.h, rx: 6, class: "live-frame"}));
    word(frame.x + 10, frame.y + 21, "result", {class: "live-title"});
    const ring = {r: 10, fill: "none", stroke: "var(--l-green)", "stroke-width": 3};
    svg.append(make("svg:circle", {...ring, r: 7, cx: frame.x + 76, cy: frame.y + 16}));
    word(frame.x + 90, frame.y + 21, "clipped sum of the batch", {fill: "var(--l-green)", "font-weight": 600});
    const goal = svg.appendChild(make("svg:circle", {...ring, class: "live-moves"}));

    const arrows = [0, 1, 2, 3].map((k) => {
      const [own, stroke] = [k < 2 ? 0 : 1, COLOURS[k < 2 ? 0 : 1]];
      const {cx, cy} = devices[own];
      const put = (axis, value) => figure.state[axis].map((old, j) => (j === k ? value : old));
      const near = (v) => Math.round(2 * v) / 2;
      const tip = live.handle(svg, `row ${k}`, `tip of row ${k}`, {
        moved(x, y) { // the dot stands beyond the tip, so that it hides nothing
          const [right, up] = [x - cx, cy - y];
          const rest = 1 - 7 / Math.max(7, Math.hypot(right, up));
          figure.set({x: put("x", near(right * rest / unit)), y: put("y", near(up * rest / unit))});
        },
        nudged: (right, up) => figure.set({x: put("x", figure.state.x[k] + right / 2), y: put("y", figure.state.y[k] + up / 2)}),
      });
      set(tip, {"aria-valuemin": -MOST, "aria-valuemax": MOST});
      set(tip.lastChild, {r: 6.5});
      return {cx, cy, tip, stroke, row: svg.insertBefore(make("svg:path", {stroke, "stroke-width": 1.5, fill: "none", class: "live-moves", "pointer-events": "none"}), tip)};
    });
    const front = svg.appendChild(make("svg:g", {"pointer-events": "none"}));
    for (const one of arrows) {
      one.used = live.arrow(front, {stroke: one.stroke, "stroke-width": 4});
      one.part = live.arrow(front, {stroke: one.stroke, "stroke-width": 4});
    }
    const back = live.arrow(front, {stroke: "var(--l-ink)", "stroke-width": 2});
    const miss = front.appendChild(make("svg:path", {stroke: "var(--l-ink)", "stroke-width": 2, "stroke-dasharray": "3 4", fill: "none", class: "live-moves"}));
    const dot = front.appendChild(make("svg:circle", {r: 5.5, class: "live-moves"}));
    const start = front.appendChild(make("svg:circle", {r: 3, fill: "var(--l-muted)", class: "live-moves"}));
    const told = front.appendChild(make("svg:text", {class: "live-name", "text-anchor": "middle"}));

    const by = live.choice(figure, "by", "program", PROGRAMS);
    set(by.row, {style: "flex: 1 1 0; min-width: 0"});
    picture.append(svg);
    controls.append(live.row(by.row, live.reset(figure)));
    let [low, high] = [[0, 0], [0, 0]]; // the ends of the result's axes, for all programs; while a row is dragged, they only grow

    return (state, {rows, used, result, right, gap, same}) => {
      by.update(state);
      const corners = [...PROGRAMS.keys()].flatMap((k) => [...chain(run(k, rows).used), run(k, rows).result]);
      const ends = (pick, round) => [0, 1].map((axis) => 3 * round(pick(0, ...corners.map((v) => v[axis])) / 3));
      const [least, most] = [ends(Math.min, Math.floor), ends(Math.max, Math.ceil)];
      low = least.map((v, k) => (figure.dragged ? Math.min(v, low[k]) : v));
      high = most.map((v, k) => (figure.dragged ? Math.max(v, high[k]) : v));
      const scale = Math.min((frame.w - 40) / Math.max(6, high[0] - low[0]), (frame.h - 64) / Math.max(6, high[1] - low[1]));
      const at = ([x, y]) => [frame.x + frame.w / 2 + scale * (x - (low[0] + high[0]) / 2), frame.y + frame.h / 2 + 14 - scale * (y - (low[1] + high[1]) / 2)];
      const tips = [[0, 0], ...chain(used)];
      arrows.forEach(({cx, cy, tip, row, used: thick, part}, k) => {
        const tipOf = ([x, y]) => [cx + unit * x, cy - unit * y];
        const long = Math.hypot(...rows[k]);
        const beyond = (far) => (long ? tipOf(rows[k].map((v) => v * (1 + far / unit / long))) : [cx + far, cy]);
        set(row, {d: `M${cx} ${cy}L${tipOf(rows[k]).join(" ")}`});
        set(tip, {transform: `translate(${beyond(7).join(" ")})`, "aria-valuenow": rows[k][0], "aria-valuetext": short(rows[k])});
        thick(cx, cy, ...tipOf(used.flat()[k]));
        part(...at(tips[k]), ...at(tips[k + 1]));
      });
      devices.forEach(({sum}, k) => (sum.textContent = `sum ${short(add(used[k]))}`));
      const [[gx, gy], [rx, ry], [ox, oy], [tx, ty]] = [right, result, [0, 0], tips[4]].map(at);
      set(start, {cx: ox, cy: oy});
      set(goal, {cx: gx, cy: gy});
      back(tx, ty, rx, ry); // to the result, where the sum was clipped
      set(dot, {cx: rx, cy: ry, fill: same ? "var(--l-green)" : "var(--l-ink)"});
      const away = Math.max(1, Math.hypot(rx - gx, ry - gy));
      const edge = Math.min(11.5 / away, 1);
      set(miss, {d: `M${rx} ${ry}L${gx + (rx - gx) * edge} ${gy + (ry - gy) * edge}`, opacity: same ? 0 : 1});
      set(told, {x: Math.min(frame.x + frame.w - 52, Math.max(frame.x + 52, (rx + gx) / 2)), y: Math.min(frame.y + frame.h - 8, Math.max(ry, gy) + 26), visibility: same ? "hidden" : "visible"});
      told.textContent = `missed by ${fixed(gap, 1)}`;
    };
  },
});
}
