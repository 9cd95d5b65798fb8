/* A curve through what was computed at a few places, for the figures that have one to drag along. */
"use strict";
{
const {make, set} = live;

/* Axes with numbers, a curve with a mark at each place, and a handle on it: `across` and `up` are the
   numbers of the axes, `px` and `py` turn a number into pixels, `moved(x)` gets the pixels of a drag. */
live.curve = (parent, stroke, {left, right, floor, across, up, px, py, moved}) => {
  const word = (x, y, text, anchor) => make("svg:text", {x, y, class: "live-small", "text-anchor": anchor}, `${text}`);
  for (const v of up) {
    parent.append(make("svg:line", {x1: left, x2: right, y1: py(v), y2: py(v), class: v ? "live-grid" : "live-zero"}), word(left - 8, py(v) + 5, v, "end"));
  }
  parent.append(...across.map((v) => word(px(v), floor + 20, v, "middle")));
  const line = make("svg:path", {fill: "none", stroke, "stroke-width": 1.25, class: "live-moves live-curve"});
  const marks = make("svg:path", {stroke, "stroke-width": 5, "stroke-linecap": "round", class: "live-moves"});
  const here = make("svg:g", {class: "live-handle", ...live.drag(moved)},
    make("svg:circle", {r: 22, class: "live-ring"}), make("svg:circle", {r: 8, class: "live-dot"}));
  parent.append(line, marks, here);
  return (points, [x, y]) => {
    const at = points.map(([v, w]) => `${px(v)} ${py(w)}`);
    set(line, {d: `M${at.join("L")}`});
    set(marks, {d: at.map((place) => `M${place}h0`).join("")});
    set(here, {transform: `translate(${px(x)} ${py(y)})`});
  };
};
}
