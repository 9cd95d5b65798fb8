"""Every page of the built book, opened in a browser: wide and narrow, light and dark.

Skipped, saying why, where the book is not built or no browser is installed.
"""

from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from browser import HTML, pages, serve, settle  # noqa: E402

BUILT = (HTML / "index.html").is_file()
pytestmark = pytest.mark.skipif(not BUILT, reason="the book is not built: run make book")
MOST_PIXELS = 18_000  # of a page's height, in a window 1280 wide

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
    const boxes = "pre, .table-box, .math, mjx-container, .sd-tab-set, .headerlink";
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
  for (const e of document.querySelectorAll("article img")) {
    const alt = e.getAttribute("alt") || "";
    if (alt.length < 20 || /\.(png|svg|jpe?g)$/.test(alt))
      wrong.push(`figure without alt text: ${alt}`);
    if (!e.naturalWidth) wrong.push(`figure not loaded: ${e.src}`);
  }
  return wrong;
}
"""


def faults(page, address: str, name: str) -> list[str]:
    """Open a page and list what is wrong with it."""
    found = []
    listeners = {
        "request": lambda request: (
            None
            if request.url.startswith((f"{address}/", "data:", "blob:"))
            else found.append(f"a request leaves the site: {request.url}")
        ),
        "response": lambda response: (
            found.append(f"{response.status} for {response.url}")
            if response.status >= 400
            else None
        ),
        "console": lambda message: (
            found.append(f"console: {message.text}") if message.type == "error" else None
        ),
        "pageerror": lambda error: found.append(f"script error: {error}"),
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    page.goto(f"{address}/{name}")
    settle(page)
    found += page.evaluate(LOOK)
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    return found


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1280, "light"),
        (390, "dark"),
        pytest.param(1280, "dark", marks=pytest.mark.slow),
        pytest.param(390, "light", marks=pytest.mark.slow),
    ],
)
def test_every_page_is_sound(chromium, address, width, scheme):
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    found = {name: faults(page, address, name) for name in pages()}
    theme = page.evaluate("document.documentElement.dataset.theme")
    context.close()
    assert theme == scheme
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def heights(chromium, address: str, names: list[str]) -> dict[str, int]:
    """Return page -> its height in pixels, in a window 1280 wide, boxes folded."""
    page = chromium.new_page(viewport={"width": 1280, "height": 900})
    found = {}
    for name in names:
        page.goto(f"{address}/{name}")
        settle(page)
        found[name] = page.evaluate("document.documentElement.scrollHeight")
    page.close()
    return found


# Pages that nobody reads from top to bottom.
LOOKED_UP = {"genindex.html", *(f"reference/{x}.html" for x in ("api", "bibliography", "errors"))}


def test_a_page_is_not_too_long(chromium, address):
    read = [name for name in pages() if name not in LOOKED_UP]
    found = heights(chromium, address, read)
    assert {name: px for name, px in found.items() if px > MOST_PIXELS} == {}


def test_a_page_that_is_too_long_is_found_out(chromium, tmp_path):
    (tmp_path / "favicon.ico").touch()
    (tmp_path / "page.html").write_text("<body style='margin: 0'><p style='height: 18001px'>")
    with serve(tmp_path) as at:
        assert heights(chromium, at, ["page.html"])["page.html"] > MOST_PIXELS


FAULTY = {
    "a request leaves the site": "<img src='http://127.0.0.2:9/p.png'>",
    "404": "<script src='nothing.js'></script>",
    "console": "<script>console.error('no')</script>",
    "script error": "<script>undefinedFunction()</script>",
    "scrolls sideways": "<div style='width: 3000px; height: 1px'></div>",
    "cut off": "<p style='width: 3000px'>wide</p>",
    "formula not rendered": "<span class='math'>\\(x\\)</span>",
    "raw TeX": "<p>so \\(x^2\\) is</p>",
    "2 search boxes": "<input type='search'>",
    "without alt text": "<img src='p.png' alt='p.png'>",
}


@pytest.mark.parametrize("fault", FAULTY)
def test_a_faulty_page_is_found_out(chromium, tmp_path, fault):
    (tmp_path / "favicon.ico").touch()
    (tmp_path / "page.html").write_text(
        "<!doctype html><meta charset=utf-8><title>Page</title><input type=search>"
        f"<article>{FAULTY[fault]}</article>"
    )
    page = chromium.new_page()
    with serve(tmp_path) as at:
        found = faults(page, at, "page.html")
    page.close()
    assert any(fault in text for text in found), found


def links(folder: Path) -> list[str]:
    """List the links of a site that lead nowhere inside it."""
    soups, broken = {}, []
    for name in pages(folder):
        soups[name] = BeautifulSoup((folder / name).read_text(encoding="utf-8"), "html.parser")
    anchors = {
        name: {tag.get("id") or tag.get("name") for tag in soup.find_all(True)}
        for name, soup in soups.items()
    }
    for name, soup in soups.items():
        for tag in soup.find_all(["a", "img", "link", "script"]):
            target = urlsplit(tag.get("href") or tag.get("src") or "")
            if target.scheme or target.netloc:
                continue
            path = unquote(target.path)
            file = (folder / name).parent / path if path else folder / name
            file = file.resolve()
            inside = file.relative_to(folder.resolve()).as_posix()
            if not file.is_file():
                broken.append(f"{name}: {target.geturl()} is not there")
            elif unquote(target.fragment) not in anchors.get(inside, {target.fragment}) | {""}:
                broken.append(f"{name}: {target.geturl()} has no such place")
    return broken


def test_every_link_inside_the_book_leads_somewhere():
    assert links(HTML) == []


def test_a_broken_link_is_found_out(tmp_path):
    (tmp_path / "a.html").write_text(
        "<a href='b.html'></a><a href='b.html#there'></a><a href='#x'></a><a href='c.html'></a>"
    )
    (tmp_path / "b.html").write_text("<p id=there>")
    assert links(tmp_path) == ["a.html: #x has no such place", "a.html: c.html is not there"]
