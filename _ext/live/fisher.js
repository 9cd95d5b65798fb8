/* Ten labels and a probability: the squared mean of the rows, their mean square, and the Fisher. */
"use strict";
{
const {make, set, fixed} = live;
const COUNT = 10;
const [GRAD, DATA, FISHER] = [0, 1, 2];
const NAMES = ["mean, then square: .grad squared", "squares, then mean: the data\u2019s labels"];
const COLOURS = ["var(--l-orange)", "var(--l-ink)", "var(--l-blue)"];
const mean = (all) => all.reduce((sum, v) => sum + v, 0) / all.length;

live.figure("fisher", {
  start: {p: 0.7, y: [1, 1, 1, 0, 1, 1, 1, 1, 1, 1], other: 0},
  limits: {p: [0.02, 0.98, 0.01], y: [0, 1, 1], other: [0, 1]},

  compute({p, y}) {
    const rows = y.map((label) => p - label);
    return {rows, mean: mean(rows), squares: [mean(rows) ** 2, mean(rows.map((row) => row * row)), p * (1 - p)], ones: mean(y)};
  },

  describe({p}, {squares: [first, second, fisher], ones}) {
    const large = Math.max(first, second) >= 2 * fisher; // one unit for both
    const share = (v) => (large ? `${fixed(v / fisher, v < fisher ? 2 : 1).replace(/\.0$/, "")} times` : `${fixed(100 * v / fisher, 0)}\u00a0% of`);
    const more = (ones - p) * (1 - 2 * p); // data less Fisher
    const surprise = p === 0.5 ? "all rows are equally long, whatever the labels" : p === ones ? "they surprise the model as often as its own draws"
      : `they surprise the model ${more > 0 ? "more" : "less"} often than its own draws`;
    const grad = p === ones ? "As .grad is zero, its square says that the weight does not matter." : `The squared .grad is ${share(first)} it.`;
    return `The data\u2019s labels give ${share(second)} the Fisher: ${surprise}. ${grad}`;
  },

  found: ({p}, {ones}) => (p === ones ? "where p is the share of label 1" : p === 0.5 ? "at p = 0.5, whatever the labels" : ""),

  build(figure, picture, width, controls) {
    const [left, top, high] = [20, 32, 56]; // high: that of a row of length 1
    const [zero, digits] = [top + high, top + 2 * high + 18];
    const gap = Math.min(52, (width - left - 66) / COUNT);
    const last = left + gap * COUNT + 6; // where the mean is named
    const up = (v) => zero - high * v;
    const [first, apart, thick] = [digits + 50, 58, 24]; // the name of the first result
    const svg = make("svg:svg", {width, height: first + 2 * apart + 4, role: "group", "aria-label": "The rows of ten samples, as bars, and their mean; below, two means of squares as bars, and the Fisher as a line, which are said below the figure."});
    const word = (x, y, text, attributes = {}) => svg.appendChild(make("svg:text", {x, y, ...attributes}, text));
    const bar = (attributes) => make("svg:rect", {rx: 2, class: "live-moves", ...attributes});
    word(0, 13, "rows of ten samples: p less the label", {class: "live-small"});
    for (const v of [1, 0, -1]) {
      svg.append(make("svg:line", {x1: left, x2: left + gap * COUNT, y1: up(v), y2: up(v), class: v ? "live-grid" : "live-zero"}));
      word(left - 5, up(v) + 4, fixed(v, 0), {"text-anchor": "end", class: "live-small"});
    }

    const flip = (i) => figure.set({y: figure.state.y.map((label, k) => (k === i ? 1 - label : label))});
    const samples = figure.state.y.map((_, i) => {
      const keydown = (event) => {
        const by = {ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1}[event.key];
        if (event.key === " " || event.key === "Enter") flip(i);
        else if (by) go(Math.min(COUNT - 1, Math.max(0, i + by)));
        else return;
        event.preventDefault();
      };
      const [other, own] = [bar({x: 3, width: gap - 6, fill: "var(--l-muted)", "fill-opacity": 0.2}), bar({x: 3, width: gap - 6, fill: "var(--l-ink)", "fill-opacity": 0.75})];
      const label = make("svg:text", {x: left + gap * (i + 0.5), y: digits, "text-anchor": "middle", "font-weight": 600, "pointer-events": "none"});
      const group = make("svg:g", {class: "live-press", transform: `translate(${left + gap * i} 0)`, role: "checkbox", "data-key": `sample ${i + 1}`, "aria-label": `label 1 for sample ${i + 1}`, tabindex: i ? -1 : 0, click: () => flip(i), keydown},
        make("svg:rect", {class: "live-ring", x: 1, y: top - 2, width: gap - 2, height: digits - top + 8, rx: 4}), other, own);
      svg.append(group, label);
      return {group, other, own, label};
    });
    /* One of the samples is reached by Tab, the others from there by arrows. */
    const go = (i) => {
      samples.forEach(({group}, k) => set(group, {tabindex: k === i ? 0 : -1}));
      samples[i].group.focus();
    };
    word(left + 2, digits + 20, "labels of the data", {class: "live-small"});
    const middle = svg.appendChild(make("svg:path", {stroke: COLOURS[GRAD], "stroke-width": 3, fill: "none", class: "live-moves", "pointer-events": "none"}));
    const beside = {fill: COLOURS[GRAD], "font-weight": 600};
    const average = [word(last, 0, ".grad", beside), word(last, 0, "", beside)];

    const results = [DATA, GRAD].map((kind, k) => {
      const y = first + apart * k;
      const ink = {fill: COLOURS[kind], "font-weight": 600};
      word(0, y, NAMES[kind], ink);
      const drawn = svg.appendChild(bar({x: 0, y: y + 8, height: thick, fill: COLOURS[kind], "fill-opacity": kind === DATA ? 0.75 : 1}));
      return {kind, drawn, value: word(0, y + 25, "", ink)};
    });
    const mark = svg.appendChild(make("svg:path", {stroke: COLOURS[FISHER], "stroke-width": 4, fill: "none", class: "live-moves"}));
    const goal = word(0, first + 2 * apart, "", {fill: COLOURS[FISHER], "font-weight": 600, "text-anchor": "middle"});

    const slider = live.slider(figure, "p", "probability p", [0.02, 0.98, 0.01], 2);
    const other = live.toggle(figure, "other", "rows with the other label");
    picture.append(svg);
    controls.append(live.row(live.sliders(slider), other.row, live.reset(figure)));
    let most = 0; // where the axis of the results ends; while p is dragged, it only grows

    return (state, {rows, mean, squares}) => {
      slider.update(state);
      other.update(state);
      const stand = (one, v) => set(one, {y: Math.min(zero, up(v)), height: high * Math.abs(v)});
      samples.forEach(({group, other: pale, own, label}, i) => {
        set(group, {"aria-checked": state.y[i] === 1});
        label.textContent = state.y[i];
        stand(own, rows[i]);
        stand(pale, state.p - (1 - state.y[i]));
        set(pale, {opacity: state.other});
      });
      set(middle, {d: `M${left} ${up(mean)}h${gap * COUNT}`});
      average.forEach((one, k) => set(one, {y: up(mean) + 18 * k - 4}));
      average[1].textContent = fixed(mean, 2);
      const needed = Math.max(...squares) <= 0.3 ? 0.3 : 1;
      most = figure.dragged ? Math.max(most, needed) : needed;
      const at = (v) => (width - 56) * v / most;
      const reach = at(squares[FISHER]);
      results.forEach(({kind, drawn, value}) => {
        const end = at(squares[kind]);
        set(drawn, {width: end});
        set(value, {x: 9 + (end < reach + 4 && reach < end + 58 ? reach : end)}); // not on the line
        value.textContent = fixed(squares[kind], 3);
      });
      set(mark, {d: [0, 1].map((k) => `M${reach} ${first + apart * k + 3}v${thick + 10}`).join("")});
      set(goal, {x: Math.min(width - 112, Math.max(112, reach))});
      goal.textContent = `the Fisher, with drawn labels: ${fixed(squares[FISHER], 3)}`;
    };
  },
});
}
