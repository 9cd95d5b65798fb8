"""The first visit to the built book: what comes before its text, and the first page."""

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from browser import HTML, Zipped, serve, settle  # noqa: E402

from support.screens import HAS_CHINESE, PHONE, SHIFT, WATCH  # noqa: E402

pytestmark = pytest.mark.site
SLOW = {"offline": False, "latency": 40, "downloadThroughput": 2e5, "uploadThroughput": 1e5}
FIRST_TEXT = 240_000  # bytes, compressed, before the first text: 1.2 s at 1.6 Mbit/s


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
