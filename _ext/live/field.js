/* One step on an image of an 8: what it spoils among 397, and the product of each row with that of the 8. */
"use strict";
{
const {make, set, fixed} = live;
/* An image each, as scripts/draw_field.py writes them: the label or, if they differ, label, read before and read after the step; the product. */
const DATA = "2-.052 5-.108 7-.11 4-.077 5-.167 5-1.37 2-.0919 9-.165 4-.177 7-.49 3-1.13 3-.896 6-.576 3-.494 818+59.7 0+.0207 6-.265 0+.000589 9-.366 4-.21 6-.145 5-.246 3-.0545 5-1.52 4-.368 4-.223 0+.0521 8+2.54 4-.263 2+3.54 1-9.14 6-.171 7+.182 0+.0974 1-.962 2+.107 3-2.27 0+.32 8+5.38 8+4.32 9+.06 8+11.9 3-.388 7-1.53 5-.171 "
  + "0+.0146 6-.421 6+.112 3-.273 118-17.8 3-.142 8+5.96 7+.0647 8+3.56 6+.549 1-13.5 5-.00756 5+.00474 2-.585 1-11 9+1.68 2-.0805 4-.208 0-.648 7-1.07 4-.405 2-.108 3+.132 5-1.45 7-.0683 2-2.1 9-.353 9+.179 955+13 8+.594 8+9.33 6-.541 2+.247 4-1.49 3-2.9 4-1.82 3+.225 9+.191 5-.00129 4-2.74 8+1.79 5-.0556 1-7.12 6+.199 "
  + "6-.195 0+.0443 0-.0401 9+.317 9+1.45 0-.0348 9-.264 9+.0427 6+.0254 5-.0904 5-.0384 0-.106 4-3.12 4-.122 8+6.15 4-2.42 9-.658 2+.00895 6-.189 8+15.3 4-.413 8+4.86 2-.408 4-.693 9-2.25 5-.246 1-8.62 2-.106 4+1.89 6-.35 1-2.81 5-.408 0-.0439 5-.145 118-38 1-11.1 8+12.1 7-.259 2-.265 5-.556 6-.157 6+1.44 1-5.97 9-.112 "
  + "477-9.92 3-.0827 199-19.7 2-.255 5-.303 3-1.2 6-.42 9+.678 6+.477 7-.0319 0+.261 0+.0899 2+3.98 0+.156 0+.00432 8+8.1 5-3 1-11.1 411+3.48 2-.0354 6+.0734 9-.8 7-.557 8+10 2-.362 1-2.97 2-.982 4+.647 4+.0154 9+7.34 2-6.75 2+1.38 4-1.63 8+6.59 6-2.3 0-.131 8+2.08 4+.0343 0-.0139 3+.125 5-1.59 4-.894 2+1.42 6-.3 199-17.9 "
  + "9-.0848 4-.621 6-.282 9+1.88 3-.0837 4-.216 7-.425 7-.178 7-1.8 8+19 5-.427 3-.204 5-.22 8+1.7 4-.121 2+.00456 3-.0418 2-5.16 3-.0146 6-.704 9+2.41 4-1.06 7-.169 0-.0952 1-13.2 6+.0234 6-1.32 7-.0998 4+.838 1-9.17 8+1.21 1-4.7 0+1.19 988-10.7 8+16.2 0+.106 1-10 4+1.5 0-.0631 9-2.36 2-8.83 338-8.45 2+.205 6-1.14 2-2.75 "
  + "9+.0241 8+5.75 6-.398 8+19.9 9+1.21 5-1.54 9+.0995 0-.00914 5-.15 2+2.53 1-5.26 4-.239 3-.184 7-.0647 6+4.2 4+1.99 5-.196 2-.224 2+.112 2-2.03 4+.0963 7+3.53 118-20.4 8+3.84 0+.194 9-2.35 7+.0762 6+3.83 0-.741 0-.0459 9-.232 0-.0396 2-2.4 6-.19 4-2.46 2-.355 0-.0317 1-.652 3-.0622 0+.00426 5-.891 9-.159 0-.0485 1-12.4 "
  + "4-.252 9+.0608 9-.0798 1-.677 6-.5 1-16.6 4-.976 1-.835 2-1.32 118-25.4 2-.0455 6+2.3 668-5.64 5+.174 1-10.6 0-.0185 4+1.87 0+.00351 6+.619 118-24 0-.063 7+.203 0-.0592 0-.0196 9-1.01 188-46.7 2+.916 148-29.5 8+10.3 1-5.63 1-3.59 5-1.22 0+.0363 9+1.31 4+.407 7+2.08 7-.264 2+.149 1-.681 7-1.61 6+.144 9-.588 3-1.02 "
  + "3-.218 3-.232 5+2.71 0+6.7 0-.0077 0-.0778 949+9.26 1-11.6 2-.285 3+.235 9+1.22 4-.101 6+.313 0+.00305 2-.174 8+17.5 3-.388 2+.0899 5-.0261 8+5.61 5-1.17 6-.205 1-.759 5-.225 4+2.46 3-2.62 3-.21 7-.248 4-3.69 5-.188 0-.0585 2+.2 6-.605 7-1.01 2-5.44 3-1.87 5-.202 8+22.9 0+1.58 7-.43 3-.177 7-.319 1-3.15 4-.227 9+.0657 "
  + "2-1.51 4-.596 7+1.08 1-.665 2+.0629 8+1.57 5-.518 9-.241 4-.767 2+.135 466-8.74 9+8.47 4-.339 7-1.56 322+.99 5-.0237 2-.0861 1-1.66 8+1.03 2-3.52 2-4.88 4-4.75 7+7.06 9+1.06 6+.394 5-.149 7-.137 0+.0988 6-.0543 6-2.04 9-.42 818+30.7 4-.24 2+.0592 2+6.69 3+.129 9+7.49 6-.607 228-8.17 2+.134 9-.0222 388-9.37 ";
const IMAGES = DATA.match(/\S+/g).map((text) => {
  const [, digits, product] = text.match(/^(\d+)(.+)/);
  const [label, read, now] = digits.length > 1 ? digits : digits.repeat(3);
  return {label, read, now, product: Number(product)};
});
const [EIGHT, MOST] = [14, 62]; // the image of the step; where the axis ends
const ORDER = IMAGES.map((_, k) => k).sort((a, b) => IMAGES[a].product - IMAGES[b].product);
const SHEET = new URL("field.png", document.currentScript.src || document.baseURI);
const spoilt = ({label, read, now}) => read === label && now !== label;
const an = (digit) => `${digit === "8" ? "an" : "a"} ${digit}`;
const along = (product) => Math.asinh(10 * product) / Math.asinh(10 * MOST); // as a logarithm, but for the smallest
const written = (v) => fixed(v, Math.abs(v) >= 10 ? 1 : Math.abs(v) >= 0.1 ? 2 : 4);

live.figure("field", {
  start: {chosen: EIGHT, ordered: 0},
  limits: {chosen: [0, IMAGES.length - 1, 1], ordered: [0, 1, 1]},

  compute({chosen}) {
    const place = (k) => ORDER.indexOf(k) + 1;
    const places = IMAGES.flatMap((image, k) => (spoilt(image) ? [place(k)] : [])).sort((a, b) => a - b);
    return {...IMAGES[chosen], place: place(chosen), places};
  },

  describe: ({ordered}, {places}) => (ordered
    ? `From the lowest product up, the spoilt images are numbers ${places.slice(0, -1).join(", ")} and ${places.at(-1)} of ${IMAGES.length}.`
    : "The step mends the 8, and spoils eight other images. In the order of the data, they could be any."),

  found: ({ordered}, {places}) => (ordered ? `all in the lowest ${places.at(-1)}` : ""),

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const [columns, bins, top, size] = wide ? [33, 72, 100, 72] : [22, 44, 132, 72];
    const [most, bin] = [Math.floor((IMAGES.length - 1) / columns), (width - 2) / bins];
    const [r, floor] = [bin / 2 - 0.3, top + (wide ? 220 : 270)];
    const [across, down] = [(width - 20) / (columns - 1), (floor - top - 10) / most];
    const svg = make("svg:svg", {width, height: floor + 42, role: "group", "aria-label": "397 images as dots; the chosen one is shown above them."});
    const word = (parent, x, y, text, attributes = {}) => parent.appendChild(make("svg:text", {x, y, ...attributes}, text));

    /* Where the dots are: in the order of the data, or heaped above their product. */
    const heaps = {};
    const grid = IMAGES.map((_, k) => [10 + across * (k % columns), top + down * Math.floor(k / columns)]);
    const heaped = [];
    for (const k of ORDER) {
      const at = Math.floor((1 + along(IMAGES[k].product)) * bins / 2);
      heaps[at] = (heaps[at] ?? 0) + 1;
      heaped[k] = [1 + bin * (at + 0.5), floor - bin * (heaps[at] - 0.5)];
    }
    const places = () => (figure.state.ordered ? heaped : grid);
    const nearest = (x, y) => {
      const far = places().map(([a, b]) => Math.hypot(x - a, y - b));
      const chosen = far.indexOf(Math.min(...far));
      if (far[chosen] < 30) figure.set({chosen});
    };

    const title = word(svg, width / 2, floor + 38, "", {"text-anchor": "middle", class: "live-small"});
    const axis = svg.appendChild(make("svg:g"));
    axis.append(make("svg:path", {d: `M0 ${floor}H${width}M${width / 2} ${top}V${floor}`, fill: "none", class: "live-zero"}));
    for (const v of [-40, -10, -1, 0, 1, 10, 40]) {
      const x = width / 2 + along(v) * (width / 2 - 1);
      axis.append(make("svg:path", {d: `M${x} ${floor}v5`, class: "live-zero"}));
      word(axis, x, floor + 19, fixed(v, 0), {"text-anchor": "middle", class: "live-small"});
    }
    ["harms", "helps"].forEach((does, k) => {
      const count = IMAGES.filter(({product}) => (product < 0) !== Boolean(k)).length;
      [`a short step`, `${does} these ${count}`].forEach((text, line) => {
        word(axis, k ? width : 0, top + 20 + 19 * line, text, {"text-anchor": k ? "end" : "start", class: "live-name"});
      });
    });

    const dots = IMAGES.map((image, k) => make("svg:circle", {
      class: "live-moves", ...(k === EIGHT ? {fill: "var(--l-blue)"} : spoilt(image) ? {fill: "var(--l-orange)"} : {fill: "var(--l-muted)", "fill-opacity": 0.7}),
    }));
    const misread = dots.filter((_, k) => k !== EIGHT && IMAGES[k].read !== IMAGES[k].label);
    svg.append(...dots);
    const ring = live.handle(svg, "ring", "the chosen image", {
      moved: nearest,
      nudged: (right, up) => { // Home and End too
        const [order, by] = figure.state.ordered ? [ORDER, right + 9 * up] : [dots.map((_, k) => k), right - columns * up];
        const at = order.indexOf(figure.state.chosen) + (Math.abs(up) > 90 ? 9 * up : by);
        figure.set({chosen: order[Math.min(dots.length - 1, Math.max(0, at))]});
      },
    });
    set(ring, {class: "live-handle live-moves", "aria-valuemin": 1, "aria-valuemax": IMAGES.length});
    set(ring.lastChild, {r: r + 4.5, "fill-opacity": 0});
    set(svg, {pointerup: ({clientX, clientY}) => {
      const frame = svg.getBoundingClientRect();
      nearest(clientX - frame.left, clientY - frame.top);
    }});

    /* The chosen image, what is said of it, and what the colours mean. */
    const shown = make("svg:image", {href: SHEET, width: 160, height: 160, style: "image-rendering: pixelated"});
    const window = make("svg:svg", {x: 1, y: 1, width: size, height: size, style: "overflow: hidden"}, shown);
    svg.append(window, make("svg:rect", {x: 1, y: 1, width: size, height: size, rx: 3, class: "live-frame"}));
    const lines = [18, 42, 66].map((y) => word(svg, 84, y, "", y < 20 ? {class: "live-title"} : {}));
    const keys = [["the 8, mended", "var(--l-blue)"], ["spoilt", "var(--l-orange)"], ["misread before", "none"]].map(([text, fill], k) => {
      const place = wide ? `${width - 130} ${13 + 24 * k}` : `${7 + [0, 128, 204][k]} 100`;
      const key = svg.appendChild(make("svg:g", {transform: `translate(${place})`}));
      key.append(make("svg:circle", {r: 5, fill, stroke: k > 1 ? "var(--l-ink)" : "none", "stroke-width": 1.5}));
      word(key, 10, 5, text);
      return key;
    });
    const order = live.toggle(figure, "ordered", "order by product");
    picture.append(svg);
    controls.append(live.row(order.row, live.reset(figure)));

    let before;
    return (state, {label, read, now, product, place}) => {
      order.update(state);
      const at = places();
      if (before !== state.ordered) {
        before = state.ordered;
        dots.forEach((dot, k) => set(dot, {cx: at[k][0], cy: at[k][1], r: before ? r : r + 1.5}));
        misread.forEach((dot) => set(dot, before ? {fill: "#ffffff00", stroke: "var(--l-ink)"} : {fill: "var(--l-muted)", stroke: "none"}));
        [axis, keys[2]].forEach((part) => set(part, {visibility: before ? "visible" : "hidden"}));
        title.textContent = before ? "product with the row of the 8" : "in the order of the data";
      }
      set(window, {viewBox: `${8 * (state.chosen % 20)} ${8 * Math.floor(state.chosen / 20)} 8 8`});
      const fate = spoilt({label, read, now}) ? ": spoilt" : read !== label && now === label ? ": mended" : "";
      const said = [`image ${state.chosen}, ${an(label)}`, read === now ? `read as ${read}, before and after` : `read as ${read}, then as ${now}${fate}`,
        `product ${written(product)}: a short step ${product < 0 ? "harms" : "helps"} it`];
      lines.forEach((line, k) => (line.textContent = said[k]));
      set(ring, {transform: `translate(${at[state.chosen].join(" ")})`, "aria-valuenow": state.ordered ? place : state.chosen + 1, "aria-valuetext": said.join(", ")});
    };
  },
});
}
