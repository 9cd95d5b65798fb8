"""Every page of the built book in a browser: on a wide screen, on a phone and in print."""

import gzip
from functools import cache
from typing import NamedTuple

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("pypdf", reason="pypdf is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")

import pdf  # noqa: E402
from browser import HTML, pages, settle  # noqa: E402

from support.screens import HAS_CHINESE, PHONE, SHIFT, WATCH, drawn  # noqa: E402

pytestmark = pytest.mark.site
BOOK = {name for _, name in pdf.order()}  # what is printed
# Of a page's height, in a window 1280 wide; chapter 6 is twice as long as another.
MOST_PIXELS, OF_CHAPTER_6 = 23_000, 31_000
LANDING, PAGE = 400_000, 900_000  # bytes, compressed, of all that the first view asks for
BOXES = 6  # that scroll on a phone, on all pages together

# What is wrong with a page, by what a reader would see. Code may show a backslash; text may not.
LOOK = r"""
() => {
  const wrong = [];
  const root = document.documentElement;
  const article = document.querySelector("article") ?? document.body;
  const shown = (e) => e.checkVisibility({checkOpacity: true, checkVisibilityCSS: true})
    && e.getBoundingClientRect().right > 0 && e.getBoundingClientRect().left < innerWidth;
  if (root.scrollWidth > root.clientWidth)
    wrong.push(`the page scrolls sideways: ${root.scrollWidth} > ${root.clientWidth}`);
  for (const e of article.querySelectorAll("*")) {
    const boxes = "pre, .pst-scrollable-table-container, .math, mjx-container, .sd-tab-set,"
      + " .headerlink";
    if (e.closest(`${boxes}, svg svg`)) continue;  // these scroll by themselves, or cut a picture
    const box = e.getBoundingClientRect();
    if (box.width && box.right > innerWidth + 1 && shown(e))
      wrong.push(`<${e.tagName.toLowerCase()} class="${e.className}"> is cut off at the right`);
  }
  const formulas = document.querySelectorAll(".math:not(div.math div.math)");
  for (const e of formulas)
    if (!e.querySelector("mjx-container")) wrong.push(`formula not rendered: ${e.textContent}`);
  for (const e of document.querySelectorAll("mjx-merror"))
    wrong.push(`formula with an error: ${e.textContent}`);
  const text = article.cloneNode(true);
  text.querySelectorAll("pre, code, script, mjx-container").forEach((e) => e.remove());
  if (/\\\(|\\\[|\$\$/.test(text.textContent)) wrong.push("raw TeX in the text");
  const boxes = [...document.querySelectorAll(
    ".search-button, .search-button-field, input[type=search], input[name=q]")].filter(shown);
  // The page of search results has one of its own besides.
  const own = document.querySelectorAll("#search-results").length;
  if (boxes.length !== 1 + own)
    wrong.push(`${boxes.length} search boxes are shown, not one`);
  if (boxes.some((e) => e.getBoundingClientRect().bottom > innerHeight))
    wrong.push("the search box is out of sight");
  for (const e of document.querySelectorAll("article img")) {
    const alt = e.getAttribute("alt") || "";
    if (alt.length < 20 || /\.(png|svg|jpe?g)$/.test(alt))
      wrong.push(`figure without alt text: ${alt}`);
    if (!e.naturalWidth) wrong.push(`figure not loaded: ${e.src}`);
  }
  for (const e of document.querySelectorAll("article .drawing:not(li > [aria-hidden])")) {
    if ((e.getAttribute("aria-label") || "").length < 20) wrong.push("drawing without alt text");
    const scale = e.checkVisibility() && e.getScreenCTM()?.a, face = "Source Sans 3";
    for (const t of scale ? e.querySelectorAll("text") : []) {
      const style = getComputedStyle(t);
      if (parseFloat(style.fontSize) * scale < 10.9 && !t.querySelector("tspan"))
        wrong.push(`letters of ${parseFloat(style.fontSize) * scale} px: ${t.textContent}`);
      if (!style.fontFamily.includes(face)) wrong.push(`${t.textContent} in ${style.fontFamily}`);
    }
  }
  for (const e of article.querySelectorAll(".admonition.toggle-hidden, details:not([open])")) {
    const title = e.querySelector(".admonition-title, summary");
    if (shown(e) && e.offsetHeight > title.offsetHeight + 8)
      wrong.push(`a fold of ${e.offsetHeight} px: ${title.textContent}`);
  }
  for (const e of article.querySelectorAll("mjx-container[display=true]"))
    if (e.scrollWidth > e.clientWidth + 1) wrong.push(`formula cut: ${e.textContent}`);
  for (const e of document.querySelectorAll("[class*=' fa-'], [class^='fa-']"))
    if (shown(e) && getComputedStyle(e, "::before").content === "none")
      wrong.push(`icon not drawn: ${e.className}`);
  for (const e of document.querySelectorAll(".live"))
    if (!e.checkVisibility() || !e.querySelector("svg")) wrong.push(`${e.id} is not shown`);
  return wrong;
}
"""
SCROLLING = """
() => [...document.querySelectorAll("article *")].filter((e) => e.scrollWidth > e.clientWidth + 1
    && e.clientWidth && ["auto", "scroll"].includes(getComputedStyle(e).overflowX)
    && !e.closest(".live, mjx-assistive-mml")).map((e) => e.textContent.trim().slice(0, 60))
"""
SMALL = """
() => [...document.querySelectorAll("article *")].filter((e) => e.checkVisibility()
    && !e.closest("mjx-container, .headerlink, svg")
    && parseFloat(getComputedStyle(e).fontSize) < 11
    && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
  .map((e) => `${getComputedStyle(e).fontSize}: ${e.textContent.trim().slice(0, 40)}`)
"""
# Of code on a wide screen: small letters, boxes that scroll, lines of cells that break.
CODE = """
() => {
  const all = [...document.querySelectorAll("article pre")].filter((e) => e.checkVisibility());
  const lines = [...document.querySelectorAll("article section > .cell > .cell_input .line")];
  return [
    ...all.filter((e) => parseFloat(getComputedStyle(e).fontSize) < 13.5),
    ...all.filter((e) => e.scrollWidth > e.clientWidth),
    ...lines.filter((e) => e.getBoundingClientRect().height > 30),  // a line has 22 pixels
  ].map((e) => `code: ${e.textContent.trim().slice(0, 60)}`);
}
"""
UNFOLD = """
() => {
  for (const e of document.querySelectorAll("details")) e.open = true;
  for (const e of document.querySelectorAll(".toggle-button-hidden")) e.click();
}
"""
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]
OPTIONS = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "tag", "values": [*TAGS, "experimental"]},
}


# Whatever of the article reaches beyond the sheet, or is hidden in a box that would scroll.
CUT = """
() => {
  const wrong = [], edge = document.documentElement.clientWidth + 1;
  for (const e of document.querySelectorAll("article *")) {
    if (e.closest("mjx-assistive-mml, svg") || !e.checkVisibility()) continue;
    const box = e.getBoundingClientRect();
    if (box.width && box.right > edge)
      wrong.push(`<${e.tagName.toLowerCase()} class="${e.className}"> ends at ${box.right}`);
    const boxes = "pre, .pst-scrollable-table-container, div.math, figure";
    if (e.matches(boxes) && e.scrollWidth > e.clientWidth + 1)
      wrong.push(`<${e.tagName.toLowerCase()}> cuts ${e.textContent.trim().slice(0, 40)}`);
  }
  for (const e of document.querySelectorAll("article details:not([open]), article .toggle-hidden"))
    wrong.push(`folded: ${e.textContent.trim().slice(0, 40)}`);
  for (const e of document.querySelectorAll("article details[open] > *"))
    if (getComputedStyle(e).animationName !== "none") wrong.push("a fold fades in: printed blank");
  for (const e of document.querySelectorAll("article summary .expanded"))
    if (e.checkVisibility()) wrong.push(`${e.textContent} is printed`);
  if (document.documentElement.dataset.theme !== "light") wrong.push("the theme is dark");
  const first = document.querySelector("article h1");
  if (!first.checkVisibility()) wrong.push("the title is not shown");
  const left = ".headerlink, button, .prev-next-footer, #jb-print-docs-body";
  for (const e of document.querySelectorAll(left))
    if (e.checkVisibility()) wrong.push(`<${e.className}> is printed`);
  return wrong;
}
"""


def cut(page) -> list[str]:
    """List what the page would cut off in print; check that printing does not change the page."""
    page.set_viewport_size({"width": pdf.TEXT, "height": 900})
    folds = "document.querySelectorAll('article details[open]').length"
    theme, before = "document.documentElement.dataset.theme", page.evaluate(folds)
    scheme = page.evaluate(theme)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    found = page.evaluate(CUT)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert (page.evaluate(theme), page.evaluate(folds)) == (scheme, before)
    return found


class Visit(NamedTuple):
    wrong: list[str]  # what a reader would see
    unfit: list[str]  # faults that axe finds in the unfolded page
    shift: float
    height: int
    asked: set[str]  # addresses that the page requested
    scrolling: list[str]  # boxes, on a phone


# What is a matter of the style sheet, and takes most of axe's time, is asked where these show it.
SHOWN = {"index.html", "chapters/04_gradient_linearity.html"}
STYLES = ("color-contrast", "link-in-text-block", "hidden-content", "target-size")
LIGHT, DARK = (1280, "light"), (390, "dark")  # the first for every page, the second for a few
FEW = SHOWN | {
    f"{name}.html" for name in ("chapters/05_td0", "reference/errors", "reference/libraries")
}


def asked_axe(page, name: str) -> list[str]:
    """Return the accessibility faults that axe finds in the open page."""
    rules = {} if name in SHOWN else {"rules": {rule: {"enabled": False} for rule in STYLES}}
    violations = axe.Axe().run(page, options=OPTIONS | rules).response["violations"]
    return [
        f"{rule['id']} at {' '.join(map(str, node['target']))}: {node['failureSummary']}"
        for rule in violations
        for node in rule["nodes"]
    ]


def visit(chromium, address: str, name: str, width: int, scheme: str) -> Visit:
    """Open a page in a new browser context; return the faults found on screen and in print."""
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.add_init_script(WATCH)
    found, asked = [], set()

    def answered(response):
        asked.add(response.url)
        if response.status >= 400:
            found.append(f"{response.status} for {response.url}")

    def requested(request):
        if not request.url.startswith((f"{address}/", "data:", "blob:", "file:")):
            found.append(f"a request leaves the site: {request.url}")

    def said(message):
        if message.type == "error":
            found.append(f"console: {message.text}")

    page.on("request", requested)
    page.on("response", answered)
    page.on("console", said)
    page.on("pageerror", lambda error: found.append(f"script error: {error}"))
    page.goto(f"{address}/{name}")
    page.evaluate("async () => { await window.MathJax?.startup?.promise; }")
    page.wait_for_timeout(200)
    shift, early = page.evaluate("window.shift"), set(asked)
    settle(page)
    wrong = [*found, *page.evaluate(LOOK)]  # axe asks for style sheets in its own way
    height = page.evaluate("document.documentElement.scrollHeight")
    wrong += page.evaluate(CODE) if width > PHONE["width"] else []
    if scheme == "dark":  # folded, it is printed unfolded
        wrong += cut(page)
        page.set_viewport_size(PHONE)
    page.evaluate(UNFOLD)
    unfit = asked_axe(page, name) if scheme == "light" or name in SHOWN else []
    page.set_viewport_size(PHONE)
    drawn(page)
    wrong += [*page.evaluate(LOOK), *page.evaluate(SMALL)]
    scrolling = page.evaluate(SCROLLING)
    wrong += cut(page) if name in BOOK else []
    theme = page.evaluate("document.documentElement.dataset.theme")
    context.close()
    assert theme in (scheme, None)
    return Visit(wrong, unfit, shift, height, early, scrolling)


# Pages that nobody reads from top to bottom.
REFERENCE = ("api", "bibliography", "errors", "recipes")
LOOKED_UP = {"genindex.html", *(f"reference/{name}.html" for name in REFERENCE)}


@pytest.fixture(scope="module")
def visits(chromium, address):
    """Return {(page, width, colour scheme): result of `visit`}."""
    wanted = [(name, *LIGHT) for name in pages()] + [(name, *DARK) for name in sorted(FEW)]
    return {(name, *kind): visit(chromium, address, name, *kind) for name, *kind in wanted}


def kept(found: dict) -> dict:
    return {page: wrong for page, wrong in found.items() if wrong}


def test_every_page_is_sound(visits):
    assert kept({page: seen.wrong for page, seen in visits.items()}) == {}


def test_axe_finds_nothing_whatever_is_unfolded(visits):
    assert kept({page: seen.unfit for page, seen in visits.items()}) == {}


def test_no_page_jumps_while_it_loads_or_is_too_long(visits, chromium, address):
    seen_whole = [page for page in visits if HAS_CHINESE or not page[0].startswith("zh/")]
    jumping = [page for page in seen_whole if visits[page].shift >= SHIFT]
    # A machine at work may deliver a script late, once.
    again = {page: visit(chromium, address, *page).shift for page in jumping}
    assert {page: shift for page, shift in again.items() if shift >= SHIFT} == {}
    heights = {name: seen.height for (name, *kind), seen in visits.items() if kind == [*LIGHT]}
    limits = {name: OF_CHAPTER_6 if "06_build" in name else MOST_PIXELS for name in heights}
    limits |= dict.fromkeys(LOOKED_UP, float("inf"))
    assert {name: px for name, px in heights.items() if px > limits[name]} == {}


def test_every_page_is_light(visits, address):
    @cache
    def size(url):
        path = HTML / url.removeprefix(f"{address}/").partition("?")[0]
        return len(gzip.compress(path.read_bytes())) if path.is_file() else 0

    sizes = {page: sum(map(size, seen.asked)) for page, seen in visits.items()}
    limits = {page: LANDING if page[0] == "index.html" else PAGE for page in sizes}
    assert {page: bytes_ for page, bytes_ in sizes.items() if bytes_ > limits[page]} == {}


def test_few_boxes_scroll_on_a_phone(visits):
    boxes = {page: seen.scrolling for page, seen in visits.items() if LIGHT[1] in page}
    assert sum(map(len, boxes.values())) <= BOXES, kept(boxes)
