/* Images of digits, for the figures that show some. */
"use strict";
{
const {make, set} = live;

/* Images of eight by eight pixels, whose ink, 0 to 16 sixteenths, is a digit each. */
live.images = (digits) => digits.match(/.{64}/g).map((text) => Array.from(text, (d) => parseInt(d, 17) / 16));

/* Eight by eight pixels, ink by size: blue adds, orange takes away. */
live.pixels = (parent, x, y, size) => {
  const group = make("svg:g", {transform: `translate(${x} ${y})`});
  const cells = Array.from({length: 64}, (_, k) => make("svg:rect", {
    x: (k % 8) * size / 8, y: Math.floor(k / 8) * size / 8, width: size / 8, height: size / 8, "shape-rendering": "crispEdges",
  }));
  const frame = make("svg:rect", {width: size, height: size, rx: 3, class: "live-frame"});
  group.append(...cells, frame);
  parent.append(group);
  const draw = (picture) => {
    const most = Math.max(...picture.map(Math.abs)) || 1;
    picture.forEach((v, k) => set(cells[k], {class: v < 0 ? "live-minus" : "live-plus", "fill-opacity": (Math.abs(v) / most).toFixed(3)}));
  };
  return {group, draw};
};
}
