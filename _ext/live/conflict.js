/* The rows of two samples and their mean: whose loss does a step on the mean raise? */
"use strict";
{
const {make, set, fixed} = live;
const [LONGEST, RIGHT, FIRST] = [1.2, Math.PI / 2, 150]; // of row 2, where row 1 has the length 1; a right angle; that of the start
const dot = (a, b) => a[0] * b[0] + a[1] * b[1];

/* A row without its part against the other: gradient surgery. */
function without(row, other) {
  const part = Math.min(0, dot(row, other)) / dot(other, other);
  return row.map((v, k) => v - part * other[k]);
}

const fate = (gain) => (gain > 0.005 ? "helped" : gain < -0.005 ? "harmed" : "left alone");
const percent = (gain) => `${fixed(100 * gain, 0)} %`;

live.figure("conflict", {
  start: {second: 0.5, angle: FIRST, surgery: 0, map: 0},
  limits: {second: [0.2, LONGEST], angle: [0, 180], surgery: [0, 1, 1], map: [0, 1, 1]},

  compute({second, angle, surgery}) {
    const turn = angle * Math.PI / 180;
    const rows = [[1, 0], [second * Math.cos(turn), second * Math.sin(turn)]];
    const used = surgery ? rows.map((row, k) => without(row, rows[1 - k])) : rows;
    const mean = [0, 1].map((k) => (used[0][k] + used[1][k]) / 2);
    return {rows, used, mean, cosine: dot(...rows) / second, gains: rows.map((row) => dot(row, mean) / dot(row, row))};
  },

  describe({surgery, angle}, {cosine, gains}) {
    const harmed = gains.findIndex((gain) => fate(gain) === "harmed");
    return `${cosine < -0.005 ? "In conflict" : "No conflict"}, cosine ${fixed(cosine)}. Of what its own step would bring, `
      + `a short step on the mean${surgery ? " after surgery" : ""} brings ${percent(gains[0])} to sample 1 and ${percent(gains[1])} to sample 2: `
      + (harmed < 0 ? `neither is harmed.${angle !== FIRST && !surgery ? ` But row 2 was turned, from ${FIRST}°.` : ""}` : `sample ${harmed + 1} is harmed.`);
  },

  found: ({angle, surgery}, {gains}) => (angle === FIRST && gains.every((gain) => fate(gain) !== "harmed") ? (surgery ? "gradient surgery" : "a longer row 2") : ""),

  build(figure, picture, width, controls) {
    const scale = Math.min((width - 46) / (2 * LONGEST), 232);
    const [cx, cy] = [width / 2, 18 + LONGEST * scale];
    const at = ([x, y]) => [cx + scale * x, cy - scale * y];
    const svg = make("svg:svg", {width, height: cy + 88, role: "group", "aria-label": "The rows of two samples as arrows, and their mean; what a step on the mean does to both is said below."});
    const word = (x, y, text, attributes = {}) => {
      const made = make("svg:text", {x, y, class: "live-name", ...attributes}, text);
      svg.append(made);
      return made;
    };
    /* Where the tip of row 2 may be, and where it makes the mean harm a sample. */
    const arc = (x0, r, x1) => `M${at([x0, 0]).join(" ")}A${r * scale} ${r * scale} 0 0 1 ${at([x1, 0]).join(" ")}`;
    const corner = [-1, Math.sqrt(LONGEST ** 2 - 1)];
    const far = `M${at([-LONGEST, 0]).join(" ")}A${LONGEST * scale} ${LONGEST * scale} 0 0 1 ${at(corner).join(" ")}V${cy}Z`;
    const places = [far, arc(-1, 0.5, 0)].map((d) => make("svg:path", {d, class: "live-minus", "fill-opacity": 0.25}));
    svg.append(...places, make("svg:path", {d: `${arc(-LONGEST, LONGEST, LONGEST)}Z`, fill: "none", class: "live-zero"}));
    const names = [-1.1, -0.5].map((x, k) => word(...at([x, 0]), `harms ${k + 1}`, {dy: 60, "text-anchor": "middle", fill: "var(--l-orange)"}));

    const upright = [0, 1].map(() => make("svg:path", {stroke: "var(--l-muted)", "stroke-width": 1.5, "stroke-dasharray": "5 5", class: "live-moves"}));
    svg.append(...upright);
    const tip = live.handle(svg, "tip", "tip of row 2", {
      moved: (x, y) => {
        const [right, up] = [(x - cx) / scale, Math.max(0, (cy - y) / scale)];
        const angle = Math.atan2(up, right) * 180 / Math.PI;
        figure.set({second: Math.hypot(right, up), angle: Math.abs(angle - FIRST) < 4 ? FIRST : angle}); // easy to keep
      },
      nudged: (right, up) => figure.set({second: figure.state.second + 0.05 * up, angle: figure.state.angle - 2 * right}),
    });
    set(tip, {"aria-valuemin": 0, "aria-valuemax": 180});
    const cut = [0, 1].map(() => live.arrow(svg, {stroke: "var(--l-muted)", "stroke-width": 1.5, "stroke-dasharray": "2 3"}));
    const mean = live.arrow(svg, {stroke: "var(--l-blue)", "stroke-width": 6});
    const arrows = [0, 1].map(() => {
      const group = make("svg:g", {"pointer-events": "none"});
      svg.append(group);
      return {group, move: live.arrow(group, {stroke: "currentColor", "stroke-width": 3.5})};
    });
    const said = [word(cx + 6, cy + 38, ""), word(cx - 6, cy + 38, "", {"text-anchor": "end"})];
    svg.append(make("svg:path", {d: `M${cx - LONGEST * scale} ${cy + 77}h20`, stroke: "var(--l-blue)", "stroke-width": 5}));
    const key = word(cx - LONGEST * scale + 26, cy + 82, "", {fill: "var(--l-blue)"});
    svg.append(make("svg:path", {d: `M${cx + 6} ${cy + 77}h24`, stroke: "var(--l-muted)", "stroke-width": 1.5, "stroke-dasharray": "5 5"}));
    word(cx + 36, cy + 82, "right angle to a row", {class: "live-small"});

    const sliders = [
      live.slider(figure, "second", "length of row 2", [0.2, LONGEST, 0.05], 2),
      live.slider(figure, "angle", "angle of the rows", [0, 180, 1], 0, "°"),
    ];
    const surgery = live.toggle(figure, "surgery", "gradient surgery");
    const map = live.toggle(figure, "map", "mark harm");
    picture.append(svg);
    controls.append(live.sliders(...sliders), live.row(surgery.row, map.row, live.reset(figure)));

    return (state, {rows, used, mean: [mx, my], gains}) => {
      [...sliders, surgery, map].forEach((control) => control.update(state));
      const [mark] = map.row.childNodes; // after surgery it harms nowhere
      mark.disabled = state.surgery;
      mark.ariaLabel = state.surgery ? "mark harm: none after surgery" : "mark harm";
      const shown = state.map && !state.surgery;
      [...places, ...names].forEach((part) => set(part, {visibility: shown ? "visible" : "hidden"}));
      arrows.forEach(({group, move}, k) => {
        set(group, {color: fate(gains[k]) === "harmed" ? "var(--l-orange)" : "var(--l-ink)"});
        move(cx, cy, ...at(rows[k]));
        const turn = Math.atan2(rows[k][1], rows[k][0]);
        const along = turn + (turn < RIGHT ? RIGHT : -RIGHT);
        set(upright[k], {d: `M${cx} ${cy}L${at([LONGEST * Math.cos(along), LONGEST * Math.sin(along)]).join(" ")}`});
        cut[k](cx, cy, ...at(state.surgery ? used[k] : [0, 0]));
        said[k].textContent = `row ${k + 1}: ${fate(gains[k])}, ${percent(gains[k])}`;
        set(said[k], {fill: fate(gains[k]) === "harmed" ? "var(--l-orange)" : "var(--l-ink)"});
      });
      mean(cx, cy, ...at([mx, my]));
      key.textContent = state.surgery ? "mean after surgery" : "mean of the rows";
      const [x, y] = at(rows[1]);
      set(tip, {transform: `translate(${x} ${y})`, "aria-valuenow": state.angle, "aria-valuetext": `length ${fixed(state.second)}, angle ${fixed(state.angle, 0)}°`});
    };
  },
});
}
