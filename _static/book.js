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

  // The switch of the theme says what it is set to.
  const nameSwitches = () => {
    const all = document.querySelectorAll(".theme-switch-button");
    const say = () => all.forEach((e) => { e.ariaLabel = `Color mode: ${root.dataset.mode}`; });
    say();
    new MutationObserver(say).observe(root, {attributeFilter: ["data-mode"]});
  };

  // Whoever switches the theme or copies a cell goes on from there.
  addEventListener("click", ({target}) => {
    const pressed = target.closest?.(".theme-switch-button, .copybtn");
    if (pressed) setTimeout(() => pressed.focus());
  });

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

  const start = () => {
    mend();
    nameToggles();
    nameSwitches();
  };
  // The theme adds its buttons first.
  if (document.readyState === "complete") start();
  else addEventListener("load", start);
})();
