/* A cost dial: one linear layer, and what its rows, norms and clipped sum cost. */
const {make, set} = live;
const NAMES = {
  work: ["ordinary pass", "norms, Gram form", "norms, direct form", "clipped sum, after the norms"],
  room: ["weights", "kept for norms", "clipped sum", "all rows"],
};
const COLOURS = {
  work: ["#767676", "#009E73", "#0072B2", "#CC79A7"],
  room: ["#767676", "#56B4E9", "#CC79A7", "#D55E00"],
};
const UNITS = {work: ["", " thousand", " million", " billion", " trillion", "\u00b710\u00b9\u2075", "\u00b710\u00b9\u2078"], room: [" B", " kB", " MB", " GB", " TB", " PB", " EB"]};
const SPAN = {work: [2, 18], room: [2, 15]}; // powers of ten

const grouped = (n) => `${n}`.replace(/\B(?=(\d{3})+$)/g, ",");
const power = (exponent) => grouped(2 ** exponent);

/* 123456 becomes "123 thousand". */
function said(value, kind) {
  const step = Math.max(0, Math.min(6, Math.floor(Math.log10(value) / 3 + 1e-9)));
  const part = value / 1000 ** step;
  return `${part >= 100 || step === 0 ? Math.round(part) : Number(part.toPrecision(2))}${UNITS[kind][step]}`;
}

live.figure("dial", {
  start: {samples: 5, positions: 7, width: 9},
  limits: {samples: [0, 12, 1], positions: [0, 14, 1], width: [4, 14, 1]},

  compute({samples, positions, width}) {
    const [work, numbers] = programs.layerCosts(2 ** samples, 2 ** positions, 2 ** width);
    return {work, room: numbers.map((n) => 4 * n)};
  },

  describe({positions, width}, {work, room}) {
    const [pass, gram, direct, sum] = work;
    const best = Math.min(gram, direct);
    const percent = (v) => `${v < 0.1 ? Number((100 * v).toPrecision(1)) : Math.round(100 * v)}\u00a0%`;
    const cheaper = gram === direct
      ? "Both forms of the norms take the same."
      : `The ${gram < direct ? "Gram" : "direct"} form is the cheaper one: ${power(positions)} positions are `
        + `${gram < direct ? "fewer" : "more"} than half the width, ${power(width - 1)}.`;
    return `${cheaper} Norms add ${percent(best / pass)} to the products of an ordinary pass, a clipped sum `
      + `${percent((best + sum) / pass)}. All rows are ${said(room[3], "room")}, the weights ${said(room[0], "room")}.`;
  },

  build(figure, place, width) {
    const wide = width >= 560;
    const half = wide ? (width - 30) / 2 : width;
    const tall = 190;
    const svg = make("svg:svg", {width, height: wide ? tall : 2 * tall + 10, role: "img", "aria-label": "Costs as bars; they are said below."});
    const bars = {};
    ["work", "room"].forEach((kind, k) => {
      const left = wide ? k * (half + 30) : 0;
      const top = wide ? 0 : k * (tall + 10);
      const [low, high] = SPAN[kind];
      const right = left + half - 8;
      const across = (value) => left + ((Math.log10(value) - low) / (high - low)) * (right - left);
      svg.append(make("svg:text", {x: left, y: top + 16, class: "live-title"}, kind === "work" ? "Multiplications" : "Memory, float32"));
      for (let p = kind === "work" ? 6 : 3; p < high; p += 3) {
        const x = across(10 ** p);
        svg.append(
          make("svg:line", {x1: x, x2: x, y1: top + 28, y2: top + 172, class: "live-grid"}),
          make("svg:text", {x, y: top + 187, "text-anchor": "middle", class: "live-small"}, said(10 ** p, kind)),
        );
      }
      bars[kind] = NAMES[kind].map((name, i) => {
        const y = top + 32 + 36 * i;
        const bar = make("svg:rect", {x: left, y: y + 16, height: 12, fill: COLOURS[kind][i]});
        const word = make("svg:text", {x: left, y: y + 11, class: "live-name"});
        svg.append(bar, word);
        return (value) => {
          set(bar, {width: Math.max(1, across(value) - left)});
          word.textContent = `${name}: ${said(value, kind)}`;
        };
      });
    });
    const sliders = [
      live.slider(figure, "samples", "samples B", [0, 12, 1], 0, power),
      live.slider(figure, "positions", "positions T", [0, 14, 1], 0, power),
      live.slider(figure, "width", "width d", [4, 14, 1], 0, power),
    ];
    place.append(svg, make("div", {class: "live-controls"}, ...sliders.map((s) => s.row), live.button("Reset", figure.reset)));

    return (state, values) => {
      sliders.forEach((slider) => slider.update(state));
      for (const kind of ["work", "room"]) bars[kind].forEach((draw, i) => draw(values[kind][i]));
    };
  },
});
