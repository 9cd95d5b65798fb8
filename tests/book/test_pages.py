"""Every page of the built book in a browser: on a wide screen, on a phone and in print."""

import gzip
import re
import shutil
import subprocess
from functools import cache
from html import unescape
from typing import NamedTuple

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pypdf = pytest.importorskip("pypdf", reason="pypdf is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")

import pdf  # noqa: E402
from browser import HTML, Zipped, pages, serve, settle  # noqa: E402

pytestmark = pytest.mark.site
BOOK = {name for _, name in pdf.order()}  # what is printed
# Of a page's height, in a window 1280 wide; chapter 6 is twice as long as another.
MOST_PIXELS, OF_CHAPTER_6 = 23_000, 31_000
LANDING, PAGE = 400_000, 900_000  # bytes, compressed, of all that the first view asks for
SHIFT = 0.1  # what web.dev calls good
# Without a Chinese font a browser draws boxes, whose width is another in each font of the book.
HAS_CHINESE = bool(shutil.which("fc-list")) and bool(
    subprocess.run(["fc-list", ":lang=zh-cn"], capture_output=True, check=False).stdout
)
SLOW = {"offline": False, "latency": 40, "downloadThroughput": 2e5, "uploadThroughput": 1e5}
FIRST_TEXT = 240_000  # bytes, compressed, before the first text: 1.2 s at 1.6 Mbit/s
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
WATCH = """
window.shift = 0;
new PerformanceObserver((list) => {
  for (const e of list.getEntries()) if (!e.hadRecentInput) window.shift += e.value;
}).observe({type: "layout-shift", buffered: true});
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
PHONE = {"width": 390, "height": 900}
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
    if scheme == "dark":  # folded, it is printed unfolded
        wrong += cut(page)
        page.set_viewport_size(PHONE)
    page.evaluate(UNFOLD)
    unfit = asked_axe(page, name) if scheme == "light" or name in SHOWN else []
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(100)
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


AS_IT_COMES = """() => document.querySelectorAll(".live").forEach((box) => {
  for (const part of ["picture", "words", "controls"]) box.querySelector(`.live-${part}`).remove();
  box.hidden = true;
})"""


def test_a_live_figure_has_its_room_before_it_comes_and_fits_a_screen(chromium, address):
    """Check, in each language, that its box has the same height before and after its script."""
    wrong, widths = {}, (1280, 390)
    for name in pages():
        if '<div class="live' not in (HTML / name).read_text(encoding="utf-8"):
            continue
        page = chromium.new_page(viewport={"width": widths[0], "height": 900})
        page.goto(f"{address}/{name}")
        heights = []
        for width in (*widths, *widths):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(150)
            boxes = page.locator(".live").all()
            heights.append([box.bounding_box()["height"] for box in boxes])
            if len(heights) == 2:
                page.evaluate(AS_IT_COMES)
        page.close()
        for desk, phone, desk_before, phone_before in zip(*heights, strict=True):
            if abs(desk - desk_before) > 30 or abs(phone - phone_before) > 30:
                wrong[name] = heights
            elif desk > 800 - 72:  # below the head of the page
                wrong[name] = desk
            elif phone > 780:  # of a phone
                wrong[name] = phone
    assert wrong == {}


BESIDE = """(down) => {
  const box = document.querySelector(".live-wide");
  scrollBy({top: box.getBoundingClientRect().top - down, behavior: "instant"});
  return new Promise((done) => setTimeout(() => {
    const a = box.getBoundingClientRect();
    const meets = [...document.querySelectorAll("div.beside, .page-toc .nav-link")].filter((e) => {
      const b = e.getBoundingClientRect();
      return e.checkVisibility({opacityProperty: true, visibilityProperty: true}) && b.width
        && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    });
    done([a.width, meets.map((e) => e.textContent)]);
  }, 600));
}"""


@pytest.mark.parametrize("width", [1280, 1500])
def test_a_wide_live_figure_has_the_margin_to_itself(chromium, address, width):
    wide = [
        n for n in pages() if 'class="live live-wide"' in (HTML / n).read_text(encoding="utf-8")
    ]
    assert wide
    for name in wide:
        page = chromium.new_page(viewport={"width": width, "height": 800})
        page.goto(f"{address}/{name}")
        settle(page)
        for down in (500, 250, 70, -200):
            across, meets = page.evaluate(BESIDE, down)
            assert across > 800
            assert meets == [], (name, down)
        page.close()


def test_every_page_is_light(visits, address):
    @cache
    def size(url):
        path = HTML / url.removeprefix(f"{address}/").partition("?")[0]
        return len(gzip.compress(path.read_bytes())) if path.is_file() else 0

    sizes = {page: sum(map(size, seen.asked)) for page, seen in visits.items()}
    limits = {page: LANDING if page[0] == "index.html" else PAGE for page in sizes}
    assert {page: bytes_ for page, bytes_ in sizes.items() if bytes_ > limits[page]} == {}


def test_a_shadow_says_that_a_formula_goes_on_and_a_comment_stays_whole(chromium, address):
    page = chromium.new_page(viewport=PHONE | {"width": 240})  # where a formula is too wide
    page.goto(f"{address}/chapters/18_fisher.html")
    settle(page)
    page.wait_for_timeout(300)
    shaded = page.eval_on_selector_all(
        "mjx-container[display=true]",
        """(all) => all.map((e) => [getComputedStyle(e).backgroundImage !== "none",
          e.scrollWidth > e.clientWidth + 1])""",
    )
    assert {tuple(one) for one in shaded} == {(True, True), (False, False)}
    page.set_viewport_size(PHONE)
    page.goto(f"{address}/chapters/01_one_gradient_per_sample.html")
    settle(page)
    comment = page.locator(".cell_input .c1", has_text="(1797, 64), (1797,)").first
    assert comment.evaluate("(e) => e.getClientRects().length") == 1
    box = comment.bounding_box()
    assert box["height"] < 24
    assert box["x"] + box["width"] < PHONE["width"]
    page.close()


def test_a_call_that_is_too_long_breaks_behind_its_bracket():
    """Check where a line of code may break, and that it may not in an index."""
    code = (HTML / "chapters/17_gram.html").read_text("utf-8")
    marks = ["Linear(\N{BULLET}64", "x[:1400]"]
    lines = re.findall(
        r'<span class="line".*?\n</span>', code.replace("<wbr>", "\N{BULLET}"), re.S
    )
    text = unescape(re.sub("<[^>]*>", "", "".join(lines)))
    assert all(mark in text for mark in marks)
    assert "[\N{BULLET}" not in text.replace("([\N{BULLET}", "")
    assert "(\N{BULLET})" not in text


def test_no_code_is_cut_in_the_error_index(chromium, address):
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{address}/reference/errors.html")
    settle(page)
    outside = """(all) => all.filter((code) => {
      const [a, b] = [code, code.closest("section")].map((e) => e.getBoundingClientRect());
      return a.left < b.left - 1 || a.right > b.right + 1;
    }).length"""
    assert page.eval_on_selector_all("#error-index section section pre", outside) == 0
    page.close()


INDENTED = r"""(lines) => lines.filter((line) => line.textContent.trim()).map((line) => {
  const range = document.createRange();
  const text = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  const seen = (node) => node.data.trim() && node.parentElement.getClientRects().length;
  while (text.nextNode() && !seen(text.currentNode));
  const at = text.currentNode.data.search(/\S/);
  range.setStart(text.currentNode, at);
  range.setEnd(text.currentNode, at + 1);
  const [start, block] = [range, line.parentElement].map((e) => e.getBoundingClientRect().left);
  return [parseInt(line.style.getPropertyValue("--in") || 0), Math.round(start - block)];
})"""


def test_code_on_a_phone_keeps_every_level_of_its_indentation(chromium, address):
    page = chromium.new_page(viewport=PHONE)
    page.goto(f"{address}/chapters/06_build_your_own.html")
    settle(page)
    block = page.locator("pre", has_text="def backward(tape, cts)").first
    starts = dict(block.locator(".line").evaluate_all(INDENTED))
    page.close()
    assert sorted(starts) == [0, 4, 8, 12, 16, 20]
    steps = {starts[4 * k + 4] - starts[4 * k] for k in range(5)}
    assert min(steps) > 10
    assert max(steps) - min(steps) <= 1


def test_few_boxes_scroll_on_a_phone(visits):
    boxes = {page: seen.scrolling for page, seen in visits.items() if LIGHT[1] in page}
    assert sum(map(len, boxes.values())) <= BOXES, kept(boxes)


def visit_over_a_slow_line(page, url):
    """Try up to three times, as Chromium's simulated network stalls about once in a hundred."""
    line = page.context.new_cdp_session(page)
    line.send("Network.emulateNetworkConditions", SLOW)
    for left in (2, 1, 0):
        try:
            page.goto(url, timeout=15_000)
        except sync_api.TimeoutError:
            if not left:
                raise
        else:
            return line


BEFORE_THE_FIRST_TEXT = """
() => ["navigation", "resource"].flatMap(kind => performance.getEntriesByType(kind))
  .filter(e => e.entryType === "navigation" || e.renderBlockingStatus === "blocking"
    || document.querySelector(`link[rel=preload][href$="${e.name.split("/").at(-1)}"]`))
  .map(e => [e.name, e.encodedBodySize])
"""


@pytest.mark.parametrize("name", ["index", "chapters/04_gradient_linearity", "reference/errors"])
def test_little_has_to_come_before_the_first_text(chromium, name):
    with serve(handler=Zipped) as address:
        page = chromium.new_page(viewport=PHONE)
        page.goto(f"{address}/{name}.html")
        parts = dict(page.evaluate(BEFORE_THE_FIRST_TEXT))
        page.close()
    assert len([part for part in parts if part.endswith(".woff2")]) == 2
    assert 100_000 < sum(parts.values()) < FIRST_TEXT, parts


FACES = {"article p:not(.part)": "Source Serif 4", "article h1": "Source Sans 3"}


@pytest.mark.parametrize("name", ["index", "chapters/04_gradient_linearity"])
def test_a_first_visit_over_a_slow_line_shows_the_type_of_the_book(chromium, name):
    """Check also that no line of text moves when the fonts arrive."""
    with serve(handler=Zipped) as address:
        context = chromium.new_context(viewport=PHONE)
        page = context.new_page()
        page.add_init_script(WATCH)
        tools = visit_over_a_slow_line(page, f"{address}/{name}.html")
        page.evaluate("document.fonts.ready")
        for command in ("DOM.enable", "CSS.enable"):
            tools.send(command)
        root = tools.send("DOM.getDocument")["root"]["nodeId"]
        for selector, face in FACES.items():
            node = tools.send("DOM.querySelector", {"nodeId": root, "selector": selector})
            found = tools.send("CSS.getPlatformFontsForNode", node)["fonts"]
            assert {font["isCustomFont"] for font in found} == {True}
            assert all(font["familyName"].startswith(face) for font in found), found
        assert page.evaluate("window.shift") < SHIFT / 2
        context.close()


@pytest.mark.skipif(not HAS_CHINESE, reason="no Chinese font")
def test_no_line_of_a_chinese_page_moves_when_the_latin_type_comes(chromium):
    with serve(handler=Zipped) as address:
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        page.add_init_script(WATCH)
        visit_over_a_slow_line(page, f"{address}/zh/chapters/05_td0.html")
        page.evaluate("document.fonts.ready")
        page.evaluate("async () => { await window.MathJax?.startup?.promise; }")
        settle(page)
        assert page.evaluate("window.shift") < SHIFT / 10
        page.close()


@pytest.mark.parametrize("folder", ["", "/zh"])
@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_first_screen_shows_title_sentence_figure_and_one_button(
    chromium, address, width, height, folder
):
    page = chromium.new_page(viewport={"width": width, "height": height})
    page.goto(f"{address}{folder}/index.html")
    settle(page)
    for shown in (
        "article h1",
        "article p",
        "#live-digits svg",
        ".live-ask",
        "#live-digits",
        "a.start",
    ):
        box = page.locator(shown).first.bounding_box()
        assert box["y"] + box["height"] < height, shown
    assert page.locator("a.start").count() == 1
    assert not page.locator("article .still").is_visible()
    page.emulate_media(media="print")
    assert page.locator("article .still img.only-light").is_visible()
    page.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_card_of_the_first_page_leads_to_its_chapter_wherever_it_is_pressed(
    chromium, address, width
):
    page = chromium.new_page(viewport={"width": width, "height": 800})
    page.goto(f"{address}/index.html")
    settle(page)
    cards = page.locator("li:has(> .drawing)")
    names = sorted(path.stem for path in (HTML / "chapters").glob("*.html"))
    found = [link.get_attribute("href") for link in cards.locator("a").all()]
    assert found == [f"chapters/{name}.html" for name in names]
    for i, card in enumerate(cards.all()):
        assert card.locator("a").evaluate("(e) => getComputedStyle(e, '::before').content")
        assert card.locator("svg[aria-hidden]").bounding_box()["width"] > 90
        assert not any(text.is_visible() for text in card.locator("svg text").all())
        box = card.bounding_box()
        assert (box["width"] < 350) == (width > 600 and i > 0)
        # No row ends before the edge: the next card is below it, or beside.
        part = card.locator("xpath=../..").bounding_box()
        after = cards.nth(i + 1).bounding_box() if i + 1 < cards.count() else {"y": 1e9}
        ends = abs(box["x"] + box["width"] - part["x"] - part["width"]) < 2
        assert ends == (after["y"] > box["y"] + 2)
        assert box["height"] < (330 if width > 600 else 190)
    last = cards.last
    last.scroll_into_view_if_needed()
    last.locator("a").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert last.evaluate("(e) => getComputedStyle(e).outlineStyle") == "solid"
    last.click(position={"x": 20, "y": 20})  # on its picture
    page.wait_for_url(f"**/{names[-1]}.html")
    page.close()


def test_the_list_of_pages_shows_the_page_that_one_is_on(chromium, address):
    page = chromium.new_page(viewport={"width": 1280, "height": 800})
    for name in ("chapters/18_fisher", "chapters/01_one_gradient_per_sample", "reference/errors"):
        page.goto(f"{address}/{name}.html")
        settle(page)
        entry = page.locator("#pst-primary-sidebar .current.active").bounding_box()
        assert 0 <= entry["y"] <= 800 - entry["height"], name
    page.close()


def test_a_term_says_what_it_means_on_hover_with_the_keys_and_at_a_tap(chromium, address):
    context = chromium.new_context(viewport=PHONE, has_touch=True)
    page = context.new_page()
    page.goto(f"{address}/chapters/02_dynamic_vs_static_graphs.html")
    settle(page)
    link, meaning = page.locator("article a[data-about]").nth(2), page.locator(".meaning")
    before, about = page.url, link.get_attribute("data-about")
    for show in (link.hover, link.tap):
        show()
        assert meaning.inner_text().startswith(about.replace("`", ""))
        page.keyboard.press("Escape")
        assert not meaning.is_visible()
    assert page.url == before
    link.tap()
    link.tap()
    page.wait_for_url("**/glossary.html#*")
    context.close()


@pytest.mark.parametrize(
    "name", ["17_gram.html#term-Gram-matrix", "15_influence.html#term-leverage"]
)
def test_a_meaning_with_a_formula_is_typeset_on_hover_with_the_keys_and_at_a_tap(
    chromium, address, name
):
    name, term = name.split("#")
    context = chromium.new_context(viewport=PHONE, has_touch=True)
    page = context.new_page()
    page.goto(f"{address}/chapters/{name}")
    settle(page)
    link, meaning = page.locator(f"article p a[href$={term}]").first, page.locator(".meaning")
    for show in (link.hover, link.tap, link.focus):
        if show == link.focus:
            page.keyboard.press("Tab")
        show()
        meaning.locator("mjx-container").first.wait_for()
        assert not re.search(r"[\\^_`$]", meaning.inner_text())
        box = meaning.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
        page.keyboard.press("Escape")
        page.mouse.move(0, 0)
    context.close()


COLUMN = """() => {
  const column = document.querySelector(".bd-sidebar-secondary");
  const c = column.getBoundingClientRect();
  const end = c.top + column.scrollHeight;
  const beside = [...document.querySelectorAll("article :is(.beside, .live-wide)")].some((e) => {
    const b = e.getBoundingClientRect(), passed = e.matches(".beside") || b.bottom > c.top;
    return b.height && b.right > c.left && b.top < end && passed;
  });
  const {opacity} = getComputedStyle(column.querySelector(".page-toc"));
  return [column.classList.contains("hide"), beside, opacity];
}"""


@pytest.mark.parametrize("width", [1280, 1600])
def test_the_contents_stand_open_at_first_and_fold_from_the_first_note_on(
    chromium, address, width
):
    page, folded = chromium.new_page(viewport={"width": width, "height": 800}), 0
    for name in (name for name in pages() if name.startswith("chapters/")):
        page.goto(f"{address}/{name}")
        settle(page)
        assert page.evaluate(COLUMN) == [False, False, "1"], name
        for top in range(200, 2000, 300):
            page.evaluate(f"scrollTo({{top: {top}, behavior: 'instant'}})")
            page.wait_for_timeout(60)
            hides, beside, _ = page.evaluate(COLUMN)
            assert hides == beside, (name, top)
            folded += hides
    assert folded > 10
    page.goto(f"{address}/chapters/17_gram.html")
    settle(page)
    states = []
    for top in range(0, 9000, 150):
        page.evaluate(f"scrollTo({{top: {top}, behavior: 'instant'}})")
        page.wait_for_timeout(30)
        states.append(page.evaluate(COLUMN)[0])
    assert states == sorted(states)  # they fold once
    page.close()


NOTES = """() => {
  const notes = [...document.querySelectorAll("article div.beside")];
  const shown = notes.filter((e) => e.checkVisibility());
  const edge = document.querySelector("article p").getBoundingClientRect().right;
  const boxes = shown.map((e) => e.getBoundingClientRect());
  return {
    count: shown.length,
    inside: boxes.every((b) => b.left > edge && b.right <= document.documentElement.clientWidth),
    apart: boxes.every((b, i) => !i || b.top >= boxes[i - 1].bottom),
  };
}"""


COVERED = """() => {
  const notes = [...document.querySelectorAll("article div.beside")];
  const covers = (a, b) => a.width && a.left < b.right && b.left < a.right
    && a.top < b.bottom && b.top < a.bottom;
  return [...document.querySelectorAll(".page-toc .nav-link")].filter((e) => {
    const box = e.getBoundingClientRect();
    return e.checkVisibility({opacityProperty: true, visibilityProperty: true}) && box.width
      && notes.some((note) => covers(note.getBoundingClientRect(), box));
  }).map((e) => e.textContent);
}"""


@pytest.mark.parametrize("name", ["01_one_gradient_per_sample", "14_privacy"])
def test_terms_and_sources_stand_in_the_margin_where_there_is_one(chromium, address, name):
    page = chromium.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{address}/chapters/{name}.html")
    settle(page)
    links = page.locator("article section > p a[data-about]")
    targets = {link.get_attribute("href") for link in links.all()}
    targets = {target for target in targets if "reference/api" not in target}
    assert page.locator("article div.beside[data-of*='reference/api']").count() == 0
    found = page.evaluate(NOTES)
    assert found["inside"]
    assert found["apart"]
    assert found["count"] >= len(targets)
    # A formula is typeset as in the glossary; a note in sight needs no second box.
    notes = page.locator("article div.beside", has=page.locator("mjx-container"))
    assert name != "01_one_gradient_per_sample" or notes.count()
    note = page.locator("article div.beside[data-of*=glossary]").first
    link = page.locator(f"article a[href='{note.get_attribute('data-of')}']").first
    link.hover()
    assert not page.locator(".meaning").is_visible()
    assert "lit" in note.get_attribute("class")
    # The contents of the page do not stand behind a note.
    page.locator("article div.beside").last.evaluate("(e) => e.scrollIntoView({block: 'start'})")
    page.wait_for_timeout(500)
    assert page.evaluate(COVERED) == []
    for size in (PHONE, {"width": 1100, "height": 800}):
        page.set_viewport_size(size)
        assert page.evaluate(NOTES)["count"] == 0
    page.close()


MARKED = "() => [...document.querySelectorAll('.page-toc a.active')].map((e) => e.hash)"
READ = """() => {
  const heads = [...document.querySelectorAll("article section section > :is(h2, h3)")];
  const above = heads.filter((e) => e.getBoundingClientRect().top <= innerHeight / 3);
  return above.length ? [`#${above.at(-1).parentElement.id}`] : [];
}"""


def test_the_contents_mark_the_section_that_is_read_downwards_and_upwards(chromium, address):
    page = chromium.new_page(viewport={"width": 1400, "height": 900})
    page.goto(f"{address}/chapters/02_dynamic_vs_static_graphs.html")
    settle(page)
    height = page.evaluate("document.documentElement.scrollHeight") - 900
    steps = [height * i // 12 for i in range(12)]
    for top in [*steps, *reversed(steps)]:
        page.evaluate(f"scrollTo({{top: {top}, behavior: 'instant'}})")
        page.wait_for_timeout(80)
        if height - top > 600:
            assert page.evaluate(MARKED) == page.evaluate(READ), top
    page.evaluate(f"scrollTo({{top: {height + 900}, behavior: 'instant'}})")
    page.wait_for_timeout(80)
    assert page.evaluate(MARKED) == ["#sources"]
    for name in ("summary", "what-becomes-of-an-if"):  # the one asked for, wherever it stands
        page.locator(f".page-toc a[href='#{name}']").click()
        page.wait_for_timeout(600)
        assert page.evaluate(MARKED) == [f"#{name}"]
    page.close()


LINES = """() => {
  const all = [...document.querySelectorAll("article pre")].filter((e) => e.checkVisibility());
  const lines = document.querySelectorAll("article section > .cell > .cell_input .line");
  const high = (e) => e.getBoundingClientRect().height > 30;  // a line has 22 pixels
  return {
    small: all.filter((e) => parseFloat(getComputedStyle(e).fontSize) < 13.5).length,
    scroll: all.filter((e) => e.scrollWidth > e.clientWidth).length,
    broken: [...lines].filter(high).map((e) => e.textContent),
  };
}"""


def test_code_has_readable_letters_and_no_line_of_a_cell_breaks(chromium, address):
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    for name in (name for name in pages() if name.startswith("chapters/")):
        page.goto(f"{address}/{name}")
        settle(page)
        assert page.evaluate(LINES) == {"small": 0, "scroll": 0, "broken": []}, name
    page.close()


# Whether what tells the answer is in sight: what cells print, from the box to the mark at the end;
# and all that stands there from the first of it, or from the answer, on.
LEAKS = """() => [...document.querySelectorAll(".predict")].flatMap((box) => {
  const found = [];
  for (let e = box.nextElementSibling; !e.matches(".told"); e = e.nextElementSibling) {
    if (found.length || e.matches(".dropdown")) found.push(e);
    else found.push(...e.querySelectorAll(".cell_output"));
  }
  return found.filter((e) => !e.matches(".covered-note")).map((e) => e.checkVisibility());
})"""


def test_a_guess_is_pressed_and_stays_and_what_tells_comes_after_it(chromium, address):
    told, boxes = [], 0
    for path in sorted((HTML / "chapters").glob("*.html")):
        page = chromium.new_page()
        page.goto(f"{address}/chapters/{path.name}")
        settle(page)
        for box in page.locator(".predict").all():
            boxes += 1
            told += [path.name] if any(page.evaluate(LEAKS)) else []
            choices = box.get_by_role("group", name="Your guess").get_by_role("button")
            letters = [text[:3] for text in choices.all_inner_texts()]
            assert letters == [f"({letter})" for letter in "abcde"[: len(letters)]], path.name
            assert not any(text.strip()[-1] in ";." for text in choices.all_inner_texts())
            choices.last.press("Enter")
            choices.first.click(force=True)  # too late
            assert choices.last.get_attribute("aria-pressed") == "true"
            assert "your guess" in choices.last.inner_text()
            assert "guess" not in choices.first.inner_text()
            kinds = choices.last.get_attribute("class").split()
            assert ("missed" in kinds) != ("answer" in kinds)
            assert all(page.evaluate(LEAKS)), path.name
            right = box.locator(".answer").inner_text()[:3]
            answer = page.locator(".predict ~ .dropdown:not(.toggle-hidden) > :nth-child(2)")
            assert answer.first.inner_text().startswith(right)
        page.emulate_media(media="print")
        assert page.locator(".choices:visible").count() == 0
        assert page.locator(".predict").count() == page.locator(".as-choices:visible").count()
        page.close()
    assert told == []
    assert boxes >= 15
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/chapters/14_privacy.html")
    assert all(page.evaluate(LEAKS))
    assert page.get_by_text("(a) with probability").is_visible()
    context.close()


FOLDS = """() => [...document.querySelectorAll("article :is(.dropdown > :first-child, summary)")]
  .filter((e) => e.checkVisibility()).map((e) => ["background", "font", "padding", "color"]
    .map((x) => getComputedStyle(e)[x]) + getComputedStyle(e.parentElement).border)"""


def test_every_fold_looks_the_same_and_a_click_on_its_title_unfolds_it(chromium, address):
    page, looks = chromium.new_page(), set()
    for name in ("chapters/01_one_gradient_per_sample", "reference/frameworks"):
        page.goto(f"{address}/{name}.html")
        settle(page)
        looks |= set(page.evaluate(FOLDS))
        for title in page.locator("article .dropdown > .admonition-title:visible").all():
            title.click(position={"x": 140, "y": 20})  # on a link in it
        assert page.locator("article .toggle-hidden:visible").count() == 0
    assert len(looks) == 1
    page.locator("button.copybtn:visible").first.press("Enter")
    page.locator("button.copybtn:focus").wait_for()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_page_works_from_a_folder(chromium, scripts):
    """Check that live figures appear if scripts run, and that the console shows no error."""
    build, linearity = "chapters/06_build_your_own.html", "chapters/04_gradient_linearity.html"
    for name in ("index.html", linearity, build):
        context = chromium.new_context(java_script_enabled=scripts)
        page = context.new_page()
        errors = []
        page.on("console", lambda m, e=errors: e.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error, e=errors: e.append(str(error)))
        page.goto((HTML / name).as_uri())
        for box in page.locator(".live").all():
            assert box.is_visible() == scripts
            assert box.locator("svg:visible").count() == int(scripts)
        still = page.locator("article .still")  # their pictures are not
        assert still.count() == page.locator(".live").count() > 0
        for media in ("screen", "print"):
            page.emulate_media(media=media)
            for picture in still.all():
                assert picture.is_visible() == (media == "print" or not scripts)
        context.close()
        assert errors == []


# A landing page, a chapter with a live figure, long programs, and what they cite.
PRINTED = ["index.html", "chapters/05_td0.html"]
PRINTED += [f"reference/{name}.html" for name in ("training_loops", "bibliography")]
TOP, FOOT = 791, 56  # points: where a sheet's margins are


def bare(text: str) -> str:
    return "".join(text.split())


def read(sheet) -> tuple[str, float]:
    """Return the text of a PDF page, and the fraction of its height that is used."""
    ends = [TOP]

    def drawn(operator, _, page, line):
        if operator in (b"Tj", b"TJ", b"Do"):
            ends.append(page[5] + (min(page[3], 0) if operator == b"Do" else page[3] * line[5]))

    said = bare(sheet.extract_text(visitor_operand_before=drawn))
    return said, (TOP - min(e for e in ends if e > FOOT)) / (TOP - FOOT)


@pytest.mark.slow
def test_pages_become_one_pdf_with_contents_links_and_numbers(chromium, address, tmp_path):
    from bs4 import BeautifulSoup

    made = pypdf.PdfReader(pdf.make(chromium, address, tmp_path / "book.pdf", PRINTED))
    texts, used = zip(*map(read, made.pages), strict=True)
    whole, contents, missing, heads = "".join(texts), texts[1], [], []
    for name in PRINTED:
        soup = BeautifulSoup((HTML / name).read_text("utf-8"), "html.parser").find("article")
        for link in soup.select(".headerlink"):
            link.decompose()
        title = " ".join(soup.h1.get_text().split())
        # A chapter begins with its part, in capitals, and its number, without a point.
        part = soup.select_one(".part")
        heads.append(bare(part.get_text().upper() + title.replace(".", "", 1) if part else title))
        outline = [entry.title for entry in flat(made.outline)]
        missing += [] if title in outline and bare(title) in contents else [title]
        lines = [bare(line.get_text()) for line in soup.select(".cell_input .line")]
        missing += [line for line in lines if line not in whole]
    assert missing == []
    # Less than half used is only the end of a page of the book.
    half = [n for n in range(2, len(texts) - 1) if used[n] < 0.5]
    assert [n + 1 for n in half if not texts[n + 1].startswith(tuple(heads))] == []
    assert made.metadata.title == "Per-Sample Gradients"
    # Every number at a foot is that of the sheet; no link leads to the server that printed it.
    assert [n for n, text in enumerate(texts, 1) if n > 2 and not text.endswith(str(n))] == []
    assert {tuple(map(round, sheet.mediabox[2:])) for sheet in made.pages} == {(596, 843)}
    links = [link.get_object() for sheet in made.pages for link in sheet.get("/Annots", [])]
    assert len([link for link in links if "/Dest" in link]) > 20
    addresses = [str(link.get("/A", {}).get("/URI", "")) for link in links]
    assert len([uri for uri in addresses if uri.startswith("https://")]) > 20
    assert [uri for uri in addresses if "_images" in uri] == []


def flat(outline) -> list:
    """Return the entries of a nested PDF outline as one list."""
    parts = [flat(one) if isinstance(one, list) else [one] for one in outline]
    return [entry for part in parts for entry in part]
