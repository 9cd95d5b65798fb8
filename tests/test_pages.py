"""Every page of the built book in a browser: wide and light, narrow and dark, one visit each."""

import gzip
from typing import NamedTuple

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")

from browser import HTML, Zipped, pages, serve, settle  # noqa: E402

pytestmark = pytest.mark.site
# Of a page's height, in a window 1280 wide; chapter 6 is twice as long as another.
MOST_PIXELS, OF_CHAPTER_6 = 21_000, 31_000
LANDING, PAGE = 400_000, 900_000  # bytes, compressed, of all that the first view asks for
SHIFT = 0.1  # what web.dev calls good
SLOW = {"offline": False, "latency": 40, "downloadThroughput": 2e5, "uploadThroughput": 1e5}
FIRST_TEXT = 1500  # milliseconds, at 1.6 Mbit/s
BOXES = 5  # that scroll on a phone, on all pages together

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
    if (e.closest(`${boxes}, figure:has(img.wide)`)) continue;  // these scroll by themselves
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
    && !e.closest("mjx-container, .headerlink") && parseFloat(getComputedStyle(e).fontSize) < 11
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


class Visit(NamedTuple):
    wrong: list[str]  # what a reader would see
    unfit: list[str]  # what axe says of the unfolded page
    shift: float
    height: int
    asked: set[str]  # addresses
    scrolling: list[str]


# Contrast, which takes most of axe's time, is a matter of the style sheet: where these show it.
SHOWN = {"index.html", "chapters/04_gradient_linearity.html", "page.html"}


def asked_axe(page, name: str, scheme: str) -> list[str]:
    """Return what axe says of the open page, with everything unfolded."""
    if scheme == "dark" and name not in SHOWN:
        return []
    rules = {} if name in SHOWN else {"rules": {"color-contrast": {"enabled": False}}}
    violations = axe.Axe().run(page, options=OPTIONS | rules).response["violations"]
    return [
        f"{rule['id']} at {' '.join(map(str, node['target']))}: {node['failureSummary']}"
        for rule in violations
        for node in rule["nodes"]
    ]


def visit(chromium, address: str, name: str, width: int, scheme: str) -> Visit:
    """Open a page in an empty browser, look, unfold everything, and ask axe."""
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
    page.evaluate(UNFOLD)
    wrong += page.evaluate(SMALL) if width < 600 else []
    scrolling = page.evaluate(SCROLLING)
    unfit = asked_axe(page, name, scheme)
    theme = page.evaluate("document.documentElement.dataset.theme")
    context.close()
    assert theme in (scheme, None)
    return Visit(wrong, unfit, shift, height, early, scrolling)


# Pages that nobody reads from top to bottom.
LOOKED_UP = {"genindex.html", *(f"reference/{x}.html" for x in ("api", "bibliography", "errors"))}
KINDS = [(1280, "light"), (390, "dark")]


@pytest.fixture(scope="module", params=KINDS, ids=["wide, light", "narrow, dark"])
def visits(request, chromium, address):
    """Return the width, and every page's visit."""
    width, scheme = request.param
    return width, {name: visit(chromium, address, name, width, scheme) for name in pages()}


def kept(found: dict) -> dict:
    return {name: wrong for name, wrong in found.items() if wrong}


def test_every_page_is_sound(visits):
    _, found = visits
    assert kept({name: seen.wrong for name, seen in found.items()}) == {}


def test_axe_finds_nothing_whatever_is_unfolded(visits):
    _, found = visits
    assert kept({name: seen.unfit for name, seen in found.items()}) == {}


def test_no_page_jumps_while_it_loads_or_is_too_long(visits, chromium, address):
    width, found = visits
    jumping = {name: seen.shift for name, seen in found.items() if seen.shift >= SHIFT}
    for name in list(jumping):  # a machine at work may deliver a script late, once
        scheme = dict(KINDS)[width]
        jumping[name] = min(seen.shift for seen in [visit(chromium, address, name, width, scheme)])
    assert {name: shift for name, shift in jumping.items() if shift >= SHIFT} == {}
    long = {name: seen.height for name, seen in found.items() if name not in LOOKED_UP}
    limits = {name: OF_CHAPTER_6 if "06_build" in name else MOST_PIXELS for name in long}
    assert width < 1280 or {name: px for name, px in long.items() if px > limits[name]} == {}


def test_every_page_is_light(visits, address):
    _, found = visits
    sizes = {
        path: len(gzip.compress((HTML / path).read_bytes()))
        for path in {url.removeprefix(f"{address}/").partition("?")[0]
                     for seen in found.values() for url in seen.asked}
        if (HTML / path).is_file()
    }  # fmt: skip
    heavy = {}
    for name, seen in found.items():
        asked = [url.removeprefix(f"{address}/").partition("?")[0] for url in seen.asked]
        if (bytes_ := sum(map(sizes.get, asked))) > (LANDING if name == "index.html" else PAGE):
            heavy[name] = bytes_
    assert heavy == {}


def test_few_boxes_scroll_on_a_phone(visits):
    width, found = visits
    boxes = kept({name: seen.scrolling for name, seen in found.items()})
    assert width > 600 or sum(map(len, boxes.values())) <= BOXES, boxes


@pytest.mark.parametrize("name", ["index", "chapters/04_gradient_linearity", "reference/errors"])
def test_the_first_text_is_there_soon(chromium, name):
    """Over a slow line, compressed, in the best of three visits: this machine may be at work."""
    times = []
    with serve(handler=Zipped) as address:
        for _ in range(3):
            page = chromium.new_page(viewport={"width": 390, "height": 844})
            line = page.context.new_cdp_session(page)
            line.send("Network.emulateNetworkConditions", SLOW)
            page.goto(f"{address}/{name}.html")
            times.append(page.evaluate("performance.getEntriesByType('paint').at(-1).startTime"))
            page.close()
    assert min(times) < FIRST_TEXT


FOLDS = """
() => [...document.querySelectorAll("article :is(.dropdown > .admonition-title, summary)")]
  .filter((e) => e.checkVisibility()).map((e) => ["background", "font", "padding", "color"]
    .map((x) => getComputedStyle(e)[x]) + getComputedStyle(e.parentElement).border)
"""


def test_every_fold_looks_the_same_and_a_click_on_its_title_unfolds_it(chromium, address):
    page, looks = chromium.new_page(), set()
    for name in ("chapters/01_one_gradient_per_sample", "reference/frameworks"):
        page.goto(f"{address}/{name}.html")
        settle(page)
        looks |= set(page.evaluate(FOLDS))
        for title in page.locator("article .dropdown > .admonition-title:visible").all():
            title.click(position={"x": 70, "y": 20})  # on a word
            assert "toggle-hidden" not in title.locator("..").get_attribute("class")
    assert len(looks) == 1
    page.locator("button.copybtn:visible").first.press("Enter")
    page.locator("button.copybtn:focus").wait_for()
    page.close()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_page_works_from_a_folder(chromium, scripts):
    """Live figures are there if scripts are; nothing goes wrong that a console would show."""
    for name in ("index.html", "chapters/04_gradient_linearity.html"):
        context = chromium.new_context(java_script_enabled=scripts)
        page = context.new_page()
        errors = []
        page.on("console", lambda m, e=errors: e.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error, e=errors: e.append(str(error)))
        page.goto((HTML / name).as_uri())
        for box in page.locator(".live").all():
            assert box.is_visible() == scripts
            assert box.locator("svg:visible").count() == int(scripts)
        context.close()
        assert errors == []
