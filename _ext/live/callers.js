/* One function, called by Python, grad, vmap and jit: what stands in the place of its numbers, and what is noted. */
"use strict";
{
const {make, set} = live;
const CALLERS = ["Python", "grad", "vmap", "jit"];
const [, GRAD, VMAP, JIT] = CALLERS.keys();
const ROWS = ["width", "the sum", "the product"];
const EDGES = [[0, 1], [1, 2], [0, 2]]; // from an input to what is computed of it
const CODE = ["\u00a0\u00a0\u00a0\u00a0return ", "width", " * (", "width", " + 5.0", ")"];
const PARTS = [[1, 3], [3, 4], [1, 2, 3, 4, 5]]; // what of the code is a row's

live.figure("callers", {
  start: {by: 1, step: 2, width: 2},
  limits: {by: [0, 3, 1], step: [0, 4, 1], width: [1, 9, 1]},

  compute({by, step, width}) {
    const last = by === GRAD ? 4 : 2;
    const at = Math.min(step, last);
    const widths = by === VMAP ? [0, 1, 2, 3].map((k) => width + k) : [width];
    const numbers = [widths, widths.map((v) => v + 5), widths.map((v) => v * (v + 5))];
    const all = by === JIT ? [["width"], ["_1"], ["_2"]] : numbers;
    const [[x], [y], [z]] = all;
    const notes = by === GRAD || by === JIT ? ["", `${y} = add(${x}, 5.0)`, `${z} = multiply(${x}, ${y})`] : [];
    const rates = [[], [[y], [x], [1]], [[y, x], [x], [1]]][Math.max(0, at - 2)]; // the rules of a product and of a sum
    return {at, last, held: all.slice(0, at + 1), notes: notes.slice(0, at + 1), rates, call: ["area(_)", "grad(area)(_)", "vmap(area, (0,))([_])", "jit(area)(_)"][by].replace("_", widths.join(", "))};
  },

  describe({by, width}, {at, rates}) {
    const [sum, area] = [width + 5, width * (width + 5)];
    return [
      [`Python gives area the number ${width}.`, `Python adds: ${width} + 5 = ${sum}.`, `Python multiplies: ${width} \u00d7 ${sum} = ${area}.`],
      [`grad gives area a tracer with the number ${width} in it.`, `grad adds, and notes how the ${sum} was made.`, `grad multiplies, and notes how the ${area} was made. Step on: it goes back.`,
        `Back through the product: each factor gets the other one, so the width gets ${sum}, the sum ${width}.`,
        `Back through the sum, which hands its ${width} on. The area grows ${rates[0]?.join(" + ")} = ${sum + width} times as fast as the width: the gradient.`],
      ["vmap gives area one tracer, with four widths in it.", "vmap adds 5 to all four at once.", "vmap multiplies all four at once. They are four areas, from one call."],
      ["jit gives area a tracer with a name, width.", "jit writes a line of a program, with names where grad has numbers.", "jit writes the last line. This program can run for any width."],
    ][by][at];
  },

  found: ({by}, {at}) => (by === JIT && at === 2 ? "those of jit" : ""),

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const [left, high, top, apart, right] = wide ? [34, 36, 92, 46, 0.57 * width] : [34, 36, 72, 74, width - 1];
    const [slip, drop] = wide ? [right + 14, 4] : [Math.max(left, width - 216), high + 3]; // where a note begins
    const svg = make("svg:svg", {width, height: top + 2 * apart + (wide ? high : high + 31) + 2, role: "img", "aria-label": "The function, its three numbers, what stands in their place and what is noted; the last step is said below."});
    const word = (parent, x, y, attributes = {}, ...said) => parent.appendChild(make("svg:text", {x, y, ...attributes}, ...said));
    const large = {class: "live-code", style: wide ? "font-size: 15px" : ""};
    const call = word(svg, 0, 14, {...large, fill: "var(--l-blue)"});
    const code = CODE.map((text) => make("svg:tspan", {}, text));
    word(svg, 0, 36, large, "def area(width):");
    word(svg, 0, 58, large, ...code);
    const heading = word(svg, slip, 84, {class: "live-small", visibility: wide ? "visible" : "hidden"});
    const lines = svg.appendChild(make("svg:g", {fill: "none", "stroke-linecap": "round"}));
    const rows = ROWS.map((text, k) => {
      const group = svg.appendChild(make("svg:g", {transform: `translate(0 ${top + apart * k})`}));
      const box = make("svg:rect", {x: left, y: 0, height: high, rx: 8, fill: "#ffffff00"});
      const chips = [0, 1, 2, 3].map((i) => make("svg:rect", {y: 6, height: high - 12, rx: 5}));
      const paper = make("svg:rect", {x: slip, y: drop, width: (wide ? width : right) - slip - 1, height: 28, rx: 2, fill: "var(--l-paper)", stroke: "var(--l-muted)"});
      group.append(box, ...chips, paper);
      const held = chips.map(() => word(group, 0, 23, {"text-anchor": "middle", "font-weight": 600}));
      const note = word(group, slip + 10, drop + 19, {class: "live-code"});
      const rate = word(group, right - 10, 23, {"text-anchor": "end", fill: "var(--l-red)", "font-weight": 600});
      return {name: word(group, left + 10, 23, {}, text), box, chips, held, paper, note, rate};
    });
    const by = live.choice(figure, "by", "called by", CALLERS);
    const steps = live.stepper(figure, "step", () => figure.values.last);
    const slider = live.slider(figure, "width", "width", [1, 9, 1], 0);
    const [, input, read] = slider.row.children;
    set(read, {style: "min-width: 3.2em"}); // for the widths of vmap
    set(by.row, {style: wide ? "" : "flex-basis: 100%"});
    picture.append(svg);
    controls.append(live.row(by.row, ...steps.buttons), live.sliders(slider), live.reset(figure));

    return (state, {at, held, notes, rates, call: called}) => {
      [by, steps, slider].forEach((control) => control.update(state));
      if (state.by === VMAP) input.ariaValueText = read.textContent = `${state.width} to ${state.width + 3}`;
      const across = (wide && !notes.length ? width - 1 : right) - left; // of a box, which ends where notes begin
      const gap = (across - 94) / 4;
      call.textContent = called;
      heading.textContent = notes.length ? "notes" : "no notes";
      const [here, colour] = at > 2 ? [5 - at, "var(--l-red)"] : [at, "var(--l-blue)"];
      code.forEach((part, i) => set(part, PARTS[here].includes(i) ? {fill: colour, "text-decoration": "underline"} : {fill: "var(--l-ink)", "text-decoration": "none"}));
      rows.forEach((row, k) => {
        const [all, rate] = [held[k] ?? [], rates[k] ?? []];
        set(row.name, {fill: `var(--l-${k > at ? "muted" : "ink"})`});
        set(row.box, {stroke: k === here ? colour : "#88888899", "stroke-width": k === here ? 3 : 1, "stroke-dasharray": k > at ? "5 3" : "none"});
        set(row.box, {width: across});
        row.chips.forEach((chip, i) => {
          const [wide, fill, stroke] = state.by === JIT ? [54, "#ffffff00", "var(--l-muted)"] : [Math.min(gap - 6, 90), "var(--l-tint)", "none"];
          set(chip, {x: left + 90 + gap * i, width: wide, fill, stroke, "stroke-dasharray": "4 3", visibility: i < all.length ? "visible" : "hidden"});
          set(row.held[i], {x: left + 90 + gap * i + wide / 2});
          row.held[i].textContent = all[i] ?? "";
        });
        row.note.textContent = notes[k] ?? "";
        set(row.paper, {visibility: notes[k] ? "visible" : "hidden"});
        row.rate.textContent = rate.length ? `rate ${rate.join(" + ")}${rate.length > 1 ? ` = ${rate[0] + rate[1]}` : ""}` : "";
      });
      /* From each input an arrow to its use; the other way once a rate has come along it. */
      lines.replaceChildren(...EDGES.filter(([, to]) => to <= at).map(([from, to]) => {
        const [used, y0, y1] = [at > 4 - to, top + apart * from + high / 2 + 6, top + apart * to + high / 2 - 6];
        const [out, tip] = [left - 6 - 13 * (to - from), used ? y0 : y1];
        return make("svg:path", {
          d: `M${left - 3} ${y1}C${out - 4} ${y1} ${out - 4} ${y0} ${left - 3} ${y0}M${left - 9} ${tip - 4}L${left - 3} ${tip}L${left - 9} ${tip + 4}`,
          stroke: used ? "var(--l-red)" : "var(--l-blue)", "stroke-width": to === here && at ? 3.5 : 1.75,
        });
      }));
    };
  },
});
}
