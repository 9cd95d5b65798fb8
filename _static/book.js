/* What the pages need of their reader's browser; without it they can be read as well. */
(() => {
  const root = document.documentElement;

  // What scrolls can be scrolled with the keys; the theme sees only what is open at first.
  const makeReachable = (box) => {
    for (const part of box.querySelectorAll?.("pre, div.math, mjx-container") ?? [])
      if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    for (const formula of box.querySelectorAll?.("mjx-container[display=true]") ?? []) fits.observe(formula);
    for (const formula of box.querySelectorAll?.(".beside mjx-container") ?? []) formula.tabIndex = -1;
  };
  // A formula that is wider than its box says so.
  const fits = new ResizeObserver((all) => all.forEach(({target: e}) => e.classList.toggle("wide", e.scrollWidth > e.clientWidth + 1)));
  addEventListener("toggle", ({target}) => makeReachable(target), true);
  addEventListener("load", () => window.MathJax?.startup?.promise?.then(() => makeReachable(document)));

  // Every button that unfolds says what it unfolds; the theme calls all of them the same.
  const nameToggles = () => {
    for (const button of document.querySelectorAll("button.toggle-button")) {
      const title = button.closest(".admonition-title")?.textContent.trim();
      const tell = () => button.setAttribute("aria-label", `${button.dataset.toggleHint}: ${title}`);
      tell();
      new MutationObserver(() => {
        tell();
        makeReachable(button.closest(".admonition"));
      }).observe(button, {attributeFilter: ["data-toggle-hint"]});
    }
  };

  // What the theme and the extensions tell screen readers wrongly.
  const mend = () => {
    const all = (selector) => document.querySelectorAll(selector);
    for (const e of all("summary[aria-label='Toggle hidden content']")) e.removeAttribute("aria-label");
    for (const e of all(".sidebar-primary-items__start")) Object.assign(e, {role: "navigation", ariaLabel: say`Book`});
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

  // The choices of a Predict box are pressed. What gives the answer away comes after that: from the
  // first output, or the answer, on, up to a mark.
  const CHOICE = /^\(([a-e])\)\s*/;
  const made = (tag, rest = {}, ...inside) => {
    const element = Object.assign(document.createElement(tag), rest);
    element.append(...inside);
    return element;
  };
  // "(a) this; (b) that." as [["a", nodes of "this"], ...]
  const choicesIn = (block) => {
    const found = [];
    const add = (node) => {
      if (node.nodeType !== Node.TEXT_NODE) { found.at(-1)?.[1].push(node.cloneNode(true)); return; }
      for (const part of node.data.split(/(?=\([a-e]\)\s)/)) {
        const mark = CHOICE.exec(part.trimStart());
        if (mark) found.push([mark[1], []]);
        found.at(-1)?.[1].push(mark ? part.trimStart().slice(mark[0].length) : part);
      }
    };
    for (const part of block.matches("ul, ol") ? block.querySelectorAll("li") : [block])
      for (const node of (part.querySelector(":scope > p") ?? part).childNodes) add(node);
    for (const [, nodes] of found) {  // without what parts it from the next
      while (typeof nodes.at(-1) === "string" && !nodes.at(-1).trim()) nodes.pop();
      const last = nodes.at(-1)?.lastChild ?? nodes.at(-1);
      if (typeof last === "string") nodes.push(nodes.pop().replace(/[;.,；，。]?\s*$/, ""));
      else if (last?.nodeType === Node.TEXT_NODE && last.parentNode.matches(".together")) last.data = last.data.replace(/[;.,；，。]$/, "");
    }
    return found;
  };
  const predict = (box) => {
    const block = [...box.querySelectorAll(":scope > :is(p, ul, ol)")].find((e) => CHOICE.test(e.textContent.trim()) && e !== box.firstElementChild);
    const after = [];
    for (let e = box.nextElementSibling; e && !e.matches("section, .predict, .told"); e = e.nextElementSibling) after.push(e);
    const answer = after.find((e) => e.matches(".admonition.dropdown"));
    const choices = block ? choicesIn(block) : [];
    if (choices.length < 2 || !answer) return;
    const right = CHOICE.exec(answer.children[1].textContent.trim())?.[1];
    const begin = after.findIndex((e) => e === answer || e.matches(".cell:has(> .cell_output)"));
    const covered = after.slice(begin), cell = covered[0] === answer ? null : covered.shift();
    covered.push(...cell?.querySelectorAll(":scope > .cell_output") ?? []);
    const note = made("p", {className: "covered-note", textContent: cell
      ? say`What it prints, and why, comes when you have pressed a choice above.`
      : say`The answer, and what follows from it, comes when you have pressed a choice above.`});
    const buttons = choices.map(([name, nodes]) => made("button", {type: "button", ariaPressed: "false"}, `(${name}) `, ...nodes));
    const press = (pressed) => {
      if (buttons.some((button) => button.ariaDisabled)) return;
      buttons.forEach((button, i) => {
        const mine = button === pressed, is = choices[i][0] === right;
        Object.assign(button, {ariaDisabled: "true", ariaPressed: String(mine)});
        button.classList.toggle("answer", is);
        button.classList.toggle("missed", mine && !is);
        const said = [mine ? say`your guess` : "", is ? say`the answer` : ""].filter(Boolean).join(say`, and `);
        if (said) button.append(made("small", {textContent: said}));
      });
      for (const e of covered) e.classList.remove("covered");
      note.remove();
      answer.querySelector(".toggle-button-hidden")?.click();
    };
    for (const button of buttons) button.addEventListener("click", () => press(button));
    block.classList.add("as-choices");
    block.after(made("div", {className: "choices", role: "group", ariaLabel: say`Your guess`}, ...buttons));
    for (const e of covered) e.classList.add("covered");
    if (cell) cell.append(note);
    else if (covered.length > 1) answer.before(note);
  };

  // What a term or a citation means, beside it: on hover, with the keys, or at a finger's first tap.
  const explain = () => {
    const card = made("div", {className: "meaning", role: "tooltip", hidden: true});
    let shown = null, timer = 0;
    const notes = new Map([...document.querySelectorAll("article .beside")].map((e) => [e.dataset.of, e]));
    const hide = () => {
      shown = null;
      card.hidden = true;
      for (const note of notes.values()) note.classList.remove("lit");
    };
    // A title with its \(formulas\) and `code`.
    const typeset = (text) => text.split(/(\\\(.*?\\\)|`.*?`)/).map((part, i) =>
      !(i % 2) ? part : part[0] === "`" ? made("code", {textContent: part.slice(1, -1)}) : made("span", {className: "math", textContent: part}));
    const place = (link) => {
      const at = link.getClientRects()[0];
      card.style.left = `${Math.max(8, Math.min(at.left, root.clientWidth - card.offsetWidth - 8)) + scrollX}px`;
      card.style.top = `${at.bottom + scrollY + 6}px`;
    };
    // A note in sight in the margin says it itself.
    const show = (link, tapped) => {
      hide();
      clearTimeout(timer);
      shown = link;
      const note = notes.get(link.getAttribute("href"));
      const seen = note?.getBoundingClientRect();
      if (seen?.height && seen.top >= 0 && seen.bottom <= innerHeight) {
        note.classList.add("lit");
        return;
      }
      window.MathJax?.typesetClear?.([card]);
      card.replaceChildren(...typeset(link.dataset.about), ...(tapped ? [made("a", {href: link.href, textContent: say`Go there`})] : []));
      card.hidden = false;
      place(link);
      if (card.querySelector(".math")) window.MathJax?.typesetPromise?.([card]).then(() => shown === link && place(link));
    };
    const later = () => { timer = setTimeout(hide, 250); };
    for (const link of document.querySelectorAll("article a.reference[title]")) {
      link.dataset.about = link.title;
      link.ariaDescription = link.title.replace(/\\[()]|[`\\{}]/g, "");
      link.removeAttribute("title");
      link.addEventListener("pointerenter", ({pointerType}) => pointerType === "mouse" && show(link));
      link.addEventListener("pointerleave", ({pointerType}) => pointerType === "mouse" && later());
      link.addEventListener("focus", () => link.matches(":focus-visible") && show(link));
      link.addEventListener("blur", later);
      link.addEventListener("click", (event) => {
        if (event.pointerType !== "touch" || shown === link) return;
        event.preventDefault();
        show(link, true);
      });
    }
    card.addEventListener("pointerenter", () => clearTimeout(timer));
    card.addEventListener("pointerleave", later);
    addEventListener("keydown", ({key}) => key === "Escape" && hide());
    addEventListener("pointerdown", ({target}) => !shown?.contains(target) && !card.contains(target) && hide());
    document.querySelector("article")?.append(card);
  };

  // A table says that it has more columns than fit, until it has been moved.
  const hint = () => {
    for (const [i, box] of document.querySelectorAll(".pst-scrollable-table-container").entries()) {
      const title = box.closest("section")?.querySelector("h1, h2, h3, h4")?.firstChild.textContent;
      Object.assign(box, {role: "region", ariaLabel: say`Table ${i + 1}: ${title}`});
      const look = () => {
        box.classList.toggle("wide", box.scrollWidth > box.clientWidth + 1);
        box.classList.toggle("more", !box.moved && box.scrollWidth > box.clientWidth + 8);
      };
      box.addEventListener("scroll", () => { box.moved ||= box.scrollLeft > 8; look(); }, {passive: true});
      new ResizeObserver(look).observe(box);
    }
  };

  // The switch of the theme says what it is set to.
  const nameSwitches = () => {
    const all = document.querySelectorAll(".theme-switch-button");
    const tell = () => all.forEach((e) => { e.ariaLabel = say`Color mode: ${say([root.dataset.mode])}`; });
    tell();
    new MutationObserver(tell).observe(root, {attributeFilter: ["data-mode"]});
  };

  // Whoever switches the theme or copies a cell goes on from there.
  addEventListener("click", ({target}) => {
    const pressed = target.closest?.(".theme-switch-button, .copybtn");
    if (pressed) setTimeout(() => pressed.focus());
  });

  // The theme keeps the list of pages where it was, though the page may be out of sight there; on a
  // phone the list moves into a dialog, and begins at its first page.
  const menu = document.getElementById("pst-primary-sidebar-modal");
  const showPage = () => {
    const page = document.querySelector(".bd-sidebar-primary .current.active"), list = page?.closest(".bd-sidebar-primary");
    if (!list) return;
    const below = page.getBoundingClientRect().bottom - list.getBoundingClientRect().bottom;
    const above = page.getBoundingClientRect().top - list.getBoundingClientRect().top;
    if (below > 0 || above < 0) list.scrollTop += above - list.clientHeight / 3;
  };
  if (menu) new MutationObserver(showPage).observe(menu, {attributeFilter: ["open"]});

  // The contents of the page mark the section that is read: the last that begins in the upper third
  // of the window, or further down near the end, where none can come so high; after a click, the one
  // asked for. The theme marks what comes into sight, also what leaves below.
  // They stand open, above the first note of the margin, and fold from there on, and while a wide figure is beside them.
  // On a phone the bar of the page has its name.
  const contents = document.getElementById("pst-page-toc-nav");
  contents?.removeAttribute("id");  // by which the theme would find it
  const markSection = () => {
    const entries = [...contents.querySelectorAll("a[href^='#']")].filter((link) => link.hash);
    const places = entries.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
    let asked = null;
    const here = made("span", {className: "here", ariaHidden: "true"});
    document.querySelector(".bd-header-article .header-article-items__start")?.append(here);
    const mark = () => {
      const left = root.scrollHeight - innerHeight - scrollY;
      const line = Math.max(innerHeight / 3, innerHeight - left);
      const at = places.findLastIndex((place) => place.getBoundingClientRect().top <= line);
      const now = entries.find(({hash}) => hash === asked) ?? entries[at];
      for (const link of entries) {
        link.classList.toggle("active", link === now);
        link.ariaCurrent = link === now ? "true" : null;
      }
      here.textContent = now?.textContent.trim() ?? "";
      for (const entry of contents.querySelectorAll("li")) entry.classList.toggle("active", entry.contains(now ?? null));
    };
    const column = contents.closest(".bd-sidebar-secondary");
    const [first] = document.querySelectorAll("article .beside");
    const fold = () => {
      const {top, left} = column.getBoundingClientRect(), end = top + column.scrollHeight;
      column.classList.toggle("hide", [...document.querySelectorAll("article :is(.beside, .live-wide)")].some((e) => {
        const box = e.getBoundingClientRect();
        return box.height && box.right > left && box.top < end && (box.bottom > top || e.matches(".beside"));
      }));
    };
    const makeRoom = () => {
      first?.style.removeProperty("margin-block-start");
      const missing = first ? column.scrollHeight + 16 - first.getBoundingClientRect().top - scrollY : 0;
      if (missing > 0 && missing < 400) first.style.marginBlockStart = `${missing + parseFloat(getComputedStyle(first).marginBlockStart)}px`;
      fold();
    };
    addEventListener("scroll", fold, {passive: true});
    addEventListener("resize", makeRoom, {passive: true});
    makeRoom();
    const ask = () => { asked = location.hash; mark(); };
    for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(kind, () => { asked = null; }, {passive: true});
    addEventListener("hashchange", ask);
    contents.addEventListener("click", () => setTimeout(ask));
    for (const kind of ["scroll", "resize"]) addEventListener(kind, mark, {passive: true});
    ask();
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

  // The search while one types: in its dialog, and in a box for a message on the page of errors.
  let loading = null;
  const load = (name) => new Promise((done) => document.head.append(
    made("script", {src: `${root.dataset.content_root}_static/${name}.js`, async: false, onload: done})));  // run in their order
  const prepare = () => {
    loading ??= window.bookShow ? Promise.resolve() : Promise.all(["language_data", "minisearch/minisearch", "book_search"].map(load));
    return loading;
  };
  const search = async (input, results, most, within) => {
    if (!window.bookFind && input.value.trim()) results.textContent = say`Searching …`;  // the texts come first
    await prepare();
    await window.bookReady;
    window.bookShow(input.value, results, most, within);
  };
  const searchIn = (input, most, within = "") => {
    const results = made("div", {className: "found", ariaLive: "polite"});
    input.addEventListener("focus", prepare);
    input.addEventListener("input", () => search(input, results, most, within));
    return results;
  };
  // The arrow keys go through what is found, there and on the page of results; Enter opens it.
  addEventListener("keydown", (event) => {
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    const stops = step ? [...document.querySelectorAll(
      ":is(#pst-search-dialog[open], main .bd-search) input, #pst-search-dialog[open] .found a, #search-results a")] : [];
    const next = stops[stops.indexOf(document.activeElement) + step];
    if (!next || !stops.includes(document.activeElement)) return;
    event.preventDefault();
    next.focus();
  });
  const dialog = document.querySelector("#pst-search-dialog input[type=search]");
  if (dialog) dialog.form.after(searchIn(dialog, 6));
  const index = document.querySelector("#error-index > h1");
  if (index) {
    const input = made("textarea", {id: "message", rows: 3, spellcheck: false, placeholder: "RuntimeError: …"});
    index.after(made("div", {className: "paste"}, made("label", {htmlFor: "message", textContent: say`Paste your message`}),
      input, searchIn(input, 1, "reference/errors.html")));
  }

  for (const box of document.querySelectorAll(".admonition.predict")) predict(box);
  const start = () => {
    mend();
    nameToggles();
    nameSwitches();
    hint();
    explain();
    showPage();
    if (contents) markSection();
  };
  // The theme adds its buttons first.
  if (document.readyState === "complete") start();
  else addEventListener("load", start);
})();
