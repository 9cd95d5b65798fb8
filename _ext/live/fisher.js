/* Ten labels and a probability: the squared mean of the rows, their mean square, and the Fisher. */
"use strict";
{
const {make, set, fixed} = live;
const COUNT = 10;
const NAMES = ["mean, then square: .grad squared", "squares, then mean: the data\u2019s labels", "the Fisher: labels drawn from the model"];
const COLOURS = ["var(--l-orange)", "var(--l-ink)", "var(--l-blue)"];
const mean = (all) => all.reduce((sum, v) => sum + v, 0) / all.length;

live.figure("fisher", {
  start: {p: 0.7, y: [1, 1, 1, 0, 1, 1, 1, 1, 1, 1]},
  limits: {p: [0.02, 0.98, 0.01], y: [0, 1, 1]},

  compute({p, y}) {
    const rows = y.map((label) => p - label);
    return {rows, mean: mean(rows), squares: [mean(rows) ** 2, mean(rows.map((row) => row * row)), p * (1 - p)], ones: mean(y)};
  },

  describe({p}, {squares: [first, second, fisher], ones}) {
    const share = (v) => (v < 2 * fisher ? `${fixed(100 * v / fisher, 0)}\u00a0% of` : `${fixed(v / fisher, 1).replace(".0", "")} times`);
    const more = (ones - p) * (1 - 2 * p); // data less Fisher
    const surprise = p === 0.5 ? "all rows are equally long, whatever the labels" : p === ones ? "they surprise the model as often as its own draws"
      : `they surprise the model ${more > 0 ? "more" : "less"} often than its own draws`;
    const grad = p === ones ? "As .grad is zero, its square says that the weight does not matter." : `The squared .grad is ${share(first)} it.`;
    return `The data\u2019s labels give ${share(second)} the Fisher: ${surprise}. ${grad}`;
  },

  found: ({p}, {ones}) => (p === ones ? "where p is the share of label 1" : p === 0.5 ? "at p = 0.5, whatever the labels" : ""),

  build(figure, picture, width, controls) {
    const [left, top, high] = [20, 34, 68]; // high: that of a row of length 1
    const [zero, digits] = [top + high, top + 2 * high + 18];
    const gap = Math.min(52, (width - left - 66) / COUNT);
    const last = left + gap * COUNT + 12; // where the bar of the mean begins
    const up = (v) => zero - high * v;
    const first = digits + 48; // the name of the first result
    const apart = 44;
    const scale = width - 56;
    const svg = make("svg:svg", {width, height: first + 3 * apart - 18, role: "group", "aria-label": "The rows of ten samples and their mean, as bars; below, three means of squares, which are said below the figure."});
    const word = (x, y, text, attributes = {}) => {
      const made = make("svg:text", {x, y, ...attributes}, text);
      svg.append(made);
      return made;
    };
    const bar = (attributes) => make("svg:rect", {rx: 2, class: "live-moves", ...attributes});
    word(0, 13, "rows of ten samples: p less the label", {class: "live-small"});
    for (const v of [1, 0, -1]) {
      svg.append(make("svg:line", {x1: left, x2: last + gap, y1: up(v), y2: up(v), class: v ? "live-grid" : "live-zero"}));
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
    const middle = bar({x: last, width: gap - 6, fill: COLOURS[0]});
    svg.append(middle);
    const beside = {fill: COLOURS[0], "text-anchor": "middle", "font-weight": 600};
    word(last + gap / 2 - 3, digits, "mean", beside);
    const average = word(last + gap / 2 - 3, digits + 20, "", beside);

    const end = Math.min(width - 12, last + gap + 22);
    const grip = make("svg:g", {class: "live-handle", ...live.drag((_, y) => figure.set({p: (zero - y) / high}))},
      make("svg:rect", {x: last, y: -22, width: end - last + 12, height: 44, fill: "transparent"}),
      make("svg:line", {x1: left, x2: end, y1: 0, y2: 0, stroke: COLOURS[2], "stroke-width": 2, "stroke-dasharray": "6 4", "pointer-events": "none"}),
      make("svg:circle", {cx: end, r: 10, class: "live-dot"}));
    svg.append(grip);
    const level = word(end + 10, 0, "", {fill: COLOURS[2], "text-anchor": "end", class: "live-name", "pointer-events": "none"});

    const results = NAMES.map((name, k) => {
      const y = first + apart * k;
      word(0, y, name, {fill: COLOURS[k], "font-weight": 600, style: width < 480 ? "font-size: 13px" : ""});
      const drawn = bar({x: 0, y: y + 7, height: 16, fill: COLOURS[k], "fill-opacity": k === 1 ? 0.75 : 1});
      const line = make("svg:line", {y1: y + 4, y2: y + 26, stroke: COLOURS[2], "stroke-width": 2});
      svg.append(drawn, ...(k < 2 ? [line] : []));
      return {drawn, line, value: word(0, y + 20, "", {fill: COLOURS[k], "font-weight": 600})};
    });

    const slider = live.slider(figure, "p", "probability p", [0.02, 0.98, 0.01], 2);
    picture.append(svg);
    controls.append(live.row(live.sliders(slider), live.reset(figure)));

    return (state, {rows, mean, squares}) => {
      slider.update(state);
      const stand = (one, v) => set(one, {y: Math.min(zero, up(v)), height: high * Math.abs(v)});
      samples.forEach(({group, other, own, label}, i) => {
        set(group, {"aria-checked": state.y[i] === 1});
        label.textContent = state.y[i];
        stand(own, rows[i]);
        stand(other, state.p - (1 - state.y[i]));
      });
      stand(middle, mean);
      average.textContent = fixed(mean, 2);
      set(grip, {transform: `translate(0 ${up(state.p)})`});
      set(level, {y: up(state.p) - 15});
      level.textContent = `p = ${fixed(state.p, 2)}`;
      results.forEach(({drawn, line, value}, k) => {
        set(drawn, {width: scale * squares[k]});
        const [end, mark] = [scale * squares[k], scale * squares[2]];
        set(line, {x1: mark, x2: mark});
        set(value, {x: 8 + (end < mark && mark < end + 54 ? mark : end)}); // not on the mark
        value.textContent = fixed(squares[k], 3);
      });
    };
  },
});
}
