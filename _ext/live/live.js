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
     `compute(state)` returns what is drawn, `describe(state, values)` says it in a sentence,
     `found(state, values, first)` the answer to the question where a state shows it (`first`: the values at the start), and
     `build(figure, picture, width, controls)` draws, and returns a function that updates the drawing.
     A reader sees the words of the page first, then picture, controls, sentence, and the answer. */
  function figure(name, {start, limits, compute, describe, found = () => "", build}) {
    const box = document.getElementById(`live-${name}`);
    const picture = make("div", {class: "live-picture"});
    const controls = make("div", {class: "live-controls"});
    const words = make("span", {role: "status"});
    const line = make("p", {class: "live-words"}, words);
    const answer = make("p", {class: "live-found", "aria-live": "polite"});
    const first = compute(start);
    const self = {id: box.id, start, limits, state: {...start}, set: change, move, reset: () => change(start), words, pause: () => {}};
    let update = () => {};
    let [width, tall] = [0, 0];

    function tidy(key, value) {
      const [low, high, step = 0.001] = limits[key];
      return Math.round(Math.round(Math.min(high, Math.max(low, value)) / step) * step * 1000) / 1000;
    }

    function change(changes, told) {
      self.pause();
      move(changes, told);
    }

    function move(changes, told = false) {
      self.told = told; // by words of the page, which then found the answer, and not the reader
      self.anew = Object.keys(start).every((key) => key in changes); // by Reset or words of the page
      for (const [key, value] of Object.entries(changes)) {
        self.state[key] = Array.isArray(value) ? value.map((v) => tidy(key, v)) : tidy(key, value);
      }
      refresh();
    }

    function refresh() {
      self.values = compute(self.state);
      update(self.state, self.values);
      const reached = self.told ? "" : found(self.state, self.values, first);
      const right = reached && `\u2713 ${say`Found: ${reached}`}`;
      if (answer.textContent !== right) answer.textContent = right;
      const said = describe(self.state, self.values);
      words.classList.toggle("live-error", /^\w+Error:/.test(said));
      if (words.textContent === said) return;
      words.textContent = said;
      tall = Math.max(tall, line.getBoundingClientRect().height); // what has made room keeps it: the page below stands still
      line.style.minHeight = `${tall}px`;
    }

    function rebuild() {
      const focused = box.contains(document.activeElement) && document.activeElement.dataset.key;
      self.pause();
      [width, tall, line.style.minHeight] = [picture.clientWidth, 0, ""];
      picture.replaceChildren();
      controls.replaceChildren();
      line.replaceChildren(words);
      update = build(self, picture, width || 640, controls);
      line.prepend(...box.querySelectorAll(".live-reset"));
      words.textContent = "";
      refresh();
      if (focused) box.querySelector(`[data-key="${focused}"]`)?.focus();
    }

    /* What follows a pointer does so at once; else it glides (book.css). Axes wait (`axis`). */
    const dragged = (yes) => {
      self.dragged = box.classList.toggle("live-dragged", yes);
      update(self.state, self.values);
    };
    box.addEventListener("pointerdown", () => dragged(true));
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => self.dragged && dragged(false));
    box.firstElementChild.after(picture, controls, line, answer);
    box.hidden = false;
    rebuild();
    new ResizeObserver(() => picture.clientWidth !== width && rebuild()).observe(picture);
    new IntersectionObserver(([{isIntersecting}]) => isIntersecting || self.pause()).observe(box);
    for (const said of document.querySelectorAll("span.live-set")) { // of two figures, the one that has these numbers
      if ([...settings(said)].every(([key]) => key in start)) said.replaceWith(link(self, box, said));
    }
    figures[name] = self;
  }

  const settings = (said) => new URLSearchParams(said.dataset.set.replaceAll(" ", "&"));

  /* Words of the page, "bound=2 y=1,2", as a link that puts the figure into this state. From more
     than a screen away it leads there, and a button in the figure, or the browser's, leads back. */
  function link(figure, box, said) {
    const changes = {...figure.start};
    for (const [key, value] of settings(said)) {
      changes[key] = Array.isArray(changes[key]) ? value.split(",").map(Number) : Number(value);
    }
    const show = () => { // only if a part is out of sight, or under the bar of the page
      const bar = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
      box.scrollIntoView({block: box.offsetHeight + bar > innerHeight ? "start" : "nearest"});
    };
    const click = (event) => {
      event.preventDefault();
      figure.set(changes, true);
      const picture = box.querySelector(".live-picture");
      const [here, there] = [self, picture].map((one) => one.getBoundingClientRect().top);
      const [far, from] = [Math.abs(here - there) > innerHeight, location.href];
      if (far) history.pushState(null, "", self.href);
      box.querySelector(".live-back")?.remove();
      if (!far) return show();
      const back = button(say`Back to the text`, () => history.back(), {class: "live-back"});
      addEventListener("popstate", () => {
        back.remove();
        if (location.href !== from) return;
        self.scrollIntoView({block: "center"});
        self.focus();
      }, {once: true});
      box.append(back);
      show();
      back.focus({preventScroll: true});
    };
    const keydown = (event) => event.key === " " && click(event); // as on a button
    const self = make("a", {class: said.className, href: `#${box.id}`, "data-set": said.dataset.set, click, keydown}, ...said.childNodes);
    return self;
  }

  /* A button that moves one number of the state on, by `next(value)`, to `last()`; it starts again
     there. It ends there, at whatever else is done to the figure, and where nobody sees it. */
  function play(figure, key, next, last, pace = 600) {
    let timer = 0;
    const self = button("", () => (timer ? figure.pause() : begin()), {class: "live-play", "data-key": "Play"});
    const shown = () => {
      self.textContent = timer ? say`Pause` : say`Play`;
      figure.words.ariaLive = timer ? "off" : "polite";
    };
    const put = (value) => figure.move({[key]: value});
    const step = () => {
      if (document.hidden) return figure.pause();
      put(Math.min(last(), next(figure.state[key])));
      if (figure.state[key] >= last()) figure.pause();
    };
    function begin() {
      const again = figure.state[key] >= last();
      if (again) put(figure.limits[key][0]);
      timer = setInterval(step, pace);
      shown();
      if (!again) step();
    }
    figure.pause = () => {
      timer = clearInterval(timer);
      shown();
    };
    shown();
    return self;
  }

  /* Back and Step, for a number of the state that is at most `last()`; `attributes` are those of Step. */
  function stepper(figure, key, last, attributes) {
    const now = () => Math.min(last(), figure.state[key]);
    const go = (by) => figure.set({[key]: Math.min(last(), now() + by)});
    const [back, next] = [button(say`Back`, () => go(-1)), button(say`Step`, () => go(1), attributes)];
    const update = () => {
      allow(back, now() > figure.limits[key][0]);
      allow(next, now() < last());
    };
    return {buttons: [back, next], update};
  }

  /* A slider for one number of the state. */
  function slider(figure, key, label, [min, max, step], digits, unit = "") {
    const id = `${figure.id}-${key}`;
    const output = make("span", {class: "live-value", "aria-hidden": "true"});  // the slider says it
    const input = make("input", {
      type: "range", id, min, max, step, "data-key": key,
      input: () => figure.set({[key]: input.valueAsNumber}),
    });
    const row = make("div", {class: "live-slider"}, make("label", {for: id}, label), input, output);
    const update = (state) => {
      input.value = state[key];
      input.style.setProperty("--at", (input.value - input.min) / (input.max - input.min));
      input.ariaValueText = output.textContent = fixed(state[key], digits) + unit;
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

  /* One of a few texts, for a number of the state that counts them from 0; `also` is set with it. */
  function choice(figure, key, label, texts, also = {}) {
    const inputs = texts.map((text, i) => make("input", {
      type: "radio", name: `${figure.id}-${key}`, "data-key": text, change: () => figure.set({...also, [key]: i}),
    }));
    const labels = inputs.map((input, i) => make("label", {}, input, texts[i]));
    const row = make("div", {class: "live-choice", role: "radiogroup", "aria-label": label}, make("span", {}, label), make("div", {}, ...labels));
    return {row, update: (state) => inputs.forEach((input, i) => (input.checked = i === state[key]))};
  }

  function button(label, click, attributes = {}) {
    return make("button", {type: "button", "data-key": label, click, ...attributes}, label);
  }

  /* The way back to the start. In all figures it stands at the right of the sentence, wherever it is made. */
  const reset = (figure, click = figure.reset) => button(say`Reset`, click, {class: "live-reset", "data-key": "Reset"});

  /* Controls side by side; sliders, one below the other where there is no room. */
  const row = (...children) => make("div", {class: "live-row"}, ...children);
  const sliders = (...all) => make("div", {class: "live-sliders"}, ...all.map((one) => one.row));

  /* The attributes of a part of a drawing that is dragged; `moved` gets the pixels of the drawing. */
  function drag(moved) {
    return {
      touchstart: (event) => event.preventDefault(), // or the page would scroll
      pointerdown: ({currentTarget, pointerId}) => {
        currentTarget.setPointerCapture(pointerId);
        currentTarget.focus({preventScroll: true});
      },
      pointermove: ({currentTarget, pointerId, clientX, clientY}) => {
        if (!currentTarget.hasPointerCapture(pointerId)) return;
        const frame = currentTarget.ownerSVGElement.getBoundingClientRect();
        moved(clientX - frame.left, clientY - frame.top);
      },
    };
  }

  /* Where an axis ends, `fit(needed, before)`; while something is dragged it stands still. */
  function axis(figure, fit) {
    let end = 0;
    return (needed) => (end = end && figure.dragged ? end : fit(needed, end));
  }

  /* A button that can do nothing now says so, and keeps the focus. */
  const allow = (button, can) => set(button, {"aria-disabled": !can});

  /* An arrow; the function returned moves it. */
  function arrow(parent, attributes) {
    const shaft = make("svg:path", {fill: "none", class: "live-moves", ...attributes});
    const head = make("svg:path", {fill: attributes.stroke, stroke: "none", class: "live-moves"});
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

  return {figures, figure, make, set, fixed, pair, slider, toggle, choice, button, play, stepper, reset, row, sliders, drag, axis, allow, arrow};
})();
