/* A cost dial: one linear layer, and what its rows, norms and clipped sum cost. */
const {make, set} = live;
const GREY = "#767676", GRAM = "#009E73", DIRECT = "#0072B2", SUM = "#C2679A", KEPT = "#D55E00";
const SPAN = 2; // of both axes; a longer bar ends in an arrow

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
    return [name, added ? total(added) : "1", [[GREY, pass], ...parts].map(([c, v]) => [c, v / pass])];
  };
  const room = (name, colour, bytes) => [name, memory(bytes), [[colour, bytes / rows]]];
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

  compute({samples, positions, width}) {
    const [work, numbers] = programs.layerCosts(2 ** samples, 2 ** positions, 2 ** width);
    return {work, room: numbers.map((n) => 4 * n)};
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
    const tall = 190;
    const svg = make("svg:svg", {width, height: wide ? tall : 2 * tall + 10, role: "img", class: "live-plain"});
    const draw = [0, 1].map((k) => {
      const left = 1 + (wide ? k * (half + 30) : 0);
      const top = wide ? 0 : k * (tall + 10);
      const unit = (half - 16) / SPAN;
      const title = make("svg:text", {x: left, y: top + 16, class: "live-title"});
      svg.append(title);
      const ticks = [0, 1, 2].map((p) => {
        const x = left + p * unit;
        const word = make("svg:text", {x, y: top + 187, "text-anchor": ["start", "middle", "end"][p], class: "live-small"});
        const line = p === 1 ? [0, 1, 2, 3].map((i) => `M${x} ${top + 48 + 36 * i}v16`).join("") : `M${x} ${top + 28}v144`;
        svg.append(make("svg:path", {d: line, class: p === 1 ? "live-zero" : "live-grid"}), word);
        return word;
      });
      const bars = [0, 1, 2, 3].map((i) => {
        const y = top + 32 + 36 * i;
        const parts = [0, 1, 2].map(() => make("svg:rect", {y: y + 16, height: 12}));
        const beyond = make("svg:path", {d: `M${left + half - 12} ${y + 16}l10 6l-10 6z`});
        const word = make("svg:text", {x: left, y: y + 11, class: "live-name"});
        svg.append(...parts, beyond, word);
        return ([name, said, lengths]) => {
          let from = 0;
          parts.forEach((part, p) => {
            const [fill, length] = lengths[p] ?? ["none", 0];
            const cut = Math.min(length, SPAN - from);
            set(part, {x: left + from * unit + 1.5 * p, width: p < lengths.length ? Math.max(1, cut * unit) : 0, fill});
            from += cut;
            if (length > cut) set(beyond, {fill});
          });
          set(beyond, {visibility: lengths.reduce((all, [, length]) => all + length, 0) > SPAN ? "visible" : "hidden"});
          word.textContent = `${name}: ${said}`;
        };
      });
      return ([name, words, lines]) => {
        title.textContent = name;
        ticks.forEach((tick, p) => (tick.textContent = words[p]));
        bars.forEach((bar, i) => bar(lines[i]));
        return `${name}: ${lines.map(([line, said]) => `${line} ${said}`).join("; ")}.`;
      };
    });
    const sliders = [
      live.slider(figure, "samples", "samples B", [0, 12, 1], 0, power),
      live.slider(figure, "positions", "positions T", [0, 14, 1], 0, power),
      live.slider(figure, "width", "width d", [4, 14, 1], 0, power),
    ];
    const mark = make("span", {class: "live-mark", "aria-hidden": "true"}, "d/2");
    const input = sliders[1].row.children[1];
    const track = make("span", {class: "live-track"}, mark);
    input.replaceWith(track);
    track.prepend(input);
    const note = "The direct form makes all rows, a few at a time. Counts are not times: writing memory costs too.";
    let before; // a swipe that begins on a slider and scrolls the page changes nothing
    const swipe = {pointerdown: () => (before = {...figure.state}), pointercancel: () => figure.set(before)};
    const rows = sliders.map((s) => s.row);
    place.append(svg, make("p", {class: "live-note"}, note), make("div", {class: "live-controls", ...swipe}, ...rows, live.button("Reset", figure.reset)));

    return (state, {work, room}) => {
      sliders.forEach((slider) => slider.update(state));
      mark.style.left = `calc(8px + ${(state.width - 1) / 14} * (100% - 16px))`;
      set(svg, {"aria-label": panels(state.samples, work, room).map((panel, k) => draw[k](panel)).join(" ")});
    };
  },
});
