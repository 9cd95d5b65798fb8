/* Eight images, the row of each, and two means: .grad, and, once it is asked for, that of the rows clipped first.
   With all weights 0 every class has the probability 1/10, so the row of an image is the image
   times 1/10, or 1/10 - 1 for the class of its label. */
"use strict";
{
const {make, set, fixed, images, pixels} = live;
const IMAGES = images("007fd10008d6f400021dd000002fb1000001cc1000001a8000845e90007dd900029fe93004d89g800006ef30000be2000002fb0000002f400156dg6002ccdb0"
  + "0018cfe4003b88cc000002d700002fc100000d50000009d000078ef0000efb200009gd6000065gg000008f5000005e30000009f2000000bc00048bfc000bec80"
  + "001afb1000388bc000005ef10000bf2000004f2000000ca000034ag1000dgfa0000afe4000046dg200003g9000001g6000000ac0000001g4001956g7000ecfb2"
  + "000ege600007agg300005gg100002g8000000cd1000004g700059eg7000dgga100001b00000078000001d6220007f098005ga0g6004fgdg100003fa000002g400");
const LABELS = [3, 4];
const RANGES = [say`0 to 1`, say`0 to 16`];
const at = (list, i, value) => list.map((old, j) => (j === i ? value : old));
const norm = (v) => Math.hypot(...v);
const cosine = (a, b) => norm(a) && norm(b) ? a.reduce((sum, v, k) => sum + v * b[k], 0) / norm(a) / norm(b) : 0;
const average = (lists, weights, count) => IMAGES[0].map((_, k) => lists.reduce((sum, one, i) => sum + weights[i] * one[k], 0) / (count || 1));
const THREE = average(IMAGES.slice(0, 7), Array(7).fill(1), 7);
const more = make("details"); // what changes an image: one fold, open or not through a turn of the phone and print
const looks = (picture) => [cosine(picture, IMAGES[7]), cosine(picture, THREE)];

live.figure("digits", {
  start: {clip: 0, chosen: 7, label: Array(8).fill(3), scale: [...Array(7).fill(1), 16], keep: Array(8).fill(1), bound: 4},
  limits: {clip: [0, 1, 1], chosen: [0, 7, 1], label: [3, 4, 1], scale: [0.1, 16], keep: [0, 1, 1], bound: [0.5, 60]},

  compute({label, scale, keep, bound}) {
    const steps = IMAGES.map((image, i) => image.map((v) => (Number(label[i] === 3) - 0.1) * scale[i] * v));
    const norms = IMAGES.map((image, i) => Math.sqrt(0.9) * scale[i] * norm(image));
    const count = keep.reduce((a, b) => a + b, 0);
    const mean = average(steps, keep, count);
    const clipped = average(steps, norms.map((n, i) => keep[i] * Math.min(1, bound / n)), count);
    return {steps, norms, mean, clipped, looks: [looks(mean), looks(clipped)]};
  },

  describe({clip, bound, keep}, {norms, looks: [last, first]}) {
    const like = ([four, three]) => {
      const [a, b] = four > three ? [4, 3] : [3, 4];
      const [most, least] = [Math.max(four, three), Math.min(four, three)].map((v) => fixed(v));
      if (Math.max(four, three) < 0.3) return say`neither a 3 nor a 4`;
      return clip ? say`a ${a}: cosine ${most}, with a ${b} it is ${least}` : say`a ${a}`; // numbers once they are compared
    };
    const said = say`.grad looks like ${like(last)}.`;
    if (!clip) return `${said} ${say`Would it, if no gradient were longer than ${fixed(bound, 1)}?`}`;
    const [count, longer] = [keep, keep.filter((kept, i) => kept && norms[i] > bound)].map((all) => all.filter(Boolean).length);
    return `${said} ${say`Clipping at ${fixed(bound, 1)} shortens ${longer} of ${count} gradients; the mean looks like ${like(first)}.`}`;
  },

  found: (_, {looks: [[four, three]]}) => (three > Math.max(four, 0.3) ? say`the longest gradients decide` : ""),

  build(figure, picture, width, controls) {
    const wide = width >= 560;
    const gap = wide ? 12 : 10;
    const size = wide ? 64 : 8 * Math.min(10, Math.floor((width / 4 - gap) / 8));
    const apart = wide ? size + gap : (width - size) / 3;
    const rows = [16, 16 + size + 38];
    const large = wide ? 144 : 8 * Math.min(18, Math.floor((width - 16) / 16));
    const left = wide ? width - 2 * large - 16 : (width - 2 * large - 16) / 2;
    const top = wide ? 30 : rows[1] + size + 40;
    const svg = make("svg:svg", {width, height: wide ? rows[1] + size + 20 : top + large + 2, role: "img",
      "aria-label": say`What each image adds to the weights of class 3, and the mean; what it shows is said below.`});
    const small = IMAGES.map((_, i) => {
      const [x, y] = [(i % 4) * apart, rows[Math.floor(i / 4)]];
      const one = pixels(svg, x, y, size);
      const name = make("svg:text", {x: size / 2, y: -5, "text-anchor": "middle", class: "live-small"}, say`image ${i + 1}`);
      const length = make("svg:text", {x: size / 2, y: size + 14, "text-anchor": "middle", class: "live-small"});
      one.group.append(name, length);
      one.group.addEventListener("click", () => figure.state.clip && figure.set({chosen: i}));
      return {...one, length};
    });
    const means = [".grad", say`clipped first`].map((name, k) => {
      const one = pixels(svg, left + k * (large + 16), top, large);
      one.group.append(make("svg:text", {x: large / 2, y: -8, "text-anchor": "middle", class: "live-title"}, name));
      return one;
    });
    const ask = live.button(say`Clip each gradient first`, () => {
      figure.set({clip: 1});
      controls.querySelector("input").focus({preventScroll: true});
    }, {class: "live-play live-ask", style: `inset: ${top + large / 2}px auto auto ${left + 1.5 * large + 16}px`});
    const again = () => {
      more.open = false;
      figure.reset();
      ask.focus({preventScroll: true});
    };
    const mine = (key, change) => ({id: figure.id, set: (changes) => figure.set({[key]: at(figure.state[key], figure.state.chosen, change(changes[key]))})});
    const chosen = live.choice(figure, "chosen", say`image`, IMAGES.map((_, i) => `${i + 1}`));
    const label = live.choice(mine("label", (i) => LABELS[i]), "label", say`its label`, LABELS.map(String));
    const scale = live.choice(mine("scale", (i) => [1, 16][i]), "scale", say`its pixels`, RANGES);
    const keep = live.toggle(mine("keep", (v) => v), "keep", say`in the batch`);
    const bound = live.slider(figure, "bound", say`bound`, [0.5, 60, 0.5], 1);
    picture.append(svg, ask);
    more.replaceChildren(make("summary", {"data-key": "more"}, say`Change an image`), live.row(chosen.row, label.row, scale.row, keep.row));
    controls.append(live.sliders(bound), more, live.reset(figure, again));

    return (state, values) => {
      const i = state.chosen;
      chosen.update(state);
      label.update({label: LABELS.indexOf(state.label[i])});
      scale.update({scale: Number(state.scale[i] > 1)});
      keep.update({keep: state.keep[i]});
      bound.update(state);
      ask.hidden = Boolean(state.clip);
      controls.hidden = !state.clip;
      small.forEach(({group, draw, length}, j) => {
        draw(values.steps[j]);
        set(group, {class: state.clip ? `live-image${j === i ? " live-here" : ""}${state.keep[j] ? "" : " live-out"}` : ""});
        length.textContent = j ? fixed(values.norms[j], 1) : say`norm ${fixed(values.norms[j], 1)}`;
      });
      [values.mean, state.clip ? values.clipped : Array(64).fill(0)].forEach((picture, k) => means[k].draw(picture));
    };
  },
});
}
