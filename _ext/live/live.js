/* What the live figures share: state, controls, drawing; for elements with the id live-NAME. */
"use strict";
const live = (() => {
  const figures = {};

  /* Make an element ("svg:g" for one of a drawing): attributes, listeners by name, children. */
  function make(tag, attributes = {}, ...children) {
    const svg = tag.startsWith("svg:");
    const element = svg
      ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
      : document.createElement(tag);
    set(element, attributes);
    element.append(...children);
    return element;
  }

  function set(element, attributes) {
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") element.addEventListener(name, value);
      else element.setAttribute(name, value);
    }
    return element;
  }

  /* Write a number with a true minus sign, and no minus before a zero. */
  function fixed(value, digits = 2) {
    const text = value.toFixed(digits);
    return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "\u2212");
  }

  const pair = (v) => `(${fixed(v[0])}, ${fixed(v[1])})`;

  /* A figure: `start` is its state, numbers and lists of numbers; `limits` the range of each
     and, if it is not 0.001, its step.
     `compute(state)` returns what is drawn, `describe(state, values)` says it in a sentence, and
     `build(figure, place, width)` draws and returns a function that updates the drawing. */
  function figure(name, {start, limits, compute, describe, build}) {
    const box = document.getElementById(`live-${name}`);
    const place = make("div");
    const words = make("p", {class: "live-words", role: "status"});
    const self = {id: box.id, state: {...start}, values: null, set: change, reset};
    let update = () => {};
    let width = 0;
    let later = 0;

    function tidy(key, value) {
      const [low, high, step = 0.001] = limits[key];
      return Math.round(Math.round(Math.min(high, Math.max(low, value)) / step) * step * 1000) / 1000;
    }

    function change(changes, remembered = true, note = "") {
      for (const [key, value] of Object.entries(changes)) {
        self.state[key] = Array.isArray(value) ? value.map((v) => tidy(key, v)) : tidy(key, value);
      }
      refresh(note);
      clearTimeout(later);
      if (remembered) later = setTimeout(remember, 200);
    }

    function reset() {
      change(start);
    }

    function refresh(note = "") {
      self.values = compute(self.state);
      update(self.state, self.values);
      const said = note + describe(self.state, self.values);
      words.classList.toggle("live-error", /^\w+Error:/.test(said));
      if (words.textContent !== said) words.textContent = said;
    }

    /* The state stands in the address, so that it can be sent: #live-clip?bound=2&y=0,1,2,3 */
    function remember() {
      const changed = Object.keys(start).filter((key) => `${self.state[key]}` !== `${start[key]}`);
      const query = changed.map((key) => `${key}=${self.state[key]}`).join("&");
      const address = location.href.split("#")[0] + (query && `#${box.id}?${query}`);
      history.replaceState(history.state, "", address);
    }

    function recall() {
      if (!location.hash.startsWith(`#${box.id}?`)) return;
      const next = {...start};
      for (const part of location.hash.replaceAll("%2C", ",").split("?")[1].split("&")) {
        const [key, text = ""] = part.split("=");
        const numbers = text.split(",").map((word) => (word.trim() ? Number(word) : NaN));
        if (!Object.hasOwn(start, key) || !numbers.every(Number.isFinite)) continue;
        if (numbers.length !== [start[key]].flat().length) continue;
        next[key] = Array.isArray(start[key]) ? numbers : numbers[0];
      }
      change(next, false);
      const show = () => box.scrollIntoView({block: "nearest"});
      if (document.readyState === "complete") show();
      else addEventListener("load", show);
    }

    function rebuild() {
      const focused = place.contains(document.activeElement) && document.activeElement.dataset.key;
      width = place.clientWidth;
      place.replaceChildren();
      update = build(self, place, width || 640);
      refresh();
      if (focused) place.querySelector(`[data-key="${focused}"]`)?.focus();
    }

    box.append(place, words);
    box.hidden = false;
    rebuild();
    recall();
    addEventListener("hashchange", recall);
    new ResizeObserver(() => place.clientWidth !== width && rebuild()).observe(place);
    figures[name] = self;
  }

  /* A slider for one number of the state; `shown` writes the number. */
  function slider(figure, key, label, [min, max, step], digits, shown = (v) => fixed(v, digits)) {
    const id = `${figure.id}-${key}`;
    const output = make("span", {class: "live-value", "aria-hidden": "true"});  // the slider says it
    const input = make("input", {
      type: "range", id, min, max, step, "data-key": key,
      input: () => figure.set({[key]: input.valueAsNumber}),
    });
    const row = make("div", {class: "live-slider"}, make("label", {for: id}, label), input, output);
    const update = (state) => {
      input.value = state[key];
      input.ariaValueText = output.textContent = shown(state[key]);
    };
    return {row, update};
  }

  /* A box to tick, for a number of the state that is 0 or 1. */
  function toggle(figure, key, label, name = label) {
    const input = make("input", {
      type: "checkbox", "data-key": key, "aria-label": name,
      change: () => figure.set({[key]: Number(input.checked)}),
    });
    const row = make("label", {class: "live-toggle"}, input, label);
    return {row, update: (state) => (input.checked = Boolean(state[key]))};
  }

  /* Fields for a list of numbers of the state, from `low` to `high`. */
  function numbers(figure, key, label, [low, high]) {
    const inputs = figure.state[key].map((_, i) => make("input", {
      type: "number", step: 1, "data-key": `${key} ${i}`, "aria-label": `${key}[${i}]`,
      input: (event) => {
        const value = event.target.valueAsNumber;
        const list = figure.state[key].map((old, j) => (j === i ? value : old));
        const note = value < low || value > high ? `Out of range: ${key} takes ${low} to ${high}. `.replaceAll("-", "\u2212") : "";
        if (Number.isFinite(value)) figure.set({[key]: list}, true, note);
      },
    }));
    const update = (state) => inputs.forEach((input, i) => {
      if (input.valueAsNumber !== state[key][i]) input.value = state[key][i];
    });
    return {row: make("span", {class: "live-numbers"}, label, ...inputs), update};
  }

  function button(label, click, attributes = {}) {
    return make("button", {type: "button", "data-key": label, click, ...attributes}, label);
  }

  /* A button that can do nothing now says so, and keeps the focus. */
  const allow = (button, can) => set(button, {"aria-disabled": !can});

  /* Something to drag, or to move with the arrow keys once it has the focus (with Shift: far).
     `moved(x, y)` gets pixels, `nudged(right, up)` steps; `chosen()` hears of a click or the focus. */
  function handle(parent, key, label, {moved, nudged, chosen = () => {}}) {
    let from;  // where it was pressed, until it is dragged
    const steps = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]};
    const drag = (event) => {
      const frame = group.ownerSVGElement.getBoundingClientRect();
      moved(event.clientX - frame.left, event.clientY - frame.top);
    };
    const group = make("svg:g", {
      class: "live-handle", tabindex: 0, role: "slider", "data-key": key, "aria-label": label,
      touchstart: (event) => event.preventDefault(),  // or the page would scroll
      pointerdown: (event) => {
        group.setPointerCapture(event.pointerId);
        group.focus({preventScroll: true});
        from = event;
        chosen();
        event.preventDefault();
      },
      pointermove: (event) => {
        if (!group.hasPointerCapture(event.pointerId)) return;
        if (from && Math.hypot(event.clientX - from.clientX, event.clientY - from.clientY) < 4) return;
        from = null;
        drag(event);
      },
      focus: () => chosen(),
      keydown: (event) => {
        if (!(event.key in steps)) return;
        const [right, up] = steps[event.key].map((n) => n * (event.shiftKey ? 5 : 1));
        nudged(right, up);
        event.preventDefault();
      },
    });
    const ring = make("svg:circle", {r: 22, class: "live-ring"});
    group.append(ring, make("svg:circle", {r: 11, class: "live-dot"}));
    parent.append(group);
    return group;
  }

  /* An arrow; the function returned moves it. */
  function arrow(parent, attributes) {
    const shaft = make("svg:path", {fill: "none", ...attributes});
    const head = make("svg:path", {fill: attributes.stroke, stroke: "none"});
    parent.append(shaft, head);
    return (x0, y0, x1, y1) => {
      const length = Math.hypot(x1 - x0, y1 - y0);
      const size = Math.min(length, 7 + 1.5 * attributes["stroke-width"]);
      const [dx, dy] = length ? [(x1 - x0) / length, (y1 - y0) / length] : [0, 0];
      const [bx, by] = [x1 - size * dx, y1 - size * dy];
      const half = 0.4 * size;
      set(shaft, {d: `M${x0} ${y0}L${bx} ${by}`});
      set(head, {
        d: `M${x1} ${y1}L${bx - half * dy} ${by + half * dx}L${bx + half * dy} ${by - half * dx}Z`,
      });
    };
  }

  /* A grid with numbers. Returns where a number lies in pixels, and `back`: what lies at a pixel. */
  function axes(parent, {left, top, right, bottom, x, y, every, title, xlabel, ylabel}) {
    const px = (v) => left + ((v - x[0]) / (x[1] - x[0])) * (right - left);
    const py = (v) => bottom - ((v - y[0]) / (y[1] - y[0])) * (bottom - top);
    const line = (x1, y1, x2, y2, v) =>
      make("svg:line", {x1, y1, x2, y2, class: v ? "live-grid" : "live-zero"});
    const word = (x, y, text, anchor = "middle") =>
      make("svg:text", {x, y, "text-anchor": anchor, class: "live-small"}, text);
    for (let v = Math.ceil(x[0] / every[0]) * every[0]; v <= x[1]; v += every[0]) {
      parent.append(line(px(v), top, px(v), bottom, v), word(px(v), bottom + 15, fixed(v, 0)));
    }
    for (let v = Math.ceil(y[0] / every[1]) * every[1]; v <= y[1]; v += every[1]) {
      parent.append(line(left, py(v), right, py(v), v), word(left - 5, py(v) + 4, fixed(v, 0), "end"));
    }
    parent.append(
      make("svg:text", {x: left - 20, y: top - 32, class: "live-title"}, title),
      word((left + right) / 2, bottom + 32, xlabel),
      word(left - 20, top - 9, ylabel, "start"),
    );
    const back = (u, v) => [
      x[0] + ((u - left) / (right - left)) * (x[1] - x[0]),
      y[0] + ((bottom - v) / (bottom - top)) * (y[1] - y[0]),
    ];
    return {px, py, back};
  }

  /* Names beside samples of their lines: [name, colour, width, dashes], one below the other. */
  function key(parent, x, y, entries) {
    entries.forEach(([name, stroke, thick, dashes = "none"], i) => {
      parent.append(
        make("svg:line", {x1: x, x2: x + 18, y1: y + 20 * i, y2: y + 20 * i, stroke, "stroke-width": thick, "stroke-dasharray": dashes}),
        make("svg:text", {x: x + 25, y: y + 20 * i + 5, fill: stroke, class: "live-name"}, name),
      );
    });
  }

  return {figures, figure, make, set, fixed, pair, slider, toggle, numbers, button, allow, handle, arrow, axes, key};
})();
