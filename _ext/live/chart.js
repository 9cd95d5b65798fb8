/* What figures with points in a plane share besides: points to drag, axes, a key. */
"use strict";
const chart = (() => {
  const {make, fixed} = live;

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

  return {handle, axes, key};
})();
