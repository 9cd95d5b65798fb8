/* Forward and backward through ((v1 + v2) * 5).sum(): values and cotangents on the edges. */
const {make, set} = live;
const LAST = 7;
const NAMES = ["v1", "v2", "v_sum", "v_sum * 5", "v_res"];
const EDGES = [[0, 2], [1, 2], [2, 3], [3, 4]];
const READY = [0, 0, 1, 2, 3]; // the step at which a box has its value
const BACK = [7, 7, 6, 5, 4]; // the step at which the derivative reaches a box
const REFUSED = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn";
const short = (v) => `${Number(v.toFixed(2))}`.replace("-", "\u2212");
const shown = (v) => (typeof v === "number" ? short(v) : `[${Array.from(v, short).join(", ")}]`);

live.figure("graph", {
  start: {v1: [1, 1], v2: [2, 2], mark1: 1, mark2: 0, step: 0},
  limits: {v1: [-99, 99], v2: [-99, 99], mark1: [0, 1, 1], mark2: [0, 1, 1], step: [0, LAST, 1]},

  compute({v1, v2, mark1, mark2, step}) {
    const [sum, product, result, toProduct, toSum, to1, to2] = programs.leafSession(v1, v2);
    const needs = [mark1, mark2, ...[0, 0, 0].fill(mark1 || mark2)].map(Boolean);
    const values = [v1, v2, sum, product, result];
    const cotangents = [to1, to2, toSum, toProduct, 1];
    const refused = step >= BACK[4] && !needs[4];
    const reached = cotangents.map((_, i) => !refused && needs[i] && step >= BACK[i]);
    return {values, cotangents, needs, refused, reached};
  },

  describe({step}, {values, cotangents, needs, refused, reached}) {
    if (refused) return `${REFUSED}. No leaf is marked, so nothing was recorded.`;
    const kinds = [0, 1].map((i) => `${NAMES[i]} is ${needs[i] ? "a parameter" : "data"}`).join(", ");
    const recorded = needs[4] ? "recorded, for an input requires grad" : "not recorded: no input requires grad";
    const kept = [0, 1].filter((i) => reached[i]).map((i) => `${NAMES[i]}.grad is ${shown(cotangents[i])}`);
    return [
      `Two leaves: ${kinds}.`,
      `Forward: v_sum is ${shown(values[2])}. The addition is ${recorded}.`,
      `Forward: times 5 is ${shown(values[3])}.`,
      `Forward: v_res is ${shown(values[4])}. A call of backward() comes next.`,
      "Backward: the derivative of v_res with respect to itself is 1.",
      `Backward: the sum passes this 1 on to each element, ${shown(cotangents[3])}.`,
      `Backward: times 5 multiplies by 5. ${shown(cotangents[2])} arrives at v_sum, a result: it is passed on, not kept.`,
      `Backward: the addition passes it on. ${kept.join(", ")}. ${kept.length < 2 ? "The other leaf is data and gets nothing." : ""} Change the numbers: v_res changes, .grad stays [5, 5], as the slope is 5 in each element.`,
    ][step];
  },

  build(figure, place, width) {
    const wide = width >= 560;
    const box = {width: 104, height: 50};
    const column = (width - box.width - 2) / 3;
    const middle = (width - 2) / 2;
    const off = Math.min(110, middle - 53);
    const places = wide
      ? [[0, 4], [0, 106], [column, 55], [2 * column, 55], [3 * column, 55]]
      : [[middle - 52 - off, 20], [middle - 52 + off, 20], [middle - 52, 128], [middle - 52, 224], [middle - 52, 320]];
    const height = wide ? 179 : 376;
    const svg = make("svg:svg", {width, height, role: "img", "aria-label": "The graph of the program; its state is said below."});
    const drawn = make("svg:g", {transform: "translate(1 0)"});
    svg.append(drawn);

    const edges = EDGES.map(([from, to]) => {
      const [[x0, y0], [x1, y1]] = [places[from], places[to]];
      const h = box.height / 2;
      const ends = wide
        ? [x0 + box.width, y0 + h, x1, y1 + h + Math.sign(y0 - y1) * 10]
        : [x0 + box.width / 2, y0 + box.height, x1 + box.width / 2 + Math.sign(x0 - x1) * 20, y1];
      const turned = wide || from !== 1 ? 1 : -1; // so that the cotangents of both leaves are inside
      const [dx, dy] = wide ? [0, 5] : [5 * turned, 0];
      const forward = make("svg:g");
      const backward = make("svg:g");
      live.arrow(forward, {stroke: "#0072B2", "stroke-width": 1.5})(ends[0] - dx, ends[1] - dy, ends[2] - dx, ends[3] - dy);
      live.arrow(backward, {stroke: "#B34700", "stroke-width": 1.5, "stroke-dasharray": "5 3"})(ends[2] + dx, ends[3] + dy, ends[0] + dx, ends[1] + dy);
      const [mx, my] = [(ends[0] + ends[2]) / 2, (ends[1] + ends[3]) / 2];
      const slope = wide ? Math.sign(y1 - y0) : 0; // beside a line that rises or falls
      const word = (side, fill) => {
        const right = wide ? -side * slope : side * turned;
        return make("svg:text", {
          x: mx + (wide ? 5 : 12) * right, y: wide ? my + (side < 0 ? -12 : 23) : my + 5,
          "text-anchor": ["end", "middle", "start"][1 + right], fill, class: "live-name",
        });
      };
      const value = word(-1, "#0072B2");
      const cotangent = word(1, "#B34700");
      forward.append(value);
      backward.append(cotangent);
      drawn.append(forward, backward);
      return {from, to, forward, backward, value, cotangent};
    });

    const boxes = places.map(([x, y], i) => {
      const frame = make("svg:rect", {x, y, ...box, rx: i < 2 ? 0 : 10});
      const word = (dy, text, attributes) =>
        make("svg:text", {x: x + box.width / 2, y: y + dy, "text-anchor": "middle", ...attributes}, text);
      const value = word(41, "");
      const grad = wide || i < 2
        ? word(i < 2 && !wide ? -10 : box.height + 17, "", {class: "live-small"})
        : make("svg:text", {x: x + box.width + 10, y: y + 30, class: "live-small"});
      const name = word(20, NAMES[i], {"font-weight": 600});
      drawn.append(frame, name, value, grad);
      return {frame, value, grad};
    });

    const marks = [1, 2].map((n) => live.toggle(figure, `mark${n}`, "requires grad", `v${n} requires grad`));
    const numbers = [1, 2].map((n) => live.numbers(figure, `v${n}`, `v${n} =`, [-99, 99]));
    const go = (step) => figure.set({step});
    const back = live.button("Back", () => go(figure.state.step - 1));
    const next = live.button("Step", () => go(figure.state.step + !figure.values.refused));
    place.append(
      svg,
      make("div", {class: "live-controls"}, back, next, live.button("Reset", figure.reset)),
      make("div", {class: "live-controls"}, numbers[0].row, marks[0].row),
      make("div", {class: "live-controls"}, numbers[1].row, marks[1].row),
    );

    return (state, {values, cotangents, needs, refused, reached}) => {
      [...marks, ...numbers].forEach((control) => control.update(state));
      live.allow(back, state.step > 0);
      live.allow(next, state.step < LAST && !refused);
      boxes.forEach(({frame, value, grad}, i) => {
        const leaf = i < 2;
        value.textContent = state.step >= READY[i] ? shown(values[i]) : "";
        const kept = leaf && reached[i];
        const asked = state.step === LAST && !refused;
        grad.textContent = asked ? `.grad ${kept ? shown(cotangents[i]) : "None"}` : "";
        set(frame, {
          fill: kept ? "#cfe3f2" : "#ffffff00",
          stroke: needs[i] ? "#22262b" : "#777",
          "stroke-width": leaf && needs[i] ? 3 : 1.3,
          "stroke-dasharray": needs[i] ? "none" : "5 3",
        });
      });
      edges.forEach(({from, to, forward, backward, value, cotangent}) => {
        set(forward, {opacity: state.step >= READY[to] ? 1 : 0.3});
        value.textContent = state.step >= READY[to] ? shown(values[from]) : "";
        set(backward, {visibility: reached[from] ? "visible" : "hidden"});
        cotangent.textContent = reached[from] ? shown(cotangents[from]) : "";
      });
    };
  },
});
