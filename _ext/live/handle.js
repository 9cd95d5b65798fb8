/* A handle that is dragged, or moved by keys, for the figures that have one. */
"use strict";
{
const {make} = live;

/* Something to drag, or to move with the arrow keys: `moved(x, y)` gets pixels, `nudged(right, up)` steps. */
live.handle = (parent, key, label, {moved, nudged}) => {
  const steps = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1],
    PageUp: [0, 5], PageDown: [0, -5], Home: [0, -99], End: [0, 99]}; // as of any slider: least, most
  const keydown = (event) => {
    if (!(event.key in steps)) return;
    nudged(...steps[event.key].map((n) => n * (event.shiftKey ? 5 : 1)));
    event.preventDefault();
  };
  const group = make("svg:g", {class: "live-handle", tabindex: 0, role: "slider", "data-key": key, "aria-label": label, keydown, ...live.drag(moved)},
    make("svg:circle", {r: 22, class: "live-ring"}), make("svg:circle", {r: 11, class: "live-dot"}));
  parent.append(group);
  return group;
};
}
