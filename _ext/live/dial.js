/* A cost dial: one linear layer, and what its rows, norms and clipped sum cost. */
"use strict";
{
const {make, set} = live;
const GREY = "#767676", GRAM = "#009E73", DIRECT = "#0072B2", SUM = "#C2679A", KEPT = "#D55E00";
const SPAN = 2; // of both axes; a longer bar is cut, and its number ends in an arrow

const grouped = (n) => `${n}`.replace(/\B(?=(\d{3})+$)/g, ",");
const power = (exponent) => grouped(2 ** exponent);

/* 33554432 bytes become "33.6 MB". */
function memory(bytes) {
  const step = Math.floor(Math.log10(bytes) / 3 + 1e-9);
  const part = bytes / 1000 ** step;
  return `${step ? part.toPrecision(3) : bytes}\u00a0${["B", "kB", "MB", "GB", "TB"][step]}`;
}

/* A share of an ordinary pass in percent, and the total with that pass, rounded alike. */
const percent = (share) => (share < 0.095 ? `${Number((100 * share).toPrecision(1))}` : (100 * share).toFixed(0));
const total = (share) => (share < 9
  ? (1 + percent(share) / 100).toFixed(2 + (percent(share).split(".")[1] ?? "").length)
  : grouped(Math.round(1 + share)));

/* The bars of both panels: a name, what it says, and its parts as [colour, length]. */
function panels(samples, [pass, gram, direct, sum], [weights, kept, grams, rows]) {
  const best = gram > direct ? [DIRECT, direct] : [GRAM, gram];
  const bar = (name, ...parts) => {
    const added = parts.reduce((all, [, length]) => all + length, 0) / pass;
    const long = added > SPAN - 1 ? " \u2192" : "";
    return [name, `${added ? total(added) : "1"}${long}`, [[GREY, pass], ...parts].map(([c, v]) => [c, v / pass])];
  };
  const room = (name, colour, bytes) => [name, `${memory(bytes)}${bytes > SPAN * rows ? " \u2192" : ""}`, [[colour, bytes / rows]]];
  return [
    ["Multiplications", ["0", "1 pass", "2 passes"], [
      bar("ordinary pass"),
      bar("with norms, Gram form", [GRAM, gram]),
      bar("with norms, direct form = all rows", [DIRECT, direct]),
      bar("with norms and clipped sum", best, [SUM, sum]),
    ]],
    ["Memory, all samples at once", ["0", "all rows", "twice"], [
      room("clipped sum = weights", SUM, weights),
      room("kept: inputs, cotangents", KEPT, kept),
      room("Gram form", GRAM, grams),
      room(`all rows = ${power(samples)} \u00d7 weights`, DIRECT, rows),
    ]],
  ];
}

live.figure("dial", {
  start: {samples: 5, positions: 7, width: 9},
  limits: {samples: [0, 12, 1], positions: [0, 14, 1], width: [4, 14, 1]},

  /* Multiplications of a pass, of the norms in both forms, of the clipped sum once they are known;
     bytes of the weights, of inputs and cotangents, of two Gram matrices a sample, of all rows. */
  compute({samples, positions, width}) {
    const [b, t, d] = [samples, positions, width].map((exponent) => 2 ** exponent);
    const product = b * t * d * d;
    return {
      work: [3 * product, 2 * b * t * t * d, product, product],
      room: [d * d, 2 * b * t * d, 2 * b * t * t, b * d * d].map((numbers) => 4 * numbers),
    };
  },

  describe({positions, width}, {work: [pass, gram, direct, sum], room: [, kept, , rows]}) {
    const side = Math.sign(gram - direct) + 1; // Gram cheaper, both the same, direct cheaper
    const best = Math.min(gram, direct);
    const half = `d/2\u00a0=\u00a0${power(width - 1)}`;
    const fewer = side === 1
      ? `Both forms take equally many multiplications: T\u00a0=\u00a0${half}.`
      : `The ${side ? "direct" : "Gram"} form takes fewer multiplications: T\u00a0=\u00a0${power(positions)} is `
        + `${side ? "above" : "below"} ${half}.`;
    return `${fewer} Norms add ${percent(best / pass)}\u00a0% to an ordinary pass, norms and clipped sum `
      + `${percent((best + sum) / pass)}\u00a0%. The inputs and cotangents kept for this take ${memory(kept)}, `
      + `${["less than", "as much as", "more than"][Math.sign(kept - rows) + 1]} all rows (${memory(rows)}).`;
  },

  build(figure, place, width) {
    place.before(place.parentNode.querySelector(".live-words")); // the answer first, then the bars
    const wide = width >= 560;
    const half = wide ? (width - 30) / 2 : width;
    const svg = make("svg:svg", {width, height: wide ? 190 : 390, role: "img", class: "live-plain"});
    const word = (x, y, attributes) => {
      const made = make("svg:text", {x, y, ...attributes});
      svg.append(made);
      return made;
    };
    const unit = (half - 16) / SPAN;
    const draw = [0, 1].map((k) => {
      const [left, top] = wide ? [1 + k * (half + 30), 0] : [1, k * 200];
      const title = word(left, top + 16, {class: "live-title"});
      const ticks = [0, 1, 2].map((p) => {
        const x = left + p * unit;
        const line = p === 1 ? [0, 1, 2, 3].map((i) => `M${x} ${top + 48 + 36 * i}v16`).join("") : `M${x} ${top + 28}v144`;
        svg.append(make("svg:path", {d: line, class: p === 1 ? "live-zero" : "live-grid"}));
        return word(x, top + 187, {"text-anchor": ["start", "middle", "end"][p], class: "live-small"});
      });
      const bars = [0, 1, 2, 3].map((i) => {
        const y = top + 32 + 36 * i;
        const parts = [0, 1, 2].map(() => make("svg:rect", {y: y + 16, height: 12}));
        svg.append(...parts);
        return [parts, word(left, y + 11, {class: "live-name"})];
      });
      return ([name, words, lines]) => {
        title.textContent = name;
        ticks.forEach((tick, p) => (tick.textContent = words[p]));
        bars.forEach(([parts, text], i) => {
          const [line, said, lengths] = lines[i];
          let from = 0;
          parts.forEach((part, p) => {
            const [fill, length] = lengths[p] ?? ["none", 0];
            const cut = Math.min(length, SPAN - from);
            set(part, {x: left + from * unit + 1.5 * p, width: p < lengths.length ? Math.max(1, cut * unit) : 0, fill});
            from += cut;
          });
          text.textContent = `${line}: ${said}`;
        });
        return `${name}: ${lines.map(([line, said]) => `${line} ${said}`).join("; ")}.`;
      };
    });
    const sliders = [
      live.slider(figure, "samples", "samples B", [0, 12, 1], 0, power),
      live.slider(figure, "positions", "positions T", [0, 14, 1], 0, power),
      live.slider(figure, "width", "width d", [4, 14, 1], 0, power),
    ];
    const note = "The direct form makes all rows, a few at a time. Counts are not times: writing memory costs too.";
    let before; // a swipe that begins on a slider and scrolls the page changes nothing
    const swipe = {pointerdown: () => (before = {...figure.state}), pointercancel: () => figure.set(before)};
    const rows = sliders.map((s) => s.row);
    place.append(svg, make("p", {class: "live-note"}, note), make("div", {class: "live-controls", ...swipe}, ...rows, live.button("Reset", figure.reset)));

    return (state, {work, room}) => {
      sliders.forEach((slider) => slider.update(state));
      set(svg, {"aria-label": panels(state.samples, work, room).map((panel, k) => draw[k](panel)).join(" ")});
    };
  },
});
}
