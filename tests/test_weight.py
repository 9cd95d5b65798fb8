"""What a page costs a reader: bytes on the way, jumps while it loads, pictures without a size."""

import gzip
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "_ext"))
pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

import book_weight
from browser import HTML, pages, serve

LANDING, PAGE = 600_000, 1_200_000  # compressed, with everything that the first view asks for
SHIFT = 0.05
pytestmark = pytest.mark.skipif(
    not (HTML / "index.html").is_file(), reason="the book is not built: run make book"
)

WATCH = """
window.shift = 0;
new PerformanceObserver((list) => {
  for (const e of list.getEntries()) if (!e.hadRecentInput) window.shift += e.value;
}).observe({type: "layout-shift", buffered: true});
"""


def first_load(chromium, url: str, width: int = 1280) -> tuple[dict[str, int], float]:
    """Open a page in an empty browser: the compressed size of each file, and the layout shift."""
    context = chromium.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    page.add_init_script(WATCH)
    answers = []
    page.on("response", lambda answer: answers.append(answer))
    page.goto(url)
    page.evaluate("async () => { await document.fonts.ready; }")
    page.evaluate("async () => { await window.MathJax?.startup?.promise; }")
    page.wait_for_timeout(300)
    sizes = {a.url: len(gzip.compress(a.body())) for a in answers if a.ok}
    shift = page.evaluate("window.shift")
    context.close()
    return sizes, shift


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_is_light_and_does_not_jump(chromium, address, width):
    heavy, jumping = {}, {}
    for name in pages():
        sizes, shift = first_load(chromium, f"{address}/{name}", width)
        if sum(sizes.values()) > (LANDING if name == "index.html" else PAGE):
            heavy[name] = sizes
        # A machine at work may deliver a font late, once.
        tries = iter(range(2))
        while shift >= SHIFT and next(tries, None) is not None:
            shift = min(shift, first_load(chromium, f"{address}/{name}", width)[1])
        if shift >= SHIFT:
            jumping[name] = shift
    assert (heavy, jumping) == ({}, {})


def test_a_page_asks_only_for_what_it_uses():
    asked = {}
    for name in pages():
        html = (HTML / name).read_text(encoding="utf-8")
        formulas = bool(re.search(r'class="(?:[^"]* )?math[ "]', html))
        asked[name] = [
            file
            for file in ("fontawesome.js", "mathjax/", "searchindex.js")
            if file in html and not (file == "mathjax/" and formulas)
        ]
    assert asked.pop("search.html") == ["searchindex.js"]
    assert {name: files for name, files in asked.items() if files} == {}
    assert "mathjax/" not in (HTML / "index.html").read_text(encoding="utf-8")


def test_every_picture_has_a_size_and_only_the_first_is_loaded_at_once():
    from bs4 import BeautifulSoup

    wrong = []
    for name in pages():
        soup = BeautifulSoup((HTML / name).read_text(encoding="utf-8"), "html.parser")
        for picture in soup.find_all("img"):
            if not (picture.get("width") and picture.get("height")):
                wrong.append(f"{name}: {picture['src']} has no size")
        article = soup.find("article")
        for picture in article.find_all("img")[1:] if article else []:
            if picture.get("loading") != "lazy":
                wrong.append(f"{name}: {picture['src']} is loaded at once")
    assert wrong == []


# An icon that its font lacks is drawn as wide as the others, but with another font's glyph.
ICONS = """
() => [...document.querySelectorAll("[class*=' fa-'], [class^='fa-']")]
  .filter((e) => getComputedStyle(e, "::before").content === "none"
    || !document.fonts.check('900 16px "Font Awesome 6 Free"'))
  .map((e) => e.className)
"""


@pytest.mark.parametrize("name", ["index.html", "chapters/04_grad_troubles.html", "search.html"])
def test_icons_are_drawn_without_a_script_from_a_folder_too(chromium, name):
    page = chromium.new_page()
    errors = []
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: errors.append(str(e)))
    page.goto((HTML / name).as_uri())
    page.evaluate("async () => { await document.fonts.ready; }")
    missing = page.evaluate(ICONS)
    page.close()
    assert (missing, errors) == ([], [])


# Signs that only an icon font has, drawn by a style before or after an element that is shown.
SIGNS = r"""
() => [...document.querySelectorAll("body *")].flatMap((e) => ["::before", "::after"]
  .map((place) => getComputedStyle(e, place))
  .filter((style) => style.display !== "none" && e.offsetParent)
  .flatMap((style) => style.content.match(/[\uE000-\uF8FF]/g) || [])
  .map((sign) => sign.codePointAt(0)))
"""


@pytest.mark.parametrize("name", ["index.html", "chapters/05_gradient_linearity.html"])
def test_no_style_draws_a_sign_that_the_icon_font_lacks(chromium, name):
    page = chromium.new_page()
    page.goto((HTML / name).as_uri())
    drawn = set(page.evaluate(SIGNS))
    page.close()
    assert drawn - icon_glyphs() == set()


def icon_glyphs():
    """Return the code points that the icon font of the built pages has."""
    from base64 import b64decode
    from io import BytesIO

    from fontTools.ttLib import TTFont

    css = (HTML / book_weight.THEME).read_text(encoding="utf-8")
    data = re.search(r"data:font/woff;base64,([\w+/=]+)", css)[1]
    return set(TTFont(BytesIO(b64decode(data))).getBestCmap())


def test_the_icon_font_has_every_icon_that_is_named():
    css = (HTML / book_weight.THEME).read_text(encoding="utf-8")
    glyphs = icon_glyphs()
    kept = {code for _, code in book_weight.RULE.findall(css)}
    assert {code for code in kept if int(code, 16) not in glyphs} == set()
    named = set()
    for name in pages():
        html = (HTML / name).read_text(encoding="utf-8")
        named |= set(re.findall(r'class="[^"]*\bfa[srb]?\b[^"]*\bfa-([a-z-]+)', html))
        named |= set(re.findall(r'class="[^"]*fa-solid fa-([a-z-]+)', html))
    named -= {"solid", "lg"}
    assert named
    assert {name for name in named if f".fa-{name}:before" not in css} == set()


def test_a_heavy_page_and_a_jumping_one_are_found_out(chromium, tmp_path):
    (tmp_path / "favicon.ico").touch()
    noise = "".join(f"{i * 2654435761 % 2**32:08x}" for i in range(300_000))
    (tmp_path / "page.html").write_text(
        f"<!doctype html><!-- {noise} --><div id=a></div><p>text<p>text<script>"
        "setTimeout(() => { a.style.height = '400px' }, 200)</script>"
    )
    with serve(tmp_path) as at:
        sizes, _ = first_load(chromium, f"{at}/page.html")
        assert sum(sizes.values()) > PAGE
        page = chromium.new_page()
        page.add_init_script(WATCH)
        page.goto(f"{at}/page.html")
        page.wait_for_timeout(1000)
        assert page.evaluate("window.shift") >= SHIFT
        page.close()


@pytest.mark.parametrize(
    ("tag", "more"),
    [
        ('<img src="_images/a.png">', 'width="3" height="2"'),
        ('<img src="_images/a.svg" />', 'width="40" height="30"'),
        ('<img src="_images/none.png" />', ""),
        ('<img src="_images/a.png" width="9" height="6" />', 'width="9" height="6"'),
    ],
)
def test_a_picture_gets_the_size_of_its_file(tmp_path, tag, more):
    from PIL import Image

    (tmp_path / "_images").mkdir()
    Image.new("RGB", (3, 2)).save(tmp_path / "_images/a.png")
    (tmp_path / "_images/a.svg").write_text('<svg viewBox="0 0 40 30"></svg>')
    once = book_weight.sized(tmp_path / "page.html", tag + tag)
    assert once.count(more) == (2 if more else once.count(more))
    assert ("width" in once) == bool(more)
    assert once.count("lazy") == 1
    assert book_weight.sized(tmp_path / "page.html", once) == once


def test_a_second_build_changes_nothing(tmp_path):
    """Sphinx writes anew only what changed: the rest passes through these functions again."""
    import shutil
    from types import SimpleNamespace

    copy = tmp_path / "html"
    shutil.copytree(HTML, copy, ignore=shutil.ignore_patterns("mathjax", "files", "share"))
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    book_weight.finish(SimpleNamespace(outdir=copy, builder=SimpleNamespace(format="html")), None)
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("tex", "ems"), [("B", 0.6), (r"\theta", 0.6), ("g_i", 0.9), (r"\bar z_i h_i^\top", 2.3)]
)
def test_the_room_of_a_formula_is_about_right(tex, ems):
    html = rf'<span class="math notranslate nohighlight">\({tex}\)</span>'
    found = re.search(r"--ems: ([\d.]+)", book_weight.INLINE.sub(book_weight.wide, html))
    assert abs(float(found[1]) - ems) < 0.5
    assert rf"\({tex}\)" in book_weight.INLINE.sub(book_weight.wide, html)
