/* What the pages need of their reader's browser; without it they can be read as well. */
(() => {
  const root = document.documentElement;

  // Code that scrolls can be scrolled with the keys; the theme sees only what is open at first.
  const makeReachable = (box) => {
    for (const code of box.querySelectorAll?.("pre") ?? [])
      if (code.scrollWidth > code.clientWidth) code.tabIndex = 0;
  };
  addEventListener("toggle", ({target}) => makeReachable(target), true);

  // Every button that unfolds says what it unfolds; the theme calls all of them the same.
  const nameToggles = () => {
    for (const button of document.querySelectorAll("button.toggle-button")) {
      const title = button.closest(".admonition-title")?.textContent.trim();
      const say = () => button.setAttribute("aria-label", `${button.dataset.toggleHint}: ${title}`);
      say();
      new MutationObserver(() => {
        say();
        makeReachable(button.closest(".admonition"));
      }).observe(button, {attributeFilter: ["data-toggle-hint"]});
    }
  };

  // What the theme and the extensions tell screen readers wrongly.
  const mend = () => {
    const all = (selector) => document.querySelectorAll(selector);
    for (const e of all("summary[aria-label='Toggle hidden content']")) e.removeAttribute("aria-label");
    for (const e of all(".sidebar-primary-items__start")) Object.assign(e, {role: "navigation", ariaLabel: "Book"});
    for (const e of all("[role=doc-biblioentry]")) e.role = "listitem";
    const tagged = (e, tag, more = "") => {
      e.outerHTML = e.outerHTML.replace(/^<t[hd]/, `<${tag}${more}`).replace(/t[hd]>$/, `${tag}>`);
    };
    // A corner that heads nothing: then the first cell of each row heads that row.
    for (const corner of all("thead tr > :first-child")) {
      if (corner.textContent.trim()) continue;
      for (const cell of corner.closest("table").querySelectorAll("tbody tr > td:first-child"))
        tagged(cell, "th", ' scope="row"');
      tagged(corner, "td");
    }
  };

  // On paper: light, and open.
  let before = null;
  addEventListener("beforeprint", () => {
    if (before !== null) return;
    before = {theme: root.dataset.theme, opened: [...document.querySelectorAll("details:not([open])")]};
    root.dataset.theme = "light";
    for (const fold of before.opened) fold.open = true;
    for (const picture of document.images) picture.loading = "eager";
  });
  addEventListener("afterprint", () => {
    if (before === null) return;
    root.dataset.theme = before.theme;
    for (const fold of before.opened) fold.open = false;
    before = null;
  });

  // Links to the glossary and to sources show what stands there: with the mouse and the keyboard.
  const showTips = () => {
    const stored = document.getElementById("book-tips");
    if (stored === null) return;
    const tips = JSON.parse(stored.textContent);
    const tip = Object.assign(document.createElement("div"), {id: "book-tip", className: "book-tip"});
    tip.setAttribute("role", "tooltip");
    let link = null, timer = 0;
    const hide = () => {
      clearTimeout(timer);
      link?.removeAttribute("aria-describedby");
      link = null;
      tip.remove();
    };
    const show = async (wanted) => {
      hide();
      link = wanted;
      tip.innerHTML = tips[wanted.getAttribute("href")];
      document.querySelector("article").append(tip);
      if (tip.querySelector(".math")) await window.MathJax?.typesetPromise?.([tip]);
      if (link !== wanted) return;
      link.setAttribute("aria-describedby", tip.id);
      const at = link.getBoundingClientRect(), box = tip.getBoundingClientRect();
      const from = tip.offsetParent.getBoundingClientRect();
      const left = Math.max(8, Math.min(at.left, innerWidth - box.width - 16));
      const above = at.bottom + box.height + 8 > innerHeight && at.top > box.height + 8;
      tip.style.left = `${left - from.left}px`;
      tip.style.top = `${(above ? at.top - box.height - 4 : at.bottom + 4) - from.top}px`;
    };
    const later = (what, wait) => {
      clearTimeout(timer);
      timer = setTimeout(what, wait);
    };
    for (const one of document.querySelectorAll("article a[href]")) {
      if (!(one.getAttribute("href") in tips)) continue;
      one.addEventListener("pointerenter", (e) => {
        if (e.pointerType === "mouse") later(() => show(one), 250);
      });
      one.addEventListener("pointerleave", () => later(hide, 250));
      one.addEventListener("focus", () => {
        if (one.matches(":focus-visible")) show(one);
      });
      one.addEventListener("blur", hide);
    }
    tip.addEventListener("pointerenter", () => clearTimeout(timer));
    tip.addEventListener("pointerleave", () => later(hide, 250));
    addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); });
  };

  const start = () => {
    mend();
    nameToggles();
    showTips();
  };
  // The theme adds its buttons first.
  if (document.readyState === "complete") start();
  else addEventListener("load", start);
})();
